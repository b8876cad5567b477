"""Whether somebody is signed in, in the words of Copilot's server, for clients made for it."""

from typing import TYPE_CHECKING

from lsp_completions.errors import CompletionsError, ConfigurationError, NotAuthorized

if TYPE_CHECKING:
    from lsp_completions.credentials.credential import CredentialOrigin

LOG_IN = "Run `lsp-completions login` in a terminal; running editors notice it."
LOG_OUT = (
    "Run `lsp-completions logout` in a terminal, or remove the token where you set it: it is the "
    "same for all editors, so none of them signs out alone."
)

CHECK = "checkStatus"
# The second and third are older names of the two steps.
SIGN_IN = ("signIn", "signInInitiate", "signInConfirm")
SIGN_OUT = "signOut"
CHANGED = "didChangeStatus"


def checked(
    problem: CompletionsError | None, origin: "CredentialOrigin | None", provider: str
) -> dict[str, str]:
    """What `checkStatus` answers. `problem` is what keeps the provider from answering.

    Who needs no credential is signed in under the name of the provider.
    """
    if isinstance(problem, NotAuthorized):
        return {"status": "NotAuthorized"}
    if isinstance(problem, ConfigurationError):
        return {"status": "NotSignedIn"}
    return {"status": "OK", "user": (origin and origin.user) or provider}


def signed_in(
    problem: CompletionsError | None, origin: "CredentialOrigin | None", provider: str
) -> dict[str, str]:
    """What `signIn` answers where that is done. Raises what tells how it is done here."""
    status = checked(problem, origin, provider)
    if status["status"] != "OK":
        raise ConfigurationError(f"{problem} {LOG_IN}")
    return {**status, "status": "AlreadySignedIn"}


def signed_out(problem: CompletionsError | None) -> dict[str, str]:
    """What `signOut` answers where nobody is signed in. Raises what tells how it is done here."""
    if not isinstance(problem, ConfigurationError):
        raise ConfigurationError(LOG_OUT)
    return {"status": "NotSignedIn"}


def status(
    trouble: CompletionsError | None, *, is_off: bool, busy: bool = False
) -> dict[str, object]:
    """What `didChangeStatus` tells: how things are, for a line in the editor."""
    if is_off:
        kind, message = "Inactive", "Suggestions are switched off."
    elif trouble is None:
        kind, message = "Normal", ""
    else:
        lasting = isinstance(trouble, NotAuthorized | ConfigurationError)
        kind, message = "Error" if lasting else "Warning", str(trouble)
    return {"busy": busy, "kind": kind, "message": message}
