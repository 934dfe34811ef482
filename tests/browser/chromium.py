"""A headless Chromium, driven by the DevTools protocol through a pipe: no server, no port, no
library. One message is one JSON text that ends with a zero byte.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

#: Names under which distributions have it.
_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
#: Seconds until an answer that does not come is an error.
_PATIENCE = 60.0


def find() -> str | None:
    """Where Chromium is; ``HFINSPECT_CHROMIUM`` names another."""
    named = os.environ.get("HFINSPECT_CHROMIUM")
    paths = [named] if named else [shutil.which(name) for name in _NAMES]
    return next((path for path in paths if path), None)


class Chromium:
    """One browser process, with one page after the other. Of each page all requests and all that
    its console says are kept."""

    def __init__(self) -> None:
        path = find()
        assert path is not None, "no Chromium"
        self._home = tempfile.mkdtemp(prefix="hfinspect-browser-")
        there, self._out = os.pipe()
        self._in, back = os.pipe()
        options = (
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--no-first-run",
            "--disable-extensions",
            "--disable-background-networking",
            "--disable-dev-shm-usage",
            "--force-color-profile=srgb",
            f"--user-data-dir={self._home}",
            "--remote-debugging-pipe",
        )

        def hand_over() -> None:  # DevTools reads from 3 and writes to 4
            first = os.dup(there)
            second = os.dup(back)
            os.dup2(first, 3)
            os.dup2(second, 4)

        self._process = subprocess.Popen(
            [path, *options, "about:blank"],
            pass_fds=(3, 4, there, back),
            preexec_fn=hand_over,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(there)
        os.close(back)
        self._buffer = b""
        self._number = 0
        self.session: str | None = None
        #: Whether pages are opened in the dark where nothing else is said.
        self.dark = False
        self.requests: list[str] = []
        self.console: list[str] = []

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(timeout=20)
        os.close(self._in)
        os.close(self._out)
        shutil.rmtree(self._home, ignore_errors=True)

    # ---- the protocol

    def send(self, method: str, **parameters: Any) -> Any:
        """What a method answers. Raises AssertionError where it is an error."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self.session is not None:
            message["sessionId"] = self.session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive(_PATIENCE)
            assert answer is not None, f"no answer to {method}"
            if answer.get("id") == self._number:
                assert "error" not in answer, (method, answer["error"])
                return answer["result"]

    def _receive(self, patience: float) -> dict[str, Any] | None:
        until = time.monotonic() + patience
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(until - time.monotonic(), 0))
            if not ready:
                return None
            read = os.read(self._in, 1 << 20)
            assert read, "the browser has ended"
            self._buffer += read
        text, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        self._note(message)
        return message

    def _note(self, message: dict[str, Any]) -> None:
        method = message.get("method")
        params = message.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Log.entryAdded":
            self.console.append(params["entry"]["text"])
        elif method == "Runtime.exceptionThrown":
            self.console.append(params["exceptionDetails"].get("text", "exception"))
        elif method == "Runtime.consoleAPICalled":
            self.console.append(" ".join(str(a.get("value")) for a in params["args"]))

    # ---- pages

    def open(
        self,
        page: Path | str,
        *,
        scripts: bool = True,
        width: int = 1200,
        height: int = 900,
        dark: bool | None = None,
    ) -> None:
        """A new page; what the last one did is forgotten."""
        self.session = None
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Network", "Log", "Runtime"):
            self.send(f"{domain}.enable")
        self.resize(width, height)
        self.send("Emulation.setScriptExecutionDisabled", value=not scripts)
        is_dark = self.dark if dark is None else dark
        scheme = {"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}
        still = {"name": "prefers-reduced-motion", "value": "reduce"}
        self.send("Emulation.setEmulatedMedia", features=[scheme, still])
        self.requests = []
        self.console = []
        self.send("Page.navigate", url=page if isinstance(page, str) else page.resolve().as_uri())
        self.wait("document.readyState === 'complete'")

    def resize(self, width: int, height: int) -> None:
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def value(self, expression: str) -> Any:
        """What a JavaScript expression comes to, a promise's result where it is one. Works with
        the page's own scripts off."""
        reply = self.send(
            "Runtime.evaluate",
            expression=expression,
            returnByValue=True,
            awaitPromise=True,
            userGesture=True,
        )
        assert "exceptionDetails" not in reply, reply["exceptionDetails"]
        return reply["result"].get("value")

    def wait(self, expression: str) -> None:
        until = time.monotonic() + _PATIENCE
        while not self.value(expression):
            assert time.monotonic() < until, expression
            time.sleep(0.02)

    def press(self, key: str) -> None:
        """One key, as a keyboard has it: ``Tab``, ``Enter``, ``ArrowDown``."""
        code = {
            "Tab": 9,
            "Enter": 13,
            "Escape": 27,
            " ": 32,
            "End": 35,
            "Home": 36,
            "ArrowLeft": 37,
            "ArrowUp": 38,
            "ArrowRight": 39,
            "ArrowDown": 40,
        }[key]
        known = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        text = {"text": "\r"} if key == "Enter" else {"text": " "} if key == " " else {}
        self.send("Input.dispatchKeyEvent", type="keyDown", **known, **text)
        self.send("Input.dispatchKeyEvent", type="keyUp", **known)

    def picture(self, *, whole: bool = False) -> str:
        """What the window shows, or the whole page, as PNG in base64."""
        reply = self.send("Page.captureScreenshot", captureBeyondViewport=whole)
        return str(reply["data"])

    def screenshot(self, path: Path, *, whole: bool = False) -> None:
        """The same as a file."""
        path.write_bytes(base64.b64decode(self.picture(whole=whole)))
