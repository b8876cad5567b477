"""The embedded model, which a llama.cpp server of our own serves."""

import re
from dataclasses import dataclass

from lsp_completions.pipeline.templates import FimTokens, family_with
from lsp_completions.providers.base import Limits
from lsp_completions.providers.llama_cpp import LlamaCpp
from lsp_completions.secret import Secret

# Two processor cores read some 200 tokens a second and write some 36: what is sent has to be read
# within a second or two, and a line, which two dozen tokens nearly always hold, written within one.
# Code from elsewhere would take as long again, and helps so small a model little.
LIMITS = Limits(
    prefix_chars=1400, suffix_chars=200, excerpt_chars=0, max_tokens=24, multiline=False
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Local:
    """The embedded model, before it is known where it listens."""

    model_path: str | None = None
    """The user's own model file, as it was written; `None` means the installed one."""
    model: str = ""
    """What the model is, where the file does not tell."""
    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    stop_sequences: tuple[str, ...] | None = None
    stream: bool = True

    @property
    def name(self) -> str:
        """The provider's name in the settings."""
        return "local"

    def served(
        self, url: str, key: Secret, *, model_path: str, fim: FimTokens | None = None
    ) -> LlamaCpp:
        """The provider, now that the model in the file `model_path` listens at `url`.

        `fim` says what the file holds to fill in the middle with. Only where that is `None`, as
        nobody could tell, the form of prompts goes by the name alone.
        """
        name = re.split(r"[/\\]", model_path)[-1].removesuffix(".gguf")
        return LlamaCpp(
            name=self.name,
            model=name,
            url=url,
            key=key,
            # `/infill` would cut the prompt to the size of a batch, which is small to stay lively.
            infill=False,
            prompts_for=(self.model or name if fim is None else family_with(fim, self.model, name)),
            limits=LIMITS,
            finishes_reading=True,
            says_spaces=True,
            temperature=self.temperature,
            top_k=self.top_k,
            top_p=self.top_p,
            stop_sequences=self.stop_sequences,
            stream=self.stream,
        )
