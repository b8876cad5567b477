r"""Regular expressions as RE2 reads them: whether one occurs anywhere in a text.

Python's `re` reads some of them in another way, and takes for ever over others. The package with
RE2 itself has to be compiled where musl is the C library. So the syntax is read here, once, and
searched for in time linear in the text: all that may match goes along, one character at a time.

What is not certain to be read as RE2 reads it is a `Flaw`, names of scripts (`\p{Greek}`) included.
"""

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache

MOST_REPEATED = 1000  # RE2's own limit
MOST_STATES = 5_000  # far more than the name of a repository needs
MOST_DEEP = 100  # groups inside of groups


class Flaw(Exception):
    """The pattern cannot be read; the message says what, without the pattern."""


class Pattern:
    """A pattern that could be read. Raises `Flaw` where it cannot."""

    def __init__(self, pattern: str) -> None:
        self._states: list[_State] = []
        reader = _Reader(pattern)
        self._end = self._add(_State())
        self._start = self._build(reader.read(), self._end)

    def occurs_in(self, text: str) -> bool:
        """Whether some part of the text matches, an empty one included."""
        active: set[int] = set()
        for at in range(len(text) + 1):
            before = text[at - 1] if at else None
            after = text[at] if at < len(text) else None
            # It may begin anywhere.
            here = self._reachable([self._start, *active], before, after)
            if self._end in here:
                return True
            if after is None:
                break
            active = set()
            for number in here:
                state = self._states[number]
                if state.takes is not None and state.takes(after):
                    active.update(state.then)
        return False

    def _reachable(self, numbers: list[int], before: str | None, after: str | None) -> set[int]:
        reached: set[int] = set()
        while numbers:
            number = numbers.pop()
            if number in reached:
                continue
            reached.add(number)
            state = self._states[number]
            if state.takes is None and (state.holds is None or state.holds(before, after)):
                numbers.extend(state.then)
        return reached

    def _add(self, state: "_State") -> int:
        if len(self._states) >= MOST_STATES:
            raise Flaw("it is too large")
        self._states.append(state)
        return len(self._states) - 1

    def _build(self, node: "_Node", then: int) -> int:
        """The states of a part, which go on to `then`; returns the first."""
        match node:
            case _Takes(takes):
                return self._add(_State(takes=takes, then=[then]))
            case _Holds(holds):
                return self._add(_State(holds=holds, then=[then]))
            case _Row(parts):
                for part in reversed(parts):
                    then = self._build(part, then)
                return then
            case _Choice(parts):
                return self._add(_State(then=[self._build(part, then) for part in parts]))
            case _Repeated(part, least, most):
                if most is None:
                    loop = self._add(_State(then=[then]))
                    self._states[loop].then.append(self._build(part, loop))
                    then = loop
                else:
                    for _ in range(most - least):
                        then = self._add(_State(then=[self._build(part, then), then]))
                for _ in range(least):
                    then = self._build(part, then)
                return then
        raise AssertionError(node)


_Taking = Callable[[str], bool]
_Holding = Callable[[str | None, str | None], bool]


@dataclass(slots=True)
class _State:
    """One place in a pattern. With `takes` it needs a character, with `holds` only neighbours."""

    takes: _Taking | None = None
    holds: _Holding | None = None
    then: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Takes:
    takes: _Taking


@dataclass(frozen=True, slots=True)
class _Holds:
    holds: _Holding


@dataclass(frozen=True, slots=True)
class _Row:
    parts: tuple["_Node", ...]


@dataclass(frozen=True, slots=True)
class _Choice:
    parts: tuple["_Node", ...]


@dataclass(frozen=True, slots=True)
class _Repeated:
    part: "_Node"
    least: int
    most: int | None


_Node = _Takes | _Holds | _Row | _Choice | _Repeated


@dataclass(frozen=True, slots=True)
class _Flags:
    """What `(?ims)` switches; which of two matches is found first makes no difference here."""

    ignore_case: bool = False
    lines: bool = False
    dot_takes_all: bool = False


