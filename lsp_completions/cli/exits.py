"""What the exit codes mean."""

from enum import IntEnum


class Exit(IntEnum):
    """The exit code of a command, for scripts; a sentence for people goes to standard error."""

    GOOD = 0
    """A suggestion; or what was asked for is done."""
    NOTHING = 1
    """There is nothing to suggest."""
    USAGE = 2
    """The command was not understood, or there is no such place. click says 2 as well."""
    BACKEND = 3
    """The provider could not answer, or there is none; or `check` found something wrong."""
    MISTAKE = 70
    """Our mistake; the number is the one of sysexits.h."""
    STOPPED = 130
    """Ctrl-C, in the number shells give it."""
