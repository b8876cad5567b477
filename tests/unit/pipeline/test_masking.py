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
        pytest.param("sk_test_{}", LETTERS[:24], id="Stripe, for tests"),
        pytest.param("GOCSPX-{}", LETTERS[:28], id="Google's OAuth"),
        pytest.param("npm_{}", LETTERS[:36], id="npm"),
        pytest.param("//registry/:_authToken={}", HEX[:36], id="npm, older"),
        pytest.param("pypi-{}", LETTERS[:60], id="PyPI"),
        pytest.param("hf_{}", LETTERS[:34], id="Hugging Face"),
        pytest.param("sk-{}", f"ant-api03-{LETTERS[:90]}", id="Anthropic"),
        pytest.param("xai-{}", LETTERS[:80], id="a model's key of another kind"),
        pytest.param("AccountName=x;AccountKey={};E=y", LETTERS[:86], id="Azure's storage"),
        pytest.param("https://x.net/c?sv=1&sig={}", LETTERS[:43], id="a signed address of Azure"),
        pytest.param("dop_v1_{}", HEX, id="DigitalOcean"),
        pytest.param("shpat_{}", HEX[:32], id="Shopify"),
        pytest.param("hvs.{}", LETTERS[:90], id="Vault"),
        pytest.param("glsa_{}", f"{LETTERS[:32]}_{HEX[:8]}", id="Grafana"),
        pytest.param("SK{}", HEX[:32], id="Twilio"),
        pytest.param("{}-us12", HEX[:32], id="Mailchimp"),
        pytest.param("123456789:AA{}", LETTERS[:33], id="Telegram"),
        pytest.param("Authorization: Bearer {}", LETTERS[:40], id="what goes along"),
        pytest.param('{{"Authorization": "Basic {}"}}', LETTERS[:40], id="a name and a password"),
        pytest.param("redis://:{}@h:6379", "hunter22", id="a password without a name"),
        pytest.param("Server=x;User Id=y;Password={};", "hunter2+", id="a connection"),
        pytest.param("jdbc:mysql://h/db?user=u&password={}", "hunter22", id="a connection of Java"),
        pytest.param('"host=db password={} user=x"', "hunter22", id="a connection of Postgres"),
        pytest.param("DB_PASSWORD={}", LETTERS[:16], id="a password of the environment"),
        pytest.param("export API_KEY={}", LETTERS[:20], id="a key of the environment"),
        pytest.param("  password: {}", LETTERS[:16], id="a password in YAML"),
        pytest.param(f"{BEGIN}\n{{}}\n{END}\n", LINE, id="a private key"),
        pytest.param(
            f"-----BEGIN PGP {KIND} BLOCK-----\n{{}}\n-----END PGP {KIND} BLOCK-----\n",
            LINE,
            id="a private key of PGP",
        ),
        pytest.param(
            f"-----BEGIN OPENSSH {KIND}-----\n{{}}\n-----END OPENSSH {KIND}-----\n",
            LINE,
            id="a private key of OpenSSH",
        ),
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
        pytest.param("id = '123e4567-e89b-12d3-a456-426614174000'", id="a UUID"),
        pytest.param(f'"private_key_id": "{HEX[:40]}"', id="the name of a key"),
        pytest.param(f"git checkout {HEX[:40]}", id="a commit"),
        pytest.param("import a from '@scope/token-helpers2/lib/apiKeyStore9'", id="an import"),
        pytest.param("connect(host=h1, password=password1, user=u)", id="names of arguments"),
        pytest.param("  token: string\n  apiKey: ApiKeyV2\n", id="types"),
        pytest.param("  secret: ${{ secrets.DEPLOY_KEY_2024_A }}\n", id="a secret's name"),
        pytest.param("API_KEY=DEFAULT_KEY_V2_2024\n", id="a constant"),
        pytest.param("TOKEN=$(cat /run/token12/a34)\n", id="a command"),
        pytest.param("Authorization: Bearer <your-access-token-123456>", id="a place for one"),
        pytest.param('f"Bearer {self.settings.access_token_2}"', id="a token by its name"),
        pytest.param("https://h.org/?password={password12345}", id="a field of an address"),
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
