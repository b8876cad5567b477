"""The address of a proxy, as settings and environment variables write it.

It may hold a password, which no `repr`, message or log shows.
"""

import re
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

EXAMPLE = "http://proxy.example.com:3128"

# What desktops write as socks:// has always been SOCKS 5. Names are looked up by the proxy in each.
_SCHEMES = {
    "http": "http",
    "https": "https",
    "socks": "socks5",
    "socks5": "socks5",
    "socks5h": "socks5",
}
_PORTS = {"http": 80, "https": 443, "socks5": 1080}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyAddress:
    """Where a proxy listens and what it speaks.

    `scheme` is `http`, `https`, `socks5`, `unix` (a socket at `path`), or `none`: no proxy at all.
    """

    scheme: str
    host: str = ""
    port: int = 0
    username: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    path: str = ""

    @property
    def has_login(self) -> bool:
        """Whether it names a user."""
        return bool(self.username or self.password)

    def __str__(self) -> str:
        """The address without user and password."""
        match self.scheme:
            case "none":
                return "none"
            case "unix":
                return f"unix:{self.path}"
            case _:
                return f"{self.scheme}://{self.place}"

    @property
    def place(self) -> str:
        """Its host and port, or the path of its socket: a name for it in a sentence."""
        if self.scheme in ("unix", "none"):
            return self.path
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


NO_PROXY = ProxyAddress(scheme="none")
"""Nothing stands between this machine and the others."""


def read_proxy_address(text: str) -> ProxyAddress:
    """Read an address.

    Raises `ValueError` with what it must be, in words that quote nothing of it.
    """
    if text.lower() == "none":
        return NO_PROXY
    if text.lower().startswith("unix:") or text.startswith(("/", "~/")):
        path = re.sub(r"^unix:(//)?", "", text, flags=re.IGNORECASE)
        if not path.startswith(("/", "~/")) or not path.isprintable():
            raise ValueError("must name a unix socket by its whole path, such as unix:/run/proxy")
        return ProxyAddress(scheme="unix", path=path)

    # A user name may hold a backslash, as Windows domains have it.
    if not re.match(r"[a-z][a-z0-9+.-]*://", text, re.IGNORECASE):
        text = f"http://{text}"
    scheme = _SCHEMES.get(text.partition(":")[0].lower())
    if scheme is None:
        raise ValueError("must begin with http://, https://, socks5:// or unix:")
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        host, port = "", None
    if not re.fullmatch(r"[^\s/\\@]+", host) or not text.isprintable():
        raise ValueError(
            f"must be an address such as {EXAMPLE}; in its user name and password, "
            "write / as %2F, # as %23 and ? as %3F"
        )
    return ProxyAddress(
        scheme=scheme,
        host=host,
        port=_PORTS[scheme] if port is None else port,
        username=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
    )
