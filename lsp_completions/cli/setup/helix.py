"""What Helix needs: its lists of servers replace others, so each has to name all of them."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

NAME = "lsp-completions"
Server = str | Mapping[str, Any]
OURS: Mapping[str, Any] = {"name": NAME, "only-features": ["completion", "workspace-command"]}

SERVER = f"""\
[language-server.{NAME}]
command = "lsp-completions"
"""
EXAMPLE: Mapping[str, Sequence[Server]] = {"python": ["pylsp"]}

# `hx --health` cuts long names off, so these are known by their beginnings.
LONG_NAMES = (
    *("javascript", "typescript", "markdown", "c-sharp", "dockerfile", "powershell", "terraform"),
    *("haskell", "clojure", "protobuf", "graphql", "fortran", "solidity", "ocaml", "elixir"),
)


def languages(lists: Mapping[str, Sequence[Server]]) -> str:
    """The entries of `languages.toml` for languages and their own servers."""
    return "\n".join(language(name, servers) for name, servers in lists.items())


def language(name: str, servers: Sequence[Server]) -> str:
    """One entry, our server first, so that its items stand higher."""
    lines = "".join(f"  {_toml(each)},\n" for each in (OURS, *servers))
    return f"[[language]]\nname = {json.dumps(name)}\nlanguage-servers = [\n{lines}]\n"


def servers_in(health: str) -> list[str] | None:
    """The names of a language's servers in `hx --health LANGUAGE`; `None` where it says none."""
    lines = iter(_plain(health).splitlines())
    for line in lines:
        if line.startswith("Configured language servers:"):
            if line.rstrip().endswith("None"):
                return []
            break
    else:
        return None
    found = []
    for line in lines:
        if (match := re.fullmatch(r"\s+[✓✘] (\S+): .*", line)) is None:
            break
        found.append(match[1])
    return found


def installed_in(health: str) -> list[str]:
    """The languages of `hx --health languages` that have a server which is installed.

    A name that is cut off may be one that Helix does not know.
    """
    found: list[str] = []
    name = ""
    for line in _plain(health).splitlines():
        first, *columns = re.split(r"\s{1,}(?=[✓✘]|None|$)", line.rstrip())
        name = first.strip() or name
        # Other columns have a mark as well; a server's has a name behind it.
        server = columns[0] if columns else ""
        if re.match(r"✓ \S", server) and name not in found:
            found.append(name)
    return [_whole(name) for name in found]


def entry_for(name: str, read: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """What the user's `languages.toml` says of a language."""
    entries = read.get("language")
    if not isinstance(entries, list):
        return None
    for entry in entries:
        if isinstance(entry, dict) and entry.get("name") == name:
            return entry
    return None


def names_us(servers: Iterable[Server]) -> bool:
    """Whether a list has our server."""
    return any((each if isinstance(each, str) else each.get("name")) == NAME for each in servers)


def _whole(name: str) -> str:
    if not name.endswith("…"):
        return name
    # It may be whole all the same: one as long as its column has the sign too (`python…`).
    return next((each for each in LONG_NAMES if each.startswith(name[:-1])), name[:-1])


def _toml(value: object) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_toml(each)}" for key, each in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def _plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)
