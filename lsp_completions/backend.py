"""Who answers: the provider that the settings choose, or the embedded model once it runs."""

from collections.abc import Callable
from dataclasses import dataclass

from lsp_completions import model_files
from lsp_completions.errors import ConfigurationError
from lsp_completions.local_model import LocalModel
from lsp_completions.providers.base import Provider
from lsp_completions.providers.choice import half_set_up, provider_for
from lsp_completions.providers.local import Local
from lsp_completions.settings import Api, Settings


@dataclass(frozen=True, slots=True, eq=False)
class Embedded:
    """The embedded model, and the process it runs in."""

    local: Local
    process: LocalModel


class Backend:
    """What was chosen. `progress` is given a sentence when the model has to be started first."""

    def __init__(self, progress: Callable[[str], None]) -> None:
        self._progress = progress
        self._chosen: Provider | Embedded | ConfigurationError = ConfigurationError("Nothing set.")
        self._left: list[LocalModel] = []

    @property
    def problem(self) -> ConfigurationError | None:
        """Why nobody can answer."""
        return self._chosen if isinstance(self._chosen, ConfigurationError) else None

    @property
    def name(self) -> str:
        """Its name in the settings; empty when nobody answers."""
        match self._chosen:
            case ConfigurationError():
                return ""
            case Embedded(local, _):
                return local.name
            case provider:
                return provider.name

    @property
    def is_local(self) -> bool:
        """Whether the embedded model answers."""
        return isinstance(self._chosen, Embedded)

    def choose(self, settings: Settings) -> str | None:
        """Choose by the settings; returns what they leave half done, as a sentence for the user.

        What is asked already goes on.
        """
        before = self._chosen
        self._chosen = self._choice(settings, before)
        if isinstance(before, Embedded) and not (
            isinstance(self._chosen, Embedded) and self._chosen.process is before.process
        ):
            # Requests that have begun may still want it, so it is left when the server ends.
            self._left.append(before.process)
        return half_set_up(settings) if self.is_local else None

    def _choice(
        self, settings: Settings, before: Provider | Embedded | ConfigurationError
    ) -> Provider | Embedded | ConfigurationError:
        # Where the user names it, starting it gives the exact reason why it cannot.
        named = settings.provider is Api.LOCAL or settings.model_path is not None
        try:
            chosen = provider_for(settings, local_available=named or model_files.is_available())
        except ConfigurationError as error:
            return error
        if not isinstance(chosen, Local):
            return chosen
        if isinstance(before, Embedded) and before.local.model_path == chosen.model_path:
            return Embedded(chosen, before.process)
        return Embedded(chosen, LocalModel(chosen.model_path))

    async def provider(self) -> Provider:
        """Whom to ask; waits for the embedded model to start.

        Raises `ConfigurationError` when there is nobody, `LocalModelFailed` when it cannot start.
        """
        match self._chosen:
            case ConfigurationError() as error:
                raise error
            case Embedded(local, process):
                at = await process.ready(self._progress)
                return local.served(at.url, at.key, model_path=str(at.model_path), fim=at.fim)
            case provider:
                return provider

    async def aclose(self) -> None:
        """Leave the embedded model, which ends when nobody else uses it."""
        if isinstance(self._chosen, Embedded):
            self._left.append(self._chosen.process)
        while self._left:
            await self._left.pop().aclose()
