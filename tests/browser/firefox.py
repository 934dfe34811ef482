"""A headless Firefox, driven by Marionette, the protocol that it has built in: one message is its
length, a colon, and a JSON text.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

#: Names under which distributions have it.
_NAMES = ("firefox-esr", "firefox")
#: Seconds until an answer that does not come is an error.
_PATIENCE = 60.0
#: Nothing but the pages of a test is fetched.
_SETTINGS = {
    "marionette.port": 0,
    "app.normandy.enabled": False,
    "app.update.disabledForTesting": True,
    "browser.safebrowsing.downloads.enabled": False,
    "browser.safebrowsing.malware.enabled": False,
    "browser.safebrowsing.phishing.enabled": False,
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "services.settings.server": "http://127.0.0.1:9",
    "toolkit.telemetry.enabled": False,
}


def find() -> str | None:
    """Where Firefox is; ``HFINSPECT_FIREFOX`` names another."""
    named = os.environ.get("HFINSPECT_FIREFOX")
    paths = [named] if named else [shutil.which(name) for name in _NAMES]
    return next((path for path in paths if path), None)


class Firefox:
    """One browser process with one page."""

    def __init__(self) -> None:
        path = find()
        assert path is not None, "no Firefox"
        self._home = Path(tempfile.mkdtemp(prefix="hfinspect-firefox-"))
        lines = [f"user_pref({json.dumps(k)}, {json.dumps(v)});" for k, v in _SETTINGS.items()]
        (self._home / "user.js").write_text("\n".join(lines))
        self._process = subprocess.Popen(
            [path, "--headless", "--no-remote", "--marionette", "--profile", str(self._home)],
            env={**os.environ, "HOME": str(self._home)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._number = 0
        self._buffer = b""
        self._socket = socket.create_connection(("127.0.0.1", self._port()), timeout=_PATIENCE)
        self._message()  # it says who it is
        self.send("WebDriver:NewSession", capabilities={"alwaysMatch": {}})
        self.send("WebDriver:SetTimeouts", script=int(_PATIENCE * 1000))

    def _port(self) -> int:
        noted = self._home / "MarionetteActivePort"
        until = time.monotonic() + _PATIENCE
        while not (noted.exists() and noted.read_text()):
            assert self._process.poll() is None, "Firefox has ended"
            assert time.monotonic() < until, "Firefox does not listen"
            time.sleep(0.05)
        return int(noted.read_text())

    def close(self) -> None:
        self._socket.close()
        self._process.terminate()
        self._process.wait(timeout=20)
        shutil.rmtree(self._home, ignore_errors=True)

    def send(self, command: str, **parameters: Any) -> Any:
        """What a command answers. Raises AssertionError where it is an error."""
        self._number += 1
        text = json.dumps([0, self._number, command, parameters]).encode()
        self._socket.sendall(str(len(text)).encode() + b":" + text)
        _, number, error, result = self._message()
        assert number == self._number
        assert error is None, (command, error)
        return result

    def _message(self) -> Any:
        while b":" not in self._buffer:
            self._buffer += self._received()
        length, _, self._buffer = self._buffer.partition(b":")
        while len(self._buffer) < int(length):
            self._buffer += self._received()
        text = self._buffer[: int(length)]
        self._buffer = self._buffer[int(length) :]
        return json.loads(text)

    def _received(self) -> bytes:
        part = self._socket.recv(1 << 16)
        assert part, "Firefox has ended"
        return part

    def open(self, page: str, *, width: int = 1200, height: int = 900) -> None:
        """A page in place of the last one."""
        self.send("WebDriver:SetWindowRect", width=width, height=height)
        self.send("WebDriver:Navigate", url=page)

    def value(self, expression: str) -> Any:
        """What a JavaScript expression comes to, a promise's result where it is one."""
        reply = self.send("WebDriver:ExecuteScript", script=f"return ({expression})", args=[])
        return reply["value"]

    def picture(self) -> str:
        """What the window shows, as PNG in base64."""
        return str(self.send("WebDriver:TakeScreenshot", full=False)["value"])

    def wait(self, expression: str) -> None:
        until = time.monotonic() + _PATIENCE
        while not self.value(expression):
            assert time.monotonic() < until, expression
            time.sleep(0.02)
