"""Secrets that stand in the text of a document."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsp_completions.pipeline.masking import masked, without_secrets
from tests.support.cursor import context_of

# Put together here, so that nobody who looks for secrets finds one.
HEX = "0123456789abcdef" * 4
LETTERS = "aB3dE6gH9jK2mN5pQ8sT" * 8
KIND = "PRIVATE " + "KEY"
BEGIN, END = f"-----BEGIN RSA {KIND}-----", f"-----END RSA {KIND}-----"
LINE = "MIIEowIBAAKCAQEAx7Vv3nQ+b/9sT2kLmN0pQrStUvWxYz0123456789abcdEFGH"
JWT = f"eyJhbGciOiJIUzI1NiJ9.eyJ{LETTERS[:30]}.{LETTERS[:40]}"


@pytest.mark.parametrize(
    ("drawn", "secret"),
    [
        pytest.param("id = 'AKIA{}'", "ABCDEFGHIJKLMNOP", id="an AWS key id"),
        pytest.param("aws_secret_access_key = {}", LETTERS[:40], id="an AWS secret"),
        pytest.param('"SecretAccessKey": "{}"', LETTERS[:40], id="an AWS secret in JSON"),
        pytest.param("ghp_{}", LETTERS[:36], id="GitHub"),
        pytest.param("x='gho_{}'", LETTERS[:36], id="GitHub's OAuth"),
        pytest.param("github_pat_{}", LETTERS[:22] + "_" + LETTERS[:59], id="GitHub, fine-grained"),
        pytest.param("glpat-{}", LETTERS[:20], id="GitLab"),
        pytest.param("xoxb-{}", "123456789012-abcDEF", id="Slack"),
        pytest.param(
            "https://hooks.slack.com/services/{}", "T0AAA/B0BBB/" + LETTERS[:24], id="hook"
        ),
        pytest.param("SRC_ACCESS_TOKEN=sgp_{}", HEX[:40], id="Sourcegraph"),
        pytest.param("sgp_{}", f"{HEX[:16]}_{HEX[:40]}", id="Sourcegraph, of an instance"),
        pytest.param("sgp_{}", f"local_{HEX[:40]}", id="Sourcegraph, of a local one"),
        pytest.param("Bearer {}", JWT, id="a JWT"),
        pytest.param("sk-{}", LETTERS[:48], id="a model's key"),
        pytest.param("sk_live_{}", LETTERS[:24], id="Stripe"),
        pytest.param("AIza{}", LETTERS[:35], id="Google"),
        pytest.param("postgres://me:{}@db/x", "hunter2", id="a password in an address"),
        pytest.param("PASSWORD = '{}'", "Tr0ub4dor&3xyz", id="a password"),
        pytest.param('os.environ["API_KEY"] = "{}"', LETTERS[:20], id="a key in brackets"),
        pytest.param('{{"client_secret": "{}"}}', LETTERS[:20], id="a secret in JSON"),
        pytest.param('token := `x`; apiKey := "{}"', LETTERS[:20], id="a key in Go"),
        pytest.param(f"{BEGIN}\n{{}}\n{END}\n", LINE, id="a private key"),
        pytest.param(f'k = "{BEGIN}\\n{{}}\\n{END}"', LINE, id="a private key in a string"),
        pytest.param(f"{BEGIN}\n{{}}\n", LINE, id="a private key that does not end"),
        pytest.param(f"{{}}\n{END}\nrest", LINE, id="a private key that began before"),
    ],
)
def test_masked(drawn: str, secret: str) -> None:
    text = f"before = 1\n{drawn.format(secret)}\nafter = 2\n"
    safe = masked(text)
    assert len(safe) == len(text)
    start = text.index(secret)
    assert safe == text[:start] + "x" * len(secret) + text[start + len(secret) :]
    assert masked(safe) == safe


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("password = request.form['password']", id="a name for a password"),
        pytest.param("token = os.environ['GITHUB_TOKEN']", id="from the environment"),
        pytest.param('password = "${DB_PASSWORD_1}"', id="a variable in braces"),
        pytest.param('password = "$DB_PASSWORD_1"', id="a variable"),
        pytest.param('password_field = "login-password-2"', id="words"),
        pytest.param('url = f"https://{user}:{password}@host1/"', id="an address with fields"),
        pytest.param("x = 'https://localhost:8080/a@b'", id="a port"),
        pytest.param(f'if line == "{BEGIN}":\n    readTheWholeKey(line)\n', id="looking for a key"),
        pytest.param(f'a = "{BEGIN}"\nb = "{END}"\n', id="both ends of no key"),
        pytest.param(f"digest = '{HEX}'", id="a digest"),
        pytest.param("task-force-and-more-words-in-a-row-here", id="words with sk- in them"),
        pytest.param("-----BEGIN CERTIFICATE-----\nMIIB\n", id="a certificate"),
        pytest.param("", id="nothing"),
    ],
)
def test_left_as_it_is(text: str) -> None:
    assert masked(text) == text


@pytest.mark.parametrize("at", [0, 4, 10, 40, 44])
def test_a_secret_around_the_cursor_is_seen_whole(at: int) -> None:
    token = f"sgp_{HEX[:40]}"
    context = context_of(f"t = {token[:at]}<cursor>{token[at:]}\nnext = 1\n")
    safe = without_secrets(context)
    assert safe.prefix + safe.suffix == f"t = sgp_{'x' * 40}\nnext = 1\n"
    assert len(safe.prefix) == len(context.prefix)
    assert safe.line_suffix == context.line_suffix


def test_without_a_secret_the_context_is_the_same() -> None:
    context = context_of("x = <cursor>\n")
    assert without_secrets(context) is context


PIECES = st.sampled_from(
    [BEGIN, END, LINE, "\n", "sgp_", HEX, "eyJ", ".", "://", ":", "@", "password=", "'", " ", "a1"]
)


@given(st.lists(PIECES | st.text(max_size=4), max_size=12))
def test_the_length_stays_and_a_second_time_changes_nothing(pieces: list[str]) -> None:
    text = "".join(pieces)
    safe = masked(text)
    assert len(safe) == len(text)
    assert all(a in (b, "x") for a, b in zip(safe, text, strict=True))
