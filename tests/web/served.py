"""A real ``hfinspect serve`` in a process of its own, and requests to it."""

from __future__ import annotations

import http.client
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ..cli.program import ROOT

#: Seconds until a server that does not start is an error.
_PATIENCE = 60.0


class Reply(NamedTuple):
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Server:
    """The process; ``close`` ends it as Ctrl-C does."""

    def __init__(self, *arguments: str | Path, env: Mapping[str, str], cwd: Path = ROOT) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "hfinspect", "serve", *map(str, arguments)],
            env={**os.environ, "PYTHONPATH": str(ROOT), **env},
            cwd=cwd,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], _PATIENCE)
        self.address = self.process.stdout.readline().strip() if ready else ""
        assert self.address, self.process.communicate(timeout=5)
        self.origin, _, self.token = self.address.partition("/#token=")
        self.host = self.origin.removeprefix("http://")
        self.port = int(self.host.rpartition(":")[2])

    def close(self) -> tuple[int, str]:
        """The exit code and what stands on standard error."""
        self.process.send_signal(signal.SIGINT)
        _, err = self.process.communicate(timeout=_PATIENCE)
        return self.process.returncode, err

    def request(
        self, path: str, body: bytes | None = None, method: str = "", **headers: Any
    ) -> Reply:
        """As the page asks. Headers are changed by their names (``_`` for ``-``), left out with
        None."""
        sent: dict[str, str | None] = {"Host": self.host}
        if body is not None:
            sent |= {"Origin": self.origin, "Authorization": f"Bearer {self.token}"}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=_PATIENCE)
        connection.putrequest(
            method or ("GET" if body is None else "POST"),
            path,
            skip_host=True,
            skip_accept_encoding=True,
        )
        if body is not None and "Content_Length" not in headers:
            sent["Content-Length"] = str(len(body))
        for name, value in sent.items():
            if value is not None:
                connection.putheader(name, value)
        connection.endheaders(body)
        reply = connection.getresponse()
        answer = Reply(reply.status, {k.lower(): v for k, v in reply.getheaders()}, reply.read())
        connection.close()
        return answer

    def ask(self, target: object, kind: str = "report", name: str = "q", **more: Any) -> Any:
        """The answer to a question."""
        text = json.dumps({"kind": kind, "target": target, **more})
        return self.request(f"/answer?{name}", text.encode()).json
