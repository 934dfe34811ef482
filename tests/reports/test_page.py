"""Pages and pictures: small, closed, text alone; every number that of the result."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hfinspect
from hfinspect import pictures
from hfinspect.analysis.kinds import fold
from hfinspect.core.components import Component
from hfinspect.core.results import Inspection
from hfinspect.core.tensor import TensorInfo
from hfinspect.reports import html, markdown, portrait, svg, table
from hfinspect.reports.palette import INKS
from hfinspect.reports.shortened import shortened
from hfinspect.reports.treemap_layout import Box, squarified
from hfinspect.sizing.curves import corners, value_at

from ..builders import write_config, write_safetensors, write_sharded
from ..cli.program import ROOT
from ..cli.program import hfinspect as program

MODELS = ROOT / "fixtures" / "models"
NAMES = sorted(path.name for path in MODELS.iterdir())
PAGE = ROOT / "hfinspect" / "reports" / "page"
HOSTILE = "</script><script>alert('x')</script>\u202e\u2066\x1b[31m\n"


class _Parsed(HTMLParser):
    """What a browser would see: elements, the text of scripts, what the policy allows."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.blocks: dict[str, list[str]] = {"script": [], "style": []}
        self.inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        self.inside = tag if tag in self.blocks else ""
        if self.inside:
            self.blocks[tag].append("")

    def handle_endtag(self, tag: str) -> None:
        self.inside = ""

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.blocks[self.inside][-1] += data


def page_of(target: object, **options: Any) -> str:
    drawn = pictures.portrait(target, **options)  # type: ignore[arg-type]
    return html.render(portrait.lay_out(drawn), drawn.inspection.to_dict(), "hfinspect MODEL")


def checked(text: str) -> _Parsed:
    """Whatever a page is about, it is closed: its own script and style by hash, nothing else."""
    parsed = _Parsed(text)
    contents = [value or "" for name, value in parsed.attributes if name == "content"]
    policy = next(value for value in contents if value.startswith("default-src 'none'"))
    assert parsed.tags.count("script") == len(parsed.blocks["script"]) <= 3
    assert len(parsed.blocks["style"]) == 1
    for name, content in (
        ("style", parsed.blocks["style"][0]),
        ("script", parsed.blocks["script"][-1]),
    ):
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in policy
    names = {name for name, _ in parsed.attributes}
    assert not {name for name in names if name.startswith("on") or name in ("src", "style")}
    links = [value or "" for name, value in parsed.attributes if name == "href"]
    assert all(link.startswith("#") for link in links)
    assert not set(parsed.tags) & {"img", "iframe", "link", "object", "embed", "form", "base"}
    assert not re.search("[\u202a-\u202e\u2066-\u2069\x00-\x08\x0b-\x1f]", text)
    return parsed


@pytest.mark.parametrize("name", NAMES)
def test_a_page_is_small_and_closed(name: str) -> None:
    """An ordinary model's below 86 kB, with the JSON form as ``--format json`` has it."""
    text = program(str(MODELS / name), "--format", "html").out
    assert len(text.encode()) <= 86_000
    parsed = checked(text)
    form = json.loads(program(str(MODELS / name), "--format", "json").out)
    assert json.loads(parsed.blocks["script"][0]) == form


def test_script_and_style_are_small_and_fetch_nothing() -> None:
    sizes = {path.name: path.stat().st_size for path in PAGE.iterdir()}
    assert sum(sizes.values()) - sizes["grid.js"] <= 40_000
    assert sizes["grid.js"] <= 12_000
    script = "".join(path.read_text(encoding="utf-8") for path in sorted(PAGE.glob("*.js")))
    for word in ("fetch(", "XMLHttpRequest", "import(", "innerHTML", "eval(", "http:", "Storage"):
        assert word not in script.replace("http://www.w3.org/2000/svg", "")
    style = (PAGE / "page.css").read_text(encoding="utf-8")
    assert "url(" not in style
    for needed in ("prefers-color-scheme:dark", "prefers-reduced-motion", "@media print"):
        assert needed in style


