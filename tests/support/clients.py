"""Shapes of clients, and what each makes of an item: the document once it was accepted."""

import re
from dataclasses import dataclass, field
from typing import Any

from tests.support.cursor import cursor

LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A client, as far as it changes the answer.

    `inline` says that it shows ghost text, `as_it_is` that it leaves line ends as they come.
    """

    encoding: str
    inline: bool
    as_it_is: bool = False
    capabilities: dict[str, Any]
    params: dict[str, Any] = field(default_factory=dict)

    def units(self, text: str) -> int:
        """How many columns `text` takes."""
        match self.encoding:
            case "utf-8":
                return len(text.encode())
            case "utf-16":
                return len(text.encode("utf-16-le")) // 2
            case _:
                return len(text)

    def place_of(self, text: str, offset: int) -> dict[str, int]:
        """The protocol's position of an offset."""
        starts = line_starts(text[:offset])
        return {"line": len(starts) - 1, "character": self.units(text[starts[-1] : offset])}

    def offset_of(self, text: str, place: dict[str, int]) -> int:
        """The offset of a position, which has to be one of the text."""
        start = line_starts(text)[place["line"]]
        end = LINE_END.search(text, start)
        for offset in range(start, (end.start() if end else len(text)) + 1):
            if self.units(text[start:offset]) == place["character"]:
                return offset
        raise AssertionError(f"{place} is no place in {text!r}")

    def accepted(self, drawn: str, item: dict[str, Any]) -> str:
        """The document with the item in it, inserted as this client does."""
        text, at = cursor(drawn)
        edit = item.get("textEdit") or {"range": item["range"], "newText": item["insertText"]}
        assert edit["range"]["start"]["line"] == edit["range"]["end"]["line"]
        start = self.offset_of(text, edit["range"]["start"])
        end = self.offset_of(text, edit["range"]["end"])
        assert start <= at <= end, "the range does not hold the cursor"
        assert not item.get("additionalTextEdits")
        new = str(edit["newText"])
        if "textEdit" in item:
            assert "\n" not in item["label"]
            assert item["label"].strip() == item["label"] != ""
            assert item.get("filterText", item["label"]).startswith(text[start:at])
        else:
            assert start == at
            assert "\r" not in new
        if item.get("insertTextFormat") == 2:
            line = line_starts(text)[edit["range"]["start"]["line"]]
            new = unfolded(new, text[line:start])
        found = LINE_END.search(text)
        if not self.as_it_is:
            new = LINE_END.sub(found[0] if found else "\n", new)
        return text[:start] + new + text[end:]


def unfolded(snippet: str, line_head: str) -> str:
    """The text of a snippet, its lines indented like the first."""
    indent = line_head[: len(line_head) - len(line_head.lstrip(" \t"))]
    first, *rest = re.sub(r"\\([\\$}])", r"\1", snippet).split("\n")
    return "\n".join([first, *(indent + line if line else "" for line in rest)])


def line_starts(text: str) -> list[int]:
    """Where lines begin."""
    return [0, *(found.end() for found in LINE_END.finditer(text))]


def _menu(**item: Any) -> dict[str, Any]:
    return {"completion": {"completionItem": item}}


SHAPES = {
    "Neovim": Shape(
        encoding="utf-8",
        inline=True,
        capabilities={
            "general": {"positionEncodings": ["utf-8", "utf-16", "utf-32"]},
            "textDocument": {"inlineCompletion": {}, **_menu(snippetSupport=True)},
        },
    ),
    "VS Code": Shape(
        encoding="utf-16",
        inline=True,
        capabilities={
            "general": {"positionEncodings": ["utf-16"]},
            "textDocument": {
                "inlineCompletion": {"dynamicRegistration": True},
                **_menu(snippetSupport=True, insertTextModeSupport={"valueSet": [1, 2]}),
            },
        },
    ),
    "Helix": Shape(
        encoding="utf-8",
        inline=False,
        capabilities={
            "general": {"positionEncodings": ["utf-8", "utf-32", "utf-16"]},
            "textDocument": _menu(snippetSupport=True),
        },
    ),
    "one that says nothing": Shape(encoding="utf-16", inline=False, as_it_is=True, capabilities={}),
    "one that counts code points": Shape(
        encoding="utf-32",
        inline=True,
        capabilities={"general": {"positionEncodings": ["utf-32"]}},
    ),
}
