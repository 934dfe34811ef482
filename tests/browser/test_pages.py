"""Pages in headless Chromium: nothing is fetched, nothing complains, all works by keyboard, and the
numbers are those of the JSON form."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import hfinspect

from ..builders import write_config, write_safetensors
from ..cli.program import ROOT
from ..cli.program import hfinspect as program
from ..inspecting.test_adapters import write_adapter, write_base
from ..inspecting.test_pipelines import EXPECTED, write_pipeline
from .axe import serious_findings
from .chromium import Chromium, find

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(find() is None, reason="no Chromium: apt-get install chromium"),
]

MODELS = ROOT / "fixtures" / "models"
NAMES = ("gpt2", "bert-base-uncased", "llama-3-8b", "mixtral-8x7b", "deepseek-v3")
HOSTILE = "</script><script>alert(1)</script>\u202eevil\x07"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A page of each kind, by name."""
    folder = tmp_path_factory.mktemp("pages")
    llama: dict[str, Any] = {
        "model_type": "llama",
        "architectures": ["LlamaForCausalLM"],
        "vocab_size": 16,
        "hidden_size": 8,
        "intermediate_size": 8,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "evil": HOSTILE,
    }
    tensors = {t.name: ("F32", t.shape) for t in hfinspect.predict(llama).tensors}
    for name in ("pipeline", "adapter", "base"):
        (folder / name).mkdir()
    model = folder / "<b>model"
    write_config(model, llama)
    write_safetensors(model / "model.safetensors", {**tensors, HOSTILE: ("F32", (3,))})
    commands: dict[str, list[object]] = {name: [MODELS / name] for name in NAMES}
    commands["hostile"] = [model]
    commands["pipeline"] = [write_pipeline(folder / "pipeline")]
    commands["adapter"] = [write_adapter(folder / "adapter", str(write_base(folder / "base")))]
    commands["explain"] = ["explain", MODELS / "llama-3-8b"]
    commands["memory"] = ["memory", MODELS / "llama-3-8b", "--batch", "4"]
    commands["compare"] = ["compare", MODELS / "gpt2", MODELS / "openai-gpt"]
    commands["audit"] = ["audit", model, MODELS / "gpt2"]
    commands["tensors"] = ["tensors", MODELS / "gpt2"]
    rows = folder / "rows.csv"
    assert program("scan", str(MODELS), "--recursive", "-q", "-o", str(rows)).code == 0
    commands["report"] = ["report", rows]
    made = {}
    for name, command in commands.items():
        made[name] = folder / f"{name}.html"
        done = program(*map(str, command), "--output", str(made[name]))
        assert done.code in (0, 1), done.err
    return made


KINDS = (
    *NAMES,
    "hostile",
    "pipeline",
    "adapter",
    "explain",
    "memory",
    "compare",
    "audit",
    "tensors",
    "report",
)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("scripts", [True, False])
def test_nothing_is_fetched_and_nothing_complains(
    browser: Chromium, pages: dict[str, Path], name: str, scripts: bool
) -> None:
    browser.open(pages[name], scripts=scripts)
    assert browser.requests == [pages[name].resolve().as_uri()]
    assert browser.console == []
    shown = browser.value("document.querySelector('main').innerText")
    assert len(shown) > 300
    assert browser.value("document.querySelectorAll('script').length") <= 3
    if scripts and name in NAMES:
        assert browser.value("document.querySelectorAll('[role=treeitem]').length") > 4


def test_a_stranger_s_names_are_text(browser: Chromium, pages: dict[str, Path]) -> None:
    browser.open(pages["hostile"])
    assert browser.value("document.querySelectorAll('main b, h1 b').length") >= 0
    assert "alert(1)" in browser.value("document.body.textContent")
    assert browser.value("document.querySelector('h1').children.length") == 0
    assert not browser.value("/[\\u202a-\\u202e\\u2066-\\u2069]/.test(document.body.innerText)")
    held = browser.value("JSON.parse(document.getElementById('hfinspect').textContent).target")
    assert held.endswith("<b>model")


