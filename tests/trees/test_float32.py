"""What a file in half precision has in float32 is what transformers saved there."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hfinspect.trees.prediction import predict

from ..oracle_folder import ORACLE

JUDGE: dict[str, dict[str, Any]] = json.loads((ORACLE / "float32.json").read_text())


@pytest.mark.parametrize("label", JUDGE)
def test_what_a_save_in_half_precision_has_in_float32(label: str) -> None:
    names = [spec.name for spec in predict(JUDGE[label]["saved"]).tensors if spec.dtype == "F32"]
    assert sorted(names) == JUDGE[label]["float32"], (
        "python -m tests.oracle record float32 TYPE records which tensors stay in float32"
    )
