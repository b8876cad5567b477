import pytest

from lsp_completions.pipeline.outcome import SkipReason
from lsp_completions.switches import Languages, Scope, Switch, Switches, is_on

PYTHON = Scope(language="python")
WORKSPACE = Scope(workspace=True)
EVERYTHING = Scope()


@pytest.mark.parametrize(
    ("language_id", "path", "expected"),
    [
        pytest.param("python", "a.py", True, id="code"),
        pytest.param("markdown", "a.md", True, id="documentation"),
        pytest.param("yaml", "a.yaml", True, id="data"),
        pytest.param("notalanguage", "a.xyz", True, id="a name nobody knows"),
        pytest.param("", "a", True, id="no name"),
        pytest.param("  ", "", True, id="a blank name"),
        pytest.param("été", "", True, id="a name of other letters"),
        pytest.param("plaintext", "a.py", True, id="plain text by a name that tells more"),
        pytest.param("", "a.py", True, id="no name, and a path that tells"),
        pytest.param("plaintext", "notes", False, id="VS Code's plain text"),
        pytest.param("text", "notes.txt", False, id="Neovim's and Emacs' plain text"),
        pytest.param("fundamental", "", False, id="Emacs' text of no kind"),
        pytest.param("git-commit", ".git/COMMIT_EDITMSG", False, id="VS Code's and Helix' message"),
        pytest.param("gitcommit", ".git/COMMIT_EDITMSG", False, id="Neovim's message"),
        pytest.param("gitcommit.fugitive", "", False, id="two of Neovim's names"),
        pytest.param("GitCommit", "", False, id="in another case"),
        pytest.param("", ".git/COMMIT_EDITMSG", False, id="a message by its file's name"),
        pytest.param("git-rebase", ".git/rebase-merge/git-rebase-todo", False, id="a rebase"),
        pytest.param("gitrebase", "", False, id="Neovim's rebase"),
        pytest.param("scminput", "", False, id="VS Code's box for messages"),
        pytest.param("jjdescription", "", False, id="jj's messages"),
        pytest.param("hgcommit", "", False, id="Mercurial's messages"),
        pytest.param("TelescopePrompt", "", False, id="a prompt"),
        pytest.param("robots.txt", "robots.txt", True, id="another language in a text file"),
        pytest.param("help", "doc/a.txt", False, id="Vim's help"),
        pytest.param("man", "", False, id="a page of a manual"),
    ],
)
def test_what_is_on_where_nothing_is_set(language_id: str, path: str, expected: bool) -> None:
    assert is_on(language_id, path, ()) == expected


@pytest.mark.parametrize(
    ("languages", "language_id", "expected"),
    [
        pytest.param([("python", False)], "python", False, id="one switched off"),
        pytest.param([("python", False)], "lua", True, id="the others stay on"),
        pytest.param([("*", False)], "python", False, id="all switched off"),
        pytest.param([("*", False), ("python", True)], "python", True, id="but for one"),
        pytest.param([("*", True)], "plaintext", False, id="all others are no plain text"),
        pytest.param([("plaintext", True)], "plaintext", True, id="plain text switched on"),
        pytest.param([("plaintext", True)], "text", True, id="by its other name"),
        pytest.param([("*", False)], "", False, id="no name is one of the others"),
        pytest.param([("*", False)], "notalanguage", False, id="and so is one nobody knows"),
        pytest.param([("notalanguage", False)], "notalanguage", False, id="unless it is named"),
        pytest.param([("sh", False)], "shellscript", False, id="an alias is its language"),
        pytest.param([("shellscript", False)], "bash", False, id="and has its switch"),
        pytest.param([("Bash", False)], "zsh", False, id="aliases among each other"),
        pytest.param([("sh", False), ("bash", True)], "bash", True, id="the very name comes first"),
        pytest.param([("sh", False), ("bash", True)], "sh", False, id="for the other as well"),
        pytest.param([("c#", False)], "csharp", False, id="a name with a sign"),
        pytest.param([("javascript", False)], "javascriptreact", True, id="kin has its own"),
        pytest.param([("gitcommit", True)], "git-commit", True, id="messages switched on"),
        pytest.param([(" Python ", False)], "python", False, id="blanks and capitals"),
        pytest.param([("", False)], "python", True, id="a blank name says nothing"),
        pytest.param([("été", False)], "ÉTÉ", False, id="other letters"),
        pytest.param([("rust", True), ("rust", False)], "rust", True, id="the first word counts"),
    ],
)
def test_what_the_settings_say(languages: Languages, language_id: str, expected: bool) -> None:
    assert is_on(language_id, "", languages) == expected


