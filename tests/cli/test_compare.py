"""``hfinspect compare``: side by side, what differs, exit codes, formats."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest

from hfinspect import inspect as hfinspect_of

from ..analysis.test_compare import CONFIG, checkpoint
from ..builders import write_config
from ..hub_server import HubServer
from ..scanning.scan_support import CONFIG as HUB_CONFIG
from ..scanning.scan_support import model_files
from ..schemas import conforms
from .program import ROOT, hfinspect, process


@pytest.fixture
def models(tmp_path: Path) -> Path:
    checkpoint(tmp_path / "base")
    checkpoint(tmp_path / "tuned", "BF16", torch_dtype="bfloat16")
    checkpoint(tmp_path / "deeper", num_hidden_layers=6)
    return tmp_path


def test_a_fine_tune_and_its_base(models: Path) -> None:
    done = hfinspect("compare", "./base", "./tuned", cwd=models)
    assert done.code == 0
    assert "./base and ./tuned: identical in structure, in other dtypes" in done.out
    assert "torch_dtype" in done.out


def test_another_depth_is_another_structure(models: Path) -> None:
    done = hfinspect("compare", "./base", "./deeper", cwd=models)
    assert done.code == 1
    assert "different in structure" in done.out
    assert "layers 4-5: self_attn.q_proj.weight" in done.out
    assert "num_hidden_layers" in done.out


def test_what_if_next_to_what_is(models: Path) -> None:
    """--set changes the last model; one alone is compared with itself."""
    done = hfinspect("compare", "./base", "--set", "num_hidden_layers=6", cwd=models)
    assert done.code == 1
    assert "num_hidden_layers = 6 (was 4)" in done.out
    assert "./base and ./base with num_hidden_layers = 6: different in structure" in done.out
    both = hfinspect(
        "compare", "./base", "./deeper", "--set", "num_hidden_layers=4", "-f", "json", cwd=models
    )
    document = json.loads(both.out)
    conforms(document, "comparison")
    assert [len(one["overrides"]) for one in document["models"]] == [0, 1]
    assert document["same_structure"]
    assert hfinspect("compare", "./base", "--set", "no_such=1", cwd=models).code == 2
    described = " ".join(hfinspect("compare", "--help").out.split())
    assert "a single model is compared with itself, changed. Arguments:" in described


def test_json_of_three_is_as_the_schema_says(models: Path) -> None:
    done = hfinspect("compare", "./base", "./tuned", "./deeper", "--format", "json", cwd=models)
    document = json.loads(done.out)
    conforms(document, "comparison")
    for model in document["models"]:
        conforms(model)
    assert [model["target"] for model in document["models"]] == ["./base", "./tuned", "./deeper"]
    assert [d["same_structure"] for d in document["differences"]] == [True, False]
    assert (document["same_structure"], done.code) == (False, 1)
    assert document["differences"][1]["config"]["num_hidden_layers"] == {"here": 4, "there": 6}


@pytest.mark.parametrize("format_", ["markdown", "csv"])
def test_other_formats(models: Path, format_: str) -> None:
    done = hfinspect("compare", "./base", "./deeper", "-f", format_, "-o", "out", cwd=models)
    assert (done.code, done.out) == (1, "")
    text = (models / "out").read_text()
    assert "parameters" in text
    assert ("./base and ./deeper" in text) is (format_ == "markdown")


def test_several_models_without_a_command_are_compared(models: Path) -> None:
    """That is a look, not a check: the exit code is 0."""
    done = hfinspect("./base", "./deeper", cwd=models)
    assert done.code == 0
    assert done.out == hfinspect("compare", "./base", "./deeper", cwd=models).out
    done = hfinspect("./base", "./deeper", "--by", "layer", cwd=models)
    assert (done.code, "need one model" in done.err) == (2, True)


def test_a_config_alone_can_be_compared(models: Path) -> None:
    write_config(models / "planned", {**CONFIG, "num_hidden_layers": 5})
    done = hfinspect("compare", "./base", "./planned", cwd=models)
    assert (done.code, "layer 4: mlp.up_proj.weight" in done.out) == (1, True)


@pytest.mark.parametrize(
    ("models_given", "code", "text"),
    [
        (["./base"], 2, "needs two models or more"),
        (["./base", "./none"], 3, "does not exist"),
        (["./base", "./deeper", "--format", "xml"], 2, "format 'xml': is unknown"),
    ],
)
def test_what_cannot_be_compared(
    models: Path, models_given: list[str], code: int, text: str
) -> None:
    done = hfinspect("compare", *models_given, cwd=models)
    assert (done.code, text in done.err) == (code, True)


def test_two_revisions_and_a_local_copy(hub: HubServer, tmp_path: Path) -> None:
    repo = hub.add("org/name", model_files())
    repo.commit(model_files(5), branch="v2")
    write_config(tmp_path / "copy", HUB_CONFIG)
    done = process(
        "compare",
        "org/name",
        "org/name@v2",
        tmp_path / "copy",
        "--format",
        "json",
        env=hub.env(tmp_path),
    )
    document = json.loads(done.out)
    conforms(document, "comparison")
    assert done.code == 1
    revised, copy = document["differences"]
    assert [change["name"] for change in revised["changes"]] == ["extra.5.weight"]
    assert copy["same_structure"] is True
    commits = [model["origin"]["commit"] for model in document["models"]]
    assert commits == [repo.branches["main"], repo.branches["v2"], None]


def test_csv_holds_plain_numbers(models: Path) -> None:
    """No separators, no units, no ranges: whatever is a number is read as one."""
    done = hfinspect("compare", "./base", "./deeper", "-f", "csv", cwd=models)
    rows = {row[0]: row[1:] for row in csv.reader(io.StringIO(done.out))}
    assert rows.pop("property") == ["./base", "./deeper"]
    texts = {"architecture", "model_type", "source", "dtypes", "cache_dtype"}
    assert all(cell.isdigit() for name in rows if name not in texts for cell in rows[name])
    counted = [hfinspect_of(models / name).parameters for name in ("base", "deeper")]
    assert [int(cell) for cell in rows["parameters"]] == counted
    assert {"nbytes", "memory_16_bit", "attention", "attention_per_layer"} <= set(rows)
    assert "  rounded " in hfinspect("compare", "./base", "./deeper", cwd=models).out


@pytest.mark.parametrize(
    "command",
    [
        ["inspect", "./deeper"],
        ["inspect", "./deeper", "--by", "layer"],
        ["inspect", str(ROOT / "fixtures/models/deepseek-v3")],
        ["tensors", "./deeper"],
        ["compare", "./base", "./deeper"],
        ["architectures", "llama"],
    ],
)
def test_every_csv_holds_plain_numbers(models: Path, command: list[str]) -> None:
    """No thousands separators, no rounded sizes, no ranges of numbers."""
    done = hfinspect(*command, "-f", "csv", cwd=models)
    cells = [cell for row in csv.reader(io.StringIO(done.out)) for cell in row]
    assert len(cells) > 10
    readable = re.compile(r"[0-9]+,[0-9]{3}|[0-9.]+ ([KMBT]|[kMGT]?B)|[0-9.]+%|[0-9]+ - [0-9]+")
    assert [cell for cell in cells if readable.search(cell)] == []
