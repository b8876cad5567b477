"""What the exit codes mean: one table for scripts, for each command's help and for the README."""

from collections.abc import Mapping
from enum import IntEnum


class Exit(IntEnum):
    """The exit code of a command, for scripts; a sentence for people goes to standard error."""

    GOOD = 0
    """What was asked for is done."""
    NOTHING = 1
    """Nothing went wrong, but there is nothing, or something is left to the user."""
    USAGE = 2
    """The command was not understood, or what it names is not there. click says 2 as well."""
    BACKEND = 3
    """Something went wrong on the way: the provider, a file, or what `check` looks at."""
    MISTAKE = 70
    """Our mistake; the number is the one of sysexits.h."""
    STOPPED = 130
    """Ctrl-C, in the number shells give it."""


MEANINGS: Mapping[str, tuple[str, str, str]] = {
    "complete": ("there is a suggestion", "there is none", "the provider could not answer"),
    "check": ("nothing is wrong", "", "something is wrong"),
    "status": ("a server runs", "none does", ""),
    "why": ("there is an answer", "there is nothing to tell", ""),
    "why FILE:LINE:COLUMN": (
        "there would be a suggestion",
        "there would be none",
        "the provider could not answer",
    ),
    "log": ("there is a log", "there is none", ""),
    "report": ("it is printed", "", ""),
    "paths": ("they are listed", "", ""),
    "clean": (
        "nothing is left",
        "nothing was removed: an editor still runs, or you said no",
        "something could not be removed",
    ),
    "models": ("they are listed", "", "nobody could be asked"),
    "inspect": ("", "", "the page could not be served"),
    "stats": ("they are shown, or deleted", "", "they could not be read or deleted"),
    "login": ("the token is stored", "", "it was refused, or could not be stored"),
    "logout": ("no token is left", "", "one could not be forgotten"),
    "model install": ("it is installed", "", "it could not be installed"),
    "model list": ("they are listed", "", ""),
    "model remove": ("it is deleted", "", "it could not be deleted"),
    "trust": ("it is done", "the host to remove was not trusted", "the list could not be written"),
    "setup": (
        "all is printed, or written",
        "something is left to you",
        "a file could not be read or written",
    ),
}
"""For each command what 0, 1 and 3 say of it; empty where it never ends so."""

CODES = (Exit.GOOD, Exit.NOTHING, Exit.BACKEND)


def exit_codes_of(command: str) -> str:
    """The exit codes of a command in a sentence or some, for its help."""
    told = []
    for name, meanings in MEANINGS.items():
        if name.partition(" FILE")[0] == command:
            codes = {**dict(zip(CODES, meanings, strict=True)), Exit.USAGE: "the command is wrong"}
            listed = ", ".join(f"{code:d} {what}" for code, what in sorted(codes.items()) if what)
            told.append(f"{'With a place' if name != command else 'Exit codes'}: {listed}.")
    return " ".join(told)


def exit_codes_for_the_readme() -> str:
    """The table in Markdown, without the commands that always end well."""
    rows = [
        f"| `{name}` | {' | '.join(each)} |" for name, each in MEANINGS.items() if any(each[1:])
    ]
    return "\n".join(["| command | 0 | 1 | 3 |", "| --- | --- | --- | --- |", *rows])
