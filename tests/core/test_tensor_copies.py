"""Tensors as templates with places: the same sums as tensor by tensor, and none made for them."""

from __future__ import annotations

import json
import pickle
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import hfinspect
from hfinspect.analysis.count import per_layer, tally
from hfinspect.core.memory_options import MemoryOptions
from hfinspect.core.tensor import TensorInfo
from hfinspect.core.tensor_copies import Copies, Place, Template
from hfinspect.sizing.memory_request import memory_request
from hfinspect.sizing.plan import plan

MODELS = Path(__file__).resolve().parents[2] / "fixtures" / "models"
FP8 = {"quant_method": "fp8", "weight_block_size": [128, 128]}


def expert_model(experts: int, **more: object) -> dict[str, Any]:
    config = json.loads((MODELS / "deepseek-v3" / "config.json").read_text())
    return {**config, "n_routed_experts": experts, **more}


def are_made(tensors: object) -> bool:
    return "_all" in vars(tensors)


@pytest.mark.parametrize("more", [{}, {"quantization_config": FP8}])
def test_a_config_is_answered_without_making_a_tensor(more: dict[str, object]) -> None:
    inspection = hfinspect.inspect(expert_model(256, **more))
    assert isinstance(inspection.tensors, Copies)
    assert per_layer(inspection.tensors)
    assert inspection.to_dict()["parameters"] == inspection.parameters == 671_026_404_352
    assert len(inspection.tensors) > 45_000
    assert not are_made(inspection.tensors)
    prediction = hfinspect.predict(expert_model(256))
    assert prediction.active_parameters < prediction.parameters
    assert not are_made(prediction.tensors)
    assert not are_made(prediction.specs)


@pytest.mark.parametrize("path", sorted(MODELS.glob("*/config.json")), ids=lambda p: p.parent.name)
def test_sums_are_those_of_all_tensors(path: Path) -> None:
    for config in (json.loads(path.read_text()), expert_model(8, quantization_config=FP8)):
        folded = hfinspect.inspect(config).tensors
        one_by_one = tuple(folded)
        assert tally(folded) == tally(one_by_one)
        assert list(tally(folded)) == list(tally(one_by_one))
        assert list(per_layer(folded).items()) == list(per_layer(one_by_one).items())


def test_it_is_a_sequence_equal_to_the_tuple() -> None:
    tensors = hfinspect.inspect(MODELS / "gpt2").tensors
    assert isinstance(tensors, Copies)
    again = pickle.loads(pickle.dumps(tensors))
    assert tensors == tuple(tensors) == again
    assert (len(tensors), hash(tensors), repr(tensors)) == (148, hash(again), repr(tuple(tensors)))
    assert tensors[0] in tensors
    assert tensors[-1:] == (tuple(tensors)[-1],)
    assert tensors != list(tensors)
    counts: Counter[TensorInfo] = Counter()
    for tensor, count in tensors.counted():
        counts[tensor] += count
    assert counts.total() == 148


def test_templates_without_tensors_have_no_place() -> None:
    tensors = hfinspect.inspect(MODELS / "gpt2").tensors
    assert isinstance(tensors, Copies)
    nothing = tensors.where(lambda tensor: False)
    assert (len(nothing), tuple(nothing), nothing) == (0, (), Copies())
    assert tuple(Place(Template(list(tensors)[:0]), "head.").rows()) == ()


@pytest.mark.parametrize(
    "more",
    [
        {"engine": "llama.cpp", "on": "8xH200"},
        {"pipeline_parallel": 4, "tensor_parallel": 2},
        {"tensor_parallel": 8, "expert_parallel": 16},
        {"train": "full", "gpus": 64, "zero": 3},
        {"train": "lora", "targets": "o_proj"},
    ],
)
def test_memory_is_summed_without_making_a_tensor(more: dict[str, Any]) -> None:
    """And every sum is that of the tensors one by one."""
    config = expert_model(256)
    request = memory_request(MemoryOptions(**more))
    inspection = hfinspect.inspect(config)
    prediction = hfinspect.predict(config)
    folded = plan(inspection, prediction, request)
    assert folded.training is not None or folded.fits is not None or folded.weights.per_device
    assert not any(map(are_made, (inspection.tensors, prediction.tensors, prediction.specs)))
    assert (
        plan(replace(inspection, tensors=tuple(inspection.tensors)), prediction, request) == folded
    )
