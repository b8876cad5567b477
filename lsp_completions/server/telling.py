"""How things stand, told to whoever shows it.

That is the editor, clients made for Copilot's server, and the user's other processes.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from lsp_completions import signed_in, status
from lsp_completions.convert import Client
from lsp_completions.errors import CompletionsError
from lsp_completions.journal import Entry
from lsp_completions.messages import Messages
from lsp_completions.pipeline.uris import local_path
from lsp_completions.service import Service


class Telling:
    """Knows what went wrong last, and tells how things stand.

    `client` is the editor, as it is known by then, `notify` tells the editor, and `changed` is
    called when things stand otherwise.
    """

    def __init__(
        self,
        messages: Messages,
        service: Service,
        *,
        client: Callable[[], Client],
        notify: Callable[[str, object], None],
        changed: Callable[[], None],
    ) -> None:
        self.trouble: CompletionsError | None = None
        """What went wrong last, unless it may be mended by now."""
        self.since = time.time()
        """When things began to stand as they do."""
        self.status = status.Status(messages, look=self._facts, tell=self._tell)
        self._service = service
        self._client = client
        self._notify = notify
        self._changed = changed
        self._told_copilot: dict[str, object] | None = None

    def tell(self, trouble: CompletionsError | None) -> None:
        """Something has gone wrong, or works again."""
        self.trouble = trouble
        self.again()

    def again(self) -> None:
        """Things may stand otherwise than before."""
        self.status.changed()
        self._tell_copilot()

    def _tell(self, now: status.Standing) -> None:
        self._tell_copilot()
        self.since = time.time()
        self._changed()
        if self._client().follows_status:
            self._notify(status.CHANGED, now.fields())

    def _tell_copilot(self) -> None:
        if not self._client().speaks_copilot:
            return
        told = signed_in.status(
            self.trouble,
            is_off=not self._service.switches.everything,
            busy=self.status.busy,
        )
        if told != self._told_copilot:
            self._told_copilot = told
            self._notify(signed_in.CHANGED, told)

    def _facts(self, uri: str | None) -> status.Facts:
        backend = self._service.backend
        return status.Facts(
            why_not=self._service.why_not_in_general(uri),
            trouble=backend.problem or self.trouble,
            provider=backend.name,
            model=backend.model,
            uri=uri,
        )


def described(
    client: Client,
    roots: Sequence[str],
    log: Path | None,
    now: status.Standing | None,
    since: float,
    entries: Sequence[Entry],
) -> dict[str, object]:
    """What a server tells of itself to the user's other processes."""
    return {
        "editor": client.name,
        "editorVersion": client.version,
        "workspace": [local_path(root) or root for root in roots],
        "log": None if log is None else str(log),
        "status": None if now is None else now.fields(),
        "since": round(since, 3),
        "outcomes": [entry.fields() for entry in entries],
    }
