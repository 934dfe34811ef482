"""Derivations: what they show for which model, next to headers, in every format."""

from __future__ import annotations

import json
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hfinspect
from hfinspect.core.alternative_counts import Candidate
from hfinspect.core.explanation import Explanation
from hfinspect.errors import NothingToInspectError, UnknownArchitectureError
from hfinspect.explaining.count_tree import numbered
from hfinspect.explaining.letters import assign
from hfinspect.explaining.nominal_size import name_size_of
from hfinspect.explaining.polynomials import Quantity
from hfinspect.reports.explained import lay_out
from hfinspect.reports.reconciliation import _boxes
from hfinspect.reports.table import Canvas, render

from .. import builders
from ..cli.program import ROOT
from ..cli.program import hfinspect as program
from ..schemas import conforms

MODELS = ROOT / "fixtures" / "models"

TINY: dict[str, Any] = {
    "model_type": "gpt2",
    "architectures": ["GPT2LMHeadModel"],
    "vocab_size": 50,
    "n_positions": 8,
    "n_embd": 4,
    "n_layer": 2,
    "n_head": 2,
}


def note(e: Explanation, about: str) -> list[str]:
    return [text for what, text in e.notes if what == about]


def tiny(**changes: Any) -> Explanation:
    return hfinspect.explain({**TINY, **changes})


# ---- the derivation


def test_overrides_change_letters_and_total() -> None:
    one = hfinspect.explain(
        MODELS / "bert-base-uncased", overrides={"num_hidden_layers": 1, "vocab_size": 30_000}
    )
    assert {s.letter: s.value for s in one.letters}["V"] == 30_000
    assert one.sections[1].layers == (0,)
    assert (
        one.parameters
        == hfinspect.inspect(
            MODELS / "bert-base-uncased", overrides={"num_hidden_layers": 1, "vocab_size": 30_000}
        ).parameters
    )


def test_no_layers_is_no_error() -> None:
    e = tiny(n_layer=0)
    assert all(section.times is None for section in e.sections)
    assert e.parameters == (50 + 8 + 2) * 4


def test_defaults_are_said_to_be_defaults() -> None:
    config = {key: value for key, value in TINY.items() if key != "n_positions"}
    letters = {s.letter: s for s in hfinspect.explain(config).letters}
    assert letters["P"].meaning == "positions: the family's default"
    assert letters["V"].meaning == "size of the vocabulary"


def test_layers_of_two_kinds_are_apart() -> None:
    """T5: the first layer of each stack has the table of relative positions."""
    e = hfinspect.explain({"model_type": "t5", "num_layers": 4, "num_decoder_layers": 3})
    layers = [section.layers for section in e.sections if section.times]
    assert layers == [(0,), (1, 2, 3), (0,), (1, 2)]
    assert any("relative" in text for text in note(e, "positions"))


def test_encoder_and_decoder_have_letters_of_their_own() -> None:
    letters = assign(
        [
            Quantity("num_layers", 4),
            Quantity("num_decoder_layers", 3),
            Quantity("vision_config.num_hidden_layers", 2),
            Quantity("text_config.hidden_size", 8),
            Quantity("vision_config.hidden_size", 8),
            Quantity("depths[1]", 3),
        ]
    )
    assert list(letters.values()) == ["L", "L_d", "L_v", "H", "H_v", "x_d1"]


@cache
def of_fixture(name: str) -> Explanation:
    return hfinspect.explain(MODELS / name)


@pytest.mark.parametrize(
    ("config", "about", "expected"),
    [
        ("bloom-1b4-zh", "positions", "ALiBi"),
        ("gpt2", "positions", "learned"),
        ("llama-3-8b", "positions", "rotary"),
        ("mixtral-8x7b", "positions", "rotary"),
        ("deepseek-v3", "positions", "rotary"),
        ("llama-3-8b", "norms", "gamma alone"),
        ("gpt2", "norms", "gamma and beta"),
        ("llama-3-8b", "MLP", "three matrices"),
        ("gpt2", "MLP", "two matrices"),
        ("gpt2", "tied", "counted once"),
        ("deepseek-v3", "not counted", "buffers"),
        ("deepseek-v3", "experts", "8 of 256"),
    ],
)
def test_notes(config: str, about: str, expected: str) -> None:
    assert any(expected in text for text in note(of_fixture(config), about))


def test_ties_within_a_part_have_whole_names() -> None:
    e = hfinspect.explain({"model_type": "bigbird_pegasus", "vocab_size": 99})
    assert any("is model.shared.weight" in text for text in note(e, "tied"))


def test_sinusoids_have_no_parameters() -> None:
    e = hfinspect.explain({"model_type": "ctrl", "n_layer": 1})
    assert note(e, "positions") == ["sinusoidal positions are computed: 0 parameters"]


