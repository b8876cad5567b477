"""The settings in force, followed as files, logins, approvals and the editor's words change."""

import asyncio
from collections.abc import Callable

from lsp_completions.configuration import config_file, editor_layers
from lsp_completions.configuration.approvals import Approvals, Ask
from lsp_completions.configuration.in_force import put_in_force
from lsp_completions.configuration.places import Places, Read
from lsp_completions.credentials.logins import Logins
from lsp_completions.settings import Settings

MOST_FOR_THE_EDITOR = 0.3  # seconds; editors that answer at all do so within milliseconds


class Following:
    """Knows the settings in force, and notices when that changes.

    `tell` is given what is wrong with them. `changed` is called each time they were put together,
    with those from before; where only a login changed, `logged_in` is.
    """

    def __init__(
        self,
        *,
        ask: Ask,
        tell: Callable[[str], None],
        changed: Callable[[Settings], None],
        logged_in: Callable[[], None],
    ) -> None:
        self.settings = Settings()
        self.roots: tuple[str, ...] = ()
        self.places = Places()
        self.logins = Logins()
        self.approvals = Approvals(ask, tell, self.configure)
        self.may_ask = False
        """Whether the user can be asked already."""
        self._tell = tell
        self._changed = changed
        self._logged_in = logged_in
        self._read = Read()
        self._reading: asyncio.Task[None] | None = None
        self._logins_seen = self.logins.stamp()
        self._initial_options: object = None
        self._editor_settings: object = None
        self._known = asyncio.Event()

    def begin(self, roots: tuple[str, ...], options: object, *, more_follows: bool) -> None:
        """Put in force what is known at the start. `options` came with `initialize`.

        `more_follows` says that the editor will be asked for its settings.
        """
        # Before it is read, so that nothing written meanwhile is missed.
        self._logins_seen = self.logins.stamp()
        self.roots = roots
        self._initial_options = options
        self._adopt(self.places.read(roots))
        if not more_follows:
            self.all_known()

    @property
    def is_known(self) -> bool:
        """Whether the editor has said what it was asked for, or will not."""
        return self._known.is_set()

    def all_known(self) -> None:
        """The editor has said its settings, or will not."""
        self._known.set()

    async def known(self) -> None:
        """Wait for the editor to say its settings, but not for long."""
        try:
            async with asyncio.timeout(MOST_FOR_THE_EDITOR):
                await self._known.wait()
        except TimeoutError:
            self._known.set()
            self.configure()

    def editor_says(self, settings: object) -> None:
        """Take over what the editor says by now."""
        self._editor_settings = settings
        self.configure()

    def configure(self) -> None:
        """Put the settings in force; what is wrong with them is told once."""
        found = put_in_force(
            [
                *self._read.layers,
                *editor_layers(self._initial_options, self._editor_settings),
                *self._read.project,
            ],
            self.approvals.origins,
            own_file=str(config_file()),
        )
        before, self.settings = self.settings, found.settings
        for problem in found.problems:
            self._tell(str(problem))
        if found.question is not None and self.may_ask:
            self.approvals.consider(found.question)
        self._changed(before)

    def notice_logins(self) -> None:
        """Take over what `lsp-completions login` and `logout` did meanwhile."""
        stamp = self.logins.stamp()
        if stamp != self._logins_seen:
            self._logins_seen = stamp
            self._adopt(self.places.read(self.roots))
            self._logged_in()

    def look_for_changes(self) -> None:
        """Read the files again that have a say, where one of them has changed."""
        if (self._reading is None or self._reading.done()) and self.places.have_changed(self.roots):
            self._reading = asyncio.create_task(self._read_again(), name="settings files")

    async def _read_again(self) -> None:
        self._adopt(await asyncio.to_thread(self.places.read, self.roots))

    def _adopt(self, read: Read) -> None:
        self._read = read
        self.approvals.adopt(read.approved)
        for problem in read.problems:
            self._tell(str(problem))
        self.configure()

    async def aclose(self) -> None:
        """Ask and read no more."""
        await self.approvals.aclose()
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)
