"""The page of ``hfinspect serve`` in headless Chromium: the same page, another answerer."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import hfinspect

from ..hub_server import HubServer
from ..media.test_media_in_memory import QWEN, SETTINGS
from ..web.served import Server
from .app_page import MODELS, SMALL_LLAMA, AppPage, sharded_llama
from .chromium import Chromium, find
from .mistakes import answers_are_drawn

AXE = os.environ.get("HFINSPECT_AXE", "")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(find() is None, reason="no Chromium: apt-get install chromium"),
]


class Page(AppPage):
    """The page in Chromium, its server and its Hub."""

    browser: Chromium

    def __init__(self, browser: Chromium, server: Server, hub: HubServer, models: Path) -> None:
        super().__init__(browser, f"{server.origin}/", f"#token={server.token}")
        self.server = server
        self.hub = hub
        self.models = models

    def form(self) -> object:
        """What the page shows of itself as JSON: its policy lets no script read a download."""
        text = self.browser.value(
            "new DOMParser().parseFromString(document.getElementById('page').srcdoc, 'text/html')"
            ".getElementById('hfinspect').textContent"
        )
        return json.loads(text)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    root = tmp_path_factory.mktemp("served")
    mine = root / "models" / "mine"
    mine.mkdir(parents=True)
    for name, content in sharded_llama(2).items():
        (mine / name).write_bytes(content)
    hub = HubServer()
    hub.add("org/private", sharded_llama(3), gated=True, readers=frozenset({"reader"}))
    env = {"HF_ENDPOINT": hub.endpoint, "HF_TOKEN": "hf_reader", "HF_HOME": str(root / "hf")}
    env["HFINSPECT_CACHE"] = str(root / "headers")
    server = Server(root / "models", MODELS, "--no-browser", env=env)
    browser = Chromium()
    yield Page(browser, server, hub, root / "models")
    browser.close()
    assert server.close()[0] == 130
    hub.close()


def parameters(page: Page) -> int:
    form = page.form()
    assert isinstance(form, dict)
    count = form["parameters"]
    assert isinstance(count, int)
    return count


def test_the_list_its_search_and_a_model_of_it(page: Page) -> None:
    page.open()
    page.browser.wait("document.querySelectorAll('#models button').length > 5")
    page.type(search="MINE")
    page.browser.value("document.getElementById('search').oninput()")
    rows = page.browser.value("[...document.querySelectorAll('#models li')].map(l => l.innerText)")
    assert len(rows) == 1
    assert "kB" in rows[0]
    page.click("#models button")
    assert page.text("wrong") == ""
    assert parameters(page) == hfinspect.predict(SMALL_LLAMA).parameters
    for kind in ("memory", "explain", "audit"):
        page.tab(kind)
        assert page.text("wrong") == ""
    assert page.browser.console == []


@pytest.mark.parametrize("name", sorted(path.name for path in MODELS.iterdir()))
def test_numbers_are_those_of_the_command_line(page: Page, name: str) -> None:
    page.open()
    page.type(model=str(MODELS / name))
    page.go()
    assert parameters(page) == hfinspect.inspect(MODELS / name).parameters


@pytest.mark.parametrize("width", [390, 1200])
def test_images_of_a_size_that_is_typed(page: Page, width: int) -> None:
    folder = page.models / "sees"
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(QWEN))
    (folder / "preprocessor_config.json").write_text(json.dumps(SETTINGS))
    page.open(width=width)
    page.type(model=str(folder), image="1024x1024", images="4")
    page.go()
    page.tab("memory")
    assert page.text("wrong") == ""
    form = page.form()
    assert isinstance(form, dict)
    assert [(one["count"], one["tokens"]) for one in form["media"]] == [(4, 1369)]
    assert "image=1024x1024&images=4" in page.browser.value("location.hash")
    assert page.browser.value("document.documentElement.scrollWidth") <= width
    page.type(image="large")
    page.go()
    assert "is not a size" in page.text("wrong")


def test_the_token_leaves_the_address_bar_and_lasts_a_reload(page: Page) -> None:
    page.open()
    page.browser.wait("document.querySelectorAll('#models button').length > 5")
    shown = page.browser.value("location.href + document.documentElement.outerHTML")
    assert page.server.token not in shown
    page.browser.send("Page.reload")
    page.started()
    page.browser.wait("document.querySelectorAll('#models button').length > 5")
    assert all(page.server.token not in url.partition("#")[0] for url in page.browser.requests)


def test_without_the_token_it_says_what_to_do(page: Page) -> None:
    page.open("#")
    page.browser.value("sessionStorage.clear()")
    page.browser.send("Page.reload")
    page.started()
    page.settle()
    assert "token" in page.text("wrong")
    assert "hfinspect serve" in page.text("hint")


def test_a_private_model_by_the_own_login(page: Page) -> None:
    page.open()
    page.type(model="org/private")
    page.go()
    assert parameters(page) == hfinspect.predict(SMALL_LLAMA).parameters
    assert page.browser.value("document.getElementById('token').offsetParent") is None
    assert page.browser.value("document.documentElement.outerHTML").count("hf_reader") == 0


def test_files_that_are_dropped(page: Page) -> None:
    page.open()
    page.choose(sharded_llama(2))
    assert page.text("wrong") == ""
    assert parameters(page) == hfinspect.predict(SMALL_LLAMA).parameters
    page.tab("audit")
    assert page.text("wrong") == ""
    own = (page.url, "blob:", "data:", "about:")
    assert [url for url in page.browser.requests if not url.startswith(own)] == []


def test_another_page_cannot_ask_the_server(page: Page) -> None:
    """Not even with the token: its origin is not the server's."""
    page.browser.open("data:text/html,<title>evil</title>")
    code = (
        f"fetch('{page.url}shelf', {{method: 'POST', body: '', "
        f"headers: {{Authorization: 'Bearer {page.server.token}'}}}})"
        ".then((r) => r.text(), () => 'refused')"
    )
    assert page.browser.value(code) == "refused"
    code = f"fetch('{page.url}shelf', {{method: 'POST', body: '', mode: 'no-cors'}})"
    assert page.browser.value(f"{code}.then((r) => r.type, () => 'refused')") == "refused"