def test_every_chapter_is_there() -> None:
    text = page_of(MODELS / "llama-3-8b")
    for name in ("where", "layers", "why", "memory", "audit", "tensors", "config", "json"):
        assert f'<section id="{name}">' in text
    head = text[: text.index("<main")]
    for shown in (
        "8.03 B parameters, BF16, 16.1 GB",
        "LlamaForCausalLM",
        "32/8 heads",
        "memory",
        "only config.json",
        "hfinspect MODEL",
    ):
        assert shown in head
    data = json.loads(_Parsed(text).blocks["script"][1])
    assert {m[0] for m in data["treemap"]["measures"]} == {"parameters", "nbytes", "cache"}
    for at, measure in enumerate(data["treemap"]["measures"]):
        assert sum(leaf[4 + at] for leaf in data["treemap"]["leaves"]) == measure[3]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Inspection:
    """The 91,991 tensors of DeepSeek-V3 with its scales and its further layer, as one would find
    them in 163 shards, without the shards."""
    inspection = hfinspect.inspect(MODELS / "deepseek-v3")
    scaled: list[TensorInfo] = []
    for tensor in inspection.tensors:
        scaled.append(tensor._replace(file="model-00001-of-000163.safetensors"))
        if tensor.name.endswith("_proj.weight") or "kv_a_proj" in tensor.name:
            shape = tuple(-(-int(size) // 128) for size in tensor.shape)
            scaled.append(
                tensor._replace(
                    name=tensor.name + "_scale_inv",
                    shape=shape,
                    dtype="F32",
                    parameters=0,
                    nbytes=4 * shape[0] * shape[1],
                )
            )
    last = [t for t in scaled if t.layer == 60]
    scaled += [
        t._replace(name=t.name.replace("layers.60.", "layers.61."), layer=61, extra_kind="mtp")
        for t in last
    ]
    return replace(inspection, tensors=tuple(scaled))


def test_ninety_thousand_tensors_take_no_more_room(whole: Inspection) -> None:
    """And no more time than reading them: one pass."""
    assert len(whole.tensors) > 91_000
    start = time.process_time()
    folded = fold(whole.tensors)
    seconds = time.process_time() - start
    assert len(folded.patterns) < 90
    assert [len(kind.layers) for kind in folded.kinds] == [3, 58, 1]
    assert sum(pattern.tensors for pattern in folded.patterns) == len(whole.tensors)
    assert sum(pattern.parameters or 0 for pattern in folded.patterns) == whole.parameters
    assert seconds < 10  # some 0.3 on a machine with nothing else to do
    drawn = portrait.Portrait(whole, "", None, None, (), "")
    text = html.render(portrait.lay_out(drawn), whole.to_dict())
    assert len(text.encode()) <= 120_000
    assert f"{len(whole.tensors):,} tensors in {len(folded.patterns)} patterns" in text


def test_predicted_and_stored_tensors_fold_alike() -> None:
    for name in ("mixtral-8x7b", "deepseek-v3", "bert-base-uncased"):
        tensors = hfinspect.inspect(MODELS / name).tensors
        assert fold(tensors).patterns == fold(tuple(tensors)).patterns
    assert len(fold(tensors).patterns) == 26
    assert len(fold(hfinspect.inspect(MODELS / "deepseek-v3").tensors).patterns) == 23


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("m") / "<i>model"
    config = {
        "model_type": "llama",
        "architectures": ["LlamaForCausalLM"],
        "vocab_size": 16,
        "hidden_size": 8,
        "intermediate_size": 8,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "note": HOSTILE,
        "long": "字" * 300_000,
    }
    tensors = {t.name: ("F32", t.shape) for t in hfinspect.predict(config).tensors}
    odd = {HOSTILE + str(i): ("F32", (3,)) for i in range(3)}
    long = {chr(0x5B57) * 33_000 + str(i): ("F32", (i + 1,)) for i in range(4)}
    write_config(folder, config)
    write_safetensors(folder / "model.safetensors", {**tensors, **odd, **long})
    return folder


def test_a_hostile_model_is_text_and_small(hostile: Path) -> None:
    text = page_of(hostile)
    parsed = checked(text)
    assert len(text.encode()) <= 300_000
    assert "i" not in parsed.tags or "<i>model" not in text
    held = json.loads(parsed.blocks["script"][0])
    assert held["target"].endswith("<i>model")
    assert "left out" in text
    picture = svg.render(portrait.lay_out(pictures.portrait(hostile)))
    assert len(picture.encode()) <= 15_000
    ElementTree.fromstring(picture)
    assert "alert" not in picture.replace("&lt;script&gt;alert", "")


def different(count: int) -> Iterator[TensorInfo]:
    """Tensors of which no two have the same pattern."""
    for i in range(count):
        yield TensorInfo(
            f"x.{i % 997}.\u202ey{i}.</script>{i * 7919 % 10_007}",
            (i + 1,),
            "F32",
            i + 1,
            list(Component)[i % 10],
            elements=i + 1,
            nbytes=4 * (i + 1),
        )


def test_names_that_do_not_fold_are_cut_and_counted() -> None:
    """Twenty thousand here; of a million it is the same page: tests/browser/test_a_million.py."""
    check_page_of(20_000)


def check_page_of(count: int) -> None:
    tensors = tuple(different(count))
    inspection = hfinspect.inspect(MODELS / "gpt2")
    inspection = replace(
        inspection,
        tensors=tensors,
        parameters=sum(t.elements for t in tensors),
        nbytes=sum(t.nbytes or 0 for t in tensors),
        tied={t.name: t.name for t in tensors},
    )
    drawn = portrait.lay_out(portrait.Portrait(inspection, "no", None, None, (), "no"))
    text = html.render(drawn, inspection.to_dict())
    assert len(text.encode()) <= 300_000
    parsed = checked(text)
    assert "smaller patterns of" in text
    assert "left out of it: tied" in text
    data = json.loads(parsed.blocks["script"][1])["treemap"]
    for at, measure in enumerate(data["measures"]):
        assert sum(leaf[4 + at] for leaf in data["leaves"]) == measure[3]
    assert len(svg.render(drawn).encode()) <= 15_000


def test_a_command_line_has_no_token(hostile: Path) -> None:
    done = program("--token", "hf_secret", str(MODELS / "gpt2"), "-f", "html", "--token=hf_other")
    assert "made by <code>hfinspect" in done.out
    assert "hf_secret" not in done.out
    assert "hf_other" not in done.out


def test_pages_of_the_other_commands(tmp_path: Path, hostile: Path) -> None:
    gpt2 = str(MODELS / "gpt2")
    other = str(MODELS / "openai-gpt")
    for command, said in (
        (["explain", gpt2], "closed form"),
        (["compare", gpt2, other], "different in structure"),
        (["memory", gpt2], "sliders"),
        (["audit", str(hostile)], "How to fix it"),
        (["tensors", gpt2], "wte.weight"),
        (["tree", gpt2], "GPT2LMHeadModel"),
    ):
        output = tmp_path / "page.html"
        done = program(*command, "--output", str(output))
        assert done.code in (0, 1), done.err
        text = output.read_text(encoding="utf-8")
        assert said in text
        assert len(text.encode()) <= 120_000
        checked(text)


@pytest.mark.parametrize("name", ["gpt2", "deepseek-v3", "bert-one-layer"])
def test_a_picture_for_a_model_card(name: str, tmp_path: Path) -> None:
    output = tmp_path / "model.svg"
    assert program(str(MODELS / name), "--output", str(output)).code == 0
    text = output.read_text(encoding="utf-8")
    assert len(text.encode()) <= 15_000
    root = ElementTree.fromstring(text)
    assert (root.get("width"), root.get("height")) == ("800", "400")
    space = "{http://www.w3.org/2000/svg}"
    assert root.find(f"{space}title") is not None
    described = root.find(f"{space}desc")
    assert described is not None
    assert re.search(r"Parameters by component: (mlp|embedding) \d", described.text or "")
    assert "prefers-color-scheme:dark" in text
    assert "<script" not in text
    assert "href" not in text
    assert "@import" not in text


def test_only_inspect_draws_an_svg() -> None:
    done = program("explain", str(MODELS / "gpt2"), "--output", "x.svg")
    assert done.code == 2
    assert "means svg, which explain does not write" in done.err


def test_a_page_has_a_text_form() -> None:
    """One document: the same blocks as a table and as Markdown."""
    drawn = portrait.lay_out(pictures.portrait(MODELS / "mixtral-8x7b"))
    for text in (table.render(drawn), markdown.render(drawn).replace("\\", "")):
        for said in (
            "layers 0-31",
            "model.layers.[0-31].block_sparse_moe.experts.[0-7].w1.weight",
            "Where the parameters are",
            "closed form",
            "46,702,792,704",
        ):
            assert said in text


def test_an_odd_layer_is_a_kind_of_its_own(tmp_path: Path) -> None:
    tensors = {
        f"model.layers.{i}.mlp.up_proj.weight": ("F32", (8, 16 if i == 5 else 4)) for i in range(9)
    }
    write_sharded(tmp_path, [tensors])
    text = page_of(tmp_path)
    assert re.search(r"<td>0-4, 6-8<td class=n>8<", text)
    assert re.search(r"<td>5<td class=n>1<", text)


def _luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("name", INKS)
def test_white_text_stands_out_on_every_colour(name: str) -> None:
    for colour in INKS[name][:2]:
        assert 1.05 / (_luminance(colour) + 0.05) >= 4.5
    patterns = [ink.lines for ink in INKS.values()]
    assert len(set(patterns)) == len(patterns)
    assert {str(component) for component in Component} <= set(INKS)


@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=40))
def test_tiles_have_the_areas_of_their_sizes(sizes: list[int]) -> None:
    boxes = squarified(sizes, Box(0, 0, 800, 400))
    whole_size = sum(sizes)
    for size, box in zip(sizes, boxes, strict=True):
        if whole_size:
            assert box.w * box.h == pytest.approx(320_000 * size / whole_size, abs=0.5)
        assert -1e-6 <= box.x <= box.x + box.w <= 800.001
        assert -1e-6 <= box.y <= box.y + box.h <= 400.001


