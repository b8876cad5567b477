"""Text from elsewhere as it may be shown: it does nothing to a terminal, and begins no new line."""

import json
import re


def visible(text: str) -> str:
    """The text without characters that would do something to a terminal or to its own order."""
    return text.translate(_PICTURES)


def one_line(text: str) -> str:
    """The same, in one line for whatever reads it."""
    return text.translate(_PICTURES_IN_A_LINE)


def in_json(value: object) -> str:
    """JSON in one line, in which such characters are escaped: it says what it would say anyway."""
    said = json.dumps(value, ensure_ascii=False)
    return _ACTING.sub(lambda found: f"\\u{ord(found[0]):04x}", said)


# Controls have pictures, half characters and what turns the direction of the text around do not.
_PICTURES = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n"} | dict.fromkeys(
    [
        *range(0x7F, 0xA0),
        *(0x61C, 0x200E, 0x200F),
        *range(0x202A, 0x202F),
        *range(0x2066, 0x206A),
        *range(0xD800, 0xE000),
    ],
    0xFFFD,
)
_PICTURES_IN_A_LINE = _PICTURES | {0x0A: 0x240A, 0x2028: 0xFFFD, 0x2029: 0xFFFD}
# JSON escapes the others by itself.
_ACTING = re.compile(f"[{''.join(map(chr, _PICTURES_IN_A_LINE.keys() - range(0x20)))}]")
