"""Files that hold secrets, by their names: one list, for reading and for extending.

`name` is a file anywhere, `folder/name` a file in that folder, `folder/` all there is in it.
Upper and lower case are the same.
"""

from fnmatch import fnmatchcase
from functools import lru_cache

SECRET_FILES: dict[str, str] = {
    "environment": """
        .env .env.* .env-* .env_* *.env .envrc .envrc.* .dev.vars .dev.vars.*
    """,
    "keys and certificates": """
        *.pem *.key *.ppk *.p8 *.p12 *.pfx *.pkcs12 *.jks *.keystore *.bks *.crt *.cer *.der *.gpg
        *.pgp *.jceks *.pvk *.agekey sops/age/keys.txt
        id_rsa id_dsa id_ecdsa id_ecdsa_sk id_ed25519 id_ed25519_sk
        *_rsa *_dsa *_ecdsa *_ed25519
        ssh_host_*_key .ssh/ .gnupg/ *.ovpn etc/wireguard/
    """,
    "credentials": """
        credentials credentials.json credentials.yml credentials.yaml credentials.toml
        credentials.xml credentials.ini credentials.csv credentials.properties
        .credentials .credentials.*
        .netrc _netrc .authinfo .git-credentials .npmrc .yarnrc .yarnrc.yml .pypirc
        .aws/credentials .aws/config .aws/sso/ .aws/cli/ .azure/ .config/gcloud/ .config/gh/
        application_default_credentials.json
        client_secret*.json service-account*.json service_account*.json *-service-account.json
        .docker/config.json .dockercfg .dockerconfigjson
        .kube/config kubeconfig *.kubeconfig kubeconfig.yml kubeconfig.yaml kubeconfig.json
        kubectl-edit-*.yaml
        .terraformrc terraform.rc credentials.tfrc.json *.tfvars *.tfvars.json *.tfstate *.tfstate.*
        .cargo/credentials.toml .gem/credentials .m2/settings.xml .m2/settings-security.xml
        .gradle/gradle.properties .composer/auth.json
        .pgpass pgpass.conf .my.cnf .mylogin.cnf .boto .s3cfg rclone.conf
        .htpasswd htpasswd .htdigest etc/shadow etc/gshadow etc/shadow- etc/gshadow-
        *-firebase-adminsdk-*.json gcloud-service-key.json kaggle.json
        .databrickscfg .snowsql/config .snowflake/ .oci/config .config/doctl/ .terraform.d/
        .config/hub .config/glab-cli/ .config/github-copilot/ .codex/auth.json
        huggingface/token .huggingface/token .token .tokens
        .msmtprc msmtprc .fetchmailrc .mbsyncrc .offlineimaprc .smbcredentials
        wpa_supplicant.conf *.nmconnection
        src-config.json lsp-completions/config.toml lsp-completions/logins.json
        lsp-completions/.logins-*
    """,
    "secrets": """
        .secrets .secrets.* .secret .secret.*
        secrets secrets.yml secrets.yaml secrets.json secrets.toml secrets.ini secrets.xml
        secrets.properties secrets.*.yml secrets.*.yaml secrets.*.json secrets.*.toml
        secret.yml secret.yaml secret.json secret.toml
        *-secrets.yml *-secrets.yaml *.secret.yml *.secret.yaml
        .vault_pass .vault_pass.* .vault-password .vault-token vault_pass.txt vault_password.txt
    """,
    "password stores": """
        *.kdbx *.kdb *.psafe3 *.keychain *.keychain-db *.1pif *.agilekeychain/ *.opvault/
        .password-store/ share/keyrings/ dev/shm/pass.*/ dev/shm/gopass*/
    """,
    "histories": """
        .*_history .*-history consolehost_history.txt fish_history .history .histfile .zhistory
        .rhistory .lesshst .viminfo *.shada .bash_sessions/ .zsh_sessions/
    """,
}

# Made to be shown to others, whatever their names begin with.
EXAMPLES = """
    *.example *.sample *.template *.tmpl *.dist *.schema *.pub
    *.example.[jty]* *.sample.[jty]* *.template.[jty]* example.env sample.env template.env
"""

# Editors and people keep the older text of a file beside it.
COPIES = ("~", ".bak", ".backup", ".old", ".orig", ".save", ".swp")


@lru_cache(256)
def holds_secrets(path: str) -> bool:
    """Whether a file with this path, `/` between its parts, is one that holds secrets."""
    *folders, name = path.lower().split("/")
    while name.endswith(COPIES):
        name = next(name.removesuffix(copy) for copy in COPIES if name.endswith(copy))
    is_example = any(fnmatchcase(name, pattern) for pattern in _EXAMPLES)
    for *within, last in _SECRETS:
        if not last:
            if _stand_in_a_row(within, folders):
                return True
        elif (
            not is_example
            and fnmatchcase(name, last)
            and (not within or _all_match(within, folders[-len(within) :]))
        ):
            return True
    return False


def _stand_in_a_row(patterns: list[str], names: list[str]) -> bool:
    size = len(patterns)
    return any(_all_match(patterns, names[at : at + size]) for at in range(len(names)))


def _all_match(patterns: list[str], names: list[str]) -> bool:
    return len(patterns) == len(names) and all(map(fnmatchcase, names, patterns))


_SECRETS = [
    pattern.split("/") for patterns in SECRET_FILES.values() for pattern in patterns.split()
]
_EXAMPLES = EXAMPLES.split()