class _Reader:
    """Reads a pattern from its beginning to its end."""

    def __init__(self, pattern: str) -> None:
        self._rest = pattern
        self._flags = _Flags()
        self._names: set[str] = set()
        self._depth = 0

    def read(self) -> _Node:
        node = self._choice()
        if self._rest:
            raise Flaw("it closes a group that was not opened")
        return node

    def _taken(self, text: str) -> bool:
        if self._rest.startswith(text):
            self._rest = self._rest[len(text) :]
            return True
        return False

    def _next(self) -> str:
        if not self._rest:
            raise Flaw("it ends too early")
        letter, self._rest = self._rest[0], self._rest[1:]
        return letter

    def _choice(self) -> _Node:
        flags = self._flags
        rows = [self._row()]
        while self._taken("|"):
            rows.append(self._row())
        self._flags = flags
        return rows[0] if len(rows) == 1 else _Choice(tuple(rows))

    def _row(self) -> _Node:
        parts: list[_Node] = []
        repeatable = repeated = False
        while self._rest and self._rest[0] not in "|)":
            if self._taken(r"\Q"):
                literal, _, self._rest = self._rest.partition(r"\E")
                parts.extend(self._letter(letter) for letter in literal)
                # Of an empty one there is nothing to repeat, but what stood before it.
                if literal:
                    repeatable, repeated = True, False
                continue
            if (bounds := self._bounds()) is not None:
                if not repeatable:
                    raise Flaw("it repeats nothing")
                if repeated:
                    raise Flaw("it repeats a repetition")
                self._taken("?")
                parts[-1] = _repeated(parts[-1], *bounds)
                repeated = True
                continue
            part = self._part()
            if part is not None:
                parts.append(part)
                repeatable = True
                repeated = False
            else:
                repeatable = repeated = False
        return parts[0] if len(parts) == 1 else _Row(tuple(parts))

    def _bounds(self) -> tuple[int, int | None] | None:
        """How often what came before may stand here; `None` where nothing says so."""
        match self._rest[0]:
            case "*":
                bounds: tuple[int, int | None] = 0, None
            case "+":
                bounds = 1, None
            case "?":
                bounds = 0, 1
            case "{":
                inside, closed, rest = self._rest[1:].partition("}")
                least, comma, most = inside.partition(",")
                if not closed or not _is_number(least) or (most and not _is_number(most)):
                    return None  # a brace like any letter
                if len(least) > 4 or len(most) > 4:
                    raise Flaw("it repeats too often")
                bounds = int(least), int(most) if most else None if comma else int(least)
                if max(bounds[0], bounds[1] or 0) > MOST_REPEATED:
                    raise Flaw("it repeats too often")
                if bounds[1] is not None and bounds[1] < bounds[0]:
                    raise Flaw("it repeats less than it repeats")
                self._rest = "}" + rest
            case _:
                return None
        self._rest = self._rest[1:]
        return bounds

    def _part(self) -> _Node | None:
        """The next part; `None` for what only switches flags."""
        flags = self._flags
        match letter := self._next():
            case "(":
                return self._group()
            case "[":
                return _Takes(self._set())
            case ".":
                if flags.dot_takes_all:
                    return _Takes(lambda _: True)
                return _Takes(lambda letter: letter != "\n")
            case "^":
                return _Holds(_line_start if flags.lines else _start)
            case "$":
                return _Holds(_line_end if flags.lines else _end)
            case "\\":
                return self._escaped()
            case _:
                return self._letter(letter)

    def _letter(self, letter: str) -> _Node:
        if self._flags.ignore_case:
            return _Takes(_in_any_case(letter.__eq__))
        return _Takes(letter.__eq__)

    def _group(self) -> _Node | None:
        before = self._flags
        if self._taken("?"):
            if self._taken("P<") or (self._rest[:1] == "<" and self._taken("<")):
                name, closed, self._rest = self._rest.partition(">")
                if not closed or not _is_name(name) or name in self._names:
                    raise Flaw("a group has no proper name")
                self._names.add(name)
            elif self._switches() == ")":
                return None
        self._depth += 1
        if self._depth > MOST_DEEP:
            raise Flaw("it has too many groups inside of groups")
        node = self._choice()
        if not self._taken(")"):
            raise Flaw("a group is not closed")
        self._depth -= 1
        self._flags = before
        return node

    def _switches(self) -> str:
        """Read `i-s:` or `i-s)`; returns the last character."""
        on, seen = True, False
        while True:
            match letter := self._next():
                case "i":
                    self._flags = replace(self._flags, ignore_case=on)
                case "m":
                    self._flags = replace(self._flags, lines=on)
                case "s":
                    self._flags = replace(self._flags, dot_takes_all=on)
                case "U":
                    pass  # which match is preferred
                case "-" if on:
                    on, seen = False, False
                    continue
                case ":" | ")" if on or seen:
                    return letter
                case _:
                    raise Flaw("a group begins in a way that is not known")
            seen = True

    def _escaped(self) -> _Node:
        if (takes := self._class()) is not None:
            return _Takes(takes)
        match self._rest[:1]:
            case "A":
                holds: _Holding = _start
            case "z":
                holds = _end
            case "b":
                holds = _word_edge
            case "B":
                holds = _no_word_edge
            case _:
                return self._letter(self._character())
        self._next()
        return _Holds(holds)

    def _class(self) -> _Taking | None:
        r"""What is taken by `\d` and its like, after the backslash; `None` for any other thing."""
        letter = self._rest[:1]
        if letter.lower() in _PERL and letter:
            self._next()
            takes = _PERL[letter.lower()]
            if self._flags.ignore_case:
                takes = _in_any_case(takes)
            return takes if letter.islower() else _not(takes)
        if letter not in ("p", "P"):
            return None
        self._next()
        name = self._next()
        if name == "{":
            name, closed, self._rest = self._rest.partition("}")
            if not closed:
                raise Flaw("the name of a class is not closed")
        without = letter == "P"
        if name.startswith("^"):
            name, without = name[1:], not without
        if name not in _CATEGORIES:
            raise Flaw("it names a class of characters that is not known here")
        takes = _of_category(name)
        if self._flags.ignore_case:
            takes = _in_any_case(takes)
        return _not(takes) if without else takes

    def _character(self) -> str:
        """What one letter or more mean after a backslash."""
        letter = self._next()
        if letter in _CONTROLS:
            return _CONTROLS[letter]
        if letter == "x":
            if self._taken("{"):
                digits, closed, self._rest = self._rest.partition("}")
                if not closed or not 1 <= len(digits) <= 6:
                    raise Flaw("the number of a character is wrong")
            else:
                digits = self._next() + self._next()
            return _numbered(digits, 16)
        if letter in "01234567" and (letter == "0" or self._rest[:1] in tuple("01234567")):
            digits = letter
            while len(digits) < 3 and self._rest[:1] in tuple("01234567"):
                digits += self._next()
            return _numbered(digits, 8)
        if letter.isascii() and not letter.isalnum() and letter.isprintable():
            return letter
        raise Flaw("a backslash stands before something that is not known")

    def _set(self) -> _Taking:
        """What is taken by `[...]`, after the bracket."""
        without = self._taken("^")
        ignore_case = self._flags.ignore_case
        parts: list[_Taking] = []
        first = True
        while first or not self._taken("]"):
            if self._rest.startswith("[:") and ":]" in self._rest:
                name, _, self._rest = self._rest[2:].partition(":]")
                named = _POSIX.get(name.removeprefix("^"))
                if named is None:
                    raise Flaw("it names a class of characters that is not known")
                if ignore_case:
                    named = _in_any_case(named)
                parts.append(_not(named) if name.startswith("^") else named)
            elif self._rest.startswith("\\") and (known := self._class_in_set()) is not None:
                parts.append(known)
            else:
                low = self._character_in_set()
                high = low
                if self._rest[:1] == "-" and self._rest[1:2] not in ("]", ""):
                    self._next()
                    high = self._character_in_set()
                if high < low:
                    raise Flaw("a range of characters ends before it begins")
                between = _between(low, high)
                parts.append(_in_any_case(between) if ignore_case else between)
            first = False
        takes = _any_of(parts)
        return _not(takes) if without else takes

    def _class_in_set(self) -> _Taking | None:
        rest = self._rest
        self._rest = rest[1:]
        known = self._class()
        if known is None:
            self._rest = rest
        return known

    def _character_in_set(self) -> str:
        letter = self._next()
        return self._character() if letter == "\\" else letter


