"""What results show of themselves: one line, tables in a notebook, a DataFrame, a hash."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import hfinspect
from hfinspect.core.display import MAX_REPR
from hfinspect.errors import UsageError

from ..builders import write_config, write_safetensors

MODELS = Path(__file__).resolve().parents[2] / "fixtures" / "models"
LLAMA = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "vocab_size": 16,
    "hidden_size": 8,
    "intermediate_size": 8,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
}
HOSTILE = "<script>alert('x')</script>\x1b[31m\n<b>"


def results(model: Path, missing: Path) -> dict[str, Any]:
    """One of every result."""
    config = hfinspect.inspect(model).config
    assert config is not None
    (failure,) = hfinspect.scan([missing])
    return {
        "inspection": hfinspect.inspect(model),
        "explanation": hfinspect.explain(model),
        "memory": hfinspect.memory(model),
        "audit": hfinspect.audit(model),
        "comparison": hfinspect.compare(model, model),
        "prediction": hfinspect.predict(config),
        "failure": failure,
    }


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A model whose names are markup and control characters, in a folder with a long name."""
    folder = tmp_path_factory.mktemp("m") / ("<i>" + "x" * 200)
    tensors = {t.name: ("F32", t.shape) for t in hfinspect.predict(LLAMA).tensors}
    write_config(folder, {**LLAMA, "quantization_config": {"quant_method": HOSTILE}})
    write_safetensors(folder / "model.safetensors", {**tensors, HOSTILE: ("F32", (3,))})
    return results(folder, folder / "none")


