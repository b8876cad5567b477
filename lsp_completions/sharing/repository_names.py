"""What a repository is called: from where it is cloned, as the vendor's own clients convert it."""

import re
from collections.abc import Iterable, Sequence


def clone_urls(entries: Sequence[tuple[str, str, str, str]]) -> tuple[str, ...]:
    """All places a repository comes from or goes to, by the entries of its configuration."""
    instead = [
        (value, base)
        for section, base, key, value in entries
        if (section, key) == ("url", "insteadof") and value
    ]
    urls = {
        _rewritten(value, instead)
        for section, _, key, value in entries
        if section == "remote" and key in ("url", "pushurl", "fetchurl") and value
    }
    return tuple(sorted(urls))


def name_of(clone_url: str) -> str | None:
    """The name, such as `github.com/you/project`; `None` for a form that is not known."""
    url = clone_url.strip()
    if found := _WITH_SCHEME.fullmatch(url):
        host = re.sub(r":[0-9]*$", "", found["host"])
        path = found["path"]
        if re.search(r"azure|visualstudio", host):
            path = path.replace("/_git/", "/")
    elif found := _WITH_USER.fullmatch(url):
        host, path = found["host"], found["path"]
        if port := re.match(r"[0-9]+(?=/)", path):
            host, path = f"{host}:{port[0]}", path[port.end() :]
    elif found := _SHORT.fullmatch(url):
        host, path = found["host"], found["path"]
        host = {"github": "github.com", "gitlab": "gitlab.com"}.get(host, host)
        if "." not in host:
            return None
    else:
        return None
    path = path.strip("/").removesuffix(".git").strip("/")
    return f"{host}/{path}" if host and path else None


def without_password(clone_url: str) -> str:
    """The URL without what only its host should know."""
    url = clone_url.strip()
    # The name of the user is part of how a key is found, and a token elsewhere.
    of_ssh = re.match(r"(?:ssh|git\+ssh|ssh\+git)://", url, re.IGNORECASE)
    if of_ssh:
        return re.sub(r"^([^/]*//[^/:@]*):[^/]*@", r"\1@", url)
    return re.sub(r"^(\w[\w+.-]*://)[^/]*@", r"\1", url)


def _rewritten(url: str, instead: Iterable[tuple[str, str]]) -> str:
    fitting = [(start, base) for start, base in instead if url.startswith(start)]
    if not fitting:
        return url
    start, base = max(fitting, key=lambda each: len(each[0]))
    return base + url[len(start) :]


_WITH_SCHEME = re.compile(
    r"(?:https?|ssh|git|git\+ssh|ssh\+git|ftps?)://(?:[^/]*@)?(?P<host>[^/@:]+(?::[0-9]*)?)(?P<path>/[^?#]*)(?:[?#].*)?",
    re.IGNORECASE,
)
_WITH_USER = re.compile(r"[^@/:\s]+@(?P<host>[^:/@\s]+):(?P<path>(?!//)\S+)")
_SHORT = re.compile(r"(?P<host>[A-Za-z0-9][A-Za-z0-9.-]+):(?P<path>(?!//)[^\\\s]+)")
