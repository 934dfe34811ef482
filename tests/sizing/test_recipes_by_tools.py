"""Recipes next to the bytes that real tools print or write."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import hfinspect
from hfinspect.sizing.recipes import recipe_sizes
from hfinspect.trees.prediction import predict

from ..cli.program import ROOT

ORACLE = ROOT / "fixtures" / "oracle"
FULL_SIZE: dict[str, Any] = json.loads((ORACLE / "gguf_full_size.json").read_text())["models"]
WRITTEN: dict[str, Any] = json.loads((ORACLE / "quantized_files.json").read_text())["models"]


def _sizes(config: dict[str, Any], tmp: Path, names: list[str]) -> dict[str, int | None]:
    (tmp / "config.json").write_text(json.dumps(config))
    sizes = recipe_sizes(hfinspect.inspect(tmp), predict(config), names)
    return {size.name: size.nbytes for size in sizes}


def compared(kept: str, tmp: Path) -> Iterator[bool]:
    """Whether each recorded number is ours: ``sizes`` of full-size models, or those of files whose
    recipes begin with one of the words. Sizes that depend on the data are not compared."""
    models = FULL_SIZE if kept == "sizes" else WRITTEN
    for one in models.values():
        recorded = {
            recipe: value[0] if kept == "sizes" else value
            for recipe, value in one["sizes" if kept == "sizes" else "bytes"].items()
            if kept == "sizes" or recipe.startswith(tuple(kept.split()))
        }
        sizes = _sizes(one["config"], tmp, list(recorded))
        yield from (sizes[recipe] == n for recipe, n in recorded.items() if sizes[recipe])


@pytest.mark.parametrize("name", FULL_SIZE)
def test_full_size_models_weigh_what_llama_quantize_says(name: str, tmp_path: Path) -> None:
    """The real program over the whole header, from 124 million to 671 billion parameters."""
    recorded = FULL_SIZE[name]["sizes"]
    sizes = _sizes(FULL_SIZE[name]["config"], tmp_path, list(recorded))
    assert sizes == {recipe: nbytes for recipe, (nbytes, _) in recorded.items()}
    printed = {recipe: f"{(nbytes or 0) / 2**20:.2f}" for recipe, nbytes in sizes.items()}
    assert printed == {recipe: total for recipe, (_, total) in recorded.items()}


@pytest.mark.parametrize("name", WRITTEN)
def test_tools_write_these_bytes(name: str, tmp_path: Path) -> None:
    """What a tool saved on this model; a recipe whose bytes depend on the data is None here."""
    recorded = WRITTEN[name]["bytes"]
    sizes = _sizes(WRITTEN[name]["config"], tmp_path, list(recorded))
    for recipe, nbytes in recorded.items():
        assert sizes[recipe] in (nbytes, None), recipe
    known = [recipe for recipe, nbytes in sizes.items() if nbytes is not None]
    assert {"NF4", "LLM.int8()"} <= set(known)
