"""What the app costs in headless Chromium: download, first and next answers, memory of Python.

    HFINSPECT_PYODIDE=node_modules/pyodide python -m tests.benchmarks.bench_app [ROUNDS]

Each round is a new browser. Of every time the least is shown, as other programs only add to it.
"""

from __future__ import annotations

import gzip
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from ..browser.app_page import MODELS, AppPage, put_together
from ..browser.chromium import Chromium

NAMES = ("gpt2", "llama-3-8b", "mixtral-8x7b", "gpt-oss-120b", "deepseek-v3")
KINDS = ("report", "memory", "explain")


def answers(app: AppPage) -> Iterator[tuple[str, float]]:
    """What was asked, and the seconds that the worker took; last the megabytes of Python."""
    began = time.perf_counter()
    app.open()
    app.example(0)
    yield "first answer", time.perf_counter() - began
    for name in NAMES:
        app.type(model="", config=(MODELS / name / "config.json").read_text())
        app.tab("report")
        app.go()
        for kind in KINDS:
            app.tab(kind)
        for kind in KINDS:  # once more, with a change that no answer is kept for
            app.type(set="bos_token_id=7")
            app.tab(kind)
            seconds = re.search(r"answered in ([\d.]+) s", app.text("said"))
            if seconds is not None:
                yield f"{name} {kind}", float(seconds[1])
        app.type(set="")
    held = re.search(r"(\d+) MB", str(app.browser.value("document.getElementById('said').title")))
    yield "Python holds (MB)", float(held[1]) if held else 0.0


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    least: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder, put_together(Path(folder)) as (site, _):
        files = [path for path in Path(folder).rglob("*") if path.is_file()]
        size = sum(len(gzip.compress(path.read_bytes(), 6)) for path in files)
        print(f"{'download (MB, gzip)':34} {size / 1e6:6.2f}")
        for _round in range(rounds):
            browser = Chromium()
            for what, seconds in answers(AppPage(browser, site.url)):
                least[what] = min(seconds, least.get(what, seconds))
            browser.close()
    for what, seconds in least.items():
        print(f"{what:34} {seconds:6.2f}")


if __name__ == "__main__":
    main()
