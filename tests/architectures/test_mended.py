"""Configs of which a prediction was wrong once: it is what the library saves, or a refusal, but
where the entry says that it is ``answered``."""

from __future__ import annotations

import json
from itertools import groupby
from typing import Any

import pytest

from hfinspect.errors import HfinspectError
from hfinspect.trees.prediction import predict

from ..oracle_folder import ORACLE
from .recordings import digest, line

MENDED: list[dict[str, Any]] = json.loads((ORACLE / "mended.json").read_text())
BY_CLASS = {n: list(g) for n, g in groupby(MENDED, key=lambda entry: entry["architecture"])}


@pytest.mark.parametrize("name", BY_CLASS)
def test_what_was_wrong_once_is_right_or_refused(name: str) -> None:
    for entry in BY_CLASS[name]:
        head = {"model_type": entry["model_type"], "architectures": [name]}
        if entry["library"] == "diffusers":
            head = {"_class_name": name}
        if entry["library"] == "timm":
            head = {}
        try:
            specs = predict({**entry["given"], **head}).tensors
        except HfinspectError as error:
            assert "answered" not in entry, f"{error}; {_advice(entry)}"
            continue
        lines = [line(spec.name, spec.shape) for spec in specs if all(spec.shape)]
        assert len(lines) == entry["count"], _advice(entry)
        assert digest(lines) == entry["digest"], _advice(entry)


def _advice(entry: dict[str, Any]) -> str:
    return (
        f"{entry['given']}: this prediction was wrong once. Refuse the config by a guard, or "
        f"record its trace anew: python -m tests.oracle trace --again {entry['model_type']}"
    )
