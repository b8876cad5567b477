"""Models that chat: how they are told in words what to write, one row each.

All get the same text; the rows differ in what their APIs take. `family_for` chooses between these
families and those that continue text.
"""

import re
from dataclasses import replace

from lsp_completions.pipeline.templates import PLAIN, Family, ReplyForm, family_of

# Words of our own, in neither code nor the documents of other clients.
CURSOR = "<cursor-here/>"
FILE = ("<open-file>", "</open-file>")
EXCERPT = ("<other-code>", "</other-code>")
REPLY = ReplyForm(opening="<missing-code>", closing="</missing-code>", cursor=CURSOR)

ONE_LINE = "Only the line of the mark matters: write what completes it, and end where it ends."
SOME_LINES = (
    "Write what completes the line of the mark and the block it belongs to, and end there: "
    "a few lines, not the rest of the file."
)

_TEXT = f"""\
Someone is typing in an editor, and you suggest what comes next. This is what they have open:

Path: {{path}}
{{repository}}Language: {{language}}

{{excerpts}}{FILE[0]}
{{prefix}}{CURSOR}{{suffix}}
{FILE[1]}

Their cursor is at {CURSOR}. {{wanted}}
Your suggestion takes the place of the mark, and nothing else changes: begin in the middle of the \
line if the mark is there, with a line break only if a new line has to begin, and leave out all \
that the file already says before and after the mark. Use its names, its style and its indentation.
Answer with the suggestion between {REPLY.opening} and {REPLY.closing}, without a fence and \
without a word about it. If nothing is missing, put nothing between them.\
"""

_CHAT = Family(
    name="Chat",
    # Not what Sourcegraph knows as OpenAI's API, which may well serve something else.
    models=(
        r"\b(?:mi[sx]tral|ministral|magistral|devstral)",
        r"\bllama-?v?[234]",
        r"\bgpt-oss",
        r"instruct|chat|\bcommand-|\bgrok|\bsonar\b|\bkimi\b|\bglm-|\bnova-|\bphi-?[34]|\bjamba",
        r"\bgemma.*-it\b|deepseek-?(?:r1|v3|reasoner)|deepseek/deepseek-v3",
    ),
    template=_TEXT,
    repository="Repository: {repository}\n",
    excerpt=f"{EXCERPT[0]}\nPath: {{path}}\n{{text}}\n{EXCERPT[1]}",
    excerpts_end="\n\n",
    comments=False,
    special_tokens=(REPLY.opening, REPLY.closing, CURSOR, *FILE, *EXCERPT),
    stop_sequences=(REPLY.closing,),
    reply=REPLY,
)

# The first row with a part of the model's name wins.
CHATS = (
    # Their back ends read one message and refuse or forget a second.
    replace(_CHAT, name="One message", models=(r"^(?:fireworks|openai-?compatible)(?:/|::)",)),
    # The answer of these may be begun for them. Not while they think, and not from 4.6 on.
    replace(
        _CHAT,
        name="Claude",
        models=(
            r"\bclaude-(?!.*thinking)(?:instant|v?[123](?!\d)"
            r"|(?:haiku|opus|sonnet)-4(?!\d)(?![-.](?:[6-9]|[1-9]\d)(?!\d)))",
        ),
        reply=replace(REPLY, begun=True),
    ),
    # From 4.7 on they refuse a temperature, as they do while they think.
    replace(_CHAT, name="Claude 4.6 and later", models=(r"claude",), temperature=None),
    # What thinks before it answers takes neither a temperature nor stop sequences.
    replace(
        _CHAT,
        name="OpenAI, reasoning",
        models=(r"\bo[1-9](?!\d)", r"\bgpt-?[5-9]"),
        temperature=None,
        stop_sequences=(),
    ),
    replace(_CHAT, name="OpenAI", models=(r"\b(?:chat)?gpt-?[34]", r"^(?:azure-)?openai(?:/|::)")),
    replace(_CHAT, name="Gemini", models=(r"\bgemini",)),
    _CHAT,
)


def family_for(model: str | Family, *, chats: bool | None = None) -> Family:
    """How to ask a model, by its name or by the family it is known to be of.

    `chats` is what is known beside the name: whether it has to be told in words what to do.
    """
    if isinstance(model, Family):
        return model
    if chats is None:
        chats = sounds_like_chat(model)
    return _chat_family(model) if chats else family_of(model)


def sounds_like_chat(model: str) -> bool:
    """Whether the name is that of a model that chats."""
    model = model.lower()
    if _OF_CODE.search(model) and family_of(model) is not PLAIN:
        return False
    return _BASE.search(model) is None and any(
        re.search(pattern, model) for family in CHATS[1:] for pattern in family.models
    )


def _chat_family(model: str) -> Family:
    model = model.lower()
    return next(
        (row for row in CHATS if any(re.search(pattern, model) for pattern in row.models)), _CHAT
    )


# Those were taught to fill in the middle, and still can.
_OF_CODE = re.compile(r"code|coder|starc|granite")
_BASE = re.compile(r"\bbase\b")
