import json

import pytest
from jsonschema import Draft7Validator

from lsp_completions import __version__
from lsp_completions.configuration.schema import reference, settings_schema, vs_code_manifest
from lsp_completions.settings import Settings, keys, knobs, resolve
from tests.check import ROOT

SCHEMA = json.loads(settings_schema())
MANIFEST = json.loads((ROOT / "editors/vscode/package.json").read_text("utf-8"))


def accepts(settings: object) -> bool:
    return bool(Draft7Validator(SCHEMA).is_valid(settings))


def test_it_is_a_schema_with_every_setting() -> None:
    Draft7Validator.check_schema(SCHEMA)
    assert set(SCHEMA["definitions"]) == set(keys())
    for key in keys():
        assert accepts({key: None})
        assert accepts({f"lspCompletions.{key}": None})
        assert accepts({"lspCompletions": {key: None}})
    assert not accepts({"nonsense": 1})


@pytest.mark.parametrize(
    ("key", "good", "bad"),
    [
        pytest.param("provider", "ollama", "copilot", id="a choice"),
        pytest.param("endpoint", "https://a.example", 5, id="an address"),
        pytest.param("accessToken", "sgp_1", 5, id="a token"),
        pytest.param("maxTokens", 64, 0, id="a whole number"),
        pytest.param("maxTokens", 64, 1.5, id="a number that is not whole"),
        pytest.param("temperature", 0.5, 1.5, id="a number"),
        pytest.param("totalTimeout", 1, 0, id="a number above 0"),
        pytest.param("stream", False, "yes", id="a flag"),
        pytest.param("keepAlive", "10m", True, id="a length of time"),
        pytest.param("keepAlive", 600, [], id="a length of time in seconds"),
        pytest.param("stopSequences", ["\n"], "x", id="texts"),
        pytest.param("exclude", ["*.sql"], 5, id="patterns"),
        pytest.param("exclude", "*.sql", [5], id="a pattern"),
        pytest.param("headers", {"X-Key": "a"}, {"X-Key": 5}, id="headers"),
        pytest.param("commandSuffix", "-2", "a b", id="a text of some form"),
        pytest.param("menu", "on", 1, id="another choice"),
    ],
)
def test_it_says_what_the_settings_take(key: str, good: object, bad: object) -> None:
    for value, is_good in ((good, True), (bad, False)):
        assert accepts({key: value}) is is_good
        assert (resolve([("", {key: value})])[1] == ()) is is_good


def test_its_defaults_are_those_in_force() -> None:
    stated = {
        key: definition["default"]
        for key, definition in SCHEMA["definitions"].items()
        if "default" in definition
    }
    assert "schemes" in stated
    assert accepts(stated)
    assert resolve([("", stated)]) == (Settings(), ())


def test_what_locks_settings_is_known() -> None:
    assert accepts({"locked": ["endpoint"]})
    assert not accepts({"locked": ["nonsense"]})


def test_vs_code_takes_from_no_project_what_a_project_may_not_decide() -> None:
    own, shown = (part["properties"] for part in MANIFEST["contributes"]["configuration"])
    scopes = {key: each["scope"] for key, each in shown.items()}
    assert scopes == {
        f"lspCompletions.{knob.key}": "machine" if knob.guarded else "window"
        for knob in knobs()
        if knob.key != "commandSuffix"
    }
    # They choose the program that runs.
    assert {each["scope"] for each in own.values()} == {"machine"}
    for setting in shown.values():
        Draft7Validator.check_schema(setting)
        # It would be sent as if the user had set it.
        assert setting["default"] is None
        assert Draft7Validator(setting).is_valid(None)


def test_the_rest_of_the_manifest_stays() -> None:
    assert json.loads(vs_code_manifest(json.dumps(MANIFEST))) == MANIFEST
    assert MANIFEST["name"] == "lsp-completions"
    assert MANIFEST["version"] == __version__


def test_the_reference_has_a_row_for_each_setting() -> None:
    rows = reference().splitlines()[2:]
    assert [row.split("`")[1] for row in rows] == keys()
    assert all(row.count(" | ") == 3 and row.endswith(". |") for row in rows)
    assert "| `totalTimeout` | number above 0 and up to 600 | `7.0` |" in reference()
