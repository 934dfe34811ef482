"""The app in headless Chromium, next to a loopback Hub on other origins.

Its numbers are the command line's, dropped files cause no request, nobody but the Hub is reached.

Pyodide is npm's package (``npm pack pyodide``, unpacked); HFINSPECT_PYODIDE says where.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import hfinspect
from hfinspect.web.assemble import EXAMPLES

from ..hub_server import Fault, HubServer
from .app_page import CORS, HAS_PYODIDE, MODELS, SMALL_LLAMA, AppPage, put_together, sharded_llama
from .chromium import Chromium, find
from .mistakes import answers_are_drawn

AXE = os.environ.get("HFINSPECT_AXE", "")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(find() is None, reason="no Chromium: apt-get install chromium"),
    pytest.mark.skipif(
        not HAS_PYODIDE, reason="no Pyodide: npm pack pyodide, and HFINSPECT_PYODIDE"
    ),
]
#: Where the app lies on its server: a site that embeds it has other pages above.
PREFIX = "/hfinspect/app/"


class App(AppPage):
    """The app in Chromium, and the Hub that it names."""

    browser: Chromium

    def __init__(self, browser: Chromium, url: str, hub: HubServer) -> None:
        super().__init__(browser, url)
        self.hub = hub

    def foreign(self) -> list[str]:
        """Requests to other places than the app's own."""
        own = (self.url, "blob:", "data:", "about:")
        return [url for url in self.browser.requests if not url.startswith(own)]


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    with put_together(tmp_path_factory.mktemp("app"), PREFIX) as (site, hub):
        browser = Chromium()
        yield App(browser, site.url, hub)
        browser.close()


def test_an_example_needs_no_network(app: App) -> None:
    app.open()
    app.example(2)
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
    form = app.form()
    assert form["parameters"] == native.parameters
    assert form["components"] == native.to_dict()["components"]
    app.tab("memory")
    assert app.form() == json.loads(json.dumps(hfinspect.memory(json.loads(config)).to_dict()))
    app.tab("report")


def test_a_repo_of_the_hub(app: App) -> None:
    app.hub.meter.requests.clear()
    app.open("#org/llama&on=24GB")
    app.settle()
    files = [r for r in app.hub.meter.requests if "/resolve/" in r.path and r.method == "GET"]
    assert files and all("range" in r.headers for r in files), "nothing bounds another answer"
    native = hfinspect.inspect("org/llama", endpoint=app.hub.endpoint)
    seen = list(app.hub.meter.requests)
    form = app.form()
    assert (form["parameters"], form["source"]) == (native.parameters, "checkpoint")
    assert [r for r in seen if r.method == "OPTIONS"] == []  # no preflight
    assert all("authorization" not in r.headers for r in seen)
    app.tab("memory")
    assert app.form()["fits"] is True
    assert app.browser.value("location.hash") == "#org/llama&on=24GB&tab=memory"
    app.tab("explain")
    assert app.text("wrong") == ""
    assert len(app.hub.meter.requests) == len(seen), "the report has read all of it"
    app.tab("audit")
    assert app.text("wrong") == ""
    more = [r.path for r in app.hub.meter.requests[len(seen) :] if r.host == "hub"]
    assert more and all(path.endswith(".safetensors") for path in more), "headers as files"
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
    app.choose(sharded_llama(2))
    assert app.form()["parameters"] == hfinspect.predict(SMALL_LLAMA).parameters
    app.tab("audit")
    assert app.text("wrong") == ""
    assert app.foreign() == []


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
    """Bytes that are loaded and held; ``python -m tests.benchmarks.bench_app`` shows the times."""
    sizes = sum(size_of(app, path) for path in {u.partition("?")[0] for u in served(app)})
    assert sizes <= 8_500_000
    app.type(model="", config=(MODELS / "deepseek-v3" / "config.json").read_text())
    app.go()
    for kind in ("memory", "explain"):
        app.tab(kind)
        assert app.text("wrong") == ""
    held = app.browser.value("document.getElementById('said').title")
    assert 20 < int(held.removeprefix("Python holds ").removesuffix(" MB")) < 110
    heap = app.browser.send("Runtime.getHeapUsage")  # of the page, next to its worker
    assert heap["usedSize"] + heap["embedderHeapUsedSize"] < 40_000_000


def test_a_page_of_another_site_can_show_it(app: App) -> None:
    """As ``README.md`` of the folder says."""
    outer = app.url.removesuffix(PREFIX.removeprefix("/")) + "guide.html"
    app.browser.open(outer)
    inside = "document.querySelector('iframe').contentDocument"
    app.browser.wait(f"{inside}?.documentElement?.dataset.started === 'yes'")
    app.browser.value(f"{inside}.querySelector('#examples button').click()")
    app.browser.wait(f"{inside}.getElementById('page') !== null")
    assert app.browser.value(f"{inside}.getElementById('wrong').textContent") == ""
    assert app.browser.console == []


def served(app: App) -> list[str]:
    app.open()
    app.example(0)
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
    app.browser.dark = dark
    app.open()
    app.browser.dark = False
    app.example(0)
    app.browser.value("document.getElementById('more').open = true")
    app.browser.value(Path(AXE).read_text())
    violations = app.browser.value(
        "axe.run(document, {iframes: false}).then((r) => r.violations.map((v) => v.id))"
    )
    assert violations == []


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
    assert app.text("said") in ("cancelled", "Loading Python (8 MB, once)")
    app.hub.latency = 0.0
    app.go()
    assert app.form()["parameters"] == hfinspect.predict(SMALL_LLAMA).parameters


def test_an_answer_is_drawn_after_each_kind_of_error(app: App) -> None:
    app.open()
    answers_are_drawn(app, "org/llama")
