"""Which proxy leads to a host: by the setting, the environment or the system.

Nothing here raises: what cannot be used is reported in a sentence and left out.
"""

import ipaddress
import os
import re
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from lsp_completions.proxy_address import ProxyAddress, read_proxy_address
from lsp_completions.transport.network import Report, address_of, is_loopback

_DEFAULT_PORTS = {"http": 80, "https": 443}

SYSTEM = "the system's settings"


@dataclass(frozen=True, slots=True, kw_only=True)
class Proxy:
    """A proxy, and where we have it from: a setting, a variable or the system."""

    address: ProxyAddress
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Proxies:
    """The proxies there are, and the hosts that are reached without them."""

    by_scheme: Mapping[str, Proxy] = field(default_factory=dict)
    exceptions: tuple["Exemption", ...] = ()

    def proxy_for(self, scheme: str, host: str, port: int | None = None) -> Proxy | None:
        """Return the proxy on the way to `host`; `None` means straight there.

        Loopback is never proxied: a proxy would look for the model on its own machine.
        May block for a moment where the system's settings count.
        """
        host = host.lower().strip("[]").rstrip(".")
        port = port or _DEFAULT_PORTS.get(scheme)
        if is_loopback(host) or any(each.covers(host, port) for each in self.exceptions):
            return None
        proxy = self.by_scheme.get(scheme) or self.by_scheme.get("all")
        if proxy is None or proxy.address.scheme == "none":
            return None
        if proxy.source == SYSTEM and urllib.request.proxy_bypass(host):
            return None
        return proxy

    @property
    def are_the_systems(self) -> bool:
        """Whether the system is asked about each host."""
        return any(proxy.source == SYSTEM for proxy in self.by_scheme.values())


def find_proxies(report: Report, setting: ProxyAddress | None = None) -> Proxies:
    """The proxy of the setting; else those of `HTTPS_PROXY`, `HTTP_PROXY` and `ALL_PROXY`.

    Without any of these the system's settings count, on macOS and Windows. `NO_PROXY` holds
    for each of them.
    """
    found = urllib.request.getproxies()
    exceptions = tuple(_exemptions(found.get("no", ""), report))
    if setting is not None:
        return Proxies(
            by_scheme={"all": Proxy(address=setting, source="proxy")}, exceptions=exceptions
        )
    by_scheme = {}
    for scheme in ("http", "https", "all"):
        if not (text := found.get(scheme, "").strip()):
            continue
        source = _variable(scheme)
        try:
            by_scheme[scheme] = Proxy(address=read_proxy_address(text), source=source)
        except ValueError as flaw:
            report(f"The proxy that {source} names is not used: it {flaw}.")
    return Proxies(by_scheme=by_scheme, exceptions=exceptions)


def _variable(scheme: str) -> str:
    """The variable that names the proxy; as in all of Python, lower case wins."""
    for name in (f"{scheme}_proxy", f"{scheme}_proxy".upper()):
        if os.environ.get(name):
            return name
    # Variables have other cases as well where the system looks at none.
    return SYSTEM if sys.platform in ("darwin", "win32") else f"{scheme}_proxy".upper()


@dataclass(frozen=True, slots=True, kw_only=True)
class Exemption:
    """One entry of `NO_PROXY`: a network, or a name that stands for itself and all below it."""

    name: str = ""
    network: ipaddress.IPv4Network | ipaddress.IPv6Network | None = None
    port: int | None = None

    def covers(self, host: str, port: int | None) -> bool:
        """Whether `host` is reached without a proxy; an entry without a port means all ports."""
        if self.port is not None and self.port != port:
            return False
        if self.network is not None:
            address = address_of(host)
            return address is not None and address in self.network
        return self.name in ("*", host) or host.endswith(f".{self.name}")


# Entries may be written as URLs.
_ENTRY = re.compile(
    r"(?:[a-z]+://)?(?:\[(?P<v6>[0-9a-f:.]+)\](?P<bits>/\d+)?|(?:\*?\.)?(?P<name>\*|[\w.-]+))"
    r"(?::(?P<port>\d{1,5}))?/?"
)


def _exemptions(no_proxy: str, report: Report) -> Iterator[Exemption]:
    for entry in filter(None, (part.strip().lower() for part in re.split(r"[,;\s]", no_proxy))):
        try:
            yield Exemption(network=ipaddress.ip_network(entry, strict=False))
            continue
        except ValueError:
            parsed = _ENTRY.fullmatch(entry)
        port = int(parsed["port"]) if parsed and parsed["port"] else None
        if parsed and parsed["v6"]:
            try:
                network = ipaddress.ip_network(parsed["v6"] + (parsed["bits"] or ""), strict=False)
                yield Exemption(network=network, port=port)
                continue
            except ValueError:
                parsed = None
        if parsed is None:
            report(f"NO_PROXY holds {entry!r}, which is neither a name nor a network; ignored.")
        elif address := address_of(parsed["name"]):
            yield Exemption(network=ipaddress.ip_network(address), port=port)
        elif name := parsed["name"].strip("."):
            yield Exemption(name=name, port=port)
