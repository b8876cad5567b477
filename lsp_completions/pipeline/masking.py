"""Secrets in the text itself, taken out of what is sent: each character becomes an `x`.

Nothing changes its length, so the cursor stays where it is. Only what is a secret without doubt is
masked: where code stands, the model has to see it. Time is linear in the text, since every
repetition either has a bound or cannot begin again inside of itself.
"""

import re
from dataclasses import replace
from functools import lru_cache

from lsp_completions.pipeline.context import CursorContext


@lru_cache(maxsize=2)  # asked for at several moments of one request
def without_secrets(context: CursorContext) -> CursorContext:
    """The context as it is sent. A secret around the cursor is seen whole."""
    whole = context.prefix + context.suffix
    safe = masked(whole)
    if safe == whole:
        return context
    at = len(context.prefix)
    return replace(context, prefix=safe[:at], suffix=safe[at:])


def masked(text: str) -> str:
    """The text with its secrets masked, as long as before."""
    if "PRIVATE KEY" in text:
        text = _KEY_BLOCK.sub(_without_key, text)
    for pattern in _SECRETS:
        text = pattern.sub(_without_group, text)
    return _QUOTED.sub(_without_named, text)


def _without_group(match: re.Match[str]) -> str:
    start, end = (at - match.start() for at in match.span(1))
    return f"{match[0][:start]}{'x' * (end - start)}{match[0][end:]}"


def _without_named(match: re.Match[str]) -> str:
    before = match.string[max(match.start() - _LONGEST_NAME, 0) : match.start()]
    return _without_group(match) if _CALLED_SECRET.search(before) else match[0]


_LONGEST_NAME = 40  # characters of a name and an operator, as far as they matter


def _without_key(match: re.Match[str]) -> str:
    begin, body, end = match["begin"] or "", match["body"], match["end"] or ""
    # Code that looks for the lines around a key holds no key.
    if (begin or end) and _KEY_LINE.search(body):
        text = _KEY_TEXT if begin and end else _LONG_KEY_TEXT
        body = text.sub(_as_long, body)
    return begin + body + end


def _as_long(match: re.Match[str]) -> str:
    # A line break written as in a string is none of the key's letters.
    return match[0] if match[0].startswith("\\") else "x" * len(match[0])


_BEGIN = r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_END = r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
# The window may begin or end inside of a key.
_KEY_BLOCK = re.compile(rf"(?P<begin>{_BEGIN}|\A)(?P<body>[\s\S]*?)(?P<end>{_END}|(?={_BEGIN})|\Z)")
_KEY_LINE = re.compile(r"[A-Za-z0-9+/=]{40}")
_KEY_TEXT = re.compile(r"\\[nrt]|[A-Za-z0-9+/=]{2,}")
_LONG_KEY_TEXT = re.compile(r"\\[nrt]|[A-Za-z0-9+/=]{40,}")