@pytest.mark.parametrize("name", NAMES)
def test_the_numbers_are_those_of_the_json_form(
    browser: Chromium, pages: dict[str, Path], name: str
) -> None:
    form = json.loads(program(str(MODELS / name), "--format", "json").out)
    browser.open(pages[name])
    held = browser.value("document.getElementById('hfinspect').textContent")
    assert json.loads(held) == form
    rows = browser.value(
        "[...document.querySelector('#where table').tBodies[0].rows].map("
        "r => [r.cells[0].textContent, r.cells[1].textContent])"
    )
    shown = {label: int(text.replace(",", "")) for label, text in rows}
    assert shown.pop("total") == form["parameters"]
    known = {part: sums["parameters"] for part, sums in form["components"].items()}
    assert shown == {part: size for part, size in known.items() if size}
    # The tiles of the first level, as a screen reader has them.
    labels = browser.value(
        "[...document.querySelectorAll('#treemap [aria-level=\"1\"]')].map(t => t.ariaLabel)"
    )
    assert len(labels) >= len(known) - 3
    for label in labels:
        component = re.split(r"[ :]", label.partition("; ")[2])[0]
        assert f"{known[component]:,} parameters" in label


def test_sliders_show_what_memory_says(browser: Chromium, pages: dict[str, Path]) -> None:
    browser.open(pages["llama-3-8b"])
    data = json.loads(browser.value("document.getElementById('data').textContent"))["memory"]
    for context, batch, engine, dtype in (
        (0, 0, "logical", "BF16"),
        (3, 2, "logical", "q8_0"),
        (8, 4, "vllm", "F8_E4M3"),
        (11, 1, "transformers-static", "BF16"),
        (5, 6, "llama.cpp", "q4_0"),
    ):
        set_up = f"""(() => {{
            const at = (id) => document.getElementById(id);
            at('engine').value = {engine!r}; at('engine').onchange();
            at('dtype').value = {dtype!r}; at('dtype').onchange();
            at('context').value = {context}; at('context').oninput();
            at('batch').value = {batch}; at('batch').oninput();
            return [...at('sums').querySelectorAll('dd')].map(d => d.textContent);
        }})()"""
        texts = browser.value(set_up)
        numbers = [int(text.rsplit(" ", 2)[-2].replace(",", "")) for text in texts]
        memory = hfinspect.memory(
            MODELS / "llama-3-8b",
            context=data["contexts"][context],
            batch=data["batches"][batch],
            engine=engine,
            cache_dtype=dtype,
        )
        main = memory.main
        assert main is not None and main.workspace is not None
        assert numbers == [main.weights, main.cache.nbytes, main.workspace.nbytes, main.total]
        assert browser.value("document.querySelectorAll('#sliders .curve path').length") == 3


@pytest.mark.parametrize(
    "wishes",
    [
        {"on": "RTX 4090", "engine": "vllm", "kv-dtype": "fp8", "batch": 3, "context": 5000},
        {"on": "8xH100", "tp": 4},
        {"on": "24GB", "engine": "llama.cpp", "context": 20000},
        {"on": "8xRTX 3060", "step-tokens": 512, "engine": "sglang"},
        {"width": "q4_k_m"},
    ],
)
def test_sliders_begin_with_what_was_sized(
    browser: Chromium, tmp_path: Path, wishes: dict[str, Any]
) -> None:
    """Head, bar and sliders are about the same sum, over round ticks, on a phone too."""
    page = tmp_path / "memory.html"
    options = [text for name, value in wishes.items() for text in (f"--{name}", str(value))]
    done = program("memory", MODELS / "llama-3-8b", *options, "--output", page)
    assert done.code in (0, 1), done.err
    answer = json.loads(program("memory", MODELS / "llama-3-8b", *options, "-f", "json").out)
    browser.open(page)
    main = answer["at"][-1]
    texts = browser.value(
        "[...document.querySelectorAll('#sums dd')].map(d => d.textContent.split(' ').at(-2))"
    )
    sums = [main["weights"], main["cache"]["nbytes"], main["workspace"]["nbytes"], main["total"]]
    assert [int(text.replace(",", "")) for text in texts] == sums
    chosen = browser.value("['engine', 'dtype'].map(id => document.getElementById(id).value)")
    assert chosen == [answer["engine"], main["cache"]["dtype"]]
    for width in (1100, 375):
        browser.resize(width, 800)
        assert browser.value("document.documentElement.scrollWidth") <= width
        ticks = browser.value(
            "[...document.querySelectorAll('.curve text')].map(t => t.textContent)"
        )
        plain = [tick.replace(",", "") for tick in ticks]
        tokens = [int(tick) for tick in plain if tick.isdigit()]
        assert len(tokens) > 2
        assert all(number % 128 == 0 for number in tokens[:-1] if number), ticks
    fits = browser.value(
        "[...document.querySelectorAll('#fits .asked dd')].map(d => d.textContent)"
    )
    if answer["device"] is not None:
        assert fits == [answer["verdict"]["answer"]]


