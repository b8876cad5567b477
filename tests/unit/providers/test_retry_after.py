import pytest

from lsp_completions.providers.retry_after import LONGEST, in_words, retry_after

DATE = {"date": "Fri, 07 Mar 2025 12:28:00 GMT"}


@pytest.mark.parametrize(
    ("headers", "text", "seconds"),
    [
        pytest.param({"retry-after": "589"}, "", 589, id="seconds"),
        pytest.param({"retry-after": " 0 "}, "", 0, id="now"),
        pytest.param({"retry-after": "999999999999"}, "", LONGEST, id="beyond reason"),
        pytest.param({"retry-after": "9" * 400}, "", None, id="no number at all"),
        pytest.param({"retry-after": "soon"}, "", None, id="words"),
        pytest.param({"retry-after": "-5"}, "", None, id="negative"),
        pytest.param(
            DATE | {"retry-after": "Fri, 07 Mar 2025 12:30:00 GMT"}, "", 120, id="HTTP date"
        ),
        pytest.param(
            DATE | {"retry-after": "Fri, 07 Mar 2025 12:30:00 UTC"}, "", 120, id="Go's date"
        ),
        pytest.param(
            DATE | {"retry-after": "Fri, 07 Mar 2025 13:30:00 +0100"}, "", 120, id="another zone"
        ),
        pytest.param(DATE | {"retry-after": "2025-03-07T12:30:00Z"}, "", 120, id="RFC 3339"),
        pytest.param(
            DATE | {"retry-after": "Fri, 07 Mar 2025 12:00:00 GMT"}, "", 0, id="in the past"
        ),
        pytest.param(
            {"retry-after": "Fri, 07 Mar 2025 12:30:00 GMT"}, "", None, id="what time is it?"
        ),
        pytest.param(DATE, "Retry after 2025-03-07 12:28:18 +0000 UTC\n", 18, id="Go's time"),
        pytest.param(DATE, "until 2025-03-07T13:28:30.5+01:00", 30, id="in the middle of text"),
        pytest.param(DATE, "2025-99-99 12:28:18", None, id="no such day"),
        pytest.param({}, "Please try again in 1m30s", 90, id="Go's duration"),
        pytest.param({}, "retry after 30 seconds.", 30, id="a duration in words"),
        pytest.param({}, "Try again in 2 hours 3 minutes", 7380, id="a longer one"),
        pytest.param({}, "used 100 requests of 100", None, id="other numbers"),
        pytest.param({}, "", None, id="nothing"),
        pytest.param({"date": "yesterday"}, "2025-03-07 12:28:18", None, id="a date of no use"),
    ],
)
def test_retry_after(headers: dict[str, str], text: str, seconds: float | None) -> None:
    assert retry_after(headers, text) == seconds


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "1 second"),
        (1.4, "1 second"),
        (59, "59 seconds"),
        (89, "89 seconds"),
        (589, "about 10 minutes"),
        (6000, "about 2 hours"),
        (200_000, "about 2 days"),
    ],
)
def test_in_words(seconds: float, words: str) -> None:
    assert in_words(seconds) == words