_SECRETS = tuple(
    re.compile(pattern)
    for pattern in (
        # AWS
        r"A(?:KI|SI|BI|CC)A(?<![A-Za-z0-9]....)([A-Z2-7]{16})(?![A-Za-z0-9])",
        r"(?i:secret_?(?:access_?)?key)[\"']?[ \t]{0,8}(?:=>|:=|=|:)[ \t]{0,8}[\"']?"
        r"([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])",
        # GitHub, GitLab, npm, PyPI, Hugging Face
        r"gh[pousr]_([A-Za-z0-9]{36,255})",
        r"github_pat_([A-Za-z0-9_]{22,255})",
        r"gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat|ffct)-([A-Za-z0-9_.-]{20,255})",
        r"npm_([A-Za-z0-9]{36})",
        r"pypi-([A-Za-z0-9_-]{50,255})",
        r"hf_(?<![A-Za-z0-9]...)([A-Za-z0-9]{30,64})",
        # Slack
        r"xox[abeoprs]-([A-Za-z0-9-]{10,255})",
        r"xapp-([A-Za-z0-9-]{10,255})",
        r"hooks\.slack\.com/services/([A-Za-z0-9/]{20,100})",
        # Sourcegraph
        r"sg[pd]_((?:[a-z0-9]{1,16}_)?[a-f0-9]{40,64})",
        # Models, Stripe, Google, SendGrid, age
        r"sk-(?<![A-Za-z0-9-]...)([A-Za-z0-9_-]{32,255})",
        r"k_(?:live|test)_(?<=[sr]k_...._)(?<![A-Za-z0-9]........)([A-Za-z0-9]{16,255})",
        r"GOCSPX-([A-Za-z0-9_-]{20,64})",
        r"ya29\.([A-Za-z0-9_-]{20,1024})",
        r"AIza([A-Za-z0-9_-]{35})",
        r"SG\.(?<![A-Za-z0-9]...)([A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{16,64})",
        r"AGE-SECRET-KEY-1([A-Z0-9]{50,60})",
        # JSON Web Tokens
        r"(eyJ(?<![A-Za-z0-9_-]...)[A-Za-z0-9_-]{10,4096}\.eyJ[A-Za-z0-9_-]{10,8192}"
        r"(?:\.[A-Za-z0-9_-]{0,1024})?)",
        # Azure
        r"(?i:accountkey|sharedaccesskey|[?&]sig)=([A-Za-z0-9/+%]{40,100})",
        r"[78]Q~(?<=[A-Za-z0-9_.~-]{3}...)([A-Za-z0-9_.~-]{31,34})(?![A-Za-z0-9_.~-])",
        # Services of all kinds, by how their tokens begin
        r"(?<![A-Za-z0-9])(?:dop_v1_|shp(?:at|ss|ca|pa)_|sq0(?:csp|atp)-|dp\.(?:pt|st|ct|sa)\.|"
        r"lin_api_|NRAK-|gls[ac]_|hv[sb]\.|dckr_(?:pat|oat)_|rubygems_|PMAK-|gsk_|xai-|pplx-|"
        r"nfp_|sntr[yu]s_|figd_|HRKU-|pscale_(?:tkn|pw)_|sbp_|ntn_|AT[AC]TT3|whsec_|GR1348941)"
        r"(?=[A-Za-z_-]{0,255}[0-9])([A-Za-z0-9_=-]{20,255})",
        r"(?<![A-Za-z0-9])(?:SK|dapi|key-)([a-f0-9]{32})(?![A-Za-z0-9])",
        r"r8_(?<![A-Za-z0-9]...)([A-Za-z0-9]{37})(?![A-Za-z0-9])",
        r"(?<![A-Za-z0-9])([a-f0-9]{32})-us[0-9]{1,2}(?![A-Za-z0-9])",
        r":AA(?<=[0-9]{8}...)([A-Za-z0-9_-]{33})(?![A-Za-z0-9_-])",
        r"\.atlasv1\.([A-Za-z0-9_-]{40,100})",
        r"discord(?:app)?\.com/api/webhooks/[0-9]{5,25}/([A-Za-z0-9_-]{40,100})",
        r":_authToken=([A-Za-z0-9_.-]{16,255})",
        r"(?i:session_?token)[\"']?[ \t]{0,8}[:=][ \t]{0,8}[\"']?([A-Za-z0-9/+=]{100,2048})",
        # What goes along with a request
        r"(?i:authorization[\"']?[ \t]{0,8}[:=,][ \t]{0,8}[\"']?(?:bearer|basic|token)) "
        r"(?=[A-Za-z_.~+/-]{0,255}[0-9])([A-Za-z0-9_.~+/-]{20,1024}={0,2})",
        # In what says how to connect
        r"(?i:[;?&](?:password|pwd))=(?![{$<%])([^\s;\"'&<>{}$()%]{6,128})",
        r"(?:host|hostaddr|port|dbname|user)=\S{1,64} (?:\w{1,32}=\S{1,64} ){0,5}"
        r"password=([^\s;\"'&<>{}$(),]{6,128})(?=[\s\"'`]|\Z)",
        # On lines of their own, without quotes
        r"(?m:^)[ \t]{0,16}(?:export )?[A-Z0-9_]{0,32}"
        r"(?:PASSWORD|SECRET|TOKEN|API_?KEY|ACCESS_?KEY)="
        r"(?=[^0-9\n]{0,64}[0-9][^0-9\n]{0,64}[0-9])(?=[^a-z\n]{0,64}[a-z])"
        r"([A-Za-z0-9/+_~!#%-]{12,255}={0,2})(?m:[ \t]{0,8}\r?$)",
        r"(?m:^)[ \t-]{0,32}(?i:password|secret|token|api_?key|client_?secret|access_?key): {1,8}"
        r"(?=[^0-9\n]{0,64}[0-9][^0-9\n]{0,64}[0-9])(?=[^a-z\n]{0,64}[a-z])"
        r"([A-Za-z0-9/+_~!#%-]{12,255}={0,2})(?m:[ \t]{0,8}\r?$)",
        # The password in an address
        r"://[^\s/:@\"'{}$<>%()]{0,64}:([^\s/:@\"'{}$<>%()]{3,128})@",
    )
)

# What is called a secret, and is neither words with separators nor the name of a variable.
_QUOTED = re.compile(
    r"[\"'](?![a-z]{1,32}(?:[_.-][a-z0-9]{1,16}){0,12}[\"'])(?!\$[A-Za-z_(])"
    r"(?=[^\"']{0,255}[0-9])(?=[^\"']{0,255}[A-Za-z])([^\s\"'{}<>]{12,255})(?=[\"'])"
)
_CALLED_SECRET = re.compile(
    r"(?:password|passwd|secret|token|api_?key|access_?key|private_?key|secret_?key|credential)"
    r"[\"']?\]?[ \t]{0,8}(?:=>|:=|=|:)[ \t]{0,8}\Z",
    re.IGNORECASE,
)