def test_the_treemap_by_keyboard(browser: Chromium, pages: dict[str, Path]) -> None:
    """In with Enter, on with arrows, out with Escape; one place in the order of Tab."""
    browser.open(pages["deepseek-v3"])
    assert browser.value("document.querySelectorAll('[role=treeitem][tabindex=\"0\"]').length") == 1
    browser.value("document.querySelector('#find').focus()")
    for _ in range(4):
        browser.press("Tab")
        if browser.value("document.activeElement.getAttribute('role') === 'treeitem'"):
            break
    label = "document.activeElement.ariaLabel"
    assert browser.value(label).startswith("mlp 658 B, 98.0%; mlp: 657,652,187,136 parameters")
    crumbs = "[...document.querySelectorAll('.crumbs button')].map(b => b.textContent)"
    assert browser.value(crumbs) == ["all"]
    browser.press("Enter")
    assert browser.value(crumbs) == ["all", "mlp"]
    assert "mlp / layers 3-60: 656,463,101,952 parameters" in browser.value(label)
    browser.press("ArrowRight")
    assert "experts" in browser.value(label)
    browser.press("ArrowDown")
    assert "experts" in browser.value(label)
    assert browser.value("document.getElementById('at').textContent").startswith("mlp / layers")
    browser.press("Escape")
    assert browser.value(crumbs) == ["all"]
    assert browser.value(label).startswith("mlp 658 B, 98.0%; mlp: 657,652,187,136 parameters")
    browser.press("ArrowLeft")
    browser.press("End")
    assert browser.value("document.activeElement.getAttribute('role')") == "treeitem"
    # Bytes and cache by the switch; the cache is attention's alone.
    browser.value("document.querySelector('input[value=cache]').click()")
    tops = browser.value(
        "[...document.querySelectorAll('[aria-level=\"1\"]')].map(t => t.ariaLabel)"
    )
    assert len(tops) == 1
    assert "11,513,364,480 bytes" in tops[0]
    # Search finds, and Enter goes there.
    browser.value("document.querySelector('input[value=parameters]').click()")
    browser.value(
        "(() => { const f = document.getElementById('find'); f.value = 'shared_experts';"
        "f.oninput(); f.focus(); })()"
    )
    assert browser.value("document.querySelector('.tool [role=status]').textContent").startswith(
        "3"
    )
    browser.press("Enter")
    assert "shared_experts" in browser.value(label)


@pytest.mark.parametrize("query", ["layers 3", "layer 3", "LAYER 3 proj"])
def test_search_finds_one_layer(browser: Chromium, pages: dict[str, Path], query: str) -> None:
    """Of equal layers that are one area each, with the size of one of them."""
    browser.open(pages["llama-3-8b"])
    browser.value(
        f"(() => {{ const f = document.getElementById('find'); f.value = {query!r};"
        "f.oninput(); })()"
    )
    told = browser.value("document.querySelector('.tool [role=status]').textContent")
    layer = [t for t in hfinspect.inspect(MODELS / "llama-3-8b").tensors if t.layer == 3]
    size = sum(t.parameters or 0 for t in layer if "proj" not in query or "proj" in t.name)
    assert told.endswith(f" found, {size:,} parameters in layer 3")
    assert not told.startswith("0 ")


@pytest.mark.parametrize("name", ["llama-3-8b", "deepseek-v3", "pipeline", "bert-base-uncased"])
@pytest.mark.parametrize("width", [1200, 700, 390])
def test_labels_of_the_treemap_do_not_overlap(
    browser: Chromium, pages: dict[str, Path], name: str, width: int
) -> None:
    browser.open(pages[name], width=width)
    overlapping = browser.value(
        """(() => {
        const all = [...document.querySelectorAll('.t span')].map((span) => {
            const line = span.getBoundingClientRect(), tile = span.parentElement;
            return {text: span.textContent, left: line.left, right: line.right, top: line.top,
                bottom: Math.min(line.bottom, tile.getBoundingClientRect().bottom)};
        });
        const hits = [];
        all.forEach((a, i) => all.slice(i + 1).forEach((b) => {
            const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
            const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
            if (wide > 1 && high > 1) hits.push([a.text, b.text]);
        }));
        return [all.length, hits];
        })()"""
    )
    assert overlapping[0] > 4
    assert overlapping[1] == []


