"""Buffers that older files hold and transformers no longer saves: ``position_ids``, ``inv_freq``.

A file that has one is not wrong, so a family knows them, whether written or traced.
"""

from __future__ import annotations

import json
import re

import pytest

from hfinspect.core.components import Role
from hfinspect.trees.prediction import predict

from ..oracle_folder import ORACLE

#: Type -> class -> name, numbers as ``*`` -> shape, of one class at its default config.
KNOWN = json.loads((ORACLE / "older_buffers.json").read_text())


@pytest.mark.parametrize("kind", KNOWN)
def test_older_buffers(kind: str) -> None:
    for name, wanted in KNOWN[kind].items():
        prediction = predict({"model_type": kind, "architectures": [name]})
        assert {
            re.sub(r"\d+", "*", spec.name): list(spec.shape)
            for spec in prediction.extras
            if spec.role is Role.BUFFER
        } == wanted, f"{name}: fixtures/oracle/older_buffers.json has what older files hold"
