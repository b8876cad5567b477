"""The settings as a JSON Schema, for editors that complete and check them; for VS Code; as a table.

The schema says how one writes them; `settings.resolve` also takes what people and editors make of
that.
"""

import json
from enum import Enum
from typing import Any

from lsp_completions import __version__
from lsp_completions.kinds import (
    UNLIMITED,
    Choice,
    Command,
    Duration,
    Flag,
    Headers,
    Kind,
    Number,
    PathPatterns,
    Text,
    Texts,
)
from lsp_completions.settings import Knob, knobs

Schema = dict[str, Any]

SECTION = "lspCompletions"

# Its extension says this itself.
SET_BY_VS_CODE = ("commandSuffix",)


def settings_schema() -> str:
    """A schema for the settings files and for what an editor sends, as JSON.

    Each setting may also come with the section and a dot before its name, or below the section.
    """
    definitions = {
        knob.key: {
            "description": knob.sentence,
            **or_null(schema_of(knob.kind)),
            **_default(knob),
        }
        for knob in knobs()
    }
    alone = {key: {"$ref": f"#/definitions/{key}"} for key in definitions}
    dotted = {f"{SECTION}.{key}": reference for key, reference in alone.items()}
    return _json(
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "title": "lsp-completions",
            "description": "The settings of lsp-completions.",
            "type": "object",
            "properties": {
                **alone,
                "locked": {
                    "description": "The settings whose values nobody else may change; "
                    "in the file of a machine alone.",
                    "type": "array",
                    "items": {"enum": list(alone)},
                },
                SECTION: {"type": "object", "properties": alone, "additionalProperties": False},
                **dotted,
            },
            "additionalProperties": False,
            "definitions": definitions,
        }
    )


def vs_code_manifest(manifest: str) -> str:
    """VS Code's `package.json` with our version and, after its own, the settings that it shows.

    What an opened project may not decide has the scope of the machine, so that VS Code itself
    takes it from no project. Nothing has a default there, which would win over the user's file.
    """
    whole = json.loads(manifest)
    whole["version"] = __version__
    *_, ours = whole["contributes"]["configuration"]
    ours["properties"] = {
        f"{SECTION}.{knob.key}": {
            **or_null(schema_of(knob.kind)),
            "default": None,
            "scope": "machine" if knob.guarded else "window",
            "markdownDescription": knob.sentence + _said_default(knob),
        }
        for knob in knobs()
        if knob.key not in SET_BY_VS_CODE
    }
    return _json(whole)


def reference() -> str:
    """The settings as a Markdown table, for the README."""
    rows = ["| Setting | Values | Default | What it does |", "| --- | --- | --- | --- |"]
    for knob in knobs():
        cells = (f"`{knob.key}`", knob.kind.values, _shown(knob.default), knob.sentence)
        rows.append("| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |")
    return "\n".join(rows) + "\n"


def schema_of(kind: Kind[object]) -> Schema:
    """The values of a kind."""
    match kind:
        case Flag():
            return {"type": "boolean"}
        case Choice(enum):
            return {"enum": [member.value for member in enum]}
        case Number():
            return {"type": "integer" if kind.whole else "number", **_range(kind)}
        case Duration():
            return {"type": ["string", "number"]}
        case Texts():
            return {"type": "array", "items": {"type": "string", "minLength": 1}}
        case PathPatterns():
            return {"type": ["array", "string"], "items": {"type": "string"}}
        case Command():
            return {"type": ["string", "array"], "items": {"type": "string"}}
        case Headers():
            return {"type": "object", "additionalProperties": {"type": "string"}}
        case Text() if kind.pattern != ".*":
            return {"type": "string", "pattern": f"^{kind.pattern}$"}
        case _:
            return {"type": "string"}


def or_null(schema: Schema) -> Schema:
    """The same, or `null`, which leaves what was said elsewhere in force."""
    if "enum" in schema:
        return {**schema, "enum": [*schema["enum"], None]}
    kinds = schema["type"]
    return {**schema, "type": [*([kinds] if isinstance(kinds, str) else kinds), "null"]}


def _range(number: Number) -> Schema:
    lowest = {"exclusiveMinimum": 0} if number.positive else {"minimum": number.least}
    return {**lowest, **({} if number.most == UNLIMITED else {"maximum": number.most})}


def _default(knob: Knob) -> Schema:
    value = knob.default
    if value is None or value in ("", ()):
        return {}
    if isinstance(value, Enum):
        value = value.value
    return {"default": list(value) if isinstance(value, tuple) else value}


def _said_default(knob: Knob) -> str:
    return "".join(f" Default: `{json.dumps(value)}`." for value in _default(knob).values())


def _shown(default: object) -> str:
    match default:
        case None | "" | ():
            return ""
        case Enum():
            return f"`{default.value}`"
        case _:
            return f"`{json.dumps(default)}`"


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
