"""The table of recipes: which card holds what, up to which context."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import hfinspect
from hfinspect.errors import HfinspectError, UsageError
from hfinspect.sizing.recipes import recipe_sizes

from ..architectures import recordings
from ..architectures.test_absurd import first_of_each_type
from ..builders import write_config
from ..cli.program import ROOT
from ..cli.program import hfinspect as program
from ..inspecting.test_adapters import BASE, SIZE, write_adapter
from ..schemas import conforms
from ..some_rows import one_of

MODELS = ROOT / "fixtures" / "models"
LLAMA = str(MODELS / "llama-3-8b")
MIXTRAL = str(MODELS / "mixtral-8x7b")
MAMBA = str(MODELS / "mamba-2.8b")


def rows_of(target: Any, **options: Any) -> dict[str, hfinspect.RecipeFits]:
    return {row.size.name: row for row in hfinspect.memory(target, **options).recipes}


def test_each_row_is_the_whole_sum() -> None:
    """Weights of the recipe, cache and workspace at each context, against the card."""
    memory = hfinspect.memory(MIXTRAL, on="RTX 5090", context=4096)
    assert memory.cache is not None
    assert memory.workspace is not None
    sizes = {size.name: size.nbytes for size in recipe_sizes(hfinspect.inspect(MIXTRAL), None)}
    for row in memory.recipes:
        (held,) = row.on[0].at
        assert row.size.nbytes is not None
        assert held.total == row.size.nbytes + memory.cache.nbytes + memory.workspace.nbytes
        assert held.fits == (held.total <= 32607 * 2**20)
        assert row.on[0].at[0].context == 4096
        if row.size.name in sizes and sizes[row.size.name] is not None:
            assert row.size.nbytes == sizes[row.size.name]


def test_the_longest_is_the_longest() -> None:
    rows = rows_of(MIXTRAL, on="30GB")
    card = rows["Q4_K_M"].on[0]
    assert card.longest is not None
    assert 0 < card.longest < 32768
    assert not card.holds_more
    for tokens, fits in ((card.longest, True), (card.longest + 1, False)):
        (held,) = rows_of(MIXTRAL, on="30GB", context=tokens)["Q4_K_M"].on[0].at
        assert held.fits is fits


def test_the_longest_stops_at_the_models_own() -> None:
    memory = hfinspect.memory(LLAMA, on="RTX 4090")
    assert (memory.max_context, memory.holds_more) == (8192, True)
    card = memory.recipes[0].on[0]
    assert (card.longest, card.holds_more) == (8192, True)
    shown = program("memory", LLAMA, "--on", "RTX 4090").out
    assert "8,192+" in shown
    assert "has room for more than the model's own 8,192" in shown


def test_any_length() -> None:
    """A state does not grow: no number is made of a search that has no end."""
    memory = hfinspect.memory(MAMBA, on="RTX 4090")
    assert (memory.max_context, memory.holds_more) == (None, True)
    shown = program("memory", MAMBA, "--on", "RTX 4090", "--details").out
    assert "any" in shown
    assert "2,147,483,648" not in shown
    assert "longest  0" not in program("memory", LLAMA, "--on", "8GB", "--details").out


def test_the_largest_that_fits_is_marked() -> None:
    rows = rows_of(MIXTRAL, on="RTX 5090")
    (marked,) = [row for row in rows.values() if row.largest]
    fitting = [row.size.nbytes or 0 for row in rows.values() if row.on[0].at[0].fits]
    assert marked.size.nbytes == max(fitting)
    assert "<- largest that fits" in program("memory", MIXTRAL, "--on", "RTX 5090").out
    assert not any(row.largest for row in rows_of(MIXTRAL, on="8GB").values())


def test_cards_of_the_usual_sizes() -> None:
    rows = rows_of(LLAMA)
    assert [card.card for card in rows["as stored"].on] == [
        f"{n} GB" for n in (8, 12, 16, 24, 48, 80)
    ]
    named = rows_of(LLAMA, on="24GB")
    for name, row in rows.items():
        assert row.on[3].longest == named[name].on[0].longest


@pytest.mark.parametrize(
    ("engine", "is_gguf"), [("llama.cpp", {True}), ("vllm", {False}), ("logical", {True, False})]
)
def test_an_engine_has_its_own_recipes(engine: str, is_gguf: set[bool]) -> None:
    rows = [row for row in rows_of(LLAMA, engine=engine).values() if row.size.name != "as stored"]
    assert {row.size.engine == "llama.cpp" for row in rows} == is_gguf


def test_several_cards() -> None:
    """Each holds an eighth at least; what of it is copied is counted twice at most."""
    rows = rows_of(LLAMA, on="8xRTX 3060", context="8k")
    assert set(rows) >= {"as stored", "FP8"}
    stored, packed = (rows[name].on[0].at[0].total or 0 for name in ("as stored", "FP8"))
    eighth = (rows["FP8"].size.nbytes or 0) / 8
    assert eighth < packed < stored
    assert not any(row.size.engine == "llama.cpp" for row in rows.values())


def test_rows_are_summed_when_they_are_looked_at() -> None:
    """Of who reads the verdict alone not even the module of the table is imported."""
    asked = f"""