def test_multi_query_attention() -> None:
    config = json.loads((MODELS / "llama-3-8b" / "config.json").read_text())
    e = hfinspect.explain(config, overrides={"num_key_value_heads": 1})
    assert "multi-query" in e.attention[0].sentence


def test_unknown_models_are_not_explained() -> None:
    with pytest.raises(UnknownArchitectureError):
        hfinspect.explain({"model_type": "nonesuch"})


def test_weights_without_config_have_nothing_to_derive_from(tmp_path: Path) -> None:
    builders.write_safetensors(tmp_path / "model.safetensors", {"a": ("F32", (2,))})
    with pytest.raises(NothingToInspectError):
        hfinspect.explain(tmp_path)


# ---- next to headers


def tensors() -> dict[str, tuple[str, tuple[int, ...]]]:
    return {
        t.name: ("F32", tuple(int(n) for n in t.shape)) for t in hfinspect.predict(TINY).tensors
    }


def held(tmp_path: Path, content: builders.Tensors) -> Explanation:
    builders.write_config(tmp_path, TINY)
    builders.write_safetensors(tmp_path / "model.safetensors", content)
    return hfinspect.explain(tmp_path)


def test_headers_that_agree(tmp_path: Path) -> None:
    e = held(tmp_path, tensors())
    assert e.measured is not None
    assert e.measured.parameters == e.parameters
    assert (e.measured.differences, e.measured.unexplained) == ((), 0)
    assert "every tensor in the files matches the derivation" in program("explain", tmp_path).out


def test_differences_are_named_tensor_by_tensor(tmp_path: Path) -> None:
    content = tensors()
    del content["transformer.h.1.attn.c_proj.bias"]
    content["transformer.h.0.adapter.weight"] = ("F32", (3, 4))
    content["transformer.wpe.weight"] = ("F32", (16, 4))
    e = held(tmp_path, content)
    assert e.measured is not None
    differences = {d.tensor: d.parameters for d in e.measured.differences}
    assert differences == {
        "transformer.h.1.attn.c_proj.bias": -4,
        "transformer.h.0.adapter.weight": 12,
        "transformer.wpe.weight": 32,
    }
    assert e.measured.unexplained == 0
    assert e.measured.parameters == e.parameters + 40
    shown = program("explain", tmp_path).out
    assert all(name in shown for name in differences)
    assert program("explain", tmp_path, "--source", "config").out.count("in the files") == 0


def test_multi_token_prediction_in_the_files_is_beyond_the_class(tmp_path: Path) -> None:
    config = json.loads((MODELS / "deepseek-v3" / "config.json").read_text())
    small = {
        "hidden_size": 8,
        "num_hidden_layers": 2,
        "first_k_dense_replace": 1,
        "vocab_size": 16,
        "n_routed_experts": 2,
        "num_experts_per_tok": 1,
        "intermediate_size": 4,
        "moe_intermediate_size": 4,
        "num_attention_heads": 2,
        "q_lora_rank": 4,
        "kv_lora_rank": 4,
        "qk_nope_head_dim": 4,
        "qk_rope_head_dim": 2,
        "v_head_dim": 4,
    }
    config.update(small)
    prediction = hfinspect.predict(config)
    content = {s.name: ("F32", s.shape) for s in prediction.specs if s.tied_to is None}
    builders.write_config(tmp_path, config)
    builders.write_safetensors(tmp_path / "model.safetensors", content)
    e = hfinspect.explain(tmp_path)
    assert e.measured is not None
    assert e.measured.unexplained == 0
    extra = sum(spec.parameters for spec in prediction.extras)
    assert e.measured.differences == ()
    assert e.measured.parameters == e.parameters == prediction.parameters
    assert [(group.kind, group.parameters) for group in e.extra_tensors] == [("mtp", extra)]


def test_equal_differences_are_one_row(tmp_path: Path) -> None:
    """By pattern and ranges of numbers, not 30 of 787 rows. Where one of the class's own tensors
    is missing, others are differences and not beyond the class."""
    extra = {
        f"transformer.h.{layer}.adapter.{expert}.weight": ("F32", (3, 4))
        for layer in (0, 1)
        for expert in range(40)
        if (layer, expert) != (1, 39)
    }
    own = tensors()
    del own["transformer.ln_f.bias"]
    held(tmp_path, {**own, **extra})
    shown = program("explain", tmp_path).out.partition("Tensors that differ\n")[2]
    rows = [line.split() for line in shown.partition("\n\n")[0].splitlines()[2:]]
    assert [(row[0], row[-2], row[-1]) for row in rows][1:] == [
        ("transformer.h.0.adapter.[0-39].weight", "40", "480"),
        ("transformer.h.1.adapter.[0-38].weight", "39", "468"),
    ]
    del extra["transformer.h.0.adapter.39.weight"]
    held(tmp_path, {**own, **extra})
    assert "transformer.h.[0-1].adapter.[0-38].weight" in program("explain", tmp_path).out


