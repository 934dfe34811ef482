"""The app in a browser: its page, the Hub that it names, and what a user does there."""

from __future__ import annotations

import base64
import http.server
import json
import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import hfinspect
from hfinspect.web.assemble import PYODIDE, assemble

from ..builders import safetensors_bytes, shard_names
from ..cli.program import ROOT
from ..hub_server import HubServer

#: Where Pyodide is, npm's package (``npm pack pyodide``, unpacked).
PACKAGE = Path(os.environ.get("HFINSPECT_PYODIDE", "package"))
HAS_PYODIDE = all((PACKAGE / name).is_file() for name in PYODIDE)


class Browser(Protocol):
    """What a test needs of one."""

    def open(self, page: str, *, width: int = 1200) -> None: ...

    def value(self, expression: str) -> Any: ...

    def wait(self, expression: str) -> None: ...

    def picture(self) -> str: ...


MODELS = ROOT / "fixtures" / "models"
#: What the real Hub shows to pages of other origins.
SHOWN = "Content-Range,ETag,Link,X-Repo-Commit,X-Error-Code,X-Error-Message,Accept-Ranges"
CORS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Expose-Headers": SHOWN,
    "Access-Control-Allow-Headers": "authorization,range",
}


SMALL_LLAMA: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 16,
    "intermediate_size": 32,
    "max_position_embeddings": 128,
    "num_attention_heads": 2,
    "num_hidden_layers": 2,
    "num_key_value_heads": 1,
    "tie_word_embeddings": False,
    "torch_dtype": "float32",
    "vocab_size": 64,
}


def sharded_llama(count: int) -> dict[str, bytes]:
    """A repo of the small model: config.json, and weights in so many shards."""
    tensors = {
        t.name: ("F32", tuple(map(int, t.shape))) for t in hfinspect.predict(SMALL_LLAMA).tensors
    }
    names = shard_names("model", ".safetensors", count)
    parts = {name: dict(list(tensors.items())[at::count]) for at, name in enumerate(names)}
    files = {name: safetensors_bytes(part) for name, part in parts.items()}
    files["config.json"] = json.dumps(SMALL_LLAMA).encode()
    if count > 1:
        weight_map = {tensor: name for name, part in parts.items() for tensor in part}
        index = {"metadata": {}, "weight_map": weight_map}
        files["model.safetensors.index.json"] = json.dumps(index).encode()
    return files


#: The least share of a frame's pixels that an answer's letters cover; a blank frame has none.
DRAWN = 0.01
_INK = """new Promise((done) => {
  const picture = new Image(), canvas = document.createElement('canvas');
  picture.onload = () => {
    const {left, right, top, bottom} = document.getElementById('page').getBoundingClientRect();
    const x = Math.max(left, 0) + 4, y = Math.max(top, 0) + 4;
    canvas.width = Math.min(right, innerWidth) - 4 - x;
    canvas.height = Math.min(bottom, innerHeight) - 4 - y;
    const context = canvas.getContext('2d');
    context.drawImage(picture, -x, -y);
    const {data} = context.getImageData(0, 0, canvas.width, canvas.height);
    const pixels = new Uint32Array(data.buffer);
    done(pixels.reduce((sum, pixel) => sum + (pixel !== pixels[0]), 0) / pixels.length);
  };
  picture.src = SHOWN;
})"""