def _repeated(part: _Node, least: int, most: int | None) -> _Node:
    # RE2 counts how often the innermost part stands there in all.
    if (most or least) > 1 and _times(part) * max(least, most or 0) > MOST_REPEATED:
        raise Flaw("it repeats too often")
    return _Repeated(part, least, most)


def _times(node: _Node) -> int:
    match node:
        case _Row(parts) | _Choice(parts):
            return max(map(_times, parts), default=1)
        case _Repeated(part, least, most):
            return max(least, most or 0, 1) * _times(part)
        case _:
            return 1


def _is_number(text: str) -> bool:
    # A number with a zero before it is none to RE2.
    return text.isascii() and text.isdecimal() and (text == "0" or text[0] != "0")


def _is_name(name: str) -> bool:
    return name.isascii() and name.replace("_", "a").isalnum()


def _numbered(digits: str, base: int) -> str:
    try:
        code = int(digits, base) if digits.isalnum() and digits.isascii() else -1
        return chr(code)
    except ValueError:
        raise Flaw("the number of a character is wrong") from None


def _start(before: str | None, after: str | None) -> bool:
    return before is None


def _end(before: str | None, after: str | None) -> bool:
    return after is None


def _line_start(before: str | None, after: str | None) -> bool:
    return before in (None, "\n")