@given(st.lists(st.integers(0, 10**15), min_size=2, max_size=30))
def test_corners_give_every_point_exactly(values: list[int]) -> None:
    points = [(256 * (i + 1), value) for i, value in enumerate(values)]
    kept = corners(points)
    assert all(value_at(kept, x) == y for x, y in points)
    assert corners([(x, 3 * x + 7) for x, _ in points]) == (
        (points[0][0], 3 * points[0][0] + 7),
        (points[-1][0], 3 * points[-1][0] + 7),
    )


@pytest.mark.parametrize("name", ["gpt2", "mixtral-8x7b", "deepseek-v3"])
def test_curves_are_what_memory_says(name: str) -> None:
    result = pictures.portrait(MODELS / name)
    drawn = result.curves
    config = result.inspection.config
    assert drawn is not None
    assert config is not None
    assert {curve.engine for curve in drawn.curves} == set(hfinspect.core.choices.ENGINES)
    for at, curve in enumerate(drawn.curves):
        context = drawn.contexts[-1 - at % len(drawn.contexts)]
        batch = at % len(drawn.batches)
        memory = hfinspect.memory(
            config,
            context=context,
            batch=drawn.batches[batch],
            engine=curve.engine,
            cache_dtype=curve.dtype,
        )
        assert memory.main is not None and memory.main.workspace is not None
        assert value_at(curve.cache[batch], context) == memory.main.cache.nbytes
        assert value_at(curve.workspace[batch], context) == memory.main.workspace.nbytes
        assert curve.weights == memory.main.weights
    assert result.memory is not None
    assert result.memory.cache is not None
    assert sum(layer.nbytes for layer in result.layer_caches) == result.memory.cache.nbytes


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=400),
        lambda inner: st.lists(inner, max_size=9) | st.dictionaries(st.text(max_size=9), inner),
        max_leaves=60,
    )
)
def test_a_form_that_is_cut_is_json_still(value: object) -> None:
    text, left = shortened({"a": value, "b": 1}, 2000)
    assert "<" not in text
    assert text.isascii()
    assert len(text) <= 2000
    if not left:
        assert json.loads(text) == {"a": value, "b": 1}