import sys, hfinspect
sized = hfinspect.memory({MAMBA!r}, on="24GB")
assert sized.fits and "hfinspect.sizing.recipe_table" not in sys.modules
assert len(sized.recipes) > 5 and "hfinspect.sizing.recipe_table" in sys.modules
assert sized.recipes[0] is sized.recipes[0]
"""
    subprocess.run([sys.executable, "-c", asked], check=True)


def test_rows_of_a_copy_are_the_rows() -> None:
    sized = hfinspect.memory(MAMBA)
    again = pickle.loads(pickle.dumps(sized))
    assert again.recipes == sized.recipes
    assert type(again.recipes) is tuple
    assert again == sized


@pytest.mark.parametrize("part", one_of(8, range(8)))
def test_each_type_has_bytes_or_a_reason(part: int) -> None:
    """The small config of every model type, under every recipe of the table."""
    for name, record in list(first_of_each_type().items())[part::8]:
        if record["library"] != "transformers":
            continue
        config = recordings.spellings(record)["given"]
        try:
            sized = hfinspect.memory(config)
        except HfinspectError:
            continue
        for row in sized.recipes:
            assert row.size.nbytes or row.size.why_unknown, (name, row.size.name)


def test_training_has_no_table() -> None:
    assert hfinspect.memory(LLAMA, train="lora").recipes == ()


# ---- several models


def test_models_side_by_side() -> None:
    gpt2 = str(MODELS / "gpt2")
    done = program("memory", LLAMA, gpt2, "--on", "RTX 4090", env={"COLUMNS": "160"})
    assert done.code == 0
    assert all(name in done.out for name in ("llama-3-8b", "gpt2", "longest", "16.1 GB"))
    answer = json.loads(program("memory", LLAMA, gpt2, "--on", "1.1GB", "-f", "json").out)
    conforms(answer, "memories")
    for one, target in zip(answer["models"], (LLAMA, gpt2), strict=True):
        conforms(one, "memory")
        alone = json.loads(json.dumps(hfinspect.memory(target, on="1.1GB").to_dict()))
        assert {**one, "target": ""} == {**alone, "target": ""}
    codes = [
        program("memory", first, gpt2, "--on", on).code
        for first, on in ((LLAMA, "1.1GB"), (gpt2, "1.1GB"), (LLAMA, "24GB"))
    ]
    assert codes == [1, 6, 0]
    table = program("memory", LLAMA, gpt2, "-f", "csv").out.splitlines()
    assert table[0].startswith("target,parameters")
    assert len(table) == 3


# ---- an adapter and its base


def test_an_adapter_next_to_its_base(tmp_path: Path) -> None:
    base = tmp_path / "base"
    write_config(base, {**BASE, "architectures": ["LlamaForCausalLM"], "dtype": "bfloat16"})
    alone = hfinspect.memory(str(base), on="24GB")
    adapter = write_adapter(tmp_path / "adapter", str(base))
    own = hfinspect.inspect(str(adapter))
    both = hfinspect.memory(str(adapter), on="24GB")
    assert alone.weights.nbytes is not None
    assert own.nbytes is not None
    assert SIZE is not None
    assert both.weights.nbytes == alone.weights.nbytes + own.nbytes == 2 * SIZE + own.nbytes
    assert both.weights.parameters == SIZE + (own.parameters or 0)
    assert (both.fits, both.at[-1].cache) == (True, alone.at[-1].cache)
    for mine, other in zip(both.recipes, alone.recipes, strict=True):
        assert mine.size.nbytes == (other.size.nbytes or 0) + own.nbytes
    assert any("with the adapter" in note for note in both.notes)


def test_an_adapter_whose_base_is_not_there(tmp_path: Path) -> None:
    adapter = write_adapter(tmp_path, None)
    memory = hfinspect.memory(str(adapter), on="24GB")
    assert memory.verdict is not None
    assert (memory.fits, "base model" in memory.verdict.text) == (None, True)
    assert hfinspect.memory(str(adapter), on="1kB").fits is False


def test_a_device_that_is_none_is_refused_before_anything_is_read() -> None:
    with pytest.raises(UsageError):
        hfinspect.memory("org/not-read", on="24")


def test_each_row_holds_every_sequence() -> None:
    """Cache and workspace of a batch are those of the stored weights in every row."""
    rows = hfinspect.memory(LLAMA, on="80GB", batch=4).recipes
    more = {(row.on[0].at[-1].total or 0) - (row.size.nbytes or 0) for row in rows}
    (alone,) = {
        (row.on[0].at[-1].total or 0) - (row.size.nbytes or 0)
        for row in hfinspect.memory(LLAMA, on="80GB").recipes
    }
    assert len(more) == 1 and more.pop() > 3 * alone
