"""The scenarios of all editors, in real Emacsen set up as `editors/emacs/README.md` says."""

from collections.abc import Iterator
from contextlib import AbstractContextManager

import pytest

from tests.editors.emacs_driver import CLIENTS, EmacsDriver, documented, executable, running_desk
from tests.editors.scenarios import Case, Desk, Editor, cases_of
from tests.support.shared import Shared

pytestmark = pytest.mark.skipif(
    executable() is None,
    reason="needs Emacs: LSP_COMPLETIONS_EMACS=$(tests/editors/install_emacs.sh)",
)


Kind = tuple[Editor, bool, bool]
"""Which client, whether somebody is signed in, and whether suggestions are in the menu."""


@pytest.fixture(scope="module")
def desks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared[Kind, Desk]]:
    def start(kind: Kind) -> AbstractContextManager[Desk]:
        editor, signed_in, in_menu = kind
        return running_desk(
            editor,
            tmp_path_factory.mktemp(editor.name),
            documented("config") + (documented("menu of lsp-mode") if in_menu else ""),
            signed_in=signed_in,
            multiplexed=documented("menu of eglot") if in_menu else "",
        )

    desks = Shared(start, kill)
    yield desks
    desks.close()


def kill(desk: Desk) -> None:
    assert isinstance(desk.driver, EmacsDriver)
    desk.driver.emacs.kill()


def cases() -> Iterator[object]:
    for editor in CLIENTS:
        for case in cases_of(editor):
            yield pytest.param(editor, case, id=f"{editor.value}, {case}")


@pytest.mark.parametrize(("editor", "case"), list(cases()))
def test_a_scenario(desks: Shared[Kind, Desk], editor: Editor, case: Case) -> None:
    scenario = case.scenario
    in_menu = any(step.verb == "take_item" for step in scenario.steps)
    with desks.using((editor, scenario.signed_in, in_menu)) as desk:
        desk.play(case)
