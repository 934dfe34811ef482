"""The app's main flow in headless Firefox: an example, a model of the Hub, files of the user."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import hfinspect
from hfinspect.web.assemble import EXAMPLES

from .app_page import HAS_PYODIDE, SMALL_LLAMA, AppPage, Put, put_together, sharded_llama
from .firefox import Firefox, find
from .mistakes import answers_are_drawn

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(find() is None, reason="no Firefox: apt-get install firefox-esr"),
    pytest.mark.skipif(
        not HAS_PYODIDE, reason="no Pyodide: npm pack pyodide, and HFINSPECT_PYODIDE"
    ),
]


@pytest.fixture(scope="module")
def put(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Put]:
    with put_together(tmp_path_factory.mktemp("app")) as site:
        yield site


@pytest.fixture(scope="module")
def app(put: Put) -> Iterator[AppPage]:
    browser = Firefox()
    yield AppPage(browser, put.site.url)
    browser.close()


def test_an_example_needs_no_network(app: AppPage, put: Put) -> None:
    app.open()
    app.example(2)
    assert app.text("wrong") == ""
    assert app.form()["parameters"] == hfinspect.predict(EXAMPLES["Llama 3 8B"]).parameters
    assert put.hub.meter.requests == []


def test_a_model_of_the_hub(app: AppPage, put: Put) -> None:
    app.open("#org/llama")
    app.settle()
    native = hfinspect.inspect("org/llama", endpoint=put.hub.endpoint)
    assert app.text("wrong") == ""
    form = app.form()
    assert (form["parameters"], form["source"]) == (native.parameters, "checkpoint")
    assert [r for r in put.hub.meter.requests if r.method == "OPTIONS"] == []  # no preflight
    for kind in ("memory", "explain", "audit"):
        app.tab(kind)
        assert app.text("wrong") == ""


def test_files_of_the_user_cause_no_request(app: AppPage, put: Put) -> None:
    app.open()
    app.example(0)  # Python is loaded
    put.hub.meter.requests.clear()
    put.site.paths.clear()
    app.choose(sharded_llama(2))
    assert app.text("wrong") == ""
    assert app.form()["parameters"] == hfinspect.predict(SMALL_LLAMA).parameters
    assert (put.hub.meter.requests, put.site.paths) == ([], [])


def test_an_error_is_words(app: AppPage) -> None:
    app.open()
    app.type(model="org/nothing")
    app.go()
    assert "org/nothing" in app.text("wrong")
    assert app.text("hint")


def test_an_answer_is_drawn_after_each_kind_of_error(app: AppPage) -> None:
    app.open()
    answers_are_drawn(app, "org/llama")
