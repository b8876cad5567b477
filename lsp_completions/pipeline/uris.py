"""Names of documents: one key for all spellings of a URI, and the path shown to a model.

Nothing here asks the disk: a document is what its editor calls it, links included.
"""

import posixpath
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import quote, unquote, unquote_to_bytes

SPELLINGS = 256  # URIs that are kept taken apart; more are seldom open at once


@lru_cache(SPELLINGS)
def document_key(uri: str) -> str:
    """The same key for every spelling of the same URI; a key is only ever compared.

    Editors differ in what they percent-encode, in the case of a drive letter, and in the slashes
    after `file:`. The case of a path counts, as editors keep it.
    """
    parts = _parts_of(uri)
    if parts.scheme == "file":
        return f"file://{parts.authority}{parts.path}"
    # Elsewhere a delimiter and its encoded form may mean different things.
    body = _PERCENT.sub(_canonical, uri.partition(":")[2])
    return f"{parts.scheme}:{quote(body, safe=_ASCII, errors='surrogatepass')}"


def display_path(uri: str, roots: Sequence[str]) -> str:
    """The path to show to a model: relative to the innermost of `roots`, with `/` between.

    Outside of all roots it is the file name alone, so that no local path leaves the machine.
    """
    parts = _parts_of(uri)
    if below := _paths_below(parts, roots):
        return min(below, key=len)
    names = _names_of(parts)
    return names[-1] if names and not _DRIVE.fullmatch(f"/{names[-1]}") else ""


def every_path(uri: str, roots: Sequence[str]) -> tuple[str, ...]:
    """The document's path from the top of its disk, and from each of `roots` that holds it.

    They begin with no `/`, and have one between their parts.
    """
    parts = _parts_of(uri)
    share = [parts.authority] if parts.scheme == "file" and parts.authority else []
    return "/".join([*share, *_names_of(parts)]), *_paths_below(parts, roots)


def is_a_disk(uri: str) -> bool:
    """Whether it is the top of a disk, and no folder in one."""
    path = _parts_of(uri).path
    return path == "/" or bool(_DRIVE.fullmatch(path.rstrip("/")))


def scheme_of(uri: str) -> str:
    """What kind of document it is: `file`, `untitled` and so on."""
    return _parts_of(uri).scheme


def local_path(uri: str) -> str:
    """The path as the system knows it, of a document that has one."""
    parts = _parts_of(uri)
    if _DRIVE.match(parts.path):
        return parts.path[1:]
    return f"//{parts.authority}{parts.path}" if parts.is_windows else parts.path


def uri_of_path(path: str) -> str:
    r"""The `file:` URI of a local path, POSIX or Windows (`C:\x`, `\\server\share`)."""
    if re.match(r"[A-Za-z]:", path) or path.startswith("\\\\"):
        path = path.replace("\\", "/")
    slashes = "//" if path.startswith("//") else "///"
    path = quote(path.lstrip("/"), safe="/:", errors="surrogatepass")
    return f"file:{slashes}{path}"


class _Parts(NamedTuple):
    """A URI taken apart, decoded and in one spelling."""

    scheme: str
    authority: str
    path: str

    @property
    def is_windows(self) -> bool:
        """Whether the path is one of those that Windows compares without case."""
        return bool(_DRIVE.match(self.path)) or (self.scheme == "file" and self.authority != "")


@lru_cache(SPELLINGS)
def _parts_of(uri: str) -> _Parts:
    scheme, colon, rest = uri.partition(":")
    if not colon or len(scheme) == 1 or not _SCHEME.fullmatch(scheme):
        # Some editors hand over a path where a URI belongs.
        return _parts_of(uri_of_path(uri))
    scheme = scheme.lower()
    authority = ""
    if rest.startswith("//"):
        authority, slash, rest = rest[2:].partition("/")
        rest = slash + rest
    authority = unquote(authority).lower()
    if scheme == "file":
        if re.fullmatch(r"[a-z][:|]", authority):  # file://c:/x
            authority, rest = "", f"/{authority}{rest}"
    else:
        rest = re.split(r"[?#]", rest, maxsplit=1)[0]

    path = unquote(rest, errors="surrogateescape")
    if drive := re.match(r"/*([A-Za-z])[:|](?=[/\\]|$)", path):
        path = f"/{drive[1].lower()}:{path[drive.end() :]}".replace("\\", "/")
    elif share := re.match(r"//+([^/]+)(?=/|$)", path):  # file:////server/share
        authority, path = share[1].lower(), path[share.end() :]
    if authority == "localhost":
        authority = ""
    return _Parts(scheme, authority, posixpath.normpath(f"/{path.lstrip('/')}"))


def _paths_below(parts: _Parts, roots: Sequence[str]) -> list[str]:
    names = _names_of(parts)
    paths = []
    for root in map(_parts_of, roots):
        above = _names_of(root)
        # The whole disk as the workspace would make every path a local one.
        if not above or root.path == "/" or _DRIVE.fullmatch(root.path.rstrip("/")):
            continue
        folds = parts.is_windows and root.is_windows
        inside = len(names) > len(above) and _same(names[: len(above)], above, folds)
        if inside and parts.authority == root.authority:
            paths.append("/".join(names[len(above) :]))
    return paths


def _names_of(parts: _Parts) -> list[str]:
    return [name for name in parts.path.split("/") if name]


def _same(left: list[str], right: list[str], folds: bool) -> bool:
    if folds:
        return [name.casefold() for name in left] == [name.casefold() for name in right]
    return left == right


def _canonical(escape: re.Match[str]) -> str:
    """Decode what needs no encoding, write the rest in upper case (RFC 3986, 6.2.2)."""
    character = unquote_to_bytes(escape[0])
    return character.decode() if character in _UNRESERVED else escape[0].upper()


_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*")
_DRIVE = re.compile(r"/[A-Za-z]:(?=/|$)")
_PERCENT = re.compile(r"%[0-9A-Fa-f]{2}")
_UNRESERVED = {
    bytes([code]) for code in b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
}
_ASCII = "".join(map(chr, range(33, 127)))
