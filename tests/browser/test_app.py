"""The app in headless Chromium, next to a loopback Hub on other origins.

Its numbers are the command line's, dropped files cause no request, nobody but the Hub is reached.

Pyodide is npm's package (``npm pack pyodide``, unpacked); HFINSPECT_PYODIDE says where.
"""

from __future__ import annotations

import base64
import http.server
import json
import os
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import hfinspect
from hfinspect.web.assemble import EXAMPLES, PYODIDE, assemble

from ..builders import safetensors_bytes, shard_names
from ..cli.program import ROOT
from ..hub_server import Fault, HubServer
from .chromium import Chromium, find

PACKAGE = Path(os.environ.get("HFINSPECT_PYODIDE", "package"))
AXE = os.environ.get("HFINSPECT_AXE", "")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(find() is None, reason="no Chromium: apt-get install chromium"),
    pytest.mark.skipif(
        not all((PACKAGE / name).is_file() for name in PYODIDE),
        reason="no Pyodide: npm pack pyodide, and HFINSPECT_PYODIDE",
    ),
]
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
    found = {name: safetensors_bytes(part) for name, part in parts.items()}
    found["config.json"] = json.dumps(SMALL_LLAMA).encode()
    if count > 1:
        weight_map = {tensor: name for name, part in parts.items() for tensor in part}
        index = {"metadata": {}, "weight_map": weight_map}
        found["model.safetensors.index.json"] = json.dumps(index).encode()
    return found


class _Files(http.server.SimpleHTTPRequestHandler):
    extensions_map = {  # noqa: RUF012 - as in the base class
        **http.server.SimpleHTTPRequestHandler.extensions_map,
        ".mjs": "text/javascript",
        ".js": "text/javascript",
        ".wasm": "application/wasm",
    }

    def log_message(self, *_: object) -> None:
        pass


class App(NamedTuple):
    """The page in a browser, and the Hub that it names."""

    browser: Chromium
    url: str
    hub: HubServer

    def open(self, after: str = "", *, width: int = 1200, dark: bool = False) -> None:
        self.browser.open(f"{self.url}?{time.monotonic_ns()}{after}", width=width, dark=dark)
        self.browser.wait("document.documentElement.dataset.started === 'yes'")

    def text(self, name: str) -> str:
        return str(self.browser.value(f"document.getElementById('{name}').textContent"))

    def type(self, **fields: str) -> None:
        for name, value in fields.items():
            self.browser.value(f"document.getElementById('{name}').value = {json.dumps(value)}")

    def go(self) -> None:
        self.browser.value("document.getElementById('go').click()")
        self.settle()

    def tab(self, kind: str) -> None:
        self.browser.value(f"document.getElementById('tab-{kind}').click()")
        self.settle()

    def settle(self) -> None:
        self.browser.wait("document.body.getAttribute('aria-busy') === 'true' || !0")
        self.browser.wait(
            "document.body.getAttribute('aria-busy') !== 'true' && "
            "(!document.getElementById('page').hidden || !document.getElementById('error').hidden)"
        )

    def form(self) -> Any:
        """The JSON form that the page offers for download."""
        found = self.browser.value(
            "fetch(document.getElementById('save-json').href).then((r) => r.text())"
        )
        return json.loads(found)

    def foreign(self) -> list[str]:
        """Requests to other places than the app's own."""
        own = (self.url, "blob:", "data:", "about:")
        return [url for url in self.browser.requests if not url.startswith(own)]


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    hub = HubServer()
    hub.more_headers = dict(CORS)
    hub.add("org/llama", sharded_llama(3))
    folder = tmp_path_factory.mktemp("app")
    # Headers of a blob's fetch are the page's own, so 'self' has to do for downloads in tests.
    assemble(folder, PACKAGE, hub.endpoint, [hub.cdn])
    page = folder / "index.html"
    page.write_text(page.read_text().replace("connect-src 'self'", "connect-src 'self' blob:"))
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(_Files, directory=str(folder))
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    browser = Chromium()
    yield App(browser, f"http://127.0.0.1:{server.server_port}/", hub)
    browser.close()
    server.shutdown()
    server.server_close()
    hub.close()


