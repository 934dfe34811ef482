"""The first screen of ``hfinspect MODEL``: the answer first, where it was read last."""

from __future__ import annotations

from pathlib import Path

import pytest

import hfinspect
from hfinspect.core.hub_info import HubInfo
from hfinspect.core.model_facts import ModelFacts
from hfinspect.core.refs import Origin
from hfinspect.core.results import Inspection
from hfinspect.reports import table
from hfinspect.reports.headline import build, hub_line, summary
from hfinspect.reports.overview import lay_out
from hfinspect.reports.table import Canvas

from ..builders import write_safetensors
from ..cli.program import hfinspect as run

LLAMA = "fixtures/models/llama-3-8b"


def inspected(**more: object) -> Inspection:
    given: dict[str, object] = {
        "target": "m",
        "origin": Origin("hub", "org/m", "org/m", None, "a" * 40),
        "source": "checkpoint",
        "tensors": (),
        "parameters": 5,
        "logical": 5,
        "stored": 5,
        "buffers": 0,
        "bookkeeping": 0,
        "nbytes": 10,
        "components": {},
        "parts": {},
        "dtypes": {},
    }
    return Inspection(**{**given, **more})  # type: ignore[arg-type]


def test_two_lines_say_size_dtype_and_build() -> None:
    lines = run(LLAMA, env={"COLUMNS": "120"}).out.splitlines()
    assert lines[0] == f"{LLAMA:41}8.03 B parameters, BF16, 16.1 GB"
    assert lines[1] == (
        "LlamaForCausalLM  32 layers, width 4,096, 32/8 heads, vocabulary 128,256, context 8,192"
    )
    assert lines[2] == ""
    assert lines[3].startswith("component")


def test_the_order_of_the_rest() -> None:
    out = run(LLAMA).out
    places = [out.index(text) for text in ("component", "total  ", "memory", "files", "location")]
    assert places == sorted(places)
    assert "as stored 16.1 GB; at float32 32.1 GB" in out
    assert "(weights alone, no scales)" in " ".join(out.split())
    assert "int4" not in out  # which ``memory --width`` gives scales


@pytest.mark.parametrize("columns", [40, 60, 80, 120])
def test_it_fits(columns: int) -> None:
    out = run(LLAMA, env={"COLUMNS": str(columns)}).out
    lines = [line for line in out.splitlines() if not line.startswith("path")]
    assert max(map(len, lines)) <= columns


def test_revision_and_twelve_digits_are_on_one_line() -> None:
    text = table.render(lay_out(inspected()))
    assert "Hugging Face Hub, main, commit aaaaaaaaaaaa\n" in text + "\n"
    assert "a" * 13 not in text


def test_what_is_unknown_is_said() -> None:
    assert summary(inspected(parameters=None, nbytes=None)) == "parameters unknown"
    assert summary(inspected(missing_files=("x",))).startswith("at least 5 parameters")
    assert "dtype unknown" in summary(inspected(nbytes=None))
    assert summary(inspected(active_parameters=3)).startswith("5 parameters, 3 active")


def test_a_counters_dtype_is_not_that_of_the_model() -> None:
    """A ResNet's batch norms count in I64; of the rest its config says nothing."""
    inspection = hfinspect.inspect({"model_type": "resnet"})
    assert set(inspection.dtypes) == {"unknown", "I64"}
    assert summary(inspection) == "23.5 M parameters, dtype unknown"


def test_groups_of_nothing_are_left_out(tmp_path: Path) -> None:
    """A tied head is not a row; csv and JSON keep it."""
    bloom = "fixtures/models/bloom-1b4-zh"
    assert "\nhead " not in run(bloom).out
    assert "head,0," in run(bloom, "-f", "csv").out
    write_safetensors(tmp_path / "model.safetensors", {"h.0.mlp.weight": ("F32", (2, 2))})
    assert " 0.0%" not in table.render(lay_out(hfinspect.inspect(tmp_path)))


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (ModelFacts(), ""),
        (ModelFacts(layers=1, heads=1), "1 layer, 1 head"),
        (ModelFacts(heads=8, kv_heads=8), "8 heads"),
        (ModelFacts(encoder_layers=2, decoder_layers=3), "2 encoder and 3 decoder layers"),
        (ModelFacts(experts=256, experts_per_token=8), "256 experts, 8 per token"),
        (ModelFacts(image_size=(224, 448), patch_size=14), "image 224x448, patch 14"),
        (ModelFacts(vision_layers=24, vision_width=1024), "24 vision layers of width 1,024"),
        (ModelFacts(layers=19, single_layers=38), "19 + 38 layers"),
        (ModelFacts(block_channels=(320, 640), sample_size=64), "channels 320-640, sample 64"),
    ],
)
def test_the_build_in_words(facts: ModelFacts, expected: str) -> None:
    assert build(facts) == expected


def test_the_hubs_line() -> None:
    said = HubInfo(
        "mit",
        "manual",
        "2026-01-02T03:04:05.000Z",
        "transformers",
        "fill-mask",
        ("transformers", "en", "license:mit", "fill-mask"),
    )
    origin = Origin("hub", "org/m", "org/m", hub=said)
    expected = "licence mit, gated (manual), transformers, fill-mask, modified 2026-01-02, tags en"
    assert hub_line(inspected(origin=origin)) == expected
    assert expected in " ".join(table.render(lay_out(inspected(origin=origin))).split())
    assert hub_line(inspected()) == ""


def test_one_colour_for_a_component_in_every_grouping() -> None:
    inspection = hfinspect.inspect(LLAMA)
    from hfinspect.analysis.count import GROUPINGS, grouped

    for by in ("component", "layer", "dtype"):
        groups = grouped(inspection.tensors, GROUPINGS[by])
        text = table.render(lay_out(inspection, by=by, groups=groups), Canvas(80, color=True))
        assert "\033[38;5;134m" in text, by  # mlp
        assert "\033[36m" not in text
