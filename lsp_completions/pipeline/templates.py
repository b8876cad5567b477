"""Model families: how each was taught to fill in the middle, one row each.

A family is found by the tokens in a model's file, else by the model's name. A model of no known
family continues plain text.
"""

from dataclasses import dataclass

# How things are told to models that know nothing but code.
ABOUT_PATH = "Path: {path}"
ABOUT_FILE = "Here is a reference snippet of code from {path}:\n{text}"

# Little chance: what stands around the cursor decides.
TEMPERATURE = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyForm:
    """What a model that chats is to put around its code."""

    opening: str
    closing: str
    cursor: str
    """The mark that stood where the cursor is."""
    begun: bool = False
    """The reply is begun for the model, with the opening and the beginning of the line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """The prompt a family of models was taught, and what its tokens look like."""

    name: str
    models: tuple[str, ...]
    """What a model's name, in lower case, holds one of."""
    template: str
    """The whole prompt; its fields are `repository`, `path`, `language`, `excerpts`, `prefix`,
    `suffix`, and `wanted`: how much to write, in words."""
    special_tokens: tuple[str, ...]
    """Tokens of the model's own, which are no code; the reply ends where one stands."""
    stop_sequences: tuple[str, ...]
    """Those worth asking the provider to stop at, the most useful first."""
    repository: str = ""
    """How the repository's name is told, where the family has a way."""
    excerpt: str = ABOUT_FILE
    """How code from another file is shown."""
    comments: bool = True
    """Excerpts are shown as comments: the family knows no other files, only the text before."""
    path_excerpt: str = ""
    """An excerpt that comes before all others and tells the path."""
    excerpts_end: str = ""
    """What follows the last excerpt, if there is any."""
    line_suffix: bool = True
    """The model can take a suffix that begins within a line."""
    reply: ReplyForm | None = None
    """How a model that chats is to answer; `None` for one that continues text."""
    temperature: float | None = TEMPERATURE
    """What suits the model; `None` where its API takes none."""

    @property
    def takes_suffix(self) -> bool:
        """Whether the model is told at all what follows the cursor."""
        return "{suffix}" in self.template


@dataclass(frozen=True, slots=True, kw_only=True)
class FimTokens:
    """The tokens that a model file has to fill in the middle with, as its vocabulary writes them.

    Empty texts are those of a model that has none with that purpose.
    """

    prefix: str = ""
    suffix: str = ""
    middle: str = ""
    others: tuple[str, ...] = ()
    """Which of `FRAME_TOKENS` it has."""
    model_name: str = ""
    """What the file says that the model is called."""


def family_with(tokens: FimTokens, *names: str) -> Family:
    """The family of a model by the tokens it has; of several with the same ones, by its `names`.

    A family's prompt is made only of tokens that the model has. Where no family's is, prefix and
    suffix stand between the model's own tokens, the prefix first, as all but a few were taught.
    """
    own = {tokens.prefix, tokens.suffix, tokens.middle} - {""}
    has = own.union(tokens.others)
    fitting = [family for family in FAMILIES if own <= _frame_of(family) <= has]
    for name in (*names, tokens.model_name):
        if (family := family_of(name)) in fitting:
            return family
    if not own:
        # Other models than Codestral have its tokens as well, and never learnt what they mean.
        return PLAIN
    alike = [family for family in FAMILIES if own <= _frame_of(family)]
    # Tokens that several families share say little, unless others of one's prompt are there too.
    sure = [family for family in fitting if len(alike) == 1 or own < _frame_of(family)]
    return sure[0] if sure else _between(tokens)


def _between(tokens: FimTokens) -> Family:
    prefix, suffix, middle = (
        token.replace("{", "{{").replace("}", "}}")
        for token in (tokens.prefix, tokens.suffix, tokens.middle)
    )
    own = (tokens.prefix, tokens.suffix, tokens.middle)
    return Family(
        name="its own tokens",
        models=(),
        template=f"{prefix}{{excerpts}}{{prefix}}{suffix}{{suffix}}{middle}",
        excerpts_end="\n\n",
        special_tokens=(*own, *PLAIN.special_tokens),
        stop_sequences=(*PLAIN.stop_sequences[:3], tokens.prefix),
    )


def family_of(model: str | Family) -> Family:
    """The family of a model by its name, which providers write in many ways.

    `fireworks/starcoder-16b`, `fireworks::v1::deepseek-coder-v2-lite-base` and `qwen2.5-coder:7b`
    are all found. Where the family itself is known, that is it.
    """
    if isinstance(model, Family):
        return model
    model = model.lower()
    return next(
        (family for family in FAMILIES if any(part in model for part in family.models)), PLAIN
    )


