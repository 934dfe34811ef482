"""``hf extensions install``, the real one, from a server on loopback that stands for github.com.

A variable names a proxy; the proxy answers for GitHub's hosts itself, with certificates of a
test authority, and refuses every other host. Packages come from a folder.
"""

from __future__ import annotations

import io
import os
import socketserver
import ssl
import sys
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from ..cli.program import ROOT
from .built import call, distributions, installed, scripts

__all__ = ["distributions", "installed"]
pytestmark = [pytest.mark.install, pytest.mark.posix]
FOLDER = ROOT / ".github" / "hf-inspect"
COMMIT = "0123456789" * 4
HOSTS = ("github.com", "raw.githubusercontent.com")


def archive() -> bytes:
    """The repository as GitHub packs its HEAD: all files below one folder."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        for path in sorted(FOLDER.iterdir()):
            packed.writestr(f"hf-inspect-HEAD/{path.name}", path.read_bytes())
    return out.getvalue()


def answer(host: str, path: str) -> bytes | None:
    if host == "raw.githubusercontent.com":
        file = FOLDER / path.removeprefix("/hfinspect/hf-inspect/HEAD/")
        return file.read_bytes() if file.is_file() else None
    return {
        "/hfinspect/hf-inspect/archive/HEAD.zip": archive(),
        "/hfinspect/hf-inspect.git/info/refs": f"0032{COMMIT} HEAD\0agent=test\n".encode(),
        "/hfinspect/hf-inspect": b"<html></html>",
    }.get(path.partition("?")[0])


@pytest.fixture
def github(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Variables that lead programs to the server."""
    trustme = pytest.importorskip("trustme")
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    contexts = {}
    for host in HOSTS:
        contexts[host] = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert(host).configure_cert(contexts[host])

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        host = ""

        def do_CONNECT(self) -> None:
            host = self.path.partition(":")[0]
            if host not in HOSTS:
                self.send_error(403)
                return
            self.send_response(200)
            self.end_headers()
            self.connection = contexts[host].wrap_socket(self.connection, server_side=True)
            self.rfile = self.connection.makefile("rb")
            self.wfile = self.connection.makefile("wb", buffering=0)
            self.host = host
            self.close_connection = False  # pip asks in HTTP/1.0

        def finish(self) -> None:
            super().finish()
            self.connection.close()

        def do_GET(self) -> None:
            body = answer(self.host, self.path)
            self.send_response(404 if body is None else 200)
            self.send_header("content-length", str(len(body or b"")))
            self.end_headers()
            self.wfile.write(body or b"")

        def do_HEAD(self) -> None:
            self.send_response(200 if answer(self.host, self.path) is not None else 404)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_address[1]}"
        certificate = str(tmp_path / "ca.pem")
        yield {
            "HTTPS_PROXY": address,
            "https_proxy": address,
            "NO_PROXY": "",
            "no_proxy": "",
            "SSL_CERT_FILE": certificate,
            "PIP_CERT": certificate,
            "REQUESTS_CA_BUNDLE": certificate,
        }
        server.shutdown()


def test_hf_installs_and_runs_it(
    github: dict[str, str], distributions: tuple[Path, Path], installed: Path, tmp_path: Path
) -> None:
    wheels = tmp_path / "wheels"
    download: list[str | Path] = [sys.executable, "-m", "pip", "download", "-q", "-d", wheels]
    call(*download, distributions[0], "hatchling", cwd=tmp_path)
    env = {
        **github,
        "HOME": str(tmp_path),
        "HF_HOME": str(tmp_path / "hf"),
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(wheels),
        "HF_HUB_DISABLE_UPDATE_CHECK": "1",
        "PATH": f"{scripts(installed)}{os.pathsep}/usr/bin{os.pathsep}/bin",
    }
    hf = scripts(installed) / "hf"
    call(hf, "extensions", "install", "hfinspect/hf-inspect", cwd=tmp_path, env=env)
    listed = call(hf, "extensions", "list", cwd=tmp_path, env=env)
    assert "inspect" in listed
    output = call(hf, "inspect", ROOT / "fixtures" / "models" / "gpt2", cwd=tmp_path, env=env)
    assert "124 M parameters" in output
