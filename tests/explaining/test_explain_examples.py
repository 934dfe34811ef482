"""The worked examples, true to the digit, and their files."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import hfinspect
from hfinspect.core.explanation import Explanation
from hfinspect.core.ledger_lines import Section

from ..cli.program import ROOT
from .golden_explain import DIRECTORY, EXAMPLES, output_of

MODELS = ROOT / "fixtures" / "models"


def explained(name: str, against: int | None = None) -> Explanation:
    return hfinspect.explain(MODELS / name, against=against)


def rows(section: Section) -> dict[str, tuple[str, int]]:
    return {row.label: (row.count.text, row.value) for row in section.rows}


def per_layer(section: Section) -> dict[str, int]:
    return {share.component: share.value for share in section.shares}


@pytest.mark.parametrize("name", EXAMPLES)
def test_files_are_what_the_program_prints(name: str) -> None:
    assert output_of(name) == (DIRECTORY / name).read_text(encoding="utf-8")


def test_no_file_without_an_example() -> None:
    assert {path.name for path in DIRECTORY.iterdir()} == set(EXAMPLES)


def test_bloom() -> None:
    e = explained("bloom-1b4-zh")
    letters = {s.letter: (s.key, s.value) for s in e.letters}
    assert letters["H"] == ("n_embed", 2048)
    assert letters["V"] == ("vocab_size", 46145)
    assert letters["L"] == ("n_layer", 24)
    before, layer, after = e.sections
    assert rows(before)["word_embeddings"] == ("V·H", 94_504_960)
    row_of = rows(layer)
    assert row_of["query_key_value"] == ("3·H² + 3·H", 12_589_056)
    assert row_of["dense"] == ("H² + H", 4_196_352)
    assert row_of["self_attention"] == ("4·H² + 4·H", 16_785_408)
    assert row_of["mlp"] == ("8·H² + 5·H", 33_564_672)
    assert (row_of["dense_h_to_4h"][1], row_of["dense_4h_to_h"][1]) == (16_785_408, 16_779_264)
    assert layer.copies == 24
    shares = {share.component: share.value for share in e.shares}
    assert shares["attention"] == 402_849_792
    assert shares["mlp"] == 805_552_128
    assert shares["norm"] == 204_800
    assert ("norms", "50 LayerNorms of gamma and beta, 2·H = 4,096 each: 204,800") in e.notes
    assert rows(after)["lm_head"] == ("V·H", 0)
    assert (e.parameters, e.parameters_with_head) == (1_303_111_680, 1_397_616_640)
    assert e.closed is not None
    assert e.closed.text == "12·L·H² + (V + 13·L + 4)·H"
    assert e.name_size is not None
    assert [c.value for c in e.name_size.reached] == [1_397_616_640]


def test_bert_base() -> None:
    e = explained("bert-base-uncased")
    before, layer, _ = e.sections
    row_of = rows(before)
    assert row_of["embeddings"][1] == 23_837_184
    assert row_of["word_embeddings"] == ("V·H", 23_440_896)
    assert row_of["position_embeddings"] == ("P·H", 393_216)
    assert row_of["token_type_embeddings"] == ("T·H", 1_536)
    assert row_of["LayerNorm"] == ("2·H", 1_536)
    assert (layer.value, layer.parameters) == (7_087_872, 85_054_464)
    assert per_layer(layer) == {"attention": 2_362_368, "mlp": 4_722_432, "norm": 3_072}
    counts = {count.name: count.value for count in e.counts}
    assert counts["without head"] == 108_891_648
    assert counts["the base model with its pooler"] == 109_482_240


def test_openai_gpt_against_a_hand_estimate() -> None:
    """28,311,552 + 56,669,184 + 30,760,000: which conventions were used."""
    estimate = 28_311_552 + 56_669_184 + 30_760_000
    assert estimate == 115_740_736
    e = explained("openai-gpt", estimate)
    assert per_layer(e.sections[1]) == {
        "attention": 2_362_368,
        "mlp": 4_722_432,
        "norm": 3_072,
    }
    assert e.against is not None
    names = {convention.name: convention.value for convention in e.against.readings[0]}
    assert names == {
        "no-embeddings": -31_480_320,  # 31,087,104 words and 393,216 positions
        "no-attention-biases": -36_864,
        "no-norms": -36_864,
        "own-head-with-bias": 30_760_000,
    }
    assert e.parameters + sum(names.values()) == estimate


def test_one_layer_of_bert_against_a_closed_form() -> None:
    """(3L + 11n + 2)H + 12nH² takes the vocabulary (there L) for all three tables."""
    vocabulary = 30_000
    layers = 1
    hidden = 768
    other = (3 * vocabulary + 11 * layers + 2) * hidden + 12 * layers * hidden**2
    assert other == 76_207_872
    e = explained("bert-one-layer", other)
    assert e.against is not None
    assert [c.name for c in e.against.readings[0]] == [
        "no-pooler",
        "one-norm-a-layer",
        "vocabulary-for-all-tables",
    ]
    assert e.against.closed is not None
    assert e.against.other is not None
    assert e.against.closed.text == "(12·L + 1)·H² + (V + P + T + 13·L + 3)·H"
    assert e.against.other.text == "12·L·H² + (3·V + 11·L + 2)·H"
    assert e.against.other.value == other
    terms = {term.text: (term.right, term.other) for term in e.against.terms}
    assert terms["V·H"] == ("1", "3")
    assert terms["L·H"] == ("13", "11")
    assert terms["P·H"] == ("1", "0")


def test_gpt3() -> None:
    e = explained("gpt3-175b")
    assert e.parameters == 174_604_259_328
    rough = e.approximation
    assert rough is not None
    assert (rough.formula.text, rough.formula.value) == ("12·L·H²", 173_946_175_488)
    assert rough.embedding == (50_257 + 2_048) * 12_288
    assert rough.left_over == (13 * 96 + 2) * 12_288 == 15_360_000
    assert rough.rest is not None
    assert rough.rest.text == "(13·L + 2)·H"
    assert e.name_size is not None
    assert e.name_size.reached[0].value == e.parameters


def test_llama_3() -> None:
    e = explained("llama-3-8b")
    assert e.parameters == 8_030_261_248
    row_of = rows(e.sections[1])
    assert row_of["q_proj"] == ("H²", 16_777_216)
    assert row_of["k_proj"] == ("G·H·d_k", 4_194_304)
    assert row_of["mlp"] == ("3·H·I", 176_160_768)
    (attention,) = e.attention
    assert "grouped-query" in attention.sentence
    heads = {
        p.name: (p.heads, p.per_head.value if p.per_head else None) for p in attention.projections
    }
    assert heads["query"] == (32, 4096 * 128)
    assert heads["value"] == (8, 4096 * 128)


def test_mixtral() -> None:
    e = explained("mixtral-8x7b")
    assert (e.parameters, e.active_parameters) == (46_702_792_704, 12_879_925_248)
    assert ("experts", "one expert of a layer: 3·H·I = 176,160,768") in e.notes
    assert e.name_size is not None
    assert e.name_size.text == "8x7b"
    assert e.name_size.reached[0].value == 7_242_780_672


def test_deepseek_v3() -> None:
    e = explained("deepseek-v3")
    assert (e.parameters, e.active_parameters) == (671_026_404_352, 37_552_282_624)
    _, dense, sparse, _ = e.sections
    assert (dense.layers, sparse.layers) == ((0, 1, 2), tuple(range(3, 61)))
    assert rows(dense)["kv_a_proj_with_mqa"] == ("H·(r_kv + d_r)", 7168 * (512 + 64))
    assert rows(sparse)["experts.*"] == ("3·E·H·I_e", 3 * 256 * 7168 * 2048)
    assert "latent" in e.attention[0].sentence
    assert [(group.kind, group.parameters) for group in e.extra_tensors] == [
        ("mtp", 13_463_426_048)
    ]


# ---- LaTeX

LATEX = [name for name in EXAMPLES if name.endswith(".tex")]


@pytest.mark.parametrize("name", LATEX)
def test_latex_is_well_formed(name: str) -> None:
    """ASCII, braces balance, environments close, math opens and closes, rows fit their tables."""
    text = (DIRECTORY / name).read_text(encoding="utf-8")
    assert text.isascii()
    bare = re.sub(r"\\[\\{}$&#%_]", "", text)
    assert bare.count("{") == bare.count("}")
    assert bare.count("$") % 2 == 0
    assert not re.search(r"[#%~^]", re.sub(r"\$[^$]*\$", "", bare.replace("~", "")))
    assert not re.search(r"(?<!\$)_", re.sub(r"\$[^$]*\$", "", bare))
    opened = re.findall(r"\\(begin|end)\{(\w+)\}", text)
    stack = []
    for what, environment in opened:
        if what == "begin":
            stack.append(environment)
        else:
            assert stack.pop() == environment
    assert stack == []
    for columns, body in re.findall(
        r"\\begin\{longtable\}\[l\]\{(\w+)\}(.*?)\\end\{longtable\}", text, re.DOTALL
    ):
        lines = [line for line in body.splitlines() if line.endswith(r" \\")]
        assert len(lines) > 1
        assert {line.replace(r"\&", "").count("&") for line in lines} == {len(columns) - 1}


@pytest.mark.parametrize("name", LATEX)
def test_latex_compiles(name: str, tmp_path: Path) -> None:
    engine = next(
        (e for e in ("pdflatex", "xelatex", "lualatex", "tectonic") if shutil.which(e)), None
    )
    if engine is None:
        pytest.skip("no TeX engine here")
    shutil.copy(DIRECTORY / name, tmp_path / "a.tex")
    mode = [] if engine == "tectonic" else ["-interaction=nonstopmode", "-halt-on-error"]
    done = subprocess.run([engine, *mode, "a.tex"], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    assert (tmp_path / "a.pdf").stat().st_size > 1000
