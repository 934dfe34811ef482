"""What quantising tools wrote of tiny models: by the config alone, and read from the files.

The record has names, dtypes and shapes (record_tool_layouts.py); files of the same headers are made
here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import hfinspect
from hfinspect.core.results import Inspection
from hfinspect.core.tensor import nbytes_of
from hfinspect.sizing.recipes import recipe_sizes
from hfinspect.trees.prediction import predict

from ..builders import write_config, write_safetensors
from .tool_layouts import RECORD, Header, unpacked

RECORDED: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
FILES: dict[str, Any] = RECORDED["files"]

#: Recipe -> the tool and the case that make it with the tool's defaults.
RECIPES = {
    "FP8": "llmcompressor: FP8_DYNAMIC",
    "FP8 per tensor": "llmcompressor: FP8",
    "INT8 W8A8": "llmcompressor: W8A8",
    "W4A16": "llmcompressor: W4A16",
    "NVFP4": "llmcompressor: NVFP4",
    "NVFP4A16": "llmcompressor: NVFP4A16",
    "GPTQ 4-bit": "gptqmodel: 4 bits",
    "GPTQ 8-bit": "gptqmodel: 8 bits",
    "AWQ 4-bit": "autoawq: GEMM",
}
#: Ends of names of files whose layout does not follow from the config -> the reason.
UNKNOWN: dict[str, str] = {}


class Written(NamedTuple):
    """A recorded file: the tool's config, its tensors, and the parameters of the model."""

    config: dict[str, Any]
    tensors: Header
    parameters: int

    @property
    def nbytes(self) -> int:
        return sum(nbytes_of(dtype, prod(shape)) or 0 for dtype, shape in self.tensors.values())


def written(name: str) -> Written:
    model = RECORDED["models"][name.partition(":")[0]]
    config, tensors = unpacked(model, FILES[name])
    return Written(config, tensors, predict(model).parameters)


def from_config(file: Written, folder: Path) -> Inspection:
    write_config(folder, file.config)
    return hfinspect.inspect(folder)


def from_files(file: Written, folder: Path) -> Inspection:
    write_config(folder, file.config)
    write_safetensors(folder / "model.safetensors", file.tensors)
    return hfinspect.inspect(folder)


def predicted(inspection: Inspection) -> Header:
    """The tensors that a config alone gives, those that a file holds."""
    return {
        tensor.name: (tensor.dtype or "", tuple(tensor.shape))
        for tensor in inspection.tensors
        if tensor.tied_to is None
    }


def _halves(header: Header, config: dict[str, Any]) -> Header:
    """AutoRound writes ``float16`` into the config of a model whose other tensors stay bfloat16."""
    if config["quantization_config"].get("provider") != "auto-round":
        return header
    return {name: (dtype.replace("BF16", "F16"), s) for name, (dtype, s) in header.items()}


def follows(inspection: Inspection, file: Written) -> bool:
    """Whether the config alone gave the tensors of the file."""
    ours, theirs = (
        _halves(header, file.config) for header in (predicted(inspection), file.tensors)
    )
    return (ours, inspection.parameters, inspection.nbytes) == (
        theirs,
        file.parameters,
        file.nbytes,
    )


def compared(tool: str, folder: Path) -> Iterator[bool]:
    """Whether config and files of each recorded file of a tool are understood to the byte."""
    for at, name in enumerate(name for name in FILES if f": {tool}: " in name):
        file = written(name)
        own = folder / str(at)
        own.mkdir()
        alone = from_config(file, own)
        read = from_files(file, own)
        if alone.nbytes is not None:
            yield follows(alone, file)
        yield (read.nbytes, read.parameters) == (file.nbytes, file.parameters)


def recipes(folder: Path) -> Iterator[tuple[str, int | None, int]]:
    """Recipe of a model, bytes by us and bytes of the tool's file."""
    for at, model in enumerate(RECORDED["models"]):
        own = folder / f"recipes{at}"
        own.mkdir()
        config = RECORDED["models"][model]
        write_config(own, config)
        names = [recipe for recipe, case in RECIPES.items() if f"{model}: {case}" in FILES]
        for size in recipe_sizes(hfinspect.inspect(own), predict(config), names) if names else ():
            file = written(f"{model}: {RECIPES[size.name]}")
            yield f"{model}: {size.name}", size.nbytes, file.nbytes


@pytest.mark.parametrize("name", FILES)
def test_the_files_of_a_tool_are_read_exactly(name: str, tmp_path: Path) -> None:
    file = written(name)
    inspection = from_files(file, tmp_path)
    assert inspection.parameters == file.parameters
    assert inspection.nbytes == file.nbytes
    assert inspection.expectation is not None
    compared = inspection.expectation
    assert (compared.missing, compared.unexpected, dict(compared.reshaped)) == ((), (), {})
    assert inspection.findings == ()
    audited = hfinspect.audit(tmp_path, ignore=["HI106"]).findings  # the data here is a hole
    assert [finding.text for finding in audited if finding.severity == "error"] == []


@pytest.mark.parametrize("name", FILES)
def test_the_files_of_a_tool_follow_from_its_config(name: str, tmp_path: Path) -> None:
    file = written(name)
    inspection = from_config(file, tmp_path)
    assert inspection.parameters == file.parameters
    reason = next((why for end, why in UNKNOWN.items() if name.endswith(end)), None)
    if reason is not None:
        assert inspection.nbytes is None
        assert reason in inspection.findings[0].text
        return
    assert follows(inspection, file)
    read = from_files(file, tmp_path)
    assert inspection.quantization is not None
    assert read.quantization is not None
    assert inspection.quantization.packed_parameters == read.quantization.packed_parameters
    assert inspection.quantization.packed_bytes == read.quantization.packed_bytes


def test_recipes_are_the_bytes_of_the_tools(tmp_path: Path) -> None:
    rows = list(recipes(tmp_path))
    assert {name.rpartition(": ")[2] for name, _, _ in rows} == set(RECIPES)
    assert [row for row in rows if row[1] != row[2]] == []


def test_groups_with_a_rest_are_refused_as_by_the_tool(tmp_path: Path) -> None:
    config = RECORDED["models"][
        "llama-odd"
    ]  # llm-compressor: "columns not divisible by group_size"
    write_config(tmp_path, config)
    (size,) = recipe_sizes(hfinspect.inspect(tmp_path), predict(config), ["W4A16"])
    assert size.nbytes is None
    assert "448 does not divide by 128" in size.why_unknown


def test_the_record_has_tools_schemes_and_models() -> None:
    assert set(RECORDED["tools"]) == {"llmcompressor", "auto-round", "gptqmodel", "autoawq"}
    assert len(FILES) >= 120
    assert len({name.partition(":")[0] for name in FILES}) >= 5