@given(st.sets(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 5)), min_size=1))
def test_boxes_cover_what_they_are_made_of(members: set[tuple[int, ...]]) -> None:
    boxes = _boxes(members)
    covered = [member for box in boxes for member in product(*box)]
    assert len(covered) == len(members)
    assert set(covered) == members


# ---- names


COUNTS = (Candidate("exact", 1_303_111_680), Candidate("apart", 1_397_616_640))


@pytest.mark.parametrize(
    ("name", "said", "reached"),
    [
        ("Langboat/bloom-1b4-zh", "1.4 B", ["apart"]),
        ("org/model-1.3B", "1.3 B", ["exact"]),
        ("org/Model_1.4b_chat", "1.4 B", ["apart"]),
        ("org/model-1B", "1 B", ["exact", "apart"]),
        ("org/model-7b", "7 B", []),
        ("models/bloom-1b4-zh/config.json", "1.4 B", ["apart"]),
    ],
)
def test_sizes_in_names(name: str, said: str, reached: list[str]) -> None:
    size = name_size_of(name, COUNTS, None)
    assert size is not None
    assert (size.says, [c.name for c in size.reached]) == (said, reached)
    assert size.nearest in COUNTS


@pytest.mark.parametrize(
    "name",
    ["gpt2", "bert-base-uncased", "deepseek-v3", "clip-vit-b32", "x", "/", "", "a1b2c3", "4bit"],
)
def test_names_without_a_size(name: str) -> None:
    assert name_size_of(name, COUNTS, None) is None


def test_experts_in_names() -> None:
    counts = (
        Candidate("exact", 46_702_792_704),
        Candidate("if each layer had one expert", 7_242_780_672),
    )
    size = name_size_of("Mixtral-8x7B-v0.1", counts, 12_879_925_248)
    assert size is not None
    assert size.says == "8 experts of a 7 B model"
    assert size.reached[0].value == 7_242_780_672
    active = name_size_of("Qwen3-30B-A3B", (Candidate("exact", 30_532_122_624),), 3_353_032_704)
    assert active is not None
    assert active.text == "30B-A3B"
    assert "reached" in active.says
    assert [c.name for c in active.reached] == ["exact"]


def test_hundreds_of_millions_are_meant_to_the_ten() -> None:
    counts = (Candidate("exact", 109_482_240),)
    size = name_size_of("bert-110m", counts, None)
    assert size is not None
    assert size.reached == counts


# ---- formats


@pytest.mark.parametrize("model", ["gpt2", "deepseek-v3", "bert-one-layer"])
def test_json_is_as_its_schema_says(model: str) -> None:
    done = program("explain", MODELS / model, "--format", "json", "--against", "1000")
    document = json.loads(done.out)
    conforms(document, "explanation")
    assert document["parameters"] == hfinspect.inspect(MODELS / model).parameters
    assert document["sections"][0]["rows"][0]["formula"]["tree"] is not None


def test_depths() -> None:
    shown = {
        d: program("explain", "fixtures/models/gpt2", "--depth", d).out
        for d in ("model", "layer", "tensor")
    }
    assert "c_attn" not in shown["model"]
    assert "c_attn" in shown["layer"]
    assert "weight" in shown["tensor"].split("one of L = 12 layers")[1].split("one layer")[0]
    assert len(shown["model"]) < len(shown["layer"]) < len(shown["tensor"])
    assert all("124,439,808" in text for text in shown.values())


def test_usage_errors() -> None:
    for arguments in (["--depth", "atom"], ["--format", "csv"], ["--against", "lots"]):
        done = program("explain", "fixtures/models/gpt2", *arguments)
        assert (done.code, done.out) == (2, "")


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_lines_fit_the_terminal(columns: int) -> None:
    for model in ("bloom-1b4-zh", "gpt2", "bert-base-uncased", "mixtral-8x7b"):
        done = program("explain", MODELS.relative_to(ROOT) / model, env={"COLUMNS": str(columns)})
        wide = [line for line in done.out.splitlines() if len(line) > columns]
        assert wide == []


def test_terminals_without_dots_and_powers() -> None:
    done = program("explain", "fixtures/models/gpt2", encoding="ascii")
    assert "3*H^2" in done.out
    assert "?" not in done.out


def test_output_goes_to_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    done = program("explain", "fixtures/models/gpt2", "-f", "markdown", "-o", path)
    assert (done.code, done.out) == (0, "")
    assert path.read_text(encoding="utf-8").startswith("# Parameters of")


