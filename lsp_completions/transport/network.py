"""How the network is to be used, and what a URL says about where it leads."""

import ipaddress
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from lsp_completions.proxy_address import ProxyAddress
from lsp_completions.settings import Settings

Report = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """What the user says about the network; what is `None` is left to the machine."""

    proxy: ProxyAddress | None = None
    ca_file: str | None = None  # a file or folder of certificates, or their text
    client_certificate: str | None = None
    client_key: str | None = None


def network_of(settings: Settings) -> Network:
    """The part of the settings that is about the network."""
    return Network(
        proxy=settings.proxy,
        ca_file=settings.ca_file,
        client_certificate=settings.client_certificate,
        client_key=settings.client_key,
    )


def is_loopback(host: str) -> bool:
    """Whether `host` is this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    address = address_of(host)
    return address is not None and address.is_loopback


def place(url: str) -> str:
    """Return the host of `url`, with its port where it names one; empty when it has none."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return ""
    host = f"[{host}]" if ":" in host else host
    return f"{host}:{port}" if host and port else host


def address_of(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The IP address that `host` is; `None` when it is a name."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address
