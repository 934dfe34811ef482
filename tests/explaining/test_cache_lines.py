"""``explain --cache``: formulas that come to memory's own number, of every sixth family by default
and of the others with ``pytest -m all_recordings``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import Any

import pytest

import hfinspect
from hfinspect.core.formula import Op, Tree
from hfinspect.errors import NothingToInspectError

from ..cli.program import ROOT
from ..cli.program import hfinspect as program
from ..oracle_folder import ORACLE
from ..schemas import conforms
from ..some_rows import one_of

MODELS = ROOT / "fixtures" / "models"
FAMILIES = sorted((ORACLE / "caches").glob("*.json"))
ENGINES = ("logical", "transformers", "transformers-static", "vllm", "sglang", "llama.cpp")
GPT_OSS: dict[str, Any] = {
    "model_type": "gpt_oss",
    "num_hidden_layers": 36,
    "num_key_value_heads": 8,
    "head_dim": 64,
    "sliding_window": 128,
    "dtype": "bfloat16",
    "num_local_experts": 2,
    "vocab_size": 100,
}


def value_of(tree: Tree, letters: Mapping[str, int]) -> Fraction:
    """A formula's tree in numbers, worked out without the code that wrote it."""
    if isinstance(tree, int):
        return Fraction(tree)
    if isinstance(tree, str):
        return Fraction(letters[tree])
    assert isinstance(tree, Op)
    first, *rest = (value_of(arg, letters) for arg in tree.args)
    for other in rest:
        if tree.op == "+":
            first += other
        elif tree.op == "*":
            first *= other
        else:
            first = first / other if tree.op == "/" else first ** int(other)
    return first


@pytest.mark.parametrize("path", one_of(6, FAMILIES), ids=lambda path: path.stem)
def test_the_formulas_come_to_memorys_number(path: Path) -> None:
    """Of each family's first recording, with each engine's rules in turn."""
    records = [r for r in json.loads(path.read_text()).values() if "not recorded" not in r]
    for record in records[:1]:
        names = {"model_type": record["model_type"], "architectures": [record["architecture"]]}
        config = {**record["given"], **names, "dtype": "bfloat16"}
        asked: dict[str, Any] = {
            "context": 40,
            "batch": 2,
            "engine": ENGINES[len(path.stem) % len(ENGINES)],
            "encoder_tokens": 5,
        }
        sized = hfinspect.memory(config, **asked)
        if sized.cache is None or not sized.cache.layers:
            with pytest.raises(NothingToInspectError):
                hfinspect.explain_cache(config, **asked)
            continue
        derivation = hfinspect.explain_cache(config, **asked)
        conforms(derivation.to_dict(), "cache")
        assert derivation.cache == sized.cache
        letters = {letter.letter: letter.value for letter in derivation.letters}
        for line in derivation.lines:
            assert value_of(line.elements.tree, letters) == line.elements.value
            if "row" in line.width:
                continue
            elements = line.elements.value * line.rows
            assert ceil(elements * Fraction(line.width)) == line.nbytes
        assert sum(line.nbytes for line in derivation.lines) == sized.cache.nbytes


def test_llama() -> None:
    derivation = hfinspect.explain_cache(str(MODELS / "llama-3-8b"))
    (line,) = derivation.lines
    assert (line.elements.text, line.elements.numbers) == ("2·L·G·d_k", "2·32·8·128")
    assert (line.rows_formula, line.rows, line.width) == ("b·N", 8192, "2")
    assert line.nbytes == derivation.cache.nbytes == 1_073_741_824


@pytest.mark.parametrize(
    ("engine", "rows"),
    [
        ("logical", "b·min(N, W − 1)"),
        ("transformers-static", "b·min(N, W)"),
        ("vllm", "b·16·(⌈min(W − 1 + 2·8,192, N)/16⌉ + 1)"),
        ("llama.cpp", "min(256·⌈b·N/256⌉, 256·⌈(b·W + 512)/256⌉)"),
    ],
)
def test_windows_are_rows_of_their_own(engine: str, rows: str) -> None:
    derivation = hfinspect.explain_cache(GPT_OSS, context=100_000, engine=engine)
    assert [line.layers for line in derivation.lines] == ["18 of 36", "18 of 36"]
    assert {line.elements.text for line in derivation.lines} == {"36·G·d_k"}
    assert rows in [line.rows_formula for line in derivation.lines]
    assert {letter.letter: letter.value for letter in derivation.letters}["W"] == 128


def test_keys_and_values_in_two_dtypes() -> None:
    options: dict[str, Any] = {"engine": "llama.cpp", "context": 4096, "cache_dtype": "q8_0/f16"}
    derived = hfinspect.explain_cache(MODELS / "llama-3-8b", **options)
    keys, values = (32 * 8 * 128 * size // 64 for size in (2 * 34, 64 * 2))
    assert derived.cache.nbytes == 4096 * (keys + values)
    (line,) = derived.lines
    assert (line.width, line.nbytes) == ("100,352 a row of 65,536", derived.cache.nbytes)


def test_latents_states_and_shared_caches() -> None:
    latent = hfinspect.explain_cache(str(MODELS / "deepseek-v3"))
    assert [line.elements.text for line in latent.lines] == ["61·r_kv + 61·d_r"]
    assert any("all heads" in note for note in latent.notes)
    mamba = hfinspect.explain_cache({"model_type": "mamba", "num_hidden_layers": 2})
    assert [line.rows_formula for line in mamba.lines] == ["b", "b"]
    assert any("number of tokens" in note for note in mamba.notes)
    shared = hfinspect.explain_cache(
        {"model_type": "gemma3n_text", "num_hidden_layers": 10, "num_kv_shared_layers": 4}
    )
    assert any(
        note.startswith("4 of 10 layers have no cache of their own") for note in shared.notes
    )


@pytest.mark.parametrize("format_", ["table", "markdown", "latex", "json"])
def test_every_format(format_: str) -> None:
    done = program("explain", MODELS / "llama-3-8b", "--cache", "-f", format_)
    assert done.code == 0
    assert "1073741824" in done.out.replace(",", "").replace("{}", "").replace("\\", "")
    if format_ == "json":
        conforms(json.loads(done.out), "cache")


def test_what_has_none_says_why() -> None:
    done = program("explain", MODELS / "bert-base-uncased", "--cache")
    assert done.code == 3
    assert "an encoder keeps nothing between tokens" in done.err


@pytest.mark.parametrize(
    "wrong",
    [
        ("--context", "8k"),
        ("--cache", "--depth", "layer"),
        ("--cache", "--against", "1B"),
        ("--cache", "--engine", "vlm"),
        ("--cache", "--context", "0"),
    ],
)
def test_nonsense_is_exit_2(wrong: tuple[str, ...]) -> None:
    assert program("explain", MODELS / "llama-3-8b", *wrong).code == 2


def test_a_notebook_shows_it() -> None:
    derivation = hfinspect.explain_cache(str(MODELS / "llama-3-8b"))
    assert "1,073,741,824 bytes" in repr(derivation)
    assert "<table" in derivation._repr_html_()
    assert "2·L·G·d" in derivation.to_markdown()
