"""Run the stand-in by hand, to type against it."""

import argparse
import asyncio
import sys

from tests.support.home import USER, user
from tests.support.sourcegraph import TOKEN, Answer, Exchange, Rules, StandIn, words
from tests.support.sourcegraph.pages import NEW


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.support.sourcegraph",
        description="A Sourcegraph instance that answers every request with the same text.",
    )
    parser.add_argument("--port", type=int, default=3080)
    parser.add_argument("--answer", default="pass", help=r"the text; \n is a new line")
    parser.add_argument("--delay", type=float, default=0.15, help="seconds before the first event")
    parser.add_argument("--gap", type=float, default=0.02, help="seconds between two events")
    parser.add_argument("--token", default=TOKEN, help="the only access token accepted")
    arguments = parser.parse_args()

    text = arguments.answer.replace("\\n", "\n")
    answer = Answer(*words(text), delay=arguments.delay, gap=arguments.gap)
    pages = {**NEW, USER: user()}
    instance = StandIn(answer, rules=Rules(token=arguments.token), port=arguments.port, pages=pages)
    try:
        asyncio.run(_serve(instance))
    except KeyboardInterrupt:
        sys.exit(130)


async def _serve(instance: StandIn) -> None:
    async with instance:
        print(f"SRC_ENDPOINT={instance.url} SRC_ACCESS_TOKEN={instance.rules.token}", flush=True)
        told: set[Exchange] = set()
        while True:
            await instance.until(
                lambda: any(request.over and request not in told for request in instance.requests),
                patience=None,
            )
            for request in instance.requests:
                if request.over and request not in told:
                    told.add(request)
                    print(_line(request), flush=True)


def _line(request: Exchange) -> str:
    if request.hung_up_at is not None:
        end, at = "hung up", request.hung_up_at
    elif request.finished_at is not None:
        end, at = "finished", request.finished_at
    else:
        end, at = "cut", request.cut_at or request.arrived_at
    milliseconds = (at - request.arrived_at) * 1000
    return (
        f"{request.method} {request.path} {request.status} {end} after {milliseconds:.0f} ms, "
        f"{len(request.sent_at)} events, {request.bytes_sent} bytes"
    )


if __name__ == "__main__":
    main()
