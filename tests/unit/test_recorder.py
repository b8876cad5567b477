"""The recorder of editors' sessions hands on every byte, and what is kept names no machine."""

import json
import sys
from pathlib import Path

from tests.editors.sessions import condensed, read, write
from tests.support import recorder, second_server
from tests.support.lsp_client import LspClient
from tests.support.second_server import ITEM


def test_both_sides_hear_each_other_and_all_is_written_down(tmp_path: Path) -> None:
    command = [sys.executable, recorder.__file__, str(tmp_path), "--"]
    uri = "file:///tmp/x-1/desk0/work/3-accept-LF/work.py"
    opened = {"uri": uri, "languageId": "python", "version": 1, "text": "é"}
    other = {**opened, "uri": "file:///tmp/x-1/desk0/first.py"}
    with LspClient.start([*command, sys.executable, second_server.__file__]) as client:
        client.initialize(processId=7, rootUri="file:///tmp/x-1/desk0/work")
        for each in (other, opened):
            client.notify("textDocument/didOpen", {"textDocument": each})
            (item,) = client.result("textDocument/completion", {"textDocument": each})["items"]
            assert item["label"] == ITEM
        assert client.stop() == 0
    (written,) = tmp_path.iterdir()
    kept = condensed(written.read_text(encoding="utf-8"))
    assert [(each.from_editor, each.method) for each in kept] == [
        (True, "initialize"),
        (False, None),
        (True, "initialized"),
        (True, "textDocument/didOpen"),
        (True, "textDocument/completion"),
        (False, None),
    ]
    assert kept[0].message["params"]["processId"] is None
    assert kept[0].message["params"]["rootUri"] == "file:///desk/work"
    assert kept[3].message["params"]["textDocument"] == {
        **opened,
        "uri": "file:///desk/work/accept-LF/work.py",
    }
    assert kept[3].case is not None
    assert "x-1" not in json.dumps([each.message for each in kept])
    write(tmp_path / "kept.jsonl.gz", kept)
    assert read(tmp_path / "kept.jsonl.gz") == kept


def test_a_session_without_a_scenario_is_not_kept() -> None:
    line = {"at": 0, "from": "editor", "message": {"method": "initialize", "id": 1, "params": {}}}
    assert condensed(json.dumps(line)) == []
