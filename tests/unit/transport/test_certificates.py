"""Whom we trust, whom we do not, and the certificate we show ourselves; on a real handshake."""

import asyncio
import contextlib
import datetime
import socket
import ssl
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from lsp_completions.errors import Unreachable
from lsp_completions.transport.certificates import VARIABLES, load_trust
from lsp_completions.transport.network import Network
from tests.support.asking import ONE, ask, opened, read, reason
from tests.support.raw_http import RawServer, sse

NOW = datetime.datetime.now(datetime.UTC)
DAY = datetime.timedelta(days=1)


class Issued:
    """A certificate with its key, as bare as it is asked for: no key usage, no identifiers."""

    def __init__(
        self,
        name: str,
        by: "Issued | None" = None,
        *,
        authority: bool = False,
        begins: datetime.datetime = NOW - DAY,
        ends: datetime.datetime = NOW + DAY,
    ) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        builder = x509.CertificateBuilder(
            subject_name=self.name,
            issuer_name=by.name if by else self.name,
            public_key=self.key.public_key(),
            serial_number=x509.random_serial_number(),
            not_valid_before=begins,
            not_valid_after=ends,
        )
        if authority:
            builder = builder.add_extension(x509.BasicConstraints(True, None), critical=False)
        else:
            names = x509.SubjectAlternativeName([x509.DNSName(name)])
            builder = builder.add_extension(names, critical=False)
        self.certificate = builder.sign(by.key if by else self.key, hashes.SHA256())

    @property
    def pem(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    @property
    def der(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.DER)

    def key_pem(self, password: bytes | None = None) -> bytes:
        return self.key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(password)
            if password
            else serialization.NoEncryption(),
        )

    def on_a_server(self, folder: Path) -> ssl.SSLContext:
        (folder / "server.pem").write_bytes(self.pem + self.key_pem())
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "server.pem")
        return context