def test_notebooks_show_markdown() -> None:
    e = tiny()
    shown = e._repr_markdown_()
    assert shown is not None
    assert f"{e.parameters:,}" in shown
    tables = [line for line in shown.splitlines() if line.startswith("|")]
    assert any("4·H²" in line for line in tables)
    assert "display" not in repr(e)


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    """A directory's name is foreign text: no markup, no TeX commands, no escapes."""
    folder = tmp_path / "a|b\\input{x}$_%\x1b[31m"
    builders.write_config(folder, TINY)
    e = hfinspect.explain(folder)
    assert "\x1b" not in (e._repr_markdown_() or "")
    done = program("explain", folder, "--format", "latex")
    assert r"\textbackslash{}input\{x\}\$\_\%" in done.out


# ---- layers without a pattern


@pytest.mark.parametrize(
    ("indices", "everyone", "text"),
    [
        ((0, 1, 2), True, "*"),
        ((0, 1, 2), False, "[0-2]"),
        ((3, 7, 11), False, "[3,7,11]"),
        (tuple(range(3, 60, 4)), False, "[3,7,...,59]"),
        ((5,), False, "5"),
        ((0, 1, 3), False, "[0-1,3]"),
        ((0, 1, 3, 4, 6, 7, 9, 10, 12), False, "[0-1,3-4,...,12]"),
    ],
)
def test_numbers_of_layers(indices: tuple[int, ...], everyone: bool, text: str) -> None:
    assert numbered(indices, everyone) == text


def test_each_layer_of_its_own_kind_is_a_section() -> None:
    heads = list(range(1, 41))
    e = hfinspect.explain(
        {
            "model_type": "laguna",
            "num_hidden_layers": 40,
            "num_attention_heads_per_layer": heads,
            "num_key_value_heads": 1,
        }
    )
    layers = [section for section in e.sections if section.times]
    assert [section.layers for section in layers] == [(i,) for i in range(40)]
    assert {section.copies for section in layers} == {1}
    assert sum(section.parameters for section in e.sections) == e.parameters
    document = lay_out(e)
    shown = render(document, Canvas(80))
    assert "40 kinds of layers: --depth layer shows the modules of each" in shown
    assert "one layer" not in shown
    assert "model.layers.39 " in shown  # its sum
    asked = render(lay_out(e, depth="layer"), Canvas(80))
    assert "model.layers.39: one layer" in asked
    assert "all layers" not in asked
    assert "1 × one layer" not in asked


# ---- what is where


def test_the_summary_comes_first_and_the_remarks_last() -> None:
    shown = program("explain", MODELS / "deepseek-v3", env={"COLUMNS": "80"}).out
    summary = shown.partition("\n\n")[0].splitlines()[1:]
    assert len(summary) <= 8
    labels = [line.split("  ")[0] for line in summary if not line.startswith(" ")]
    assert labels == ["model", "total", "not loaded", "sum", "split", "memory"]
    assert "3 × 583,483,392 + 58 × 11,507,286,016 (layers) + 1,853,365,248" in shown
    assert 3 * 583_483_392 + 58 * 11_507_286_016 + 1_853_365_248 == 671_026_404_352
    *_, remarks, _ = shown.split("\n\n")
    subjects = [line.split("  ")[0] for line in remarks.splitlines() if not line.startswith(" ")]
    assert subjects[:5] == ["attention", "positions", "norms", "MLP", "experts"]
    assert len(set(subjects)) == len(subjects)


@pytest.mark.parametrize("columns", ["60", "80", "120", ""])
def test_tables_are_of_one_kind_and_width(columns: str) -> None:
    """A column that one has no room for, none has; all end in the same place."""
    shown = program("explain", MODELS / "bert-base-uncased", env={"COLUMNS": columns}).out
    ledger = shown.partition("Before the layers\n")[2].partition("\nSum\n")[0]
    heads = [line for line in ledger.splitlines() if line.startswith("module ")]
    assert len(heads) == 3
    assert len({tuple(line.split()) for line in heads}) == 1
    lines = shown.partition("Before the layers\n")[2].splitlines()
    rules = [line for line in lines if line.startswith("---")]
    assert len({len(line) for line in rules}) == 1


def test_heads_that_the_config_leaves_out_are_the_default_of_the_class() -> None:
    sentences = {
        kind: hfinspect.explain({"model_type": kind}).attention[0].sentence
        for kind in ("bert", "gpt2", "llama")
    }
    assert sentences["bert"].startswith("multi-head attention: A = 12 heads")
    assert sentences["gpt2"].startswith("multi-head attention: A = 12 heads")
    assert sentences["llama"].startswith("multi-head attention: A = 32 heads")
