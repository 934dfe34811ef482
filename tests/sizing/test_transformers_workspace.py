"""The limit of what ``generate()`` takes next to what a real transformers took, recorded by
``record_transformers_workspace``: never below, and at most 1.5 times of it."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import hfinspect
from hfinspect.sizing.workspace import RUNTIME_BYTES

RECORD: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "fixtures" / "oracle" / "transformers_workspace.json").read_text()
)
ROWS = [dict(zip(RECORD["columns"], row, strict=True)) for row in RECORD["rows"]]
LIMIT = 1.5
#: Models with a case further above.
WIDER: dict[str, float] = {}


def config_of(name: str) -> dict[str, Any]:
    return {
        "model_type": name.partition(" ")[0],
        "torch_dtype": "bfloat16",
        **RECORD["models"][name],
    }


@cache
def ours(name: str, attention: str, static: bool, batch: int, tokens: int) -> int:
    """Bytes of the limit without the device's runtime."""
    sized = hfinspect.memory(
        config_of(name),
        engine="transformers-static" if static else "transformers",
        context=tokens,
        batch=batch,
        flash_attention=attention != "eager",
    )
    assert sized.workspace is not None, sized.cache_unknown
    return sized.workspace.nbytes - RUNTIME_BYTES


def ratio(row: dict[str, Any]) -> float:
    """Our limit over what was taken next to the cache."""
    mine = ours(*(row[key] for key in ("model", "attention", "static", "batch", "tokens")))
    return mine / float(row["peak"] - row["cache"])


@pytest.mark.parametrize("name", RECORD["models"])
def test_the_limit_is_never_below_and_at_most_half_above(name: str) -> None:
    rows = [row for row in ROWS if row["model"] == name]
    assert len(rows) >= 4
    ratios = {tuple(row.values())[1:6]: ratio(row) for row in rows}
    most = WIDER.get(name, LIMIT)
    assert {case: one for case, one in ratios.items() if not 1 <= one <= most} == {}