COMPANY = Issued("Company", authority=True)
BELOW = Issued("Company, below", COMPANY, authority=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where people keep certificates, in all the forms they have."""
    (tmp_path / "company.pem").write_bytes(b"# the company's\n" + COMPANY.pem)
    (tmp_path / "company.cer").write_bytes(COMPANY.der)
    (tmp_path / "below.pem").write_bytes(BELOW.pem)
    (tmp_path / "many").mkdir()
    (tmp_path / "many" / "company.crt").write_bytes(COMPANY.pem)
    (tmp_path / "many" / "README").write_text("These are ours.")
    (tmp_path / "many" / "old.pem").mkdir()
    return tmp_path


class TestTrust:
    @pytest.mark.parametrize(
        "given",
        [
            pytest.param(lambda folder: str(folder / "company.pem"), id="a file"),
            pytest.param(lambda folder: str(folder / "company.cer"), id="a file in binary form"),
            pytest.param(lambda folder: str(folder / "many"), id="a folder"),
            pytest.param(lambda _: COMPANY.pem.decode(), id="text"),
            pytest.param(
                lambda _: COMPANY.pem.decode().replace("\n", "\\n"),
                id="text with \\n for its lines",
            ),
            pytest.param(
                lambda _: f"Subject: Größe\n{COMPANY.pem.decode()}", id="text with other text"
            ),
        ],
    )
    async def test_every_form(self, given: Callable[[Path], str], folder: Path) -> None:
        """Also without key usage and identifiers, as many a company's own has it."""
        await works(Issued("localhost", COMPANY), folder, Network(ca_file=given(folder)))

    async def test_the_one_in_between_is_enough(self, folder: Path) -> None:
        network = Network(ca_file=str(folder / "below.pem"))
        await works(Issued("localhost", BELOW), folder, network)

    async def test_the_certificate_itself(self, folder: Path) -> None:
        server = Issued("localhost")
        await works(server, folder, Network(ca_file=server.pem.decode()))

    async def test_below_the_home_folder(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HOME", str(folder))
        monkeypatch.setenv("USERPROFILE", str(folder))
        await works(Issued("localhost", COMPANY), folder, Network(ca_file="~/company.pem"))

    @pytest.mark.parametrize("variable", VARIABLES)
    async def test_variables_add(
        self, variable: str, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        other = trustme.CA()
        monkeypatch.setenv(variable, str(folder / "many"))
        network = Network(ca_file=other.cert_pem.bytes().decode())
        await works(Issued("localhost", COMPANY), folder, network)

    @pytest.mark.parametrize(
        ("value", "sentence"),
        [
            pytest.param(
                "/no/such.pem",
                "The certificates in /no/such.pem (caFile) could not be read:"
                " No such file or directory.",
                id="no file",
            ),
            pytest.param(
                "-----BEGIN CERTIFICATE-----\nAAAA",
                "The certificates given as text (caFile) could not be read: no certificate is in"
                " it.",
                id="text that is cut",
            ),
            pytest.param(
                "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----",
                "The certificates given as text (caFile) could not be read: no certificate is in"
                " it, or one that is damaged.",
                id="damaged text",
            ),
        ],
    )
    def test_what_cannot_be_read(self, value: str, sentence: str) -> None:
        problems: list[str] = []
        trust = load_trust(problems.append, Network(ca_file=value))
        assert problems == [sentence]
        assert trust.context.verify_mode is ssl.CERT_REQUIRED

    def test_nobodys_home(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def unknown(path: Path) -> Path:
            raise RuntimeError("Could not determine home directory.")

        monkeypatch.setattr(Path, "expanduser", unknown)
        problems: list[str] = []
        load_trust(problems.append, Network(ca_file="~x/a.pem", client_certificate="~x/b.pem"))
        assert problems == [
            "The certificates in ~x/a.pem (caFile) could not be read:"
            " Could not determine home directory.",
            "The client certificate ~x/b.pem is not used: Could not determine home directory.",
        ]

    def test_it_is_known_what_was_read(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SSL_CERT_FILE", str(folder / "below.pem"))
        trust = load_trust(print, Network(ca_file=str(folder / "company.pem")))
        assert trust.sources[-2:] == (
            f"{folder / 'below.pem'} (SSL_CERT_FILE)",
            f"{folder / 'company.pem'} (caFile)",
        )
        assert len(trust.sources) > 2


class TestDistrust:
    @pytest.mark.parametrize(
        ("server", "why"),
        [
            pytest.param(
                Issued("localhost", COMPANY, begins=NOW - 2 * DAY, ends=NOW - DAY),
                "has expired; the server needs a new one, unless this machine's clock is wrong.",
                id="expired",
            ),
            pytest.param(
                Issued("localhost", COMPANY, begins=NOW + DAY, ends=NOW + 2 * DAY),
                "is not valid yet; is this machine's clock right?",
                id="not valid yet",
            ),
            pytest.param(
                Issued("elsewhere.test", COMPANY),
                "is for another host (Hostname mismatch, certificate is not valid for"
                " 'localhost'); is the address right?",
                id="for another host",
            ),
            pytest.param(
                Issued("localhost"),
                "is signed by itself and not known here; if it is the right one, name its file in"
                " `caFile`.",
                id="signed by itself",
            ),
            pytest.param(
                Issued("localhost", Issued("Somebody", authority=True)),
                "is not trusted (unable to get local issuer certificate); put your company's"
                " authority into the system's store, or name its file in `caFile`.",
                id="by somebody",
            ),
        ],
    )
    async def test_the_sentence_says_what_to_do(
        self, server: Issued, why: str, folder: Path
    ) -> None:
        async with RawServer(ssl_context=server.on_a_server(folder), name="localhost") as raw:
            assert await reason(raw.url, ca_file=str(folder / "company.pem")) == (
                f"No connection to localhost:{raw.port}: its certificate {why}"
            )


class TestOurOwn:
    async def test_it_is_shown(self, folder: Path) -> None:
        us = Issued("us", COMPANY)
        (folder / "us.pem").write_bytes(us.pem)
        (folder / "us.key").write_bytes(us.key_pem())
        (folder / "both.pem").write_bytes(us.key_pem() + us.pem)
        both = self.network(folder, client_certificate=str(folder / "both.pem"))
        apart = self.network(
            folder, client_certificate=str(folder / "us.pem"), client_key=str(folder / "us.key")
        )
        for network in (both, apart):
            await works(Issued("localhost", COMPANY), folder, network, wants_ours=True)

    @pytest.mark.parametrize(
        ("version", "why"),
        [
            pytest.param(ssl.TLSVersion.TLSv1_2, "it may want a client certificate", id="TLS 1.2"),
            pytest.param(
                ssl.TLSVersion.TLSv1_3,
                "it wants a client certificate, or another one; name its file in",
                id="TLS 1.3",
            ),
        ],
    )
    async def test_it_is_missing(self, version: ssl.TLSVersion, why: str, folder: Path) -> None:
        context = wanting_ours(Issued("localhost", COMPANY).on_a_server(folder))
        context.maximum_version = version
        with socket.create_server(("127.0.0.1", 0)) as listening:
            listening.settimeout(20)
            url = f"https://localhost:{listening.getsockname()[1]}/"
            refusing = asyncio.create_task(asyncio.to_thread(refuse_one, listening, context))
            async with opened(network=self.network(folder)) as transport:
                with pytest.raises(Unreachable) as caught:
                    await read(transport, ask(url))
            await refusing
        assert str(caught.value).startswith("No connection to localhost:")
        assert f"{why}" in str(caught.value)
        assert "`clientCertificate`" in str(caught.value)

    @pytest.mark.parametrize(
        ("files", "why"),
        [
            pytest.param(
                ("us.pem", "locked.key"),
                "the key in {}/locked.key has a password, and nobody is there to be asked for it;"
                " `openssl pkey -in FILE -out FILE` writes it without one.",
                id="a key with a password",
            ),
            pytest.param(
                ("us.pem", "other.key"),
                "the key in {}/other.key belongs to another certificate.",
                id="another's key",
            ),
            pytest.param(
                ("us.pem", None),
                "{}/us.pem holds no key; name the file that does in `clientKey`.",
                id="no key",
            ),
            pytest.param(
                ("no.pem", None),
                "{}/no.pem could not be read: No such file or directory.",
                id="no file",
            ),
            pytest.param(
                ("many", None), "{}/many could not be read: it is no file.", id="a folder"
            ),
            pytest.param(
                ("us.p12", None),
                "{}/us.p12 has to be PEM, which `openssl pkcs12 -in FILE -out FILE.pem -nodes`"
                " makes of a .p12 or .pfx file.",
                id="as Windows exports it",
            ),
            pytest.param(
                ("us.pem", "text.key"),
                "{0}/us.pem or the key in {0}/text.key is no PEM that can be read.",
                id="no PEM",
            ),
        ],
    )
    def test_it_cannot_be_used(self, files: tuple[str, str | None], why: str, folder: Path) -> None:
        us = Issued("us", COMPANY)
        (folder / "us.pem").write_bytes(us.pem)
        (folder / "locked.key").write_bytes(us.key_pem(b"secret"))
        (folder / "other.key").write_bytes(Issued("other").key_pem())
        (folder / "us.p12").write_bytes(b"\x30\x82\x01\x00" + b"x" * 256)
        (folder / "text.key").write_text("my key")
        certificate, key = (name and str(folder / name) for name in files)
        problems: list[str] = []
        network = Network(client_certificate=certificate, client_key=key)
        load_trust(problems.append, network)
        assert problems == [
            f"The client certificate {certificate} is not used: "
            + why.replace("/", str(Path("/"))).format(folder)
        ]

    def test_a_key_alone(self) -> None:
        problems: list[str] = []
        load_trust(problems.append, Network(client_key="key.pem"))
        assert problems == [
            "`clientKey` is set without `clientCertificate`, so no use is made of it."
        ]

    @staticmethod
    def network(folder: Path, **ours: str) -> Network:
        return replace(Network(ca_file=str(folder / "company.pem")), **ours)  # type: ignore[arg-type]


def refuse_one(listening: socket.socket, context: ssl.SSLContext) -> None:
    """A server that says why it ends the connection; asyncio's does not."""
    plain, _ = listening.accept()
    plain.settimeout(20)
    with plain:
        with contextlib.suppress(ssl.SSLError):
            context.wrap_socket(plain.dup(), server_side=True)
        # Closing with something unread would take the alert back.
        with contextlib.suppress(OSError):
            while plain.recv(65536):
                pass


def wanting_ours(context: ssl.SSLContext) -> ssl.SSLContext:
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(cadata=COMPANY.pem.decode())
    return context


async def works(
    server: Issued, folder: Path, network: Network, *, wants_ours: bool = False
) -> None:
    context = server.on_a_server(folder)
    if wants_ours:
        context = wanting_ours(context)
    problems: list[str] = []
    async with (
        RawServer(sse(ONE), ssl_context=context, name="localhost") as raw,
        opened(network=network, report=problems.append) as transport,
    ):
        assert len(await read(transport, ask(raw.url))) == 1
    assert problems == []


@pytest.fixture(autouse=True)
def _as_it_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
