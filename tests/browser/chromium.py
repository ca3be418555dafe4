"""Chromium by its DevTools protocol, over a pair of pipes: no port, no library. One page, one command at a time."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
from types import TracebackType
from typing import Any, Final, Self

ANSWER_S: Final = 60.0
STOP_S: Final = 20.0
FLAGS: Final = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # nothing else has an address
    "--remote-debugging-pipe",
)


def why_unavailable() -> str | None:
    return None if _program() else "chromium is missing (Debian: apt-get install chromium)"


def _program() -> str | None:
    return shutil.which("chromium") or shutil.which("google-chrome")


class Chromium:
    """A context in which there is one page.

    `requests` are the URLs that the page asked for, `complaints` its errors.
    """

    def __init__(self) -> None:
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self._ids = 0
        self._buffer = b""
        self._session: str | None = None
        self._folder = tempfile.TemporaryDirectory(prefix="shareq-chromium-", ignore_cleanup_errors=True)

    def __enter__(self) -> Self:
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()
        program = _program()
        assert program is not None, "there is no Chromium"
        # Chromium reads file 3 and writes file 4.
        moved = f'exec 3<&{to_browser} 4>&{from_browser}; exec "$@"'
        command = ["bash", "-c", moved, "chromium", program, *FLAGS, f"--user-data-dir={self._folder.name}"]
        self._process = subprocess.Popen(
            [*command, "about:blank"],
            pass_fds=(to_browser, from_browser),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log", "Accessibility"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        os.close(self._write)
        self._process.terminate()
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._read)
        self._folder.cleanup()

    # -- the protocol

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Return the result of a command. Raise RuntimeError if it is refused."""
        self._ids += 1
        message: dict[str, Any] = {"id": self._ids, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + ANSWER_S
        while time.monotonic() < until:
            got = self._receive()
            if got.get("id") == self._ids:
                if "error" in got:
                    raise RuntimeError(f"{method}: {got['error']['message']}")
                result: dict[str, Any] = got["result"]
                return result
        raise RuntimeError(f"{method}: no answer within {ANSWER_S:g} s")

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            data = os.read(self._read, 1 << 20)
            if not data:
                raise RuntimeError("Chromium ended")
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\0")
        got: dict[str, Any] = json.loads(line)
        self._note(got.get("method"), got.get("params", {}))
        return got

    def _note(self, method: str | None, given: dict[str, Any]) -> None:
        if method == "Network.requestWillBeSent":
            self.requests.append(given["request"]["url"])
        elif method == "Network.webSocketCreated":
            self.requests.append(given["url"])
        elif method == "Runtime.exceptionThrown":
            details = given["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Log.entryAdded" and given["entry"]["level"] in ("error", "warning"):
            self.complaints.append(f"{given['entry']['text']} {given['entry'].get('url', '')}")

    # -- the page

    def evaluate(self, expression: str) -> Any:
        """Return the awaited value of a JavaScript expression. Raise RuntimeError if it throws."""
        got = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in got:
            details = got["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description") or details["text"])
        return got["result"].get("value")

    def until(self, expression: str, *, seconds: float = 40.0) -> Any:
        """Wait until a JavaScript expression is true, and return its value, or True for an element.

        Raise TimeoutError.
        """
        deadline = time.monotonic() + seconds
        once = f"((found) => found instanceof Node || found)({expression})"
        while not (found := self.evaluate(once)):
            if time.monotonic() > deadline:
                raise TimeoutError(f"in vain: {expression}; the page has: {self.evaluate('document.body.innerText')}")
            time.sleep(0.1)
        return found

    def open(self, url: str) -> None:
        """Go to a URL. If only its fragment differs, the page is not loaded again."""
        self.call("Page.navigate", url=url)

    def look(self, width: int, height: int, *, dark: bool) -> None:
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def press(self, key: str, code: int, text: str = "") -> None:
        """Press and release a key, given by its name and its Windows key code; `text` is what the key types."""
        typed = {"text": text} if text else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, code=key, windowsVirtualKeyCode=code, **typed)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, code=key, windowsVirtualKeyCode=code)

    def type(self, text: str) -> None:
        self.call("Input.insertText", text=text)

    def names(self) -> list[tuple[str, str]]:
        nodes = self.call("Accessibility.getFullAXTree")["nodes"]
        return [
            (node["role"]["value"], node.get("name", {}).get("value", ""))
            for node in nodes
            if not node.get("ignored")
            and any(each["name"] == "focusable" and each["value"].get("value") for each in node.get("properties", ()))
        ]

    def picture(self) -> bytes:
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])