def test_cancel(page: Page) -> None:
    page.hub.latency = 20.0
    page.open()
    page.type(model="org/private@main")
    page.browser.value("document.getElementById('go').click()")
    page.browser.wait("!document.getElementById('cancel').hidden")
    page.browser.value("document.getElementById('cancel').click()")
    assert page.text("said") == "cancelled"
    page.hub.latency = 0.0
    page.type(model=str(page.models / "mine"))
    page.go()
    assert parameters(page) == hfinspect.predict(SMALL_LLAMA).parameters


@pytest.mark.skipif(not AXE, reason="HFINSPECT_AXE names no axe.min.js")
@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_nothing(page: Page, dark: bool) -> None:
    page.browser.dark = dark
    page.open()
    page.browser.dark = False
    page.browser.wait("document.querySelectorAll('#models button').length > 5")
    page.click("#models button")
    page.browser.value("document.getElementById('more').open = true")
    page.browser.value(Path(AXE).read_text())
    violations = page.browser.value(
        "axe.run(document, {iframes: false}).then((r) => r.violations.map((v) => v.id))"
    )
    assert violations == []


def test_a_phone_scrolls_down_alone(page: Page) -> None:
    page.open(width=390)
    page.browser.wait("document.querySelectorAll('#models button').length > 5")
    assert page.browser.value("document.documentElement.scrollWidth") <= 390


def test_an_answer_is_drawn_after_each_kind_of_error(page: Page) -> None:
    page.open()
    answers_are_drawn(page, str(page.models / "mine"))