def test_an_example_needs_no_network(app: App) -> None:
    app.open()
    app.browser.value("[...document.querySelectorAll('#examples button')][2].click()")
    app.settle()
    assert app.form()["parameters"] == hfinspect.predict(EXAMPLES["Llama 3 8B"]).parameters
    assert app.foreign() == []
    assert app.browser.console == []


@pytest.mark.parametrize("name", sorted(path.name for path in MODELS.iterdir()))
def test_numbers_are_those_of_the_command_line(app: App, name: str) -> None:
    config = (MODELS / name / "config.json").read_text()
    if app.browser.session is None or not app.browser.value("location.href").startswith(app.url):
        app.open()
    app.type(model="", config=config)
    app.go()
    native = hfinspect.inspect(json.loads(config))
    found = app.form()
    assert found["parameters"] == native.parameters
    assert found["components"] == native.to_dict()["components"]
    app.tab("memory")
    assert app.form() == json.loads(json.dumps(hfinspect.memory(json.loads(config)).to_dict()))
    app.tab("report")


def test_a_repo_of_the_hub(app: App) -> None:
    app.hub.meter.requests.clear()
    app.open("#org/llama&on=24GB")
    app.settle()
    native = hfinspect.inspect("org/llama", endpoint=app.hub.endpoint)
    seen = list(app.hub.meter.requests)
    found = app.form()
    assert (found["parameters"], found["source"]) == (native.parameters, "checkpoint")
    assert [r for r in seen if r.method == "OPTIONS"] == []  # no preflight
    assert all("authorization" not in r.headers for r in seen)
    app.tab("memory")
    assert app.form()["fits"] is True
    assert app.browser.value("location.hash") == "#org/llama&on=24GB&tab=memory"
    for kind in ("explain", "audit"):
        app.tab(kind)
        assert app.text("wrong") == ""
    app.type(other="org/llama")
    app.tab("compare")
    assert app.form()["same_structure"] is True


def test_a_token_goes_to_the_hub_alone(app: App) -> None:
    app.hub.add("gated/llama", sharded_llama(1), gated=True, readers=frozenset({"reader"}))
    app.open()
    app.type(model="gated/llama")
    app.go()
    assert "gated/llama" in app.text("wrong")
    assert app.text("hint")
    app.hub.meter.requests.clear()
    app.type(token="hf_reader")
    app.go()
    assert app.text("wrong") == ""
    assert app.form()["parameters"] == hfinspect.predict(SMALL_LLAMA).parameters
    by_host = {
        r.host: "authorization" in r.headers for r in app.hub.meter.requests if r.method == "GET"
    }
    assert by_host == {"hub": True, "cdn": False}


@pytest.mark.parametrize(
    ("name", "fault", "words"),
    [
        ("org/nothing", None, "org/nothing"),
        ("org/llama", Fault("status", "/api/models/", status=429), "too many requests"),
        ("org/llama", Fault("status", "/api/models/", status=500), "500"),
        ("no name", None, "does not exist"),
    ],
)
def test_errors_are_words(app: App, name: str, fault: Fault | None, words: str) -> None:
    app.hub.faults = [] if fault is None else [fault]
    app.open()
    app.type(model=name)
    app.go()
    app.hub.faults = []
    assert words in app.text("wrong")
    assert app.text("hint")


def test_a_hub_without_cors_is_named(app: App) -> None:
    app.hub.more_headers = {}
    app.open("#org/llama")
    app.settle()
    app.hub.more_headers = dict(CORS)
    assert app.hub.endpoint in app.text("wrong")


def test_a_storage_host_that_hides_content_range(app: App) -> None:
    app.hub.more_headers = {**CORS, "Access-Control-Expose-Headers": "ETag,Link"}
    app.open("#org/llama")
    app.settle()
    app.hub.more_headers = dict(CORS)
    assert app.form()["parameters"] == hfinspect.predict(SMALL_LLAMA).parameters


