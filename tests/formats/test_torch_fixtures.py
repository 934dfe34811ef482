"""Files that torch wrote, against what torch said is in them (tests/oracle/make_torch_fixtures)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hfinspect.core.checkpoint import Shard
from hfinspect.core.extents import Extent
from hfinspect.core.tensor import TORCH_DTYPES
from hfinspect.formats.torch.torch import FORMAT

from .readers import metered

FIXTURES = Path(__file__).parents[2] / "fixtures" / "checkpoints"
CASES = sorted(path.name for path in FIXTURES.glob("torch-*"))


def weights(case: str) -> list[Path]:
    return sorted(p for p in (FIXTURES / case).iterdir() if p.suffix in (".bin", ".pt", ".ckpt"))


def facts(case: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((FIXTURES / case / "expected.json").read_text())
    return content


def read(case: str) -> list[Shard]:
    return [FORMAT.read_header(metered(path)) for path in weights(case)]


@pytest.mark.parametrize("case", CASES)
def test_tensors_are_those_that_torch_loads(case: str) -> None:
    tensors = {t.name: t for shard in read(case) for t in shard.tensors}
    expected = facts(case)["tensors"]
    if case == "torch-optimizer":
        assert not expected
        return
    assert set(tensors) == set(expected)
    for name, row in expected.items():
        tensor = tensors[name]
        assert tensor.dtype == TORCH_DTYPES[row["dtype"]]
        assert list(tensor.shape) == row["shape"]
        assert tensor.elements == row["elements"]


@pytest.mark.parametrize("case", CASES)
def test_equal_storage_means_exactly_the_same_bytes(case: str) -> None:
    groups: dict[tuple[str, Extent | None], list[str]] = {}
    for shard in read(case):
        for tensor in shard.tensors:
            groups.setdefault((shard.file, tensor.storage), []).append(tensor.name)
    groups_found = sorted(
        sorted(names) for (_, key), names in groups.items() if key is not None and len(names) > 1
    )
    expected = facts(case)["same_bytes"]
    if case != "torch-optimizer":
        assert groups_found == expected


@pytest.mark.parametrize("case", CASES)
def test_offsets_point_at_the_first_element(case: str) -> None:
    expected = facts(case)["tensors"]
    checked = 0
    for path in weights(case):
        data = path.read_bytes()
        for tensor in FORMAT.read_header(metered(path)).tensors:
            first = expected.get(tensor.name, {}).get("first")
            if first is not None and tensor.offset is not None:
                assert data[tensor.offset :].startswith(bytes.fromhex(first)), tensor.name
                checked += 1
    assert checked or case == "torch-optimizer"


@pytest.mark.parametrize("case", CASES)
def test_sound_files_have_no_findings_of_damage(case: str) -> None:
    for shard in read(case):
        rules = {finding.rule for finding in shard.findings if finding.severity == "error"}
        assert not rules, shard.findings


def test_a_training_checkpoint_says_which_part_is_the_model() -> None:
    (shard,) = read("torch-training")
    assert shard.metadata["state_dict"] == "state_dict"
    assert shard.metadata["other_keys"] == [
        "epoch",
        "optimizer_states",
        "rng_state",
        "hyper_parameters",
    ]
    others = shard.metadata["other_parts"]
    assert isinstance(others, dict)
    assert set(others) == {"optimizer_states", "rng_state"}
    assert others["rng_state"] == {"tensors": 1, "elements": 16, "bytes": 16}
    assert {finding.rule for finding in shard.findings} == {"training-state"}


def test_an_optimizer_file_is_no_model() -> None:
    (shard,) = read("torch-optimizer")
    assert shard.metadata["kind"] == "optimizer"
    assert {finding.rule for finding in shard.findings} >= {"no-tensors"}


def test_a_pickled_module_is_walked_and_its_classes_are_listed() -> None:
    (shard,) = read("torch-module")
    assert shard.metadata["kind"] == "module"
    assert shard.metadata["buffers"] == ["mask"]
    named = [finding for finding in shard.findings if finding.rule == "pickle-global"]
    assert any("torch.nn.modules.linear.Linear" in finding.text for finding in named)


def test_torchscript_is_described_and_its_tensors_are_listed() -> None:
    (shard,) = read("torch-script")
    assert shard.format == "torchscript"
    assert {finding.rule for finding in shard.findings} == {"torchscript"}
    assert isinstance(shard.metadata["code_files"], int)
    assert shard.metadata["code_files"] > 0


def test_dtypes_of_unusual_storages() -> None:
    (shard,) = read("torch-zip-dtypes")
    names = {tensor.name: tensor.dtype for tensor in shard.tensors}
    assert names == {name: TORCH_DTYPES[name] for name in names}
    assert len(names) == 20


def test_a_small_file_is_read_at_once() -> None:
    for case in CASES:
        for path in weights(case):
            reader = metered(path)
            FORMAT.read_header(reader)
            assert len(reader.asked) == 1