def _line_end(before: str | None, after: str | None) -> bool:
    return after in (None, "\n")


def _word_edge(before: str | None, after: str | None) -> bool:
    return (before is not None and _is_word(before)) != (after is not None and _is_word(after))


def _no_word_edge(before: str | None, after: str | None) -> bool:
    return not _word_edge(before, after)


def _not(takes: _Taking) -> _Taking:
    return lambda letter: not takes(letter)


def _any_of(parts: list[_Taking]) -> _Taking:
    return lambda letter: any(takes(letter) for takes in parts)


def _between(low: str, high: str) -> _Taking:
    return lambda letter: low <= letter <= high


def _of_category(name: str) -> _Taking:
    return lambda letter: unicodedata.category(letter).startswith(name)


def _in_any_case(takes: _Taking) -> _Taking:
    return lambda letter: any(map(takes, _cases(letter)))


def _cases(letter: str) -> frozenset[str]:
    """All letters that differ in nothing but their case, itself among them."""
    if letter.isascii() and letter.lower() not in "ks":
        return frozenset((letter.lower(), letter.upper()))
    if letter in "\u0130\u0131":  # Turkish: to RE2 neither is a case of another letter
        return frozenset(letter)
    return _same_letters().get(letter.casefold(), frozenset(letter))


@cache
def _same_letters() -> dict[str, frozenset[str]]:
    """The letters that are one when their case is put aside, by what they are then."""
    same: dict[str, set[str]] = {}
    for code in range(_LAST_WITH_CASE + 1):
        letter = chr(code)
        if letter.lower() != letter or letter.upper() != letter:
            same.setdefault(letter.casefold(), set()).add(letter)
    return {folded: frozenset(letters) for folded, letters in same.items()}


_LAST_WITH_CASE = 0x1E943


def _is_word(letter: str) -> bool:
    return letter.isascii() and (letter.isalnum() or letter == "_")


def _ascii(letters: str) -> _Taking:
    return frozenset(letters).__contains__


_DIGITS = "0123456789"
_LOWER = "abcdefghijklmnopqrstuvwxyz"
_UPPER = _LOWER.upper()
_PERL: dict[str, _Taking] = {"d": _ascii(_DIGITS), "s": _ascii("\t\n\f\r "), "w": _is_word}
_CONTROLS = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_POSIX: dict[str, _Taking] = {
    "alnum": _ascii(_DIGITS + _LOWER + _UPPER),
    "alpha": _ascii(_LOWER + _UPPER),
    "ascii": _between("\0", "\x7f"),
    "blank": _ascii("\t "),
    "cntrl": lambda letter: letter < " " or letter == "\x7f",
    "digit": _ascii(_DIGITS),
    "graph": _between("!", "~"),
    "lower": _ascii(_LOWER),
    "print": _between(" ", "~"),
    "punct": lambda letter: "!" <= letter <= "~" and not letter.isalnum(),
    "space": _ascii("\t\n\v\f\r "),
    "upper": _ascii(_UPPER),
    "word": _is_word,
    "xdigit": _ascii(_DIGITS + "abcdefABCDEF"),
}
_CATEGORIES = frozenset(
    "L Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd Pe Pf Pi Po Ps".split()
    + "S Sc Sk Sm So Z Zl Zp Zs C Cc Cf".split()
)
