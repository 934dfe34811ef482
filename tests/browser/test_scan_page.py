"""The page of a scan in headless Chromium: sorted, filtered, smooth with ten thousand rows."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest

from ..cli.program import ROOT
from ..cli.program import hfinspect as program
from ..reports.test_scan_page import made_up, page_of
from .axe import serious_findings
from .chromium import Chromium, find

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(find() is None, reason="no Chromium: apt-get install chromium"),
]
MODELS = ROOT / "fixtures" / "models"
CELLS = (
    "[...document.querySelectorAll('.pane tbody tr:not(.space)')]"
    ".map(r => [...r.cells].map(c => c.textContent))"
)
HEADS = "[...document.querySelectorAll('.pane thead th')].map(h => h.textContent)"
TOLD = "document.querySelector('.tool [role=status]').textContent"
COUNT = 10_000


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("scans")
    (folder / "list.txt").write_text(
        "\n".join([*(str(path) for path in sorted(MODELS.iterdir())), str(folder / "nowhere")])
    )
    for ending in ("html", "csv"):
        done = program(
            *("scan", folder / "list.txt", "--on", "24GB", "--audit", "-q"),
            *("-o", folder / f"models.{ending}"),
        )
        assert done.code == 1, done.err  # one failed
    (folder / "many.html").write_text(page_of(made_up(COUNT)), encoding="utf-8")
    return {path.stem + path.suffix: path for path in folder.iterdir()}


def filtered(browser: Chromium, text: str) -> list[list[str]]:
    browser.value(
        f"(() => {{ const f = document.getElementById('filter'); f.value = {text!r};"
        "f.oninput(); })()"
    )
    browser.value("new Promise(done => setTimeout(done, 150))")
    rows: list[list[str]] = browser.value(CELLS)
    return rows


@pytest.mark.parametrize("name", ["models.html", "many.html"])
@pytest.mark.parametrize("scripts", [True, False])
def test_nothing_is_fetched_and_nothing_complains(
    browser: Chromium, pages: dict[str, Path], name: str, scripts: bool
) -> None:
    browser.open(pages[name], scripts=scripts)
    assert browser.requests == [pages[name].resolve().as_uri()]
    assert browser.console == []
    shown = browser.value("document.querySelector('main').innerText")
    assert ("llama-3-8b" if name == "models.html" else "a-model-of-some-size-7") in shown


def test_cells_are_the_csv_s(browser: Chromium, pages: dict[str, Path]) -> None:
    rows = list(csv.DictReader(io.StringIO(pages["models.csv"].read_text(encoding="utf-8"))))
    browser.open(pages["models.html"])
    heads = browser.value(HEADS)
    cells = browser.value(CELLS)
    assert {"fits", "max_context", "parameters", "audit_codes", "error_kind"} <= set(heads)
    assert len(cells) == len(rows)
    for row, line in zip(rows, cells, strict=True):
        for name, cell in zip(heads, line, strict=True):
            plain = {"yes": "true", "no": "false"}.get(cell, cell.replace(",", ""))
            assert plain == row[name], name


def test_filters_and_sorts(browser: Chromium, pages: dict[str, Path]) -> None:
    browser.open(pages["models.html"])
    for text, count in (
        ("llama", 1),
        ("parameters<1B", 4),
        ("parameters>=100B parameters<200b", 2),
        ("fits=yes", 7),
        ("fits=unknown", 1),
        ("dtype:bf16 fits=no", 2),
        ("status=failed", 1),
        ("max_context>=8k", 2),
        ("", 12),
    ):
        assert len(filtered(browser, text)) == count, text
    at = browser.value(f"{HEADS}.indexOf('parameters')")
    press = "[...document.querySelectorAll('.pane thead button')].find(b => b.textContent === {!r})"
    browser.value(press.format("parameters") + ".click()")
    largest = [row[at] for row in browser.value(CELLS)]
    numbers = [int(cell.replace(",", "")) for cell in largest if cell]
    assert numbers == sorted(numbers, reverse=True)
    assert largest[-1] == ""  # the failed one
    assert browser.value(f"document.querySelectorAll('.pane th')[{at}].ariaSort") == "descending"
    browser.value(press.format("parameters") + ".click()")
    assert [row[at] for row in browser.value(CELLS)][:11] == largest[10::-1]
    # A bar's name filters by it; charts count what the filter leaves.
    bar = "[...document.querySelectorAll('.bars')].find(t => t.caption.textContent === 'On 24GB')"
    browser.value(f"{bar}.tBodies[0].rows[1].querySelector('button').click()")
    assert browser.value(TOLD) == "4 of 12 models"
    counts = browser.value(f"[...{bar}.tBodies[0].rows].map(r => r.cells[1].textContent)")
    assert counts == ["0", "4", "0"]


def test_columns_are_chosen(browser: Chromium, pages: dict[str, Path]) -> None:
    browser.open(pages["models.html"])
    assert "layers" not in browser.value(HEADS)
    browser.value(
        "[...document.querySelectorAll('.picks label')]"
        ".find(l => l.textContent.trim() === 'layers').click()"
    )
    assert "layers" in browser.value(HEADS)


def test_ten_thousand_rows_are_smooth(browser: Chromium, pages: dict[str, Path]) -> None:
    """Few rows are drawn at a time; each step of scrolling, sorting and filtering is short."""
    browser.open(pages["many.html"])
    assert browser.value(TOLD) == "10,000 models"
    drawn = "document.querySelectorAll('.pane tbody tr').length"
    took: list[Any] = browser.value(
        """(async () => {
        const pane = document.querySelector('.pane'), took = [];
        const frame = () => new Promise(requestAnimationFrame);
        for (let step = 0; step <= 40; step++) {
            const begun = performance.now();
            pane.scrollTop = pane.scrollHeight * step / 40;
            await frame(); await frame();
            took.push(performance.now() - begun);
        }
        return took.sort((a, b) => a - b);
        })()"""
    )
    assert took[len(took) // 2] < 150
    assert browser.value(drawn) < 120
    last = browser.value(CELLS)[-1][0]
    assert last.endswith(f"-{COUNT - 1}")
    browser.value(
        "window.took = []; new PerformanceObserver(l => window.took.push(...l.getEntries()"
        ".map(e => e.duration))).observe({entryTypes: ['longtask']}); 1"
    )
    assert len(filtered(browser, "size-99")) < 120
    assert browser.value(TOLD) == "111 of 10,000 models"
    filtered(browser, "")
    browser.value("document.querySelectorAll('.pane thead button')[0].click()")
    assert max(browser.value("window.took"), default=0) < 2_000


@pytest.mark.parametrize("name", ["models.html", "many.html"])
@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_nothing_serious(
    browser: Chromium, pages: dict[str, Path], name: str, dark: bool
) -> None:
    browser.open(pages[name], dark=dark)
    assert serious_findings(browser) == []


def test_nothing_is_wider_than_a_telephone(browser: Chromium, pages: dict[str, Path]) -> None:
    browser.open(pages["models.html"], width=380, height=800)
    assert browser.value("document.documentElement.scrollWidth") <= 380
    assert browser.value("document.querySelector('.pane tr:not(.space) td').offsetWidth") <= 190
