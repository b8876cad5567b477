"""One question to a provider, and its whole answer."""

from contextlib import aclosing

from lsp_completions.errors import Refused
from lsp_completions.providers.base import HttpRequest, Provider
from lsp_completions.transport import Timeouts, Transport


async def answer_to(
    request: HttpRequest, provider: Provider, transport: Transport, *, seconds: float
) -> str:
    """What is answered. Raises `ProviderError`, in the words of the provider."""
    answer = ""
    timeouts = Timeouts(connect=seconds, first_event=seconds, total=seconds)
    try:
        async with aclosing(transport.events(request, timeouts)) as events:
            async for event in events:
                answer += event.data
    except Refused as refused:
        if refused.reply is None:
            raise
        raise provider.refusal(refused.reply) from None
    return answer
