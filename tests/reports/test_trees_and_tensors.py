"""``tree`` and ``tensors``: parameters of every module, equal tensors of all layers in one row."""

from __future__ import annotations

import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hfinspect
from hfinspect.reports.folded import folded
from hfinspect.reports.tensor_list import lay_out
from hfinspect.trees.prediction import predict
from hfinspect.trees.structure import outline, render

from ..cli.program import ROOT
from ..cli.program import hfinspect as run
from ..schemas import conforms

LLAMA = "fixtures/models/llama-3-8b"
BLOOM = "fixtures/models/bloom-1b4-zh"


def config_of(name: str) -> dict[str, object]:
    config: dict[str, object] = json.loads((ROOT / name / "config.json").read_text())
    return config


@pytest.mark.parametrize("name", ["llama-3-8b", "bloom-1b4-zh", "bert-base-uncased", "deepseek-v3"])
def test_an_outline_is_the_printed_tree_with_its_parameters(name: str) -> None:
    prediction = predict(config_of(f"fixtures/models/{name}"))
    branches = outline(prediction.root, prediction.specs)
    printed = [line for line in render(prediction.root).splitlines() if line.strip() != ")"]
    assert ["  " * b.depth + b.label for b in branches] == printed
    assert branches[0].parameters == prediction.parameters
    first = [b for b in branches if b.depth == 1]
    assert sum(b.parameters for b in first) == prediction.parameters


def test_a_tree_shows_parameters_and_share() -> None:
    out = run("tree", LLAMA).out
    assert "8,030,261,248  100.0%  LlamaForCausalLM(" in out
    assert "6,979,584,000   86.9%        (0-31): 32 x LlamaDecoderLayer(" in out
    assert "tied" in run("tree", BLOOM).out


def test_depth_closes_what_is_deeper() -> None:
    out = run("tree", LLAMA, "--depth", "4").out
    assert "(self_attn): LlamaAttention(...)" in out
    assert "q_proj" not in out
    assert "LlamaForCausalLM(...)" in run("tree", LLAMA, "--depth", "0").out


def test_a_tree_has_the_usual_formats() -> None:
    rows = list(csv.DictReader(io.StringIO(run("tree", LLAMA, "-f", "csv").out)))
    by_path = {row["path"]: row for row in rows}
    assert by_path["."]["parameters"] == "8030261248"
    assert by_path["model.layers.0-31.mlp"]["class"] == "LlamaMLP"
    document = json.loads(run("tree", LLAMA, "-f", "json").out)
    assert document["parts"][0]["modules"][0]["parameters"] == 8_030_261_248
    conforms(document, "tree")
    assert "```text\n" in run("tree", LLAMA, "-f", "markdown").out


def test_a_terminal_folds_layers_and_a_pipe_does_not() -> None:
    tensors = hfinspect.inspect(ROOT / LLAMA).tensors
    rows = folded(tensors)
    assert len(rows) == 12
    assert rows[1].name == "model.layers.[0-31].self_attn.q_proj.weight"
    assert sum(row.parameters or 0 for row in rows) == 8_030_261_248
    assert len(run("tensors", LLAMA, "-f", "csv").out.splitlines()) == 1 + len(tensors)
    assert "model.layers.7.mlp.up_proj.weight" in run("tensors", LLAMA).out
    shown = lay_out("t", tensors, fold=True, sort="size", top=2)
    assert len(shown.blocks) == 2  # the rows, and what they leave out
    assert shown.main is not None


def test_sort_and_top() -> None:
    def names(*options: str) -> list[str]:
        out = run("tensors", BLOOM, *options, "-f", "csv").out
        return [row["name"] for row in csv.DictReader(io.StringIO(out))]

    assert names("--sort", "size", "--top", "1") == ["transformer.word_embeddings.weight"]
    assert names("--sort", "name") == sorted(names())
    assert names("--sort", "layer")[-1].startswith("transformer.h.23.")
    assert len(names("--top", "5")) == 5
    assert run("tensors", BLOOM, "--sort", "age").code == 2
    document = json.loads(run("tensors", BLOOM, "--top", "3", "-f", "json").out)
    assert len(document["tensors"]) == 3


def test_a_pipe_keeps_the_dtype() -> None:
    head = run("tensors", BLOOM, env={"COLUMNS": ""}).out.splitlines()[2]
    assert head.split() == ["name", "shape", "dtype", "parameters", "component", "layer"]


ONE = hfinspect.inspect(ROOT / BLOOM).tensors[0]
NAMES = st.lists(
    st.builds("a.{}.b.{}.w".format, st.integers(0, 3), st.integers(0, 3)), unique=True, max_size=12
)


@given(NAMES)
def test_folding_loses_no_tensor(names: list[str]) -> None:
    tensors = [ONE._replace(name=name) for name in names]
    rows = folded(tensors)
    assert sorted(t.name for row in rows for t in row.tensors) == sorted(names)
    assert len({row.name for row in rows}) == len(rows)


def test_markdown_keeps_what_is_inside_what() -> None:
    from hfinspect.reports import markdown
    from hfinspect.reports.document import Column, Document, Table

    table = Table((Column("m", "module"),), (("model",), ("  layers",)))
    assert "| &nbsp;&nbsp;layers |" in markdown.render(Document("", (table,)))
