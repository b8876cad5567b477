"""What a user is told once and never again, on this machine."""

from pathlib import Path


def first_time(what: str, folder: Path | None = None) -> bool:
    """Whether `what` happens to this user for the first time; from then on it does not.

    An empty file in the state folder remembers it. Where none can be written, it never is.
    """
    if folder is None:
        import platformdirs

        folder = platformdirs.user_state_path("lsp-completions", appauthor=False)
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        (folder / f"told-{what}").touch(mode=0o600, exist_ok=False)
    except OSError:
        return False
    return True