def reasons(switches: Switches, languages: Languages = ()) -> dict[str, str]:
    """Why there is nothing, for three documents."""
    found = {
        "python here": switches.why_off("python", "a.py", languages, in_workspace=True),
        "python elsewhere": switches.why_off("python", "a.py", languages, in_workspace=False),
        "lua here": switches.why_off("lua", "a.lua", languages, in_workspace=True),
    }
    return {name: reason.name for name, reason in found.items() if reason is not None}


OFF = SkipReason.SWITCHED_OFF.name
ALL_OFF = {"python here": OFF, "python elsewhere": OFF, "lua here": OFF}


@pytest.mark.parametrize(
    ("steps", "answers", "off"),
    [
        pytest.param([], [], {}, id="nothing switched"),
        pytest.param([(Switch.OFF, EVERYTHING)], [False], ALL_OFF, id="everything"),
        pytest.param(
            [(Switch.OTHER, EVERYTHING), (Switch.OTHER, EVERYTHING)],
            [False, True],
            {},
            id="everything, back and forth",
        ),
        pytest.param(
            [(Switch.OFF, WORKSPACE)],
            [False],
            {"python here": OFF, "lua here": OFF},
            id="the workspace",
        ),
        pytest.param(
            [(Switch.OFF, PYTHON)],
            [False],
            {"python here": OFF, "python elsewhere": OFF},
            id="a language",
        ),
        pytest.param(
            [(Switch.OFF, Scope(language="py")), (Switch.OTHER, PYTHON)],
            [False, True],
            {},
            id="a language by two names",
        ),
        pytest.param(
            [(Switch.OFF, EVERYTHING), (Switch.ON, PYTHON)],
            [False, False],
            ALL_OFF,
            id="a language alone cannot outdo everything",
        ),
        pytest.param(
            [(Switch.OFF, PYTHON), (Switch.OFF, EVERYTHING), (Switch.ON, EVERYTHING)],
            [False, False, True],
            {"python here": OFF, "python elsewhere": OFF},
            id="everything on again leaves a language as it was",
        ),
    ],
)
def test_what_is_switched(
    steps: list[tuple[Switch, Scope]], answers: list[bool], off: dict[str, str]
) -> None:
    switches = Switches()
    assert [switches.switch(how, scope, ()) for how, scope in steps] == answers
    assert reasons(switches) == off


def test_a_language_off_by_the_settings_can_be_switched_on_and_back() -> None:
    switches, languages = Switches(), [("python", False)]
    off_by_setting = dict.fromkeys(["python here", "python elsewhere"], "LANGUAGE_OFF")
    assert reasons(switches, languages) == off_by_setting
    assert switches.switch(Switch.OTHER, PYTHON, languages)
    assert reasons(switches, languages) == {}
    assert not switches.switch(Switch.OTHER, PYTHON, languages)
    assert reasons(switches, languages) == dict.fromkeys(off_by_setting, OFF)


def test_a_language_off_by_default_can_be_switched_on() -> None:
    switches = Switches()
    assert switches.switch(Switch.OTHER, Scope(language="gitcommit"), ())
    assert switches.why_off("git-commit", "", (), in_workspace=True) is None
