"""What a running stream said, waited for as a request does."""

from lsp_completions.generations import Generation


async def said_by(generation: Generation, beginning: str | None = None) -> str:
    """All that is said, or at least what begins so. Raises what ended the stream early."""
    with generation.reading():
        while not generation.ended:
            if beginning is not None and generation.said.startswith(beginning):
                return generation.said
            await generation.news()
    if generation.error is not None:
        raise generation.error
    return generation.said


async def finish_of(generation: Generation) -> str | None:
    """Why the model stopped, once it did."""
    with generation.reading():
        while generation.finish is None and not generation.ended:
            await generation.news()
    return generation.finish