class AppPage:
    """The page in a browser, and the Hub that it names."""

    def __init__(self, browser: Browser, url: str, after: str = "") -> None:
        """``after`` follows the address, as the token of a server does."""
        self.browser = browser
        self.url = url
        self.after = after

    def open(self, after: str = "", *, width: int = 1200) -> None:
        self.browser.open(f"{self.url}?{time.monotonic_ns()}{after or self.after}", width=width)
        self.started()

    def started(self) -> None:
        self.browser.wait("document.documentElement?.dataset.started === 'yes'")

    def text(self, name: str) -> str:
        return str(self.browser.value(f"document.getElementById('{name}').textContent"))

    def type(self, **fields: str) -> None:
        for name, value in fields.items():
            self.browser.value(f"document.getElementById('{name}').value = {json.dumps(value)}")

    def click(self, selector: str) -> None:
        self.browser.value(f"document.querySelector({json.dumps(selector)}).click()")
        self.settle()

    def go(self) -> None:
        self.click("#go")

    def tab(self, kind: str) -> None:
        self.click(f"#tab-{kind}")

    def example(self, number: int) -> None:
        self.click(f"#examples button:nth-of-type({number + 1})")

    def settle(self) -> None:
        """Until there is an answer, or an error."""
        self.browser.wait(
            "document.body.getAttribute('aria-busy') !== 'true' && "
            "(document.getElementById('page') !== null || !document.getElementById('error').hidden)"
        )

    def ink(self) -> float:
        """The share of the frame's pixels in the window that have another colour than its corner:
        0 for a frame that draws nothing. A picture of the window has them, so that they are what
        a user sees."""
        self.browser.value("document.getElementById('panel').scrollIntoView()")
        shown = json.dumps(f"data:image/png;base64,{self.browser.picture()}")
        return float(self.browser.value(_INK.replace("SHOWN", shown)))

    def is_drawn(self) -> bool:
        """Whether the frame shows something, once it has had time to."""
        until = time.monotonic() + 10
        while self.ink() < DRAWN:
            if time.monotonic() > until:
                return False
            time.sleep(0.05)
        return True

    def form(self) -> Any:
        """The JSON form that the page offers for download."""
        json_text = self.browser.value(
            "fetch(document.getElementById('save-json').href).then((r) => r.text())"
        )
        return json.loads(json_text)

    def choose(self, files: Mapping[str, bytes]) -> None:
        """As if a user had chosen these files."""
        parts = ",".join(
            f"new File([Uint8Array.from(atob('{base64.b64encode(content).decode()}'), "
            f"(c) => c.charCodeAt(0))], {json.dumps(name)})"
            for name, content in files.items()
        )
        self.browser.value(
            f"(() => {{ const t = new DataTransfer(); for (const f of [{parts}]) t.items.add(f);"
            "const e = document.getElementById('files'); e.files = t.files;"
            "e.dispatchEvent(new Event('change')); })()"
        )
        self.settle()


class Site:
    """A server of static files that notes the paths of its requests."""

    def __init__(self, folder: Path, prefix: str = "/") -> None:
        """The files of ``folder`` below the path ``prefix``."""
        self.paths: list[str] = []
        handler = partial(_Files, folder, prefix, self.paths)
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}{prefix}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Files(http.server.SimpleHTTPRequestHandler):
    extensions_map = {  # noqa: RUF012 - as in the base class
        **http.server.SimpleHTTPRequestHandler.extensions_map,
        ".mjs": "text/javascript",
        ".js": "text/javascript",
        ".wasm": "application/wasm",
    }

    def __init__(self, folder: Path, prefix: str, paths: list[str], *more: Any) -> None:
        self._prefix = prefix
        self._paths = paths
        super().__init__(*more, directory=str(folder))

    def do_GET(self) -> None:
        self._paths.append(self.path)
        if self.path == "/guide.html" and self._prefix != "/":  # a site that embeds the folder
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            frame = f"<iframe src={self._prefix[1:]} title=app width=100% height=900></iframe>"
            self.wfile.write(
                f"<!doctype html><title>Guide</title><link rel=icon href=data:,>{frame}".encode()
            )
            return None
        if not self.path.startswith(self._prefix):
            return self.send_error(404)
        self.path = self.path[len(self._prefix) - 1 :]
        return super().do_GET()

    def log_message(self, *_: object) -> None:
        pass


class Put(NamedTuple):
    """The app put together, where it is served, and its Hub."""

    site: Site
    hub: HubServer


@contextmanager
def put_together(folder: Path, prefix: str = "/") -> Iterator[Put]:
    """The app as static files, next to a loopback Hub on other origins with ``org/llama``."""
    hub = HubServer()
    hub.more_headers = dict(CORS)
    hub.add("org/llama", sharded_llama(3))
    assemble(folder, PACKAGE, hub.endpoint, [hub.cdn])
    # Headers of a blob's fetch are the page's own, so 'self' has to do for downloads in tests.
    page = folder / "index.html"
    page.write_text(page.read_text().replace("connect-src 'self'", "connect-src 'self' blob:"))
    site = Site(folder, prefix)
    yield Put(site, hub)
    site.close()
    hub.close()