# The first family with a part of the model's name wins: CodeLlama stands before the others because
# fine-tunes of it carry their own name as well.
FAMILIES = (
    Family(
        name="CodeLlama",
        models=("codellama", "code-llama", "llama-code"),
        template="<PRE> {excerpts}\n\n{prefix} <SUF>{suffix} <MID>",
        path_excerpt=ABOUT_PATH,
        special_tokens=(" <EOT>", "<EOT>", " <PRE>", " <SUF>", " <MID>", "</s>"),
        # Not `<PRE>`, which is a tag of HTML.
        stop_sequences=("<EOT>", " <SUF>", " <MID>"),
    ),
    Family(
        name="CodeQwen",
        models=("code-qwen", "codeqwen", "qwen"),
        template=(
            "{repository}{excerpts}<|file_sep|>{path}\n"
            "<|fim_prefix|>{prefix}<|fim_suffix|>{suffix}<|fim_middle|>"
        ),
        repository="<|repo_name|>{repository}\n",
        excerpt="<|file_sep|>{path}\n{text}",
        excerpts_end="\n",
        comments=False,
        special_tokens=(
            "<|endoftext|>",
            "<|file_sep|>",
            "<|repo_name|>",
            "<|fim_prefix|>",
            "<|fim_suffix|>",
            "<|fim_middle|>",
            "<|fim_pad|>",
            "<|im_start|>",
            "<|im_end|>",
            "<|cursor|>",
        ),
        stop_sequences=("<|endoftext|>", "<|file_sep|>", "<|repo_name|>", "<|fim_prefix|>"),
    ),
    Family(
        name="DeepSeek-Coder",
        models=("deepseek",),
        # Two line ends before the path, with or without excerpts.
        template=(
            "{repository}{excerpts}\n\n#{path}\n"
            "<｜fim▁begin｜>{prefix}<｜fim▁hole｜>{suffix}<｜fim▁end｜>"
        ),
        repository="<repo_name>{repository}\n",
        excerpt="#{path}\n{text}",
        comments=False,
        special_tokens=(
            "<｜end▁of▁sentence｜>",
            "<｜begin▁of▁sentence｜>",
            "<｜fim▁begin｜>",
            "<｜fim▁hole｜>",
            "<｜fim▁end｜>",
            "<|eos_token|>",
            "<|EOT|>",
        ),
        # Each token by itself: two in one string would never be met.
        stop_sequences=(
            "<｜end▁of▁sentence｜>",
            "<｜fim▁begin｜>",
            "<｜fim▁hole｜>",
            "<｜fim▁end｜>",
        ),
    ),
    Family(
        name="StarCoder",
        models=("starcoder", "starchat", "stable-code", "stablecode", "granite-"),
        template=(
            "<filename>{path}<fim_prefix>{excerpts}\n\n{prefix}<fim_suffix>{suffix}<fim_middle>"
        ),
        special_tokens=(
            "<|endoftext|>",
            "<|end|>",
            "<file_sep>",
            "<filename>",
            "<repo_name>",
            "<reponame>",
            "<gh_stars>",
            "<fim_prefix>",
            "<fim_suffix>",
            "<fim_middle>",
            "<fim_pad>",
        ),
        stop_sequences=("<|endoftext|>", "<file_sep>", "<fim_prefix>", "<|end|>"),
    ),
    Family(
        name="Codestral",
        models=("codestral",),
        # What follows comes first: the text that grows with every key is then the prompt's end.
        template="[SUFFIX]{suffix}[PREFIX]{excerpts}+++++ {path}\n{prefix}",
        excerpt="+++++ {path}\n{text}",
        excerpts_end="\n\n",
        comments=False,
        special_tokens=("</s>", "[SUFFIX]", "[PREFIX]", "[MIDDLE]", "\n+++++ "),
        stop_sequences=("</s>", "\n+++++ ", "[SUFFIX]", "[PREFIX]"),
    ),
    Family(
        name="CodeGemma",
        models=("codegemma", "code-gemma"),
        template=("{excerpts}\n\n<|fim_prefix|>{prefix}<|fim_suffix|>{suffix}<|fim_middle|>"),
        special_tokens=(
            "<|file_separator|>",
            "<|fim_prefix|>",
            "<|fim_suffix|>",
            "<|fim_middle|>",
            "<end_of_turn>",
            "<eos>",
        ),
        # It goes on with another file where it should end.
        stop_sequences=("<|file_separator|>", "<|fim_prefix|>", "<end_of_turn>", "<eos>"),
    ),
)

PLAIN = Family(
    name="plain continuation",
    models=(),
    template="{excerpts}\n\n{prefix}",
    special_tokens=(
        "<|endoftext|>",
        "<|end_of_text|>",
        "<|im_start|>",
        "<|im_end|>",
        "<|eot_id|>",
        " <EOT>",
        "<EOT>",
        "</s>",
    ),
    # Not `</s>`, which is a tag of HTML.
    stop_sequences=("<|endoftext|>", "<|end_of_text|>", "<|im_end|>", "<|eot_id|>"),
)


def _frame_of(family: Family) -> set[str]:
    """The tokens that a family's prompts are made of."""
    made_of = family.template + family.repository + family.excerpt
    tokens = (token.strip() for token in family.special_tokens)
    return {token for token in tokens if token in made_of and token[0] in "<["}


# What prompts are made of in some family; which of it a model knows, tells families apart that
# fill in the middle with the same tokens.
FRAME_TOKENS = tuple(sorted(set().union(*map(_frame_of, FAMILIES))))
