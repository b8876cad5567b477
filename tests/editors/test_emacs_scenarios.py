"""The scenarios of all editors, in real Emacsen set up as `editors/emacs/README.md` says."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

import pytest

from tests.editors.emacs_driver import CLIENTS, EmacsDriver, documented, executable, running_desk
from tests.editors.scenarios import Case, Desk, Editor, cases_of

pytestmark = pytest.mark.skipif(
    executable() is None,
    reason="needs Emacs: LSP_COMPLETIONS_EMACS=$(tests/editors/install_emacs.sh)",
)


class Desks:
    """One Emacs of each kind for all that is played in it; a new one after something went wrong."""

    def __init__(self, factory: pytest.TempPathFactory) -> None:
        self._factory = factory
        self._running: dict[tuple[Editor, bool, bool], tuple[Desk, ExitStack]] = {}

    @contextmanager
    def using(self, editor: Editor, *, signed_in: bool, in_menu: bool) -> Iterator[Desk]:
        kind = editor, signed_in, in_menu
        if kind not in self._running:
            stack = ExitStack()
            folder = self._factory.mktemp(editor.name)
            desk = stack.enter_context(
                running_desk(
                    editor,
                    folder,
                    documented("config") + (documented("menu of lsp-mode") if in_menu else ""),
                    signed_in=signed_in,
                    multiplexed=documented("menu of eglot") if in_menu else "",
                )
            )
            self._running[kind] = desk, stack
        desk, stack = self._running[kind]
        try:
            yield desk
        except BaseException:
            del self._running[kind]
            assert isinstance(desk.driver, EmacsDriver)
            desk.driver.emacs.kill()
            with suppress(AssertionError, OSError):
                stack.close()
            raise

    def close(self) -> None:
        with ExitStack() as all_of_them:
            for _, stack in self._running.values():
                all_of_them.enter_context(stack)


@pytest.fixture(scope="module")
def desks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desks]:
    desks = Desks(tmp_path_factory)
    yield desks
    desks.close()


def cases() -> Iterator[object]:
    for editor in CLIENTS:
        for case in cases_of(editor):
            yield pytest.param(editor, case, id=f"{editor.value}, {case}")


@pytest.mark.parametrize(("editor", "case"), list(cases()))
def test_a_scenario(desks: Desks, editor: Editor, case: Case) -> None:
    scenario = case.scenario
    in_menu = any(step.verb == "take_item" for step in scenario.steps)
    with desks.using(editor, signed_in=scenario.signed_in, in_menu=in_menu) as desk:
        desk.play(case)
