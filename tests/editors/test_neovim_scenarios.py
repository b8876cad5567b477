"""The scenarios of all editors, in real Neovims set up as `editors/neovim/README.md` says."""

from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest

from tests.editors.neovim_driver import VERSIONS, NeovimDriver, running_desk
from tests.editors.scenarios import Case, Desk, Editor, cases_of
from tests.support.neovim import executable

CONFIG = "require('lsp_completions').setup()\nvim.o.completeopt = 'menuone,noselect,popup'\n"


class Desks:
    """One Neovim of each kind for all that is played; a new one after something went wrong."""

    def __init__(self, factory: pytest.TempPathFactory) -> None:
        self._factory = factory
        self._running: dict[tuple[Editor, bool], tuple[Desk, ExitStack]] = {}

    def play(self, editor: Editor, case: Case) -> None:
        kind = editor, case.scenario.signed_in
        if kind not in self._running:
            stack = ExitStack()
            folder = self._factory.mktemp(editor.name)
            desk = stack.enter_context(running_desk(editor, folder, CONFIG, signed_in=kind[1]))
            self._running[kind] = desk, stack
        desk, stack = self._running[kind]
        try:
            desk.play(case)
        except BaseException:
            del self._running[kind]
            assert isinstance(desk.driver, NeovimDriver)
            desk.driver.neovim.kill()
            with suppress(AssertionError):
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
    for editor, version in VERSIONS.items():
        variable = version.value[0]
        missing = pytest.mark.skipif(
            executable(version) is None, reason=f"needs the Neovim that {variable} names"
        )
        for case in cases_of(editor):
            yield pytest.param(editor, case, id=f"{editor.value}, {case}", marks=missing)


@pytest.mark.parametrize(("editor", "case"), list(cases()))
def test_a_scenario(desks: Desks, editor: Editor, case: Case) -> None:
    desks.play(editor, case)
