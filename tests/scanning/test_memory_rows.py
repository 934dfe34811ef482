"""``scan --on``: which models of a list fit, and up to which context."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import hfinspect
from hfinspect.core.footprint import Memory
from hfinspect.core.results import Failure
from hfinspect.errors import UsageError
from hfinspect.scanning.rows import MEMORY_COLUMNS

from ..cli.program import ROOT
from ..cli.program import hfinspect as program
from ..schemas import conforms

MODELS = ROOT / "fixtures" / "models"
NAMES = ["llama-3-8b", "deepseek-v3", "nowhere", "gpt2", "bert-base-uncased"]


@pytest.fixture
def models(tmp_path: Path) -> Path:
    path = tmp_path / "models.txt"
    path.write_text("".join(f"{MODELS / name}\n" for name in NAMES))
    return path


def rows_of(models: Path, *options: str) -> list[dict[str, Any]]:
    done = program("scan", models, *options, "-f", "jsonl", "--no-cache")
    rows = [json.loads(line) for line in done.out.splitlines()]
    for row in rows:
        conforms(row, "scan-row")
    return rows


def test_every_model_has_a_row_with_memorys_own_numbers(models: Path) -> None:
    rows = rows_of(models, "--on", "24GB", "--context", "8k")
    assert [Path(row["target"]).name for row in rows] == NAMES
    llama, deepseek, nowhere, gpt2, bert = rows
    alone = hfinspect.memory(str(MODELS / "llama-3-8b"), on="24GB", context="8k")
    assert alone.cache is not None
    assert (llama["fits"], llama["max_context"]) == (True, alone.max_context)
    assert (llama["memory_total"], llama["memory_cache"]) == (alone.total, alone.cache.nbytes)
    assert (llama["device"], llama["memory_context"]) == ("24GB", 8192)
    assert (deepseek["fits"], deepseek["max_context"]) == (False, 0)
    assert (nowhere["status"], nowhere["fits"]) == ("failed", None)
    assert "dtype" in gpt2["memory_unknown"]
    assert "encoder" in bert["memory_unknown"]


def test_sorted_on_request(models: Path) -> None:
    rows = rows_of(models, "--on", "24GB", "--sort", "max_context")
    assert [Path(row["target"]).name for row in rows][:2] == ["llama-3-8b", "deepseek-v3"]
    largest = rows_of(models, "--sort", "parameters", "--columns", "parameters")
    counts = [row["parameters"] for row in largest if row["parameters"]]
    assert counts == sorted(counts, reverse=True)
    assert largest[-1]["status"] == "failed"


def test_other_choices_of_memory(models: Path) -> None:
    rows = rows_of(
        models,
        "--context",
        "4k",
        "--batch",
        "2",
        "--engine",
        "vllm",
        "--kv-dtype",
        "fp8_ds_mla",
        "--columns",
        "memory_cache,memory_unknown,fits",
    )
    llama, deepseek = rows[:2]
    assert deepseek["memory_cache"] == 2 * 4096 * 61 * 656
    assert (llama["memory_cache"], llama["fits"]) == (None, None)
    assert "latents" in llama["memory_unknown"]


def test_files_of_rows(models: Path, tmp_path: Path) -> None:
    out = tmp_path / "rows.csv"
    options = ("--on", "24GB", "--sort", "max_context", "--output", out)
    assert program("scan", models, *options).code == 1  # one is not there
    with out.open() as stream:
        rows = list(csv.DictReader(stream))
    assert list(rows[0])[-len(MEMORY_COLUMNS) :] == list(MEMORY_COLUMNS)
    assert rows[0]["fits"] == "true"
    table = program("scan", models, *options[:4], "-f", "table").out
    assert "max_context" in table.splitlines()[0]


def test_parquet(models: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    out = tmp_path / "rows.parquet"
    program("scan", models, "--on", "24GB", "--sort", "max_context", "--output", out)
    rows = parquet.read_table(out).to_pylist()
    assert [row["fits"] for row in rows[:2]] == [True, False]
    assert rows[0]["max_context"] == 8192  # its own


@pytest.mark.parametrize(
    "wrong",
    [
        ("--on", "24"),
        ("--context", "much"),
        ("--batch", "2"),
        ("--columns", "fits"),
        ("--sort", "max_context"),
        ("--on", "24GB", "--kv-dtype", "q8_0", "--engine", "vllm"),
    ],
)
def test_nonsense_is_exit_2(models: Path, wrong: tuple[str, ...]) -> None:
    assert program("scan", models, *wrong, "-f", "jsonl").code == 2


def test_in_python() -> None:
    targets = [str(MODELS / name) for name in NAMES[:3]]
    llama, deepseek, nowhere = hfinspect.scan(targets, on="24GB", context="8k")
    assert isinstance(llama, Memory)
    assert isinstance(deepseek, Memory)
    assert isinstance(nowhere, Failure)
    alone = hfinspect.memory(targets[0], on="24GB", context="8k")
    assert alone.recipes
    assert llama == replace(alone, recipes=())  # a scan has no table of each model
    assert (llama.fits, deepseek.fits) == (True, False)
    with pytest.raises(UsageError):
        hfinspect.scan(targets, on="24")
    with pytest.raises(UsageError):
        hfinspect.scan(targets, batch=2)


@pytest.mark.parametrize("engine", ["logical", "vllm", "sglang"])
def test_the_smallest_card_is_memorys_own_with_what_the_engine_leaves_free(
    models: Path, engine: str
) -> None:
    rows = rows_of(models, "--on", "24GB", "--context", "8k", "--engine", engine)
    llama, deepseek, *_ = rows
    alone = hfinspect.memory(str(MODELS / "llama-3-8b"), on="24GB", context="8k", engine=engine)
    assert llama["smallest_card"] == alone.smallest_card
    held = hfinspect.memory(
        str(MODELS / "llama-3-8b"), on=alone.smallest_card, context="8k", engine=engine
    )
    assert held.fits is True
    assert deepseek["smallest_card"] is None
