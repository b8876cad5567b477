"""JSON-RPC as LSP wants it: every request gets exactly one answer.

    server = Server("name", "1.0", readers={"textDocument/didOpen": read_open})

    @server.feature("textDocument/inlineCompletion", InlineCompletionOptions())
    def inline_completion(query):       # what the reader made of the params
        snapshot = session.snapshot()   # runs when the message is dispatched, in order
        return answer(snapshot)         # a value, or a coroutine: a task whose result is the answer

    server.on_stop.append(session.aclose)  # async, a second in all
    server.on_rest.append(session.forget)  # called while nothing happens
    server.serve_stdio()                   # never returns: ends the process

**Handlers** are plain functions of one value. It comes from `readers[method]`, called with the raw
JSON of `params` (None where absent); from lsprotocol where there is no reader; raw for `initialize`
and for methods lsprotocol does not know. What a handler raises is the answer: InvalidParams gives
-32602, JsonRpcException what it says, CompletionsError -32803 with its sentence, anything else
-32603 with the exception's name. A request that is cancelled is answered -32800 at once; its
coroutine is cancelled, never begun if it had not, and owned here to its end.

**`initialize`**: the handler runs before the capabilities are built, and may set what they rest on:
`server.position_encoding` and `server.options[method]`. It returns nothing. A feature is advertised
when it has a handler; `del server.handlers[method]` withdraws it. `initialized` may have a handler;
`shutdown` and `exit` are ours.

**A notification that is lost** (its reader or handler raised, or bytes on the wire made no sense:
method None) is logged and given to `server.on_unreadable(method, params)`: override it to mark
documents stale.

**stdout** is the protocol's alone: what is printed goes to stderr, and what is written to stderr,
by print or by a logging handler that existed before `serve_stdio`, waits for nobody to read it.

**To the editor**: all of pygls' `window_log_message`, `workspace_configuration_async`,
`client_register_capability_async`, `work_done_progress`, and `server.protocol.notify(method,
params)` with lsprotocol values or plain JSON. A null result is None; an answer to a request that
was given up is dropped.

What is kept of pygls 2.1.1: the sending methods above, `Progress`, the exceptions, the building of
server capabilities, lsprotocol's converter. Not kept: its transport (deaf while its threads are
busy, out of step after an unusual header, blocked by an editor that does not read), its dispatch
(no answer where params do not deserialize, pop-ups for the user), its documents (wrong line ends),
its life cycle (exit code, signals, the editor's death).
"""

import asyncio
import enum
import inspect
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future
from functools import partial
from typing import Any, NoReturn, TypeGuard, TypeVar, cast

from lsprotocol import types
from pygls.capabilities import ServerCapabilitiesBuilder
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol

from lsp_completions.errors import CompletionsError, InvalidParams
from lsp_completions.life_cycle import LifeCycle, trace
from lsp_completions.stdio import Damage

_log = logging.getLogger(__name__)

Id = int | float | str
Handler = Callable[[Any], Any]
H = TypeVar("H", bound=Handler)

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
NOT_INITIALIZED = -32002
CANCELLED = -32800
REQUEST_FAILED = -32803


