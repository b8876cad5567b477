import pytest

from lsp_completions.configuration.addresses import is_same, origin_of


@pytest.mark.parametrize(
    ("address", "origin"),
    [
        ("https://a.example", "https://a.example"),
        ("https://A.example:443/x/", "https://a.example"),
        ("http://a.example:80", "http://a.example"),
        ("http://a.example:443", "http://a.example:443"),
        ("https://a.example.", "https://a.example"),
        ("http://[::1]:8080/v1", "http://[::1]:8080"),
        ("https://bücher.example", "https://xn--bcher-kva.example"),
        ("https://\u202egro.example", "https://\\u202egro.example"),
    ],
)
def test_origin(address: str, origin: str) -> None:
    assert origin_of(address) == origin


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("https://a.example/", "https://A.example:443", True),
        ("https://a.example/sg", "https://a.example/sg/", True),
        ("https://a.example/sg", "https://a.example", False),
        ("https://a.example", "http://a.example", False),
        ("https://a.example", None, False),
        (None, None, False),
    ],
)
def test_same(one: str | None, other: str | None, same: bool) -> None:
    assert is_same(one, other) is same
