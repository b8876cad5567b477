"""Texts that appear in no `repr`, message or log."""


class Secret:
    """A text that appears in no `repr`, message or log; `reveal()` where it is sent."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The text itself."""
        return self._text

    def __repr__(self) -> str:
        return "***"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)


class LoginToken(Secret):
    """The token of a login to `endpoint`. It may be in the system's keyring, and not at hand."""

    __slots__ = ("_at_hand", "endpoint")

    def __init__(self, endpoint: str, text: str | None) -> None:
        super().__init__(text or f"in the keyring, for {endpoint}")
        self.endpoint = endpoint
        self._at_hand = text is not None

    @property
    def is_at_hand(self) -> bool:
        """Whether it need not be asked for first."""
        return self._at_hand

    def reveal(self) -> str:
        """The text itself, where it is at hand."""
        if not self._at_hand:
            raise RuntimeError("The token is in the keyring, and was not asked for.")
        return super().reveal()