def test_areas_of_a_pipeline_are_its_parts(browser: Chromium, pages: dict[str, Path]) -> None:
    browser.open(pages["pipeline"])
    assert browser.value("document.querySelector('h1').textContent") == "pipeline"
    labels = browser.value(
        "[...document.querySelectorAll('#treemap [aria-level=\"1\"]')].map(t => t.ariaLabel)"
    )
    parts = {label.split(" ")[0]: label for label in labels}
    assert set(parts) == set(EXPECTED)
    for name, size in EXPECTED.items():
        assert f"{name}: {size:,} parameters" in parts[name]


def test_in_a_narrow_window_the_number_stands_next_to_the_name(
    browser: Chromium, pages: dict[str, Path]
) -> None:
    second = (
        "[...document.querySelectorAll('#why table')]"
        ".filter(t => /parameters/.test(t.tHead.textContent))"
        ".map(t => [...t.rows].map(r => r.cells[1].className))"
    )
    browser.open(pages["llama-3-8b"], width=390)
    assert all(set(rows) == {"n"} for rows in browser.value(second))
    browser.resize(1200, 900)
    browser.wait(f"{second}.some(rows => rows[0] !== 'n')")


def test_paper_tears_no_chart(browser: Chromium, pages: dict[str, Path]) -> None:
    browser.open(pages["llama-3-8b"])
    browser.send("Emulation.setEmulatedMedia", media="print")
    torn = browser.value(
        "[...document.querySelectorAll('.map,.stack,.curve,figure,.two')]"
        ".filter(e => getComputedStyle(e).breakInside !== 'avoid').map(e => e.className)"
    )
    assert torn == []
    browser.send("Emulation.setEmulatedMedia", media="")


def test_a_letter_marks_its_key_and_its_places(browser: Chromium, pages: dict[str, Path]) -> None:
    browser.open(pages["gpt2"])
    button = "[...document.querySelectorAll('.letter')].find(b => b.textContent === 'H')"
    browser.value(f"{button}.focus()")
    marked = browser.value("[...document.querySelectorAll('.on')].map(e => e.textContent)")
    assert set(marked) == {"H", "n_embd", '"n_embd"'}
    assert len(marked) > 20
    browser.press("Enter")  # holds it
    browser.value("document.getElementById('find').focus()")
    assert len(browser.value("[...document.querySelectorAll('.on')].map(e => 1)")) == len(marked)
    browser.press("Escape")
    assert browser.value("document.querySelectorAll('.on').length") == 0


def test_tables_are_filtered_sorted_and_copied(browser: Chromium, pages: dict[str, Path]) -> None:
    browser.open(pages["gpt2"])
    browser.value("document.querySelector('#tensors details').open = true")
    browser.value(
        "(() => { const f = document.querySelector('#tensors input'); f.value = 'c_fc';"
        "f.oninput(); })()"
    )
    rows = "[...document.querySelectorAll('#tensors tbody tr')].filter(r => !r.hidden)"
    assert browser.value(f"{rows}.length") == 2
    browser.value("[...document.querySelectorAll('#tensors th button')][1].click()")
    assert browser.value("document.querySelectorAll('#tensors th')[1].ariaSort") == "ascending"
    browser.send("Browser.grantPermissions", permissions=["clipboardReadWrite"])
    browser.value("[...document.querySelectorAll('#tensors .tool button')].pop().click()")
    browser.wait("[...document.querySelectorAll('#tensors button')].pop().textContent.length > 0")
    assert browser.value(f"{rows}[0].cells[1].textContent") == "12"


@pytest.mark.parametrize(
    "name",
    ("deepseek-v3", "hostile", "pipeline", "adapter", "audit", "compare", "memory", "report"),
)
@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_nothing_serious(
    browser: Chromium, pages: dict[str, Path], name: str, dark: bool
) -> None:
    browser.open(pages[name], dark=dark)
    assert serious_findings(browser) == []


def test_nothing_is_wider_than_a_telephone(browser: Chromium, pages: dict[str, Path]) -> None:
    browser.open(pages["deepseek-v3"], width=380, height=800)
    assert browser.value("document.documentElement.scrollWidth") <= 380


def test_print_opens_what_is_folded(browser: Chromium, pages: dict[str, Path]) -> None:
    browser.open(pages["gpt2"])
    assert browser.value("document.querySelectorAll('details:not([open])').length") > 0
    browser.value("dispatchEvent(new Event('beforeprint'))")
    assert browser.value("document.querySelectorAll('details:not([open])').length") == 0
