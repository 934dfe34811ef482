"""Pages of what is no single model: pipelines by part, adapters by rank; titles, pictures."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import hfinspect
from hfinspect import pictures
from hfinspect.analysis.kinds import fold
from hfinspect.explaining.low_rank import low_rank
from hfinspect.reports import portrait, svg
from hfinspect.reports.document import Facts, Table
from hfinspect.reports.drawings import Chapter, Strips, Treemap, without_chapters

from ..builders import write_config, write_safetensors
from ..cli.program import ROOT
from ..cli.program import hfinspect as program
from ..inspecting.test_adapters import OWN, RANK, SIZE, write_adapter, write_base
from ..inspecting.test_pipelines import EXPECTED, PARTS, write_pipeline

MODELS = ROOT / "fixtures" / "models"


def chapters(laid_out: Any) -> dict[str, Chapter]:
    return {block.title: block for block in laid_out.blocks if isinstance(block, Chapter)}


def tables(chapter: Chapter) -> list[Table]:
    return [block for block in chapter.blocks if isinstance(block, Table)]


def cells(chapter: Chapter, title: str) -> list[tuple[Any, ...]]:
    (table,) = [table for table in tables(chapter) if table.title == title]
    return [tuple(row) for row in table.rows]


def test_a_pipeline_is_shown_by_part(tmp_path: Path) -> None:
    root = tmp_path / "my-sdxl"
    root.mkdir()
    laid_out = portrait.lay_out(pictures.portrait(write_pipeline(root)))
    assert laid_out.title == "my-sdxl"
    chapter_of = chapters(laid_out)
    assert list(chapter_of)[2:6] == list(PARTS)
    for name, size in EXPECTED.items():
        (total,) = [row for row in cells(chapter_of[name], "Sum") if row[0] == "total"]
        assert total[-1] == size
    blocks = list(without_chapters(laid_out.blocks))
    (areas,) = [block for block in blocks if isinstance(block, Treemap)]
    sums = dict.fromkeys(EXPECTED, 0)
    for leaf in areas.leaves:
        sums[leaf.part] += leaf.sizes[0] or 0
    assert sums == EXPECTED
    (strips,) = [block for block in blocks if isinstance(block, Strips)]
    assert {name.partition("/")[0] for name, _ in strips.stacks} == set(PARTS)


def test_names_of_a_pipeline_s_tensors_say_their_part(tmp_path: Path) -> None:
    chapter = chapters(portrait.lay_out(pictures.portrait(write_pipeline(tmp_path))))["Tensors"]
    (table,) = tables(chapter)
    names = [str(row[0]) for row in table.rows]
    assert len(set(names)) == len(names)
    assert all(name.partition("/")[0] in PARTS for name in names)


@pytest.mark.parametrize("base", [True, False])
def test_an_adapter_is_derived_from_its_rank(tmp_path: Path, base: bool) -> None:
    at = str(write_base(tmp_path / "base")) if base else None
    page = portrait.lay_out(pictures.portrait(write_adapter(tmp_path / "mine", at)))
    assert page.title == "mine"
    why = chapters(page)["Why so many"]
    rows = cells(why, "Low-rank matrices")
    assert rows == [
        (
            f"base_model.model.model.layers.[0-1].self_attn.{name}",
            RANK,
            16,
            16,
            "4·(16 + 16)",
            2,
            256,
        )
        for name in ("q_proj", "v_proj")
    ] + [("sum", "", "", "", "", 4, OWN)]
    (facts,) = [dict(block.items) for block in why.blocks if isinstance(block, Facts)]
    assert facts["adapter"] == f"{OWN:,} parameters"
    assert ("with its base" in facts) is base
    memory = " ".join(map(str, chapters(page)["Memory"].blocks))
    if base:
        assert facts["with its base"].startswith(f"{SIZE:,} + {OWN:,} = {SIZE + OWN:,} ")
        assert "with the adapter" in memory


def test_matrices_without_a_partner_are_whole(tmp_path: Path) -> None:
    """A magnitude, a saved module, a first matrix whose second has another rank."""
    tensors = {
        "base.layers.0.q_proj.lora_A.weight": ("F32", (4, 16)),
        "base.layers.0.q_proj.lora_B.weight": ("F32", (8, 4)),
        "base.layers.0.q_proj.lora_magnitude_vector": ("F32", (8,)),
        "base.layers.0.conv.lora_down.weight": ("F32", (2, 3, 3, 3)),
        "base.layers.0.conv.lora_up.weight": ("F32", (5, 2, 1, 1)),
        "base.layers.0.v_proj.lora_A.weight": ("F32", (4, 16)),
        "base.layers.0.v_proj.lora_B.weight": ("F32", (8, 3)),
        "base.lm_head.weight": ("F32", (10, 16)),
    }
    write_safetensors(tmp_path / "adapter_model.safetensors", tensors)
    (tmp_path / "adapter_config.json").write_text(json.dumps({"peft_type": "LORA", "r": 4}))
    inspection = hfinspect.inspect(tmp_path)
    derived = low_rank(fold(inspection.tensors).patterns)
    sides = {m.name.rpartition(".")[2]: (m.rank, m.inputs, m.outputs) for m in derived.modules}
    assert sides == {"q_proj": (4, 16, 8), "conv": (2, 27, 5)}
    whole = sum(pattern.parameters or 0 for pattern in derived.others)
    assert derived.parameters == 4 * 24 + 2 * 32
    assert derived.parameters + whole == inspection.parameters


def test_a_layer_that_the_class_does_not_load_has_its_parameters(tmp_path: Path) -> None:
    """As layer 61 of DeepSeek-V3, for the prediction of several tokens."""
    config = {
        "model_type": "llama",
        "architectures": ["LlamaForCausalLM"],
        "vocab_size": 16,
        "hidden_size": 8,
        "intermediate_size": 8,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
    }
    three = hfinspect.predict({**config, "num_hidden_layers": 3})
    write_config(tmp_path, config)
    stored = {t.name: ("F32", t.shape) for t in three.tensors}
    write_safetensors(tmp_path / "model.safetensors", stored)
    kinds = fold(hfinspect.inspect(tmp_path).tensors).kinds
    own, last = kinds
    assert (own.layers, last.layers, last.is_extra) == ((0, 1), (2,), True)
    assert last.parameters == own.parameters
    laid_out = portrait.lay_out(pictures.portrait(tmp_path))
    (strips,) = [b for b in without_chapters(laid_out.blocks) if isinstance(b, Strips)]
    (table,) = strips.in_text()
    assert isinstance(table, Table)
    (row,) = [row for row in table.rows if "not loaded" in str(row[1])]
    assert row[3] == own.parameters


def test_a_title_is_no_path(tmp_path: Path) -> None:
    """The folder's name, and the file's where a file was named; nor does the command name it."""
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "config.json").write_bytes((MODELS / "gpt2" / "config.json").read_bytes())
    for target, title in ((folder, "mine"), (folder / "config.json", "mine/config.json")):
        page = program(str(target), "--format", "html").out
        assert f"<h1>{title}</h1>" in page
        text = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
        assert str(tmp_path) not in text
    assert program(str(folder), "--format", "svg").out.count(">mine</t") == 2


def test_areas_end_at_modules() -> None:
    laid_out = portrait.lay_out(pictures.portrait(MODELS / "gpt2"))
    (areas,) = [b for b in without_chapters(laid_out.blocks) if isinstance(b, Treemap)]
    modules = [leaf.module for leaf in areas.leaves]
    assert "mlp.c_fc" in modules
    assert not any(name.endswith(("weight", "bias")) for name in modules)
    assert len({leaf[:4] for leaf in areas.leaves}) == len(areas.leaves)


@pytest.mark.parametrize("name", ["llama-3-8b", "deepseek-v3", "mamba-2.8b", "bert-base-uncased"])
def test_the_legend_of_a_picture_names_every_component_by_size(name: str) -> None:
    drawn = pictures.portrait(MODELS / name, brief=True)
    text = svg.render(portrait.lay_out(drawn))
    labels = re.findall(r'<text class="s"[^>]*>([a-z]+) [^<(]*\(([0-9.]+)%\)</text>', text)
    whole = drawn.inspection.parameters or 0
    sizes = {n: totals.parameters or 0 for n, totals in drawn.inspection.components.items()}
    large = sorted((n for n in sizes if sizes[n] / whole >= 0.0005), key=lambda n: -sizes[n])
    assert [label for label, _ in labels] == large
    right = [float(x) for x in re.findall(r'<text class="s" x="([0-9.]+)"', text)]
    assert max(right) < 700