@pytest.fixture(scope="module")
def largest(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Of 45,395 tensors; what takes longer to make is of the same model with four layers."""
    config = json.loads((MODELS / "deepseek-v3" / "config.json").read_text())
    small = tmp_path_factory.mktemp("four") / "deepseek-v3"
    write_config(small, {**config, "num_hidden_layers": 4})
    whole = hfinspect.inspect(MODELS / "deepseek-v3")
    assert whole.config is not None
    prediction = hfinspect.predict(whole.config)
    return {**results(small, MODELS / "none"), "inspection": whole, "prediction": prediction}


KINDS = ("inspection", "explanation", "memory", "audit", "comparison", "prediction", "failure")


@pytest.mark.parametrize("kind", KINDS)
def test_a_result_is_one_short_line(
    kind: str, hostile: dict[str, Any], largest: dict[str, Any]
) -> None:
    for result in (hostile[kind], largest[kind]):
        text = repr(result)
        assert len(text) <= MAX_REPR
        assert text.isprintable()
        assert text.startswith(f"<{type(result).__name__} ")
        assert text.endswith(">")
        assert str(result) == text


def test_the_line_says_what_it_is(largest: dict[str, Any]) -> None:
    assert "671,026,404,352 parameters, DeepseekV3ForCausalLM" in repr(largest["inspection"])
    assert "671,026,404,352 parameters" in repr(largest["prediction"])


class _Elements(HTMLParser):
    """The names of all elements and attributes; open ones must be closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.attributes: list[Any] = []

    def handle_starttag(self, tag: str, attrs: list[Any]) -> None:
        self.open.append(tag)
        self.seen.add(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("kind", KINDS)
def test_html_is_small_and_escapes_everything(
    kind: str, hostile: dict[str, Any], largest: dict[str, Any]
) -> None:
    for result in (hostile[kind], largest[kind]):
        text = result._repr_html_()
        assert len(text.encode()) < 20_000
        elements = _Elements()
        elements.feed(text)
        assert elements.open == []
        assert {name for name, _ in elements.attributes} <= {
            "class",
            "open",
            "x",
            "width",
            "height",
            "fill",
            "style",
        }
        styles = {value for name, value in elements.attributes if name == "style"}
        assert styles <= {"text-align:left"}
        plain = {
            "div",
            "h4",
            "p",
            "b",
            "pre",
            "table",
            "thead",
            "tbody",
            "tr",
            "th",
            "td",
            "ul",
            "li",
            "style",
            "svg",
            "rect",
            "details",
            "summary",
        }
        assert elements.seen <= plain
        assert "\x1b" not in text


@pytest.mark.parametrize(
    "kind", ["inspection", "explanation", "memory", "comparison", "prediction"]
)
def test_html_has_bars_and_folds_tables(kind: str, largest: dict[str, Any]) -> None:
    text = largest[kind]._repr_html_()
    assert "<rect " in text
    assert "<style>" in text
    assert kind in ("inspection", "prediction") or "<details>" in text


@pytest.mark.parametrize("kind", KINDS)
def test_markdown_escapes_and_is_what_a_notebook_shows(kind: str, hostile: dict[str, Any]) -> None:
    result = hostile[kind]
    text = result.to_markdown()
    assert text == result._repr_markdown_()
    assert text
    assert not re.search(r"(?<!\\)<(script|b|i)>", text)
    assert "\x1b" not in text


@pytest.mark.parametrize("kind", KINDS)
def test_results_are_hashable(kind: str, hostile: dict[str, Any]) -> None:
    result = hostile[kind]
    assert hash(result) == hash(result)
    assert len({result, result}) == 1


def test_equal_results_have_equal_hashes() -> None:
    first, second = (hfinspect.inspect(LLAMA, overrides={"hidden_size": 16}) for _ in range(2))
    assert first == second
    assert hash(first) == hash(second)


def test_without_pandas_the_error_says_so(hostile: dict[str, Any]) -> None:
    try:
        import pandas  # noqa: F401
    except ImportError:
        with pytest.raises(UsageError, match="needs pandas") as caught:
            hostile["inspection"].to_pandas()
        assert caught.value.hint is not None
        assert "pip install pandas" in caught.value.hint


@pytest.mark.parametrize("kind", KINDS)
def test_frames_hold_plain_numbers(kind: str, largest: dict[str, Any]) -> None:
    pytest.importorskip("pandas")
    frame = largest[kind].to_pandas()
    if kind == "inspection":
        whole = frame[frame["component"] == "total"]["parameters"]
        assert [int(value) for value in whole] == [671_026_404_352]


def test_a_notebook_shows_captions_and_open_findings(tmp_path: Path) -> None:
    """Above JupyterLab's own style, which aligns cells right with one class and one element."""
    gpt2, bloom = (MODELS / name for name in ("gpt2", "bloom-1b4-zh"))
    text = hfinspect.compare(gpt2, bloom, names=["mine", "theirs"])._repr_html_()
    assert "<summary>Config keys that differ</summary>" in text
    assert "<summary>config key" not in text
    assert "mine and theirs: different in structure" in text
    # A notebook that is not trusted has no style sheet of ours: each cell of text says it itself.
    assert '<th style="text-align:left">config key</th>' in text
    assert re.search(r'<td style="text-align:left">vocab_size</td>', text)
    assert "div.hfinspect table td{text-align:left" in text
    assert "div.hfinspect table .n{text-align:right" in text
    memory = hfinspect.memory(MODELS / "llama-3-8b", on="24GB")._repr_html_()
    captions = re.findall(r"<summary>(.*?)</summary>", memory)
    assert captions[:2] == ["What fits, by recipe", "Memory by context"]
    assert not any(caption.startswith("table of") for caption in captions)
    with pytest.raises(UsageError, match="one for each of 2 models"):
        hfinspect.compare(gpt2, bloom, names=["one"])
    (tmp_path / "model.safetensors").write_bytes(b"no header")
    audited = hfinspect.audit(tmp_path)._repr_html_()
    assert "<details open><summary>Findings</summary>" in audited
    assert re.search(r"<p><b>\d errors?[^<]*</b></p>", audited)


def test_a_memory_in_a_line() -> None:
    text = repr(hfinspect.memory(MODELS / "llama-3-8b", context="8k", on="24GB"))
    assert "at 8,192 tokens" in text
    assert text.endswith("fits: 17.8 GB at 8,192 tokens on 24GB>") or "fits on 24GB>" in text
