"""Counts by hand: which conventions explain them, and when none does."""

from __future__ import annotations

import contextlib
import json
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hfinspect
from hfinspect.core.alternative_counts import Against
from hfinspect.errors import UsageError
from hfinspect.explaining.count_convention import Counting
from hfinspect.explaining.polynomials import number
from hfinspect.explaining.reconcile import _MODELS, MAX_CONVENTIONS, parse_count, readings
from hfinspect.trees.prediction import predict

from ..builders import write_config, write_safetensors
from ..cli.program import ROOT
from ..cli.program import hfinspect as program

MODELS = ROOT / "fixtures" / "models"


def against(model: str, difference: int, **overrides: Any) -> Against:
    exact = hfinspect.explain(MODELS / model, overrides=overrides).parameters
    explanation = hfinspect.explain(MODELS / model, overrides=overrides, against=exact + difference)
    assert explanation.against is not None
    assert (explanation.against.number, explanation.against.difference) == (
        exact + difference,
        difference,
    )
    return explanation.against


def first(model: str, difference: int, **overrides: Any) -> list[str]:
    other_count = against(model, difference, **overrides)
    for reading in other_count.readings:
        assert sum(convention.value for convention in reading) == difference
    return [convention.name for convention in other_count.readings[0]]


H = 768
L = 12


@pytest.mark.parametrize(
    ("model", "difference", "expected"),
    [
        ("gpt2", 50257 * H, ["head-apart"]),
        ("gpt2", -50257 * H, ["no-token-embeddings"]),
        ("gpt2", -1024 * H, ["no-position-embeddings"]),
        ("gpt2", -(50257 + 1024) * H, ["no-embeddings"]),
        ("gpt2", -L * 9 * H, ["no-biases"]),
        ("gpt2", -L * 5 * H, ["no-mlp-biases"]),
        ("gpt2", -(2 * L + 1) * 2 * H, ["no-norms"]),
        ("gpt2", -2 * H, ["no-outer-norm"]),
        ("gpt2", -L * 2 * H, ["one-norm-a-layer"]),
        ("gpt2", (1024 - 50257) * H, ["length-for-vocabulary"]),
        ("gpt2", (50304 - 50257) * H, ["other-vocabulary"]),
        ("gpt2", -(12 * H * H + 13 * H), ["a-layer-less"]),
        ("gpt2", 12 * H * H + 13 * H, ["a-layer-more"]),
        ("gpt2", -L * 9 * H - (2 * L + 1) * 2 * H, ["no-biases", "no-norms"]),
        ("bert-base-uncased", H * H + H, ["with-pooler"]),
        ("bert-base-uncased", 592_130, ["counted-as-BertForPreTraining"]),
        ("bert-base-uncased", -622_650, ["no-head"]),
        ("bert-base-uncased", -2 * H, ["no-segment-embeddings"]),
        ("llama-3-8b", 2 * 32 * 4096 * 24 * 128, ["no-groups"]),
        ("llama-3-8b", -32 * 4096 * 14336, ["two-matrices"]),
        ("mixtral-8x7b", 12_879_925_248 - 46_702_792_704, ["active-only"]),
        ("mixtral-8x7b", -32 * 8 * 4096, ["no-router"]),
        ("deepseek-v3", 13_463_426_048, ["multi-token-prediction-counted"]),
    ],
)
def test_usual_conventions(model: str, difference: int, expected: list[str]) -> None:
    assert first(model, difference) == expected


def test_masks() -> None:
    """GPT-2's files hold each layer's causal mask: 12 · 1024²."""
    assert first("gpt2", 12 * 1024 * 1024) == ["causal-masks-counted"]


def test_agreement_needs_no_convention() -> None:
    other_count = against("gpt2", 0)
    assert other_count.readings == ()
    exact = hfinspect.explain(MODELS / "gpt2").parameters
    assert (
        "the exact 124,439,808, to the last parameter"
        in program("explain", MODELS / "gpt2", "--against", f"{exact:,}").out
    )


def test_when_none_explains_it_says_so() -> None:
    other_count = against("gpt2", 1_000_003)
    assert other_count.readings == ()
    assert other_count.at_most == MAX_CONVENTIONS
    shown = program("explain", MODELS / "gpt2", "--against", "1").out
    assert "no combination of up to" in shown


def test_closed_forms_differ_in_the_terms_named() -> None:
    other_count = against("gpt2", -1024 * H)
    assert other_count.closed is not None
    assert other_count.other is not None
    assert [(t.text, t.right, t.other) for t in other_count.terms] == [("P·H", "1", "0")]
    assert other_count.closed.value - other_count.other.value == 1024 * H


@pytest.mark.parametrize("text", ["115,740,736", "115_740_736", "115 740 736", " 115740736 "])
def test_counts_as_people_write_them(text: str) -> None:
    assert parse_count(text) == ("115,740,736", 115_740_736, 115_740_736, 115_740_737)


@pytest.mark.parametrize(
    "text", ["", "-5", "1,5B", "1.4", "1.4BB", "B", ".5B", "lots", "1" * 26, "٣", "9" * 25]
)
def test_what_is_no_count(text: str) -> None:
    with pytest.raises(UsageError):
        parse_count(text)


