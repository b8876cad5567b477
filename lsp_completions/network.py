"""What this machine says about the network: which proxy to take, and whom to trust.

Nothing here raises: what cannot be used is reported in a sentence and left out.
"""

import ipaddress
import os
import re
import ssl
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import getproxies

Report = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Proxies:
    """The machine's proxies and the hosts that are reached without them."""

    by_scheme: Mapping[str, str]
    exceptions: tuple["Exemption", ...] = ()

    def proxy_for(self, scheme: str, host: str) -> str | None:
        """Return the URL of the proxy on the way to `host`; `None` means straight there.

        Loopback is never proxied: a proxy would look for the model on its own machine.
        """
        host = host.lower().strip("[]").rstrip(".")
        if is_loopback(host) or any(exemption.covers(host) for exemption in self.exceptions):
            return None
        return self.by_scheme.get(scheme) or self.by_scheme.get("all")


def machine_proxies(report: Report) -> Proxies:
    """Read `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`, or the system's settings."""
    found = getproxies()
    by_scheme = {
        scheme: url if "://" in url else f"http://{url}"
        for scheme in ("http", "https", "all")
        if (url := found.get(scheme, "").strip())
    }
    return Proxies(by_scheme=by_scheme, exceptions=tuple(_exemptions(found.get("no", ""), report)))


def is_loopback(host: str) -> bool:
    """Whether `host` is this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    address = _address(host)
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


@dataclass(frozen=True, slots=True)
class Exemption:
    """One entry of `NO_PROXY`: a network, or a name that stands for itself and all below it."""

    name: str = ""
    network: ipaddress.IPv4Network | ipaddress.IPv6Network | None = None

    def covers(self, host: str) -> bool:
        """Whether `host` is reached without a proxy."""
        if self.network is not None:
            address = _address(host)
            return address is not None and address in self.network
        return self.name in ("*", host) or host.endswith(f".{self.name}")


# Entries may be written as URLs and carry a port; the port is not looked at.
_ENTRY = re.compile(
    r"(?:[a-z]+://)?(?:\[(?P<v6>[0-9a-f:.]+)\](?:/\d+)?|(?:\*?\.)?(?P<name>\*|[\w.-]+))(?::\d+)?"
)


def _exemptions(no_proxy: str, report: Report) -> Iterator[Exemption]:
    for entry in filter(None, (part.strip().lower() for part in re.split(r"[,\s]", no_proxy))):
        try:
            yield Exemption(network=ipaddress.ip_network(entry, strict=False))
            continue
        except ValueError:
            parsed = _ENTRY.fullmatch(entry)
        if parsed is None:
            report(f"NO_PROXY holds {entry!r}, which is neither a name nor a network; ignored.")
        elif address := _address(parsed["v6"] or parsed["name"]):
            yield Exemption(network=ipaddress.ip_network(address))
        elif parsed["name"]:
            yield Exemption(name=parsed["name"].strip("."))


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


# Where distributions keep their authorities, for a Python whose OpenSSL looks elsewhere.
_SYSTEM_STORES = (
    "/etc/ssl/cert.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/pki/tls/cert.pem",
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/ssl/ca-bundle.pem",
)


def trust_everyone_the_system_trusts(report: Report, ca_file: str | None = None) -> ssl.SSLContext:
    """Build the context for TLS: the system's authorities, and those we were given besides.

    `SSL_CERT_FILE`, `SSL_CERT_DIR` and `ca_file` add to the system's store and never replace it.
    Blocks for some 20 ms while it reads the store.
    """
    if sys.platform in ("darwin", "win32"):
        import truststore

        context: ssl.SSLContext = truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    else:
        # truststore 0.10 reads the whole store again for each connection here (20 ms).
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        _load_system_store(context)

    additions = {
        "SSL_CERT_FILE": os.environ.get("SSL_CERT_FILE"),
        "SSL_CERT_DIR": os.environ.get("SSL_CERT_DIR"),
        "caFile": ca_file,
    }
    for name, path in additions.items():
        if not path:
            continue
        try:
            if Path(path).is_dir():
                context.load_verify_locations(capath=path)
            else:
                context.load_verify_locations(cafile=path)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            report(f"The certificates in {path} ({name}) could not be read: {reason}.")
    return context


def _load_system_store(context: ssl.SSLContext) -> None:
    paths = ssl.get_default_verify_paths()
    for file in (paths.openssl_cafile, *_SYSTEM_STORES):
        if Path(file).is_file():
            context.load_verify_locations(cafile=file)
            break
    else:
        # No system store at all, as in a bare container: Mozilla's list, which httpx brings along.
        import certifi

        context.load_verify_locations(cafile=certifi.where())
    if Path(paths.openssl_capath).is_dir():
        context.load_verify_locations(capath=paths.openssl_capath)