def test_dropped_files_cause_no_request(app: App) -> None:
    app.open()
    drop(app, sharded_llama(2))
    app.settle()
    assert app.form()["parameters"] == hfinspect.predict(SMALL_LLAMA).parameters
    app.tab("audit")
    assert app.text("wrong") == ""
    assert app.foreign() == []


def drop(app: App, files: dict[str, Any]) -> None:
    """As if a user had chosen these files."""
    parts = ",".join(
        f"new File([Uint8Array.from(atob('{base64.b64encode(content).decode()}'), "
        f"(c) => c.charCodeAt(0))], {json.dumps(name)})"
        for name, content in ((n, bytes(c)) for n, c in files.items())
    )
    app.browser.value(
        f"(() => {{ const t = new DataTransfer(); for (const f of [{parts}]) t.items.add(f);"
        "const e = document.getElementById('files'); e.files = t.files;"
        "e.dispatchEvent(new Event('change')); })()"
    )


def test_nobody_else_is_reached(app: App) -> None:
    """Neither the page nor its worker may send a request to another host."""
    other = HubServer()
    other.more_headers = dict(CORS)
    app.open()
    code = f"fetch('{other.endpoint}/api/models/x').then(() => 'sent', () => 'refused')"
    assert app.browser.value(code) == "refused"
    worker = (
        "new Promise((done) => { const w = new Worker(URL.createObjectURL(new Blob(["
        f"`{code}.then((t) => postMessage(t))`])), {{type: 'module'}});"
        "w.onmessage = (e) => done(e.data); w.onerror = () => done('refused'); })"
    )
    assert app.browser.value(worker) == "refused"
    assert other.meter.requests == []
    other.close()


def test_budgets(app: App) -> None:
    sizes = 0
    for path in {u.partition("?")[0] for u in served(app)}:
        sizes += size_of(app, path)
    assert sizes <= 8_500_000
    app.open()
    began = time.monotonic()
    app.browser.value("[...document.querySelectorAll('#examples button')][0].click()")
    app.settle()
    cold = time.monotonic() - began
    config = (MODELS / "deepseek-v3" / "config.json").read_text()
    app.type(model="", config=config)
    app.go()
    # Bounds of broken ground, ten times the budget: the machine may be busy.
    assert cold < 60
    heap = app.browser.value("performance.memory ? performance.memory.usedJSHeapSize : 0")
    assert heap < 150_000_000


def served(app: App) -> list[str]:
    app.open()
    app.browser.value("[...document.querySelectorAll('#examples button')][0].click()")
    app.settle()
    return [url for url in app.browser.requests if url.startswith(app.url)]


def size_of(app: App, url: str) -> int:
    data = app.browser.value(
        f"fetch('{url}').then((r) => r.blob()).then((b) => new Response(b.stream().pipeThrough("
        "new CompressionStream('gzip'))).arrayBuffer()).then((a) => a.byteLength)"
    )
    return int(data)


@pytest.mark.skipif(not AXE, reason="HFINSPECT_AXE names no axe.min.js")
@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_nothing(app: App, dark: bool) -> None:
    app.open(dark=dark)
    app.browser.value("[...document.querySelectorAll('#examples button')][0].click()")
    app.settle()
    app.browser.value("document.getElementById('more').open = true")
    app.browser.value(Path(AXE).read_text())
    found = app.browser.value(
        "axe.run(document, {iframes: false}).then((r) => r.violations.map((v) => v.id))"
    )
    assert found == []


def test_a_phone_scrolls_down_alone(app: App) -> None:
    app.open(width=360)
    app.browser.value("document.getElementById('more').open = true")
    assert app.browser.value("document.documentElement.scrollWidth") <= 360


def test_cancel_starts_anew(app: App) -> None:
    app.hub.latency = 2.0
    app.open()
    app.type(model="org/llama")
    app.browser.value("document.getElementById('go').click()")
    app.browser.wait("!document.getElementById('cancel').hidden")
    app.browser.value("document.getElementById('cancel').click()")
    assert app.text("said") in ("cancelled", "Python is being loaded (8 MB, once)")
    app.hub.latency = 0.0
    app.go()
    assert app.form()["parameters"] == hfinspect.predict(SMALL_LLAMA).parameters
