"""Drives a Chromium without a screen over its debugging pipe, with the keys a person presses."""

import base64
import contextlib
import json
import os
import queue
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PATIENCE = 30.0  # seconds
LOOKS = 0.02  # seconds between two looks at a page, which tells nobody when it changes

# Modifiers, as the protocol counts them.
ALT, CONTROL, SHIFT = 1, 2, 8
MODIFIERS = {"Alt": ALT, "Control": CONTROL, "Shift": SHIFT}

# Key codes of those that are no letters or digits, as keyboards have sent them for ever.
CODES = {
    "Backspace": 8,
    "Tab": 9,
    "Enter": 13,
    "Escape": 27,
    " ": 32,
    "PageUp": 33,
    "End": 35,
    "Home": 36,
    "ArrowLeft": 37,
    "ArrowUp": 38,
    "ArrowRight": 39,
    "ArrowDown": 40,
    "Delete": 46,
    "F1": 112,
    "\\": 220,
}
NAMES = {" ": "Space", "\\": "Backslash"}

OPTIONS = [
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-dev-shm-usage", "--hide-scrollbars", "--force-color-profile=srgb"),
    # What a background window need not do quickly is what is looked at here.
    *("--disable-background-timer-throttling", "--disable-renderer-backgrounding"),
    "--disable-backgrounding-occluded-windows",
    # Nothing but this machine.
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    "--remote-debugging-pipe",
]


def executable() -> str | None:
    """The Chromium that the environment names, or the one on PATH."""
    return os.environ.get("LSP_COMPLETIONS_CHROMIUM") or shutil.which("chromium")


class Browser:
    """A running Chromium."""

    def __init__(self, process: "subprocess.Popen[bytes]", commands: int, answers: int) -> None:
        self._process = process
        self._commands = os.fdopen(commands, "wb", buffering=0)
        self._answers = os.fdopen(answers, "rb")
        self._waiting: dict[int, queue.SimpleQueue[dict[str, Any]]] = {}
        self._last = 0
        self._sending = threading.Lock()
        self._reader = threading.Thread(target=self._read, name="browser", daemon=True)
        self._reader.start()

    def call(self, method: str, *, session: str | None = None, **parameters: object) -> Any:
        """What the browser answers to a command."""
        answer: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        with self._sending:
            self._last += 1
            number = self._last
            self._waiting[number] = answer
            message = {"id": number, "method": method, "params": parameters}
            if session is not None:
                message["sessionId"] = session
            self._commands.write(json.dumps(message).encode() + b"\0")
        said = answer.get(timeout=PATIENCE)
        assert "error" not in said, (method, said["error"])
        return said["result"]

    def page(self, url: str, size: tuple[int, int]) -> "Page":
        """A new window."""
        width, height = size
        target = self.call("Target.createTarget", url="about:blank", newWindow=True)["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, target, session)
        page.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=2,
            mobile=False,
        )
        # Each window believes that it is the one in front.
        page.call("Emulation.setFocusEmulationEnabled", enabled=True)
        page.call("Page.navigate", url=url)
        return page

    def close(self) -> None:
        """Close it, and all its windows."""
        with contextlib.suppress(Exception):
            self.call("Browser.close")
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._reader.join(PATIENCE)
        self._commands.close()
        self._answers.close()

    def _read(self) -> None:
        rest = b""
        while chunk := self._answers.read1(1 << 16):
            *messages, rest = (rest + chunk).split(b"\0")
            for text in messages:
                message = json.loads(text)
                if (waiting := self._waiting.pop(message.get("id", 0), None)) is not None:
                    waiting.put(message)


class Page:
    """One window, and the keys pressed in it."""

    def __init__(self, browser: Browser, target: str, session: str) -> None:
        self._browser = browser
        self._target = target
        self._session = session

    def call(self, method: str, **parameters: object) -> Any:
        return self._browser.call(method, session=self._session, **parameters)

    def evaluate(self, script: str) -> Any:
        """The value of an expression in the page."""
        said = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in said, (script, said["exceptionDetails"])
        return said["result"].get("value")

    def wait_for(self, what: str, script: str, *, patience: float = PATIENCE) -> Any:
        """Wait until an expression is true in the page; returns its value."""
        deadline = time.monotonic() + patience
        while (value := self.evaluate(script)) in (None, False, "", 0):
            assert time.monotonic() < deadline, f"waited in vain for {what}"
            time.sleep(LOOKS)
        return value

    def press(self, keys: str) -> None:
        """One key, perhaps with modifiers before it: `Control+Shift+p`."""
        *held, key = keys.split("+") if keys != "+" else ["+"]
        modifiers = sum(MODIFIERS[name] for name in held)
        self._key(key, modifiers)

    def type(self, text: str, *, pace: float = 0.0) -> None:
        """Press the keys of a text."""
        for character in text:
            self._key("Enter" if character == "\n" else character, 0)
            if pace:
                time.sleep(pace)

    def paste(self, text: str) -> None:
        """Put a text in at once."""
        self.call("Input.insertText", text=text)

    def picture(self, path: Path, selector: str = "body") -> None:
        """What is in the window, or in a part of it, as a PNG."""
        where = f"document.querySelector({json.dumps(selector)}).getBoundingClientRect()"
        x, y, width, height = self.evaluate(
            f"(({{ x, y, width, height }}) => [x, y, width, height])({where})"
        )
        clip = {"x": x, "y": y, "width": width, "height": height, "scale": 1}
        data = self.call("Page.captureScreenshot", format="png", clip=clip)["data"]
        path.write_bytes(base64.b64decode(data))

    def close(self) -> None:
        self._browser.call("Target.closeTarget", targetId=self._target)

    def _key(self, key: str, modifiers: int) -> None:
        if len(key) == 1 and key.isascii() and key.isalnum():
            code = ord(key.upper())
            name = f"Digit{key}" if key.isdigit() else f"Key{key.upper()}"
        else:
            code = CODES.get(key, 0)
            name = key if len(key) > 1 else NAMES.get(key, "")
        event: dict[str, object] = {"key": key, "code": name, "windowsVirtualKeyCode": code}
        event["modifiers"] = modifiers | (SHIFT if key.isupper() and len(key) == 1 else 0)
        writes = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        if writes and not modifiers & (CONTROL | ALT):
            self.call("Input.dispatchKeyEvent", type="keyDown", text=writes, **event)
        else:
            self.call("Input.dispatchKeyEvent", type="rawKeyDown", **event)
        self.call("Input.dispatchKeyEvent", type="keyUp", **event)


@contextlib.contextmanager
def running_browser(profile: Path) -> Iterator[Browser]:
    """A Chromium with a profile of its own."""
    program = executable()
    assert program is not None
    to_read, commands = os.pipe()
    answers, to_write = os.pipe()
    # It reads its commands from 3 and writes its answers to 4.
    script = f'exec "$@" 3<&{to_read} 4>&{to_write}'
    process = subprocess.Popen(
        ["/bin/bash", "-c", script, "-", program, *OPTIONS, f"--user-data-dir={profile}"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=(to_read, to_write),
        start_new_session=True,
        env={**os.environ, "HOME": str(profile)},
    )
    os.close(to_read)
    os.close(to_write)
    browser = Browser(process, commands, answers)
    try:
        yield browser
    finally:
        browser.close()