class Server(LanguageServer):
    """The language server seen from its features; see the module's docstring."""

    protocol: "Protocol"

    def __init__(
        self,
        name: str,
        version: str,
        readers: Mapping[str, Callable[[object], Any]] | None = None,
    ) -> None:
        # pygls writes whole documents to its log, and asyncio the messages that take long.
        for library in ("pygls", "asyncio"):
            logging.getLogger(library).setLevel(logging.CRITICAL)
        self.readers = dict(readers or {})
        self.handlers: dict[str, Handler] = {}
        self.options: dict[str, Any] = {}
        """What is advertised for a method, as in lsprotocol's `...Options`."""
        self.position_encoding: types.PositionEncodingKind | str = "utf-16"
        self.on_stop: list[Callable[[], Awaitable[object]]] = []
        self.on_rest: list[Callable[[], object]] = []
        self.life = LifeCycle()
        super().__init__(name, version, protocol_cls=Protocol)

    def feature(self, feature_name: str, options: Any | None = None) -> Callable[[H], H]:
        """Register a handler for a method, and what to advertise for it."""
        if feature_name in self.handlers:
            raise ValueError(f"{feature_name} has a handler already")
        if feature_name in (types.SHUTDOWN, types.EXIT):
            raise ValueError(f"{feature_name} takes no handler: append to on_stop")
        if feature_name == types.TEXT_DOCUMENT_INLINE_COMPLETION and options is None:
            options = types.InlineCompletionOptions()  # pygls advertises it with options only

        def register(handler: H) -> H:
            self.handlers[feature_name] = handler
            if options is not None:
                self.options[feature_name] = options
            return handler

        return register

    def on_unreadable(self, method: str | None, params: object) -> None:
        """A notification did not arrive whole; None when we cannot even tell its method."""

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Log it: pygls would show it to the user in a window."""
        _log.error("%s", trace(error))

    def serve_stdio(self, *, editor_pid: int | None = None) -> NoReturn:
        """Serve on stdin and stdout until the end, then end the process; see `LifeCycle`."""
        self.life.serve(self.protocol, self.on_stop, editor_pid=editor_pid, on_rest=self.on_rest)


class _Stage(enum.Enum):
    NEW = "before initialize"
    RUNNING = "after initialize"
    SHUT_DOWN = "after shutdown"


class Protocol(LanguageServerProtocol):
    """JSON-RPC in both directions. `receive` is called in the event loop with what arrived."""

    _server: Server

    def __init__(self, server: Server, converter: Any) -> None:
        self.send: Callable[[bytes], None] = _nowhere
        self._stage = _Stage.NEW
        self._closed = False
        self._damaged = False
        self._unanswered: dict[Id, list[asyncio.Future[Any]]] = {}
        self._tasks: set[asyncio.Future[Any]] = set()
        self._asked: dict[Id, tuple[str, Future[Any]]] = {}
        self._last_id = 0
        super().__init__(server, converter)

    def _register_builtin_features(self) -> None:
        """None of pygls' own."""

    @property
    def exit_code(self) -> int:
        """0 once `shutdown` was asked for."""
        return 0 if self._stage is _Stage.SHUT_DOWN else 1

    # ---- from the editor

    def receive(self, messages: list[object]) -> None:
        """Deal with what arrived: JSON values and `Damage`."""
        for message in messages:
            if self._closed:
                return
            try:
                self._receive(message)
            except Exception as error:  # noqa: BLE001 - one message ends, the others go on
                _log.error("a message was lost: %s", trace(error))
                self._lost(None, None)

    def _receive(self, message: object) -> None:
        if isinstance(message, Damage):
            _log.warning("unreadable input: %s", message.reason)
            self._refuse(None, PARSE_ERROR, f"Unreadable input: {message.reason}.")
            self._lost(None, None)
            return
        if not isinstance(message, dict):
            what = "a batch" if isinstance(message, list) else "no object"
            self._refuse(None, INVALID_REQUEST, f"A message must be one object; this is {what}.")
            return

        id = message.get("id")
        valid_id: Id | None = id if _is_id(id) else None
        method = message.get("method")
        if "method" not in message and valid_id is not None and self._is_answer(message, valid_id):
            self._answered(valid_id, message)
        elif "method" not in message and "error" in message:
            _log.warning("the editor reports an error that belongs to no request")
        elif message.get("jsonrpc") != "2.0" or not isinstance(method, str):
            self._refuse(valid_id, INVALID_REQUEST, "This is not a JSON-RPC 2.0 message.")
        elif "id" not in message:
            self._notification(method, message.get("params"))
        elif valid_id is None:
            self._refuse(None, INVALID_REQUEST, "A request's id must be a number or a string.")
        else:
            self._request(valid_id, method, message.get("params"))

    def _request(self, id: Id, method: str, params: object) -> None:
        stage = self._stage
        if method == types.EXIT:  # which should have been a notification
            self._answer(id, None)
            self._exit()
        elif stage is _Stage.SHUT_DOWN:
            self._refuse(id, INVALID_REQUEST, "The server has been shut down.")
        elif method == types.INITIALIZE:
            if stage is _Stage.NEW:
                self._initialize(id, params)
            else:
                self._refuse(id, INVALID_REQUEST, "The server is initialized already.")
        elif stage is _Stage.NEW:
            self._refuse(id, NOT_INITIALIZED, "The server is not initialized yet.")
        elif method == types.SHUTDOWN:
            self._stage = _Stage.SHUT_DOWN
            self._cancel_all()
            self._answer(id, None)
        elif (handler := self._server.handlers.get(method)) is None:
            self._refuse(id, METHOD_NOT_FOUND, f"There is no method {method[:100]}.")
        else:
            self._call(id, method, handler, params)

    def _call(self, id: Id, method: str, handler: Handler, params: object) -> None:
        try:
            result = handler(self._read(method, params))
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - it is answered
            self._fail(id, method, error)
            return
        if not inspect.isawaitable(result):
            self._answer(id, result)
            return
        task = asyncio.ensure_future(result)
        self._tasks.add(task)
        self._unanswered.setdefault(id, []).append(task)
        task.add_done_callback(partial(self._done, id, method))

    def _done(self, id: Id, method: str, task: asyncio.Future[Any]) -> None:
        self._tasks.discard(task)
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        if not self._take_unanswered(id, task):
            if isinstance(error, Exception):
                _log.error("%s failed after it was cancelled: %s", method, trace(error))
        elif error is not None:
            self._fail(id, method, error)
        else:
            self._answer(id, task.result())

    def _take_unanswered(self, id: Id, task: asyncio.Future[Any]) -> bool:
        tasks = self._unanswered.get(id, [])
        if task not in tasks:
            return False
        tasks.remove(task)
        if not tasks:
            del self._unanswered[id]
        return True

    def _cancel(self, id: Id) -> None:
        for task in tuple(self._unanswered.get(id, ())):
            # One that is done has its answer already, on its way through the loop.
            if not task.done() and self._take_unanswered(id, task):
                self._refuse(id, CANCELLED, "The request was cancelled.")
                task.cancel()

    def _cancel_all(self) -> None:
        for id in tuple(self._unanswered):
            self._cancel(id)

    def _exit(self) -> None:
        self._closed = True
        self._server.life.stop(self.exit_code, "exit")

    def _notification(self, method: str, params: object) -> None:
        if method == types.EXIT:
            self._exit()
        elif self._stage is not _Stage.RUNNING:
            _log.debug("%s dropped %s", method[:100], self._stage.value)
        elif method == types.CANCEL_REQUEST:
            id = params.get("id") if isinstance(params, dict) else None
            if _is_id(id):
                self._cancel(id)
        elif handler := self._server.handlers.get(method):
            try:
                result = handler(self._read(method, params))
            except Exception as error:  # noqa: BLE001 - a bug in one feature ends one message
                _log.error("%s was lost: %s", method, trace(error))
                self._lost(method, params)
                return
            if inspect.isawaitable(result):
                task = asyncio.ensure_future(result)
                self._tasks.add(task)
                task.add_done_callback(partial(self._notified, method))
        elif method == types.WINDOW_WORK_DONE_PROGRESS_CANCEL and isinstance(params, dict):
            token = params.get("token")
            if _is_token(token) and (progress := self.progress.tokens.get(token)):
                progress.cancel()
        elif not method.startswith("$/"):
            _log.debug("there is no method %s", method[:100])

    def _notified(self, method: str, task: asyncio.Future[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("%s failed: %s", method, trace(error))

    def _lost(self, method: str | None, params: object) -> None:
        try:
            self._server.on_unreadable(method, params)
        except Exception as error:  # noqa: BLE001 - reading goes on
            _log.error("on_unreadable failed: %s", trace(error))

    def _read(self, method: str, params: object) -> Any:
        try:
            if (reader := self._server.readers.get(method)) is not None:
                return reader(params)
            kind: Any = types.METHOD_TO_TYPES.get(method, (None, None, None))[2]
            if kind is None or method == types.INITIALIZE:
                return params
            return self._converter.structure(params, kind)
        except InvalidParams:
            raise
        except Exception as error:
            raise InvalidParams(f"The parameters of {method} make no sense.") from error

    def _initialize(self, id: Id, params: object) -> None:
        try:
            value = self._read(types.INITIALIZE, params)
            if handler := self._server.handlers.get(types.INITIALIZE):
                handler(value)
            capabilities = self._capabilities()
        except Exception as error:  # noqa: BLE001 - the editor may try again
            self._fail(id, types.INITIALIZE, error)
            return
        self._stage = _Stage.RUNNING
        self._answer(
            id, types.InitializeResult(capabilities=capabilities, server_info=self.server_info)
        )
        process_id = params.get("processId") if isinstance(params, dict) else None
        if isinstance(process_id, int) and not isinstance(process_id, bool):
            self._server.life.watch(process_id)

    def _capabilities(self) -> types.ServerCapabilities:
        server = self._server
        builder = ServerCapabilitiesBuilder(
            # What we offer does not depend on what the editor says it can do, so that its
            # capabilities, where every editor errs in its own way, need not be understood here.
            types.ClientCapabilities(),
            set(server.handlers),
            server.options,
            [],
            types.TextDocumentSyncKind.Incremental,
            position_encoding=server.position_encoding,
        )
        capabilities = cast(types.ServerCapabilities, builder.build())  # type: ignore[no-untyped-call]
        capabilities.execute_command_provider = server.options.get(types.WORKSPACE_EXECUTE_COMMAND)
        if types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS not in server.handlers:
            capabilities.workspace = None
        return capabilities

    # ---- to the editor

    def _answer(self, id: Id, result: object) -> None:
        try:
            body = self._json({"jsonrpc": "2.0", "id": id, "result": result})
        except Exception as error:  # noqa: BLE001 - whatever the handler returned
            self._fail(id, "the answer", error)
        else:
            self.send(body)

    def _fail(self, id: Id, method: str, error: BaseException) -> None:
        match error:
            case InvalidParams():
                self._refuse(id, INVALID_PARAMS, str(error))
            case JsonRpcException():
                self._refuse(id, error.code, error.message, error.data)
            case asyncio.CancelledError():
                self._refuse(id, CANCELLED, "The request was cancelled.")
            case CompletionsError():
                self._refuse(id, REQUEST_FAILED, str(error))
            case _:
                _log.error("%s failed: %s", method, trace(error))
                name = type(error).__name__
                self._refuse(id, INTERNAL_ERROR, f"A fault in the server: {method}, {name}.")

    def _refuse(self, id: Id | None, code: int, message: str, data: object = None) -> None:
        error: dict[str, object] = {"code": code, "message": message}
        if data is not None:
            error["data"] = data
        try:
            body = self._json({"jsonrpc": "2.0", "id": id, "error": error})
        except Exception:  # noqa: BLE001 - data that cannot be said
            error.pop("data", None)
            body = self._json({"jsonrpc": "2.0", "id": id, "error": error})
        self.send(body)

    def notify(self, method: str, params: Any | None = None) -> None:
        """Send a notification. May be called from any thread."""
        message = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = params
        self.send(self._json(message))

    def send_request(
        self,
        method: str,
        params: Any | None = None,
        callback: Callable[[Any], None] | None = None,
        msg_id: int | str | None = None,
    ) -> Future[Any]:
        """Send a request; the result comes as lsprotocol has it, null as None.

        `send_request_async` is the same to be awaited. Both are cancelled when the server stops.
        """
        self._last_id += 1
        id = self._last_id if msg_id is None else msg_id
        future: Future[Any] = Future()
        if callback is not None:

            def on_done(done: Future[Any]) -> None:
                if not done.cancelled() and done.exception() is None:
                    callback(done.result())

            future.add_done_callback(on_done)
        if self._closed:
            future.cancel()
            return future
        message = {"jsonrpc": "2.0", "id": id, "method": method}
        if params is not None:
            message["params"] = params
        body = self._json(message)
        self._asked[id] = (method, future)
        future.add_done_callback(lambda _done: self._asked.pop(id, None))
        self.send(body)
        return future

    def _is_answer(self, message: dict[str, object], id: Id) -> bool:
        # An answer without a result is what some editors send where the result is void.
        return "result" in message or "error" in message or id in self._asked

    def _answered(self, id: Id, message: dict[str, Any]) -> None:
        method, future = self._asked.pop(id, ("", None))
        if future is None or not future.set_running_or_notify_cancel():
            _log.debug("an answer nobody waits for was dropped")
            return
        if (error := message.get("error")) is not None:
            future.set_exception(_reported(error))
            return
        try:
            future.set_result(self._result(method, id, message.get("result")))
        except Exception:  # noqa: BLE001 - the editor's answer makes no sense
            future.set_exception(JsonRpcException(f"The answer to {method} makes no sense."))

    def _result(self, method: str, id: Id, result: object) -> Any:
        kind = types.METHOD_TO_TYPES.get(method, (None, None))[1]
        if kind is None or result is None:
            return result
        message = {"jsonrpc": "2.0", "id": id, "result": result}
        return self._converter.structure(message, kind).result

    def close(self) -> set[asyncio.Future[Any]]:
        """Listen no more; cancel everything, and return what is still cleaning up."""
        self._closed = True
        self._cancel_all()
        for task in self._tasks:
            task.cancel()
        for _, future in tuple(self._asked.values()):
            future.cancel()
        return set(self._tasks)

    def _json(self, message: object) -> bytes:
        text = json.dumps(
            message,
            default=self._plain,
            ensure_ascii=False,
            allow_nan=False,
            separators=(",", ":"),
        )
        return text.encode("utf-8", "replace")  # half of a surrogate pair cannot be encoded

    def _plain(self, value: object) -> object:
        if hasattr(value, "__attrs_attrs__"):
            return self._converter.unstructure(value)
        if isinstance(value, enum.Enum):
            return value.value
        raise TypeError(f"{type(value).__name__} is not JSON")


def _is_id(value: object) -> TypeGuard[Id]:
    """Whether `value` can name a request: a string or a whole number."""
    if isinstance(value, float):
        return value.is_integer()
    return isinstance(value, int | str) and not isinstance(value, bool)


def _is_token(value: object) -> TypeGuard[int | str]:
    return isinstance(value, int | str)


def _reported(error: object) -> JsonRpcException:
    """What the editor reported, whatever shape it has."""
    fields = error if isinstance(error, dict) else {}
    code, message = fields.get("code"), fields.get("message")
    return JsonRpcException(
        message if isinstance(message, str) else "The editor reported an error.",
        code if isinstance(code, int) else INTERNAL_ERROR,
    )


def _nowhere(_body: bytes) -> None:
    """Where messages go before there is an editor."""
