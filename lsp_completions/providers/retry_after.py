"""When a provider wants the next request: in its reply's headers, or only in what it says."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime

LONGEST = 31 * 24 * 3600.0  # seconds; some limits count by the month


def retry_after(headers: Mapping[str, str], text: str = "") -> float | None:
    """Seconds from the reply until the next request is welcome; `None` where none are named.

    `headers` have lower-case names. A moment is counted from the reply's own `date`, because clocks
    differ; without that date it says nothing.
    """
    value = headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d{1,12}(\.\d+)?", value):
        seconds = float(value)
    elif (moment := _moment(value) or _moment_in(text)) is not None:
        if (now := _moment(headers.get("date", ""))) is None:
            return None
        seconds = (moment - now).total_seconds()
    elif (wait := _WAIT.search(text.lower())) is not None:
        seconds = sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(wait[1]))
    else:
        return None
    return min(max(seconds, 0.0), LONGEST)


def in_words(seconds: float) -> str:
    """A length of time for a person: `about 9 minutes`."""
    for unit, length in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= 1.5 * length:
            return f"about {round(seconds / length)} {unit}s"
    count = max(round(seconds), 1)
    return f"{count} second" + ("s" if count > 1 else "")


def _moment(text: str) -> datetime | None:
    """The moment an HTTP date names. Go's servers end it with `UTC` where `GMT` is due."""
    # Seldom needed, and slow to import.
    from email.utils import parsedate_to_datetime

    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return _moment_in(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _moment_in(text: str) -> datetime | None:
    """The first moment a text names, as Go (`2025-03-07 12:28:18 +0000 UTC`) or JSON write it."""
    if (match := _MOMENT.search(text)) is None:
        return None
    date, time, zone = match.groups()
    try:
        return datetime.fromisoformat(f"{date}T{time}{(zone or 'Z').replace(':', '')}")
    except ValueError:
        return None


_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.\d+)?\s?(Z|[+-]\d\d:?\d\d)?")
_PART = re.compile(r"(\d{1,9}(?:\.\d+)?)\s*(ms|[dhms])[a-z]*")
_WAIT = re.compile(
    r"(?:retry|again|wait|reset)[a-z]*\s+(?:after\s+|in\s+|for\s+)?"
    r"((?:\d{1,9}(?:\.\d+)?\s*(?:ms|[dhms])[a-z]*\s*)+)"
)
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
