"""Whom to trust, and who we are: the context for TLS.

Everything adds to the system's authorities and nothing replaces them. Nothing here raises: what
cannot be used is reported in a sentence and left out.
"""

import os
import re
import ssl
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lsp_completions.on_disk import is_file, is_folder
from lsp_completions.transport.network import Network, Report

# Where people have put their company's authority for other programs. Those of curl and of Python's
# requests replace the system's list there; here they add to it as well.
VARIABLES = (
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
)

# Where distributions keep their authorities, for a Python whose OpenSSL looks elsewhere.
_SYSTEM_STORES = (
    "/etc/ssl/cert.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/pki/tls/cert.pem",
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/ssl/ca-bundle.pem",
)

_ONE_CERTIFICATE = re.compile(
    r"-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----"
)
_CERTIFICATE_FILES = (".pem", ".crt", ".cer")
_MOST_FILES = 1000  # in a folder; the largest distributions have some 150
_LARGEST = 2**24  # bytes of a file; all of Mozilla's list is 300 kB


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """The context for TLS, and where its authorities came from: files, folders, or the system."""

    context: ssl.SSLContext
    sources: tuple[str, ...]


def load_trust(report: Report, network: Network = Network()) -> Trust:  # noqa: B008 - frozen
    """Read the system's authorities, those given besides, and the certificate we show ourselves.

    Blocks for some 20 ms.
    """
    # Without VERIFY_X509_STRICT, which Python 3.13 sets in contexts of its own making: many a
    # company's authority lacks the extensions it asks for, and curl, Node and Go accept it.
    if sys.platform in ("darwin", "win32"):
        import truststore

        context: ssl.SSLContext = truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        sources = ["the system's store"]
    else:
        # truststore 0.10 reads the whole store again for each connection here (20 ms).
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        # An authority may be given without the one above it.
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        sources = _load_system_store(context)

    given = [(name, os.environ.get(name)) for name in VARIABLES]
    for name, value in [*given, ("caFile", network.ca_file)]:
        if not value or not value.strip():
            continue
        try:
            sources.append(f"{_add(context, value.strip())} ({name})")
        except (OSError, ValueError, RuntimeError) as error:
            where = "given as text" if _holds_text(value) else f"in {value}"
            report(f"The certificates {where} ({name}) could not be read: {_why(error)}.")
    if network.client_certificate:
        if problem := _show(context, network.client_certificate, network.client_key):
            report(problem)
    elif network.client_key:
        report("`clientKey` is set without `clientCertificate`, so no use is made of it.")
    return Trust(context=context, sources=tuple(sources))


def why_untrusted(error: ssl.SSLCertVerificationError) -> str:
    """What is wrong with a certificate and what to do, to follow on "its certificate"."""
    reason = getattr(error, "verify_message", "") or error.reason or str(error)
    reason = reason.rstrip(".")
    match getattr(error, "verify_code", 0):
        case 9:
            return "is not valid yet; is this machine's clock right?"
        case 10:
            return "has expired; the server needs a new one, unless this machine's clock is wrong"
        case 62 | 64:
            return f"is for another host ({reason}); is the address right?"
        case 18:
            return (
                "is signed by itself and not known here; if it is the right one,"
                " name its file in `caFile`"
            )
        case 26:
            return f"is not meant for a server ({reason})"
        case _:
            return (
                f"is not trusted ({reason}); put your company's authority into the system's store,"
                " or name its file in `caFile`"
            )


def _load_system_store(context: ssl.SSLContext) -> list[str]:
    paths = ssl.get_default_verify_paths()
    sources = []
    for file in (paths.openssl_cafile, *_SYSTEM_STORES):
        if is_file(file):
            context.load_verify_locations(cafile=file)
            sources.append(file)
            break
    else:
        # No system store at all, as in a bare container: Mozilla's list, which httpx brings along.
        import certifi

        context.load_verify_locations(cafile=certifi.where())
        sources.append(certifi.where())
    if is_folder(paths.openssl_capath):
        context.load_verify_locations(capath=paths.openssl_capath)
        sources.append(paths.openssl_capath)
    return sources


def _holds_text(value: str) -> bool:
    return "-----BEGIN" in value


def _add(context: ssl.SSLContext, value: str) -> str:
    """Trust what a file, a folder or a text holds; returns what that is, for a sentence."""
    if _holds_text(value):
        # An environment variable or a line of JSON may hold its line breaks as two letters each.
        found = _ONE_CERTIFICATE.findall(value.replace("\\n", "\n"))
        if not found:
            raise ValueError("no certificate is in it")
        context.load_verify_locations(cadata="\n".join(found))
        return "a text"
    path = Path(value).expanduser()
    if path.is_dir():
        # OpenSSL itself finds only those whose names are hashes, and only when it looks.
        context.load_verify_locations(capath=path)
        for file in _certificate_files(path):
            _add_file(context, file)
    else:
        _add_file(context, path)
    return str(path)


def _certificate_files(folder: Path) -> Iterator[Path]:
    files = sorted(file for file in folder.iterdir() if file.suffix.lower() in _CERTIFICATE_FILES)
    yield from (file for file in files[:_MOST_FILES] if file.is_file())


def _add_file(context: ssl.SSLContext, path: Path) -> None:
    _check(path)
    content = path.read_bytes()
    if content.startswith(b"\x30"):  # DER, as Windows exports it
        context.load_verify_locations(cadata=content)
    else:
        context.load_verify_locations(cafile=path)


def _check(path: Path) -> None:
    """Refuse what would take for ever to read."""
    if path.exists() and not path.is_file():
        raise ValueError("it is no file")
    if path.is_file() and path.stat().st_size > _LARGEST:
        raise ValueError("it is too large for certificates")


class _Locked(Exception):
    """The key wants a password."""


def _show(context: ssl.SSLContext, certificate: str, key: str | None) -> str | None:
    """Have a certificate shown to servers that want one; returns why that cannot be."""

    def locked() -> str:
        # OpenSSL would ask on the terminal, which is the editor's pipe.
        raise _Locked

    begin = f"The client certificate {certificate} is not used: "
    try:
        file = Path(certificate).expanduser()
        key_file = Path(key).expanduser() if key else None
    except RuntimeError as error:
        return f"{begin}{_why(error)}."
    for path in filter(None, (file, key_file)):
        try:
            _check(path)
            with path.open("rb") as opened:
                start = opened.read(4)
        except (OSError, ValueError) as error:
            return f"{begin}{path} could not be read: {_why(error)}."
        if start[:2] == b"\x30\x82":
            return (
                f"{begin}{path} has to be PEM, which `openssl pkcs12 -in FILE -out FILE.pem -nodes`"
                " makes of a .p12 or .pfx file."
            )
    holder = key_file or file
    try:
        context.load_cert_chain(file, key_file, password=locked)
    except _Locked:
        return (
            f"{begin}the key in {holder} has a password, and nobody is there to be asked for it;"
            " `openssl pkey -in FILE -out FILE` writes it without one."
        )
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            return f"{begin}the key in {holder} belongs to another certificate."
        if key_file is None and b"PRIVATE KEY-----" not in file.read_bytes():
            return f"{begin}{file} holds no key; name the file that does in `clientKey`."
        return f"{begin}{file} or the key in {holder} is no PEM that can be read."
    except (OSError, ValueError) as error:
        return f"{begin}{_why(error)}."
    return None


def _why(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        return "no certificate is in it, or one that is damaged"
    return str(getattr(error, "strerror", None) or error).rstrip(".")
