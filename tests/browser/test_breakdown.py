"""What ends Python in the page, for real, does not end the page: its user reads of it, and the
next question is answered.

The worker of these tests has one line that the shipped one lacks: a config that begins with
``#python`` is run, so that a question can do to Python what no question should.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import hfinspect

from .app_page import HAS_PYODIDE, SMALL_LLAMA, AppPage, put_together, sharded_llama
from .chromium import Chromium, find

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(find() is None, reason="no Chromium: apt-get install chromium"),
    pytest.mark.skipif(
        not HAS_PYODIDE, reason="no Pyodide: npm pack pyodide, and HFINSPECT_PYODIDE"
    ),
]
_ASKED = "const since = performance.now();"
_HOOK = """const config = String(data.question.target.config);
    if (config.startsWith("#python")) python.runPython(config);
    """
#: Each is fatal to Python in WebAssembly: words of the reason -> what does it.
FATAL = {
    "Maximum call stack size exceeded": """
x = []
for _ in range(200000):
    x = [x]
repr(x)""",
    "unreachable": "import os; os.abort()",
    "exit(3)": "import os; os._exit(3)",
    "memory access out of bounds": "import ctypes; ctypes.string_at(0xFFFFFFF0, 8)",
    "MemoryError": "[bytearray((1 << 31) - 64) for _ in range(2)]",
}
BROKEN = "Python broke down on this question"


class Breakable(AppPage):
    """The app in Chromium with the worker's one more line."""

    browser: Chromium

    def __init__(self, browser: Chromium, url: str, folder: Path) -> None:
        super().__init__(browser, url)
        self.folder = folder

    def run_python(self, code: str) -> None:
        """As the user's question, in the page's own Python."""
        self.type(model="", config=f"#python\n{code}")
        self.go()

    def answers(self, layers: int) -> bool:
        """Whether a question that was not asked before has its answer, which is drawn."""
        config = {**SMALL_LLAMA, "num_hidden_layers": layers}
        self.type(model="", config=json.dumps(config))
        self.go()
        assert self.text("wrong") == ""
        assert self.form()["parameters"] == hfinspect.predict(config).parameters
        return self.is_drawn()


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Breakable]:
    folder = tmp_path_factory.mktemp("app")
    with put_together(folder) as (site, _hub):
        _hook(folder / "worker.js")
        browser = Chromium()
        yield Breakable(browser, site.url, folder)
        browser.close()


def _hook(worker: Path) -> None:
    code = worker.read_text()
    assert code.count(_ASKED) == 1
    worker.write_text(code.replace(_ASKED, _HOOK + _ASKED))


@pytest.mark.parametrize("reason", FATAL)
def test_the_next_question_is_answered(app: Breakable, reason: str) -> None:
    app.open()
    assert app.answers(1)
    app.run_python(FATAL[reason])
    assert BROKEN in app.text("wrong")
    assert reason in app.text("wrong")
    assert "ask something else" in app.text("hint")
    assert app.answers(2)
    assert app.answers(3)
    assert app.text("said").startswith("answered in")


def test_again_and_again(app: Breakable) -> None:
    app.open()
    for layers in range(1, 4):
        app.run_python(FATAL["unreachable"])
        assert BROKEN in app.text("wrong")
        assert app.answers(layers)


def test_an_exception_of_python_ends_nothing(app: Breakable) -> None:
    app.open()
    app.run_python("kept_by_this_python = 1\n1 / 0")
    assert "a bug of hfinspect: ZeroDivisionError" in app.text("wrong")
    app.run_python("kept_by_this_python / 0")
    assert "ZeroDivisionError" in app.text("wrong")
    assert app.answers(1)


def test_files_that_were_dropped_are_still_there(app: Breakable) -> None:
    app.open()
    app.choose(sharded_llama(2))
    app.run_python(FATAL["unreachable"])
    app.choose(sharded_llama(1))
    first = app.form()
    app.run_python(FATAL["unreachable"])
    for place in ("/files0", "/files1"):
        app.type(model=place)
        app.go()
        assert app.text("wrong") == ""
        assert app.form()["parameters"] == first["parameters"]
    assert app.is_drawn()


def test_what_waits_behind_it_is_answered(app: Breakable) -> None:
    """A second question is asked before the first one has ended Python."""
    app.open()
    assert app.answers(1)
    app.type(model="", config=f"#python\n{FATAL['unreachable']}")
    app.browser.value("document.getElementById('go').click()")
    assert app.answers(2)


def test_an_error_that_nobody_catches(app: Breakable) -> None:
    """It reaches the page as an event; nothing was asked, so that no question is to blame."""
    app.open()
    assert app.answers(1)
    app.run_python("import js; js.setTimeout(js.Function.prototype.call, 0)")
    app.browser.wait("document.getElementById('said').textContent.includes('starts again')")
    assert "Python broke down (Uncaught" in app.text("said")
    app.browser.wait("document.getElementById('said').textContent === ''")
    assert app.answers(2)


def test_a_config_of_many_levels(app: Breakable) -> None:
    """Whether it is an error in words or the end of Python, the next question is answered."""
    app.open()
    deep = f'{{"model_type": "llama", "x": {"[" * 100_000}{"]" * 100_000}}}'
    app.choose({"config.json": deep.encode()})
    assert app.text("wrong")
    for layers in range(1, 4):
        assert app.answers(layers)


def test_python_that_did_not_load_is_loaded_for_the_next_question(app: Breakable) -> None:
    package = app.folder / "hfinspect.bin"
    away = app.folder / "away.bin"
    package.rename(away)
    app.open("#org/llama")
    app.browser.wait("!document.getElementById('error').hidden")
    assert "Python cannot be loaded" in app.text("wrong")
    assert app.text("hint") == "check the network, and ask again"
    away.rename(package)
    assert app.answers(1)
