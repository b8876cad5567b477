"""Stand-ins for model servers: llama.cpp, Ollama, OpenAI's API and Mistral's.

    async with LlamaCppServer("return ", gate, "a + b") as server:
        ... server.url, server.bodies, server.open

They say the same text each time, and refuse what real ones refuse, in the same words: a missing
key, an unknown model or path, a parameter they do not know, a prompt too long, filling in the
middle where the model cannot. By hand:

    python -m tests.support.model_servers ollama --port 11434 --answer "return a + b"
"""

import argparse
import asyncio
import json
import sys
from typing import Any, ClassVar

from tests.support.raw_http import RawServer, Reply, Request, Step, chunked, head, whole

KEY = "key-0123456789abcdef"
TOO_LONG = 40_000  # characters of a prompt


class ModelServer(RawServer):
    """Says `said`: texts, each an event of its own, and steps that put them off or end them.

    `fills_in` says whether the model can fill in the middle, `finish` why it ends.
    """

    provider: ClassVar[str]
    model: ClassVar[str] = "qwen2.5-coder:1.5b-base"
    paths: ClassVar[tuple[str, ...]]
    parameters: ClassVar[frozenset[str] | None] = None
    """Those it takes, where it refuses others."""
    content_type: ClassVar[str] = "text/event-stream"
    list_path: ClassVar[str] = "/v1/models"

    def __init__(
        self,
        *said: str | Step,
        key: str | None = None,
        fills_in: bool = True,
        finish: str = "stop",
        fails: str | None = None,
        port: int = 0,
    ) -> None:
        super().__init__(port=port)
        self.said = said
        self.key = key
        self.fills_in = fills_in
        self.finish = finish
        self.fails = fails
        """What goes wrong after all was said."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def bodies(self) -> list[Any]:
        return [json.loads(request.body) for request in self.requests if request.body]

    @property
    def asked(self) -> list[str]:
        """The paths asked for."""
        return [request.line.split()[1] for request in self.requests]

    def reply(self, request: Request) -> Reply:
        method, path, _ = request.line.split()
        if self.key is not None and request.headers.get("authorization") != f"Bearer {self.key}":
            return self.refused(401, self.no_key())
        if method == "GET" and path == self.list_path:
            return whole(_dumped(self.listing()))
        if method != "POST" or path not in self.paths:
            return self.refused(404, self.no_path())
        try:
            body = json.loads(request.body)
        except ValueError:
            return self.refused(400, self.error("the body is no JSON", "invalid_request_error"))
        unknown = set(body) - (self.parameters or set(body))
        if unknown:
            return self.refused(422, {"detail": [_extra(name) for name in sorted(unknown)]})
        if (no := self.refusal(path, body)) is not None:
            return self.refused(*no)
        return self.stream(path) if self.streams(body) else self.answer(path)

    def stream(self, path: str) -> Reply:
        steps: list[Step] = [
            head(f"Content-Type: {self.content_type}", "Transfer-Encoding: chunked")
        ]
        for step in self.said:
            if isinstance(step, str):
                steps.append(chunked(self.framed(self.piece(step)), end=False))
            else:
                steps.append(step)
        if self.fails is not None:
            return [*steps, chunked(self.framed(self.failure(self.fails)))]
        return [*steps, chunked(*map(self.framed, self.end()), self.mark())]

    def answer(self, path: str) -> Reply:
        text = "".join(step for step in self.said if isinstance(step, str))
        pauses = [step for step in self.said if not isinstance(step, str | bytes)]
        return [*pauses, *whole(_dumped(self.whole(text)))]

    def refused(self, status: int, body: object) -> Reply:
        return whole(_dumped(body), status=f"{status} {STATUS[status]}")

    # ---- what each does in its own way

    def streams(self, body: Any) -> bool:
        return bool(body.get("stream", False))

    def refusal(self, path: str, body: Any) -> tuple[int, object] | None:
        """Why there is no completion."""
        raise NotImplementedError

    def piece(self, text: str) -> object:
        raise NotImplementedError

    def end(self) -> list[object]:
        raise NotImplementedError

    def whole(self, text: str) -> object:
        raise NotImplementedError

    def framed(self, value: object) -> bytes:
        return b"data: " + _dumped(value) + b"\n\n"

    def mark(self) -> bytes:
        return b"data: [DONE]\n\n"

    def error(self, message: str, kind: str = "server_error") -> object:
        return {"error": {"message": message, "type": kind}}

    def failure(self, message: str) -> object:
        return self.error(message)

    def listing(self) -> object:
        """The models, as the server lists them."""
        return {"object": "list", "data": [{"id": self.model, "object": "model"}]}

    def no_key(self) -> object:
        return self.error("Incorrect API key provided.", "invalid_request_error")

    def no_path(self) -> object:
        return {"detail": "Not Found"}


class LlamaCppServer(ModelServer):
    provider = "llama.cpp"
    paths = ("/infill", "/completion", "/v1/completions")

    def refusal(self, path: str, body: Any) -> tuple[int, object] | None:
        if path == "/infill" and not self.fills_in:
            message = "Infill is not supported by this model: prefix token is missing. "
            return 501, self.error(message, "not_supported_error")
        for name in ("input_prefix", "input_suffix") if path == "/infill" else ("prompt",):
            if name not in body:
                return 400, self.error(f'"{name}" is required', "invalid_request_error")
        if path != "/infill" and len(body["prompt"]) > TOO_LONG:
            return 400, self.error(
                "request (15000 tokens) exceeds the available context size (2048 tokens), "
                "try increasing it",
                "exceed_context_size_error",
            )
        return None

    def piece(self, text: str) -> object:
        return {"index": 0, "content": text, "tokens": [1], "stop": False, "id_slot": 0}

    def end(self) -> list[object]:
        return [{"content": "", "stop": True, "stop_type": self._stop_type}]

    def whole(self, text: str) -> object:
        return {"content": text, "stop": True, "stop_type": self._stop_type}

    def mark(self) -> bytes:
        return b""

    def no_key(self) -> object:
        return self.error("Invalid API Key", "authentication_error")

    def no_path(self) -> object:
        return self.error("File Not Found", "not_found_error")

    @property
    def _stop_type(self) -> str:
        return {"length": "limit", "stop": "eos"}.get(self.finish, self.finish)


class OllamaServer(ModelServer):
    """Loads its model first where `load_steps` are given; `load_on` is one of them done.

    When the one who asked first hangs up, it begins anew for the next who waits.
    """

    provider = "ollama"
    paths = ("/api/generate",)
    list_path = "/api/tags"
    content_type = "application/x-ndjson"

    def __init__(self, *said: str | Step, load_steps: int = 0, **options: Any) -> None:
        super().__init__(*said, **options)
        self.load_steps = load_steps
        self.steps_done = 0
        self.given_up = 0
        """How often loading was."""
        self.waiting: list[asyncio.Event] = []

    @property
    def is_loaded(self) -> bool:
        return self.steps_done >= self.load_steps

    async def load_on(self, steps: int = 1) -> None:
        """Go on with loading, once somebody waits for it."""
        await self.until(lambda: self.waiting)
        self.steps_done += steps
        if self.is_loaded:
            for loaded in self.waiting:
                loaded.set()

    def unload(self) -> None:
        self.steps_done = 0

    def reply(self, request: Request) -> Reply:
        # What it has it tells at once.
        loaded = [] if request.line.startswith("GET ") else [self._loaded]
        return [*loaded, *super().reply(request)]

    def listing(self) -> object:
        about = {"parameter_size": "1.5B", "quantization_level": "Q4_K_M"}
        names = (self.model, "own-model:latest")
        return {"models": [{"name": name, "model": name, "details": about} for name in names]}

    def streams(self, body: Any) -> bool:
        return body.get("stream") is not False

    def answer(self, path: str) -> Reply:
        # Whoever sends no prompt asks for the model alone.
        if "prompt" not in self.bodies[-1]:
            return whole(_dumped({**self.whole(""), "done_reason": "load"}))
        return super().answer(path)

    async def _loaded(self, reader: asyncio.StreamReader) -> bool:
        if self.is_loaded:
            return True
        loaded = asyncio.Event()
        self.waiting.append(loaded)
        await self._note()
        coming = asyncio.create_task(loaded.wait())
        hung_up = asyncio.create_task(reader.read(1))
        await asyncio.wait([coming, hung_up], return_when=asyncio.FIRST_COMPLETED)
        if not loaded.is_set() and self.waiting[0] is loaded:
            self.steps_done = 0
            self.given_up += 1
        self.waiting.remove(loaded)
        for task in (coming, hung_up):
            task.cancel()
        await asyncio.wait([coming, hung_up])
        await self._note()
        return loaded.is_set()

    def refusal(self, path: str, body: Any) -> tuple[int, object] | None:
        if body.get("model") not in (self.model, "own-model"):
            return 404, {"error": f"model '{body.get('model')}' not found"}
        if body.get("suffix") and not self.fills_in:
            return 400, {"error": "registry.ollama.ai/library/own-model does not support insert"}
        return None

    def piece(self, text: str) -> object:
        return {"model": self.model, "created_at": "", "response": text, "done": False}

    def end(self) -> list[object]:
        return [self.whole("")]

    def whole(self, text: str) -> dict[str, object]:
        reason = {"done": True, "done_reason": self.finish}
        return {"model": self.model, "created_at": "", "response": text, **reason}

    def framed(self, value: object) -> bytes:
        return _dumped(value) + b"\n"

    def mark(self) -> bytes:
        return b""

    def error(self, message: str, kind: str = "") -> object:
        return {"error": message}


class OpenAIServer(ModelServer):
    """vLLM where `fills_in` is false: it refuses a suffix."""

    provider = "openai"
    paths = ("/v1/completions",)

    def refusal(self, path: str, body: Any) -> tuple[int, object] | None:
        if body.get("model") not in (self.model, "own-model"):
            message = f"The model `{body.get('model')}` does not exist."
            return 404, self.error(message, "NotFoundError")
        if body.get("suffix") is not None and not self.fills_in:
            return 400, self.error("suffix is not currently supported", "BadRequestError")
        if len(body.get("prompt", "")) > TOO_LONG:
            message = "This model's maximum context length is 2048 tokens."
            return 400, self.error(message, "BadRequestError")
        return None

    def piece(self, text: str) -> object:
        return self._choice(text=text, finish_reason=None)

    def end(self) -> list[object]:
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        last = self._choice(text="", finish_reason=self.finish)
        return [last, {"id": "1", "choices": [], "usage": usage}]

    def whole(self, text: str) -> object:
        return self._choice(text=text, finish_reason=self.finish)

    def _choice(self, **choice: object) -> object:
        return {"id": "1", "object": "text_completion", "choices": [{"index": 0, **choice}]}


class MistralServer(ModelServer):
    provider = "mistral"
    paths = ("/v1/fim/completions",)
    parameters = frozenset(
        "model prompt suffix max_tokens min_tokens temperature top_p stop stream".split()
    )

    def __init__(self, *said: str | Step, key: str | None = KEY, **options: Any) -> None:
        super().__init__(*said, key=key, **options)

    def refusal(self, path: str, body: Any) -> tuple[int, object] | None:
        if not body.get("model", "").startswith("codestral"):
            return 400, self.error(f"Invalid model: {body.get('model')}", "invalid_model")
        return None

    def piece(self, text: str) -> object:
        return self._choice(delta={"content": text}, finish_reason=None)

    def end(self) -> list[object]:
        return [self._choice(delta={"content": ""}, finish_reason=self.finish)]

    def whole(self, text: str) -> object:
        return self._choice(message={"content": text}, finish_reason=self.finish)

    def error(self, message: str, kind: str = "internal_error") -> object:
        return {"object": "error", "message": message, "type": kind, "param": None, "code": "1"}

    def no_key(self) -> object:
        return {"message": "Unauthorized", "request_id": "1"}

    def no_path(self) -> object:
        return {"message": "no Route matched with those values", "request_id": "1"}

    def _choice(self, **choice: object) -> object:
        return {"id": "1", "object": "chat.completion.chunk", "choices": [{"index": 0, **choice}]}


SERVERS: tuple[type[ModelServer], ...] = (
    LlamaCppServer,
    OllamaServer,
    OpenAIServer,
    MistralServer,
)
STATUS = {
    400: "Bad Request",
    401: "Unauthorized",
    404: "Not Found",
    422: "Unprocessable Entity",
    501: "Not Implemented",
}


def _extra(name: str) -> object:
    message = "Extra inputs are not permitted"
    return {"type": "extra_forbidden", "loc": ["body", name], "msg": message, "input": 1}


def _dumped(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.support.model_servers",
        description="A model server that answers every request with the same text.",
    )
    by_name = {server.provider: server for server in SERVERS}
    parser.add_argument("provider", choices=by_name)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--answer", default="pass", help=r"the text; \n is a new line")
    parser.add_argument("--gap", type=float, default=0.02, help="seconds between two events")
    parser.add_argument("--key", help="the only key accepted")
    arguments = parser.parse_args()

    words = arguments.answer.replace("\\n", "\n").split(" ")
    said: list[str | Step] = []
    for number, word in enumerate(words):
        said += [arguments.gap, f" {word}" if number else word]
    key = {} if arguments.key is None else {"key": arguments.key}
    try:
        asyncio.run(_serve(by_name[arguments.provider](*said, port=arguments.port, **key)))
    except KeyboardInterrupt:
        sys.exit(130)


async def _serve(server: ModelServer) -> None:
    async with server:
        print(
            f"provider = {server.provider}  url = {server.url}  apiKey = {server.key}", flush=True
        )
        while True:
            await server.until(lambda: server.requests, patience=None)
            for request in server.requests:
                print(request.line, request.body.decode(), flush=True)
            server.requests.clear()


if __name__ == "__main__":
    main()
