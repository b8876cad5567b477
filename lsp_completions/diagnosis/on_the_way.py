"""What was found on the way to a host: the proxy, the connection, the certificate."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from lsp_completions.diagnosis.steps import Step, failed, parted
from lsp_completions.errors import CompletionsError
from lsp_completions.transport.proxies import Proxy

SOON = 14  # days before its end that a certificate is worth a word


def proxy_step(proxy: Proxy | None, host: str, reports: Sequence[str], setting: str | None) -> Step:
    """Which proxy leads to `host`; `reports` tell what could not be used.

    `setting` is where the setting `proxy` was set.
    """
    if proxy is None:
        sentence = f"None; the way leads straight to {host}."
    else:
        source = f"`proxy` in {setting}" if proxy.source == "proxy" else proxy.source
        login = ", with a user name and password" if proxy.address.has_login else ""
        sentence = f"{proxy.address}, from {source}{login}."
    details = {
        "proxy": None if proxy is None else str(proxy.address),
        "source": None if proxy is None else proxy.source,
        "problems": list(reports),
    }
    return _with_reports("proxy", sentence, reports, details)


def connection_step(
    host: str, problem: CompletionsError | None, seconds: float, *, encrypted: bool, loopback: bool
) -> Step:
    """Whether `host` can be reached."""
    if problem is not None:
        return failed("connection", problem, host=host)
    milliseconds = round(seconds * 1000)
    details = {"host": host, "encrypted": encrypted, "milliseconds": milliseconds}
    sentence = f"{host} is there, after {milliseconds} ms."
    if encrypted or loopback:
        return Step(name="connection", ok=True, sentence=sentence, details=details)
    return Step(
        name="connection",
        ok=True,
        sentence=f"{sentence} Nothing is encrypted: others on the way can read token and code.",
        remedy="Use https:// where the server has it.",
        details=details,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """What a host showed; what could not be read is empty or `None`."""

    subject: str
    issuer: str
    expires: datetime | None
    problem: CompletionsError | None = None


def certificate_step(
    shown: Certificate, host: str, authorities: Sequence[str], reports: Sequence[str], now: datetime
) -> Step:
    """Who `host` is, who says so, and until when."""
    details = {
        "subject": shown.subject or None,
        "issuer": shown.issuer or None,
        "expires": None if shown.expires is None else shown.expires.isoformat(),
        "authorities": list(authorities),
        "problems": list(reports),
    }
    trusted = f"Authorities are read from {', '.join(_grouped(authorities))}."
    parts = [
        f"for {shown.subject}" if shown.subject else "",
        f"made by {shown.issuer}" if shown.issuer else "",
        f"valid until {_day(shown.expires)}" if shown.expires is not None else "",
    ]
    about = ", ".join(filter(None, parts))
    if shown.problem is not None:
        _, _, why = str(shown.problem).partition("its certificate ")
        sentence, remedy = parted(f"The certificate of {host} {why}")
        lines = (f"It is {about}.", trusted) if about else (trusted,)
        return Step(
            name="certificate",
            ok=False,
            sentence=sentence,
            remedy=remedy,
            details={"error": type(shown.problem).__name__, **details},
            lines=(*lines, *reports),
        )
    sentence = f"{about[:1].upper()}{about[1:]}." if about else "It is trusted."
    if shown.expires is not None and (days := (shown.expires - now).days) < SOON:
        sentence += f" That is in {days} {'day' if days == 1 else 'days'}."
    return _with_reports("certificate", sentence, reports, details, lines=(trusted,))


def is_of_certificate(problem: CompletionsError) -> bool:
    """Whether a host was reached, and is not believed to be what it says it is."""
    message = str(problem)
    return message.startswith("No connection to ") and ": its certificate " in message


def _with_reports(
    name: str,
    sentence: str,
    reports: Sequence[str],
    details: Mapping[str, object],
    lines: tuple[str, ...] = (),
) -> Step:
    """A step that is well but for what could not be used."""
    remedy = "Mend or remove what is set there." if reports else ""
    if len(reports) == 1:
        sentence, lines = reports[0], (sentence, *lines)
    elif reports:
        sentence, lines = f"{len(reports)} things cannot be used:", (*reports, sentence, *lines)
    return Step(
        name=name, ok=not reports, sentence=sentence, remedy=remedy, details=details, lines=lines
    )


def _grouped(authorities: Sequence[str]) -> Iterator[str]:
    """Each place once, with all that name it."""
    named: dict[str, list[str]] = {}
    for each in authorities:
        place, bracket, name = each.removesuffix(")").rpartition(" (")
        named.setdefault(place if bracket else each, []).extend([name] if bracket else [])
    for place, names in named.items():
        yield f"{place} ({', '.join(names)})" if names else place


def _day(when: datetime) -> str:
    return f"{when.day} {when:%B %Y}"