@pytest.mark.parametrize("count", [-1, 1.5, True, None, 2**81])
def test_what_is_no_count_in_python(count: Any) -> None:
    with pytest.raises(UsageError, match=r"115,740,736, or rounded: 124M, 1\.5B"):
        parse_count(count)


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("124M", 123_500_000, 124_500_000),
        ("1.5B", 1_450_000_000, 1_550_000_000),
        ("1.50 b", 1_495_000_000, 1_505_000_000),
        ("1,300m", 1_299_500_000, 1_300_500_000),
        ("2T", 1_500_000_000_000, 2_500_000_000_000),
        ("0k", 0, 500),
        ("1.1e8", 105_000_000, 115_000_000),
        ("1.1亿", 105_000_000, 115_000_000),
        ("340万", 3_395_000, 3_405_000),
    ],
)
def test_rounded_counts(text: str, low: int, high: int) -> None:
    request = parse_count(text)
    assert (request.text, request.low, request.high, request.rounded) == (text, low, high, True)


@pytest.mark.parametrize(
    ("count", "names"),
    [("124M", []), ("163M", ["head-apart"]), ("85M", ["no-embeddings"])],
)
def test_a_rounded_count_fits_what_rounds_to_it(count: str, names: list[str]) -> None:
    """In Python and on the command line; GPT-2 has 124,439,808."""
    other_count = hfinspect.explain(MODELS / "gpt2", against=count).against
    assert other_count is not None
    assert other_count.agrees is not bool(names)
    assert [c.name for reading in other_count.readings[:1] for c in reading] == names
    exact = other_count.number - other_count.difference
    for reading in other_count.readings:
        assert other_count.fits[0] <= exact + sum(c.value for c in reading) < other_count.fits[1]
    shown = program("explain", MODELS / "gpt2", "--against", count).out
    assert f"your count    {count}: from " in shown
    assert ("the exact 124,439,808 rounds to it" in shown) is not bool(names)


def test_a_rounded_count_is_never_a_coincidence() -> None:
    """117M is the first GPT's: GPT-2 with a layer less has it by chance."""
    other_count = hfinspect.explain(MODELS / "gpt2", against="117M").against
    assert other_count is not None
    assert other_count.readings == ()
    assert other_count.known is not None
    assert (other_count.known.name, other_count.known.value) == ("openai-gpt", 116_534_784)
    shown = program("explain", MODELS / "gpt2", "--against", "117M").out
    assert "best reading  none: no usual convention gives it; openai-gpt has 116.5 M" in shown
    assert (
        "best reading  a guess: the tied head"
        in program("explain", MODELS / "gpt2", "--against", "163M").out
    )


def test_well_known_models_have_the_sizes_of_their_files() -> None:
    """In millions, as their papers and cards have them."""
    sizes = {name: round(predict(config).parameters / 1e6) for name, config in _MODELS.items()}
    assert sizes == {
        "openai-gpt": 117,
        "gpt2": 124,
        "gpt2-medium": 355,
        "gpt2-large": 774,
        "gpt2-xl": 1558,
        "bert-base-uncased": 109,
        "bert-large-uncased": 335,
        "distilbert-base-uncased": 66,
        "t5-small": 61,
    }


def test_what_files_hold_and_the_class_does_not(tmp_path: Path) -> None:
    config = {**json.loads((MODELS / "bert-one-layer" / "config.json").read_text())}
    config.update(
        architectures=["BertModel"],
        hidden_size=8,
        intermediate_size=16,
        vocab_size=9,
        num_attention_heads=2,
    )
    tensors = {spec.name: ("F32", spec.shape) for spec in predict(config).tensors}
    write_config(tmp_path, config)
    write_safetensors(tmp_path / "model.safetensors", {**tensors, "made.up": ("F32", (7, 11))})
    exact = predict(config).parameters
    other_count = hfinspect.explain(tmp_path, against=exact + 77).against
    assert other_count is not None
    assert [c.name for c in other_count.readings[0]] == ["not-loaded"]


def test_the_best_reading_comes_first() -> None:
    """Before symbols and ledger, right below the summary."""
    done = program("explain", MODELS / "gpt2", "--against", "163,037,184", env={"COLUMNS": "80"})
    before = done.out.partition("\nSymbols\n")[0]
    assert "best reading  the tied head counted separately (+38,597,376)\n" in before
    assert before.index("best reading") < before.index("Why they differ")


@given(st.text(max_size=30))
def test_counts_parse_or_are_refused(text: str) -> None:
    with contextlib.suppress(UsageError):
        request = parse_count(text)
        assert 0 <= request.low <= request.number < request.high


# ---- the search


def way(value: int, touches: str, cost: int = 1) -> Counting:
    return Counting(f"{value}{touches}", "", number(value), frozenset(touches), cost)


CONVENTIONS = st.lists(
    st.builds(way, st.integers(-40, 40).filter(bool), st.text("abcdefgh", max_size=2)), max_size=9
)


@given(CONVENTIONS, st.integers(-120, 120).filter(bool))
def test_the_search_finds_the_smallest_sets(ways: list[Counting], difference: int) -> None:
    """As trying every subset does."""
    sizes = []
    for size in range(1, MAX_CONVENTIONS + 1):
        for chosen in combinations(ways, size):
            letters = [letter for w in chosen for letter in w.touches]
            if (
                len(set(letters)) == len(letters)
                and sum(w.delta.value for w in chosen) == difference
            ):
                sizes.append(size)
    sets = readings(ways, difference)
    assert {len(reading) for reading in sets} == ({min(sizes)} if sizes else set())
    for reading in sets:
        assert sum(w.delta.value for w in reading) == difference


def test_cheaper_readings_come_first() -> None:
    ways = [way(5, "a", 3), way(5, "b", 1)]
    assert [reading[0].cost for reading in readings(ways, 5)] == [1, 3]
