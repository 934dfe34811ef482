"""What quantisation libraries themselves wrote for one Linear (tests/oracle/record_quantized.py)
comes out with its parameters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hfinspect.analysis.quantization.decode import decode
from hfinspect.analysis.tensor_table import TensorTable
from hfinspect.core.components import Role

from .test_quantization_properties import shard

FOLDER = Path(__file__).resolve().parents[2] / "fixtures" / "checkpoints" / "quantized"
RECORDED = [json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json"))]
CASES = [
    pytest.param(recorded["out"] * recorded["in"], case, id=f"{recorded['library']}-{case['name']}")
    for recorded in RECORDED
    for case in recorded["cases"]
]


def test_there_are_recordings() -> None:
    assert {recorded["library"] for recorded in RECORDED} >= {"bitsandbytes", "mlx", "hqq"}


@pytest.mark.parametrize(("parameters", "case"), CASES)
def test_as_the_library_wrote_it(parameters: int, case: dict[str, Any]) -> None:
    tensors = {name: (dtype, tuple(shape)) for name, (dtype, shape) in case["tensors"].items()}
    one = shard(tensors, case["metadata"])
    decoding = decode(TensorTable([one]), case["config"], {}, None)
    meant = decoding.tensors
    weights = [meaning for meaning in meant.values() if meaning.role is Role.PARAMETER]
    assert [meaning.parameters for meaning in weights] == [parameters], decoding.findings
    left = {tensor.name.rpartition(".")[2] for tensor in one.tensors if tensor.name not in meant}
    assert left <= {"bias"}
    assert [finding for finding in decoding.findings if finding.severity != "note"] == []
    assert decoding.summary is not None
    assert (decoding.summary.packed_bytes or 0) >= parameters * (decoding.summary.bits or 1) // 8
