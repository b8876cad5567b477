"""A real Neovim: its keyboard, its screen, its end.

Neovim runs as it does inside a graphical front end (`nvim --embed`): keys go in as a person types
them, and what it would paint comes back as a grid of cells with their highlight groups. Nothing
here speaks to a language server.
"""

import functools
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import IO, Any

import msgpack  # type: ignore[import-untyped]

from tests.support.screen import GHOST, Cell, Screen, Style, Watched

KEYS = re.compile(r"<[A-Za-z0-9-]+>|.", re.DOTALL)


class Version(Enum):
    """Neovims that differ in what they bring along: how one is named here, and told by Lua."""

    V0_11 = ("LSP_COMPLETIONS_NVIM_011", "vim.lsp.enable and not vim.lsp.inline_completion")
    V0_12 = ("LSP_COMPLETIONS_NVIM", "vim.lsp.inline_completion")  # it draws ghost text


@functools.cache
def executable(version: Version) -> str | None:
    """The Neovim that the environment names for this version, or the one on PATH if it is one."""
    variable, feature = version.value
    found = os.environ.get(variable) or shutil.which("nvim")
    if not found:
        return None
    probe = f"lua os.exit(({feature}) and 0 or 1)"
    command = [found, "-u", "NONE", "-i", "NONE", "--headless", f"+{probe}"]
    tried = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return found if tried.returncode == 0 else None


class _Grid:
    """The grid as Neovim's redraw events build it up."""

    def __init__(self) -> None:
        self._cells: list[list[tuple[str, int]]] = []
        self._styles: dict[int, Style] = {0: Style()}
        self._cursor = (0, 0)
        self._modes: list[dict[str, Any]] = []
        self._mode = 0
        self._colours = (0xFFFFFF, 0x000000)

    def apply(self, events: Sequence[Sequence[Any]]) -> bool:
        """Apply a batch; true when the picture is complete."""
        complete = False
        for name, *calls in events:
            complete = complete or name == "flush"
            if handler := getattr(self, f"_on_{name}", None):
                for arguments in calls:
                    handler(*arguments)
        return complete

    def screen(self) -> Screen:
        shape = self._modes[self._mode].get("cursor_shape") if self._modes else None
        plain = Style()
        return Screen(
            rows=tuple(
                tuple(Cell(text, self._styles.get(style, plain)) for text, style in row)
                for row in self._cells
            ),
            cursor=self._cursor,
            cursor_is_bar=shape == "vertical",
            foreground=self._colours[0],
            background=self._colours[1],
        )

    def _on_grid_resize(self, _grid: int, width: int, height: int) -> None:
        self._cells = [[(" ", 0)] * width for _ in range(height)]

    def _on_grid_clear(self, _grid: int) -> None:
        self._cells = [[(" ", 0)] * len(row) for row in self._cells]

    def _on_grid_cursor_goto(self, _grid: int, row: int, column: int) -> None:
        self._cursor = (row, column)

    def _on_grid_line(
        self, _grid: int, row: int, column: int, cells: list[list[Any]], *_wrap: object
    ) -> None:
        style = 0
        for text, *more in cells:
            style = more[0] if more else style
            for _ in range(more[1] if len(more) > 1 else 1):
                self._cells[row][column] = (text, style)
                column += 1

    def _on_grid_scroll(
        self, _grid: int, top: int, bottom: int, left: int, right: int, rows: int, _columns: int
    ) -> None:
        lines = range(top, bottom - rows) if rows > 0 else range(bottom - 1, top - rows - 1, -1)
        for line in lines:
            self._cells[line][left:right] = self._cells[line + rows][left:right]

    def _on_default_colors_set(self, foreground: int, background: int, *_more: object) -> None:
        self._colours = (foreground, background)

    def _on_hl_attr_define(
        self, number: int, colours: dict[str, Any], _terminal: object, info: list[dict[str, Any]]
    ) -> None:
        self._styles[number] = Style(
            foreground=colours.get("foreground"),
            background=colours.get("background"),
            bold=bool(colours.get("bold")),
            italic=bool(colours.get("italic")),
            underline=bool(colours.get("underline") or colours.get("undercurl")),
            reverse=bool(colours.get("reverse")),
            groups=frozenset(part.get("hi_name", "") for part in info),
        )

    def _on_mode_info_set(self, _styled: bool, modes: list[dict[str, Any]]) -> None:
        self._modes = modes

    def _on_mode_change(self, _name: str, number: int) -> None:
        self._mode = number


class NeovimError(AssertionError):
    """Neovim refused a call, ended, or never came to show what was waited for."""


@dataclass
class Neovim(Watched):
    """A running Neovim with a screen attached."""

    error = NeovimError
    process: subprocess.Popen[bytes]
    pace: float
    _grid: _Grid = field(default_factory=_Grid)
    _screen: Screen | None = None
    _replies: dict[int, Future[Any]] = field(default_factory=dict)
    _sent: int = 0
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _ended: bool = False

    @property
    def screen(self) -> Screen:
        """The screen as it is now."""
        with self._changed:
            assert self._screen is not None
            return self._screen

    def call(self, method: str, *arguments: object, timeout: float = 10) -> Any:
        """Call Neovim's API and wait for the answer."""
        try:
            return self._send(method, *arguments).result(timeout)
        except TimeoutError as exc:
            # As a rule because it waits for a key; the screen has the message that it waits with.
            screen = self._screen and self._screen.text
            raise NeovimError(f"no answer to {method}; the screen:\n{screen}") from exc

    def _send(self, method: str, *arguments: object) -> Future[Any]:
        reply: Future[Any] = Future()
        with self._changed:
            if self._ended:
                raise NeovimError("Neovim has ended")
            self._sent += 1
            self._replies[self._sent] = reply
            _pipe(self.process.stdin).write(msgpack.packb([0, self._sent, method, arguments]))
            _pipe(self.process.stdin).flush()
        return reply

    def lua(self, code: str, *arguments: object) -> Any:
        """Run Lua inside Neovim."""
        return self.call("nvim_exec_lua", code, arguments)

    def type(self, keys: str, *, pace: float | None = None) -> None:
        """Press keys one by one, as a person does; special ones are written `<Tab>`."""
        for key in KEYS.findall(keys):
            self.call("nvim_input", "<lt>" if key == "<" else key)
            # Neovim waits for a pause in typing before it asks: keys without one would be a paste.
            time.sleep(self.pace if pace is None else pace)

    def wait_for_ghost(self, text: str) -> Screen:
        """Wait until exactly `text` is shown as ghost text."""

        def shown() -> Screen | None:
            screen = self.screen
            return screen if screen.ghost == text else None

        return self.wait_for(f"the ghost text {text!r}", shown)

    def wait_for_mode(self, mode: str) -> None:
        """Wait until Neovim is in `mode`, named by its short code (`n`, `i`)."""
        self.wait_for(f"mode {mode}", lambda: self.call("nvim_get_mode")["mode"] == mode)

    def save(self) -> None:
        """Leave insert mode and write the file, as a person does."""
        self.type("<Esc>")
        self.wait_for_mode("n")
        self.type(":w<CR>")
        self.wait_for("the file saved", lambda: not self.lua("return vim.bo.modified"))

    def children(self) -> list[int]:
        """The processes Neovim has started and that still run."""
        return [int(pid) for pid in self.call("nvim_get_proc_children", self.process.pid)]

    def quit(self, timeout: float = 10) -> None:
        """Leave without saving, and wait for the process to end; nothing if it has ended."""
        if self.process.poll() is None:
            self.type("<Esc>:qa!")
            # Not a call: its answer may never come.
            self._send("nvim_input", "<CR>")
            self.process.wait(timeout)

    def kill(self) -> None:
        """End it without a chance to say goodbye to anybody, as the kernel does."""
        _kill_group(self.process)
        self.process.wait()

    def _read(self) -> None:
        unpacker = msgpack.Unpacker(unicode_errors="surrogateescape", ext_hook=lambda _, data: data)
        pipe = _pipe(self.process.stdout).fileno()
        while data := os.read(pipe, 1 << 16):
            unpacker.feed(data)
            for message in unpacker:
                with self._changed:
                    self._on_message(message)
        with self._changed:
            self._ended = True
            for reply in self._replies.values():
                reply.set_exception(NeovimError("Neovim has ended"))
            self._replies.clear()
            self._changed.notify_all()

    def _on_message(self, message: list[Any]) -> None:
        match message:
            case [1, number, None, result]:
                self._replies.pop(number).set_result(result)
            case [1, number, [_, str(error)], _] | [1, number, error, _]:
                self._replies.pop(number).set_exception(NeovimError(str(error)))
            case [2, "redraw", events] if self._grid.apply(events):
                self._screen = self._grid.screen()
                self._changed.notify_all()


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream


@contextmanager
def running_neovim(
    path: Path,
    *,
    version: Version,
    home: Path,
    config: str,
    environment: Mapping[str, str],
    size: tuple[int, int] = (80, 20),
    pace: float = 0.03,
) -> Iterator[Neovim]:
    """Neovim with `path` open and `config` as its `init.lua`, in a home of its own.

    `environment` is added to what the process gets of ours. On leaving, Neovim is gone whatever
    state it was in; what it started has to notice by itself.
    """
    program = executable(version)
    assert program is not None
    init = home / ".config" / "nvim" / "init.lua"
    init.parent.mkdir(parents=True, exist_ok=True)
    init.write_text(config, encoding="utf-8", newline="\n")
    process = subprocess.Popen(
        [program, "--embed", "-i", "NONE", str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=path.parent,
        env={**own_folders(home), **environment},
        start_new_session=True,
    )
    neovim = Neovim(process, pace)
    reader = threading.Thread(target=neovim._read, name="neovim", daemon=True)
    reader.start()
    try:
        neovim.call(
            "nvim_ui_attach", *size, {"ext_linegrid": True, "ext_hlstate": True, "rgb": True}
        )
        neovim.wait_for("the start over", lambda: neovim.lua("return vim.v.vim_did_enter == 1"))
        # A linked group's cells carry the name of the group it links to, which others use as well.
        neovim.lua(
            "local group = vim.api.nvim_get_hl(0, { name = ..., link = false })"
            " vim.api.nvim_set_hl(0, ..., group)",
            GHOST,
        )
        yield neovim
    finally:
        if process.poll() is None:
            _kill_group(process)
        process.wait()
        reader.join(10)
        with suppress(BrokenPipeError):
            _pipe(process.stdin).close()
        _pipe(process.stdout).close()


def own_folders(home: Path) -> dict[str, str]:
    """Our environment, with every folder a program keeps things in below `home`."""
    ours = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("NVIM", "VIM", "SRC_", "XDG_"))
    }
    below = {
        "HOME": home,
        "USERPROFILE": home,
        "XDG_CONFIG_HOME": home / ".config",
        "XDG_DATA_HOME": home / ".local" / "share",
        "XDG_STATE_HOME": home / ".local" / "state",
        "XDG_CACHE_HOME": home / ".cache",
        "LOCALAPPDATA": home / ".config",
    }
    return {**ours, **{name: str(folder) for name, folder in below.items()}}


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    if os.name == "nt":
        process.kill()
    else:
        os.killpg(process.pid, signal.SIGKILL)
