"""Reading fixtures/oracle/recorded: what transformers and diffusers saved, one file a family."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from ..oracle_folder import ORACLE

RECORDED = ORACLE / "recorded"


FAMILIES = sorted(path.stem for path in RECORDED.glob("*.json"))


@lru_cache(maxsize=4)
def of(family: str) -> dict[str, dict[str, Any]]:
    """The recordings of a family by their labels."""
    records: dict[str, dict[str, Any]] = json.loads((RECORDED / f"{family}.json").read_text())
    return records


def sample(family: str) -> dict[str, dict[str, Any]]:
    """What the default suite compares of a family, the rest is under a marker: of each class the
    default config and the first small one."""
    chosen: dict[tuple[Any, ...], tuple[str, dict[str, Any]]] = {}
    for label, record in of(family).items():
        place = record["model_type"], record["architecture"], is_default(record)
        chosen.setdefault(place, (label, record))
    return dict(chosen.values())


def everything() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Family, label and recording of every one there is."""
    for family in FAMILIES:
        for label, record in of(family).items():
            yield family, label, record


def advice(family: str) -> str:
    """What to do when a family's prediction differs from its recordings."""
    return (
        f"{family}: build what is 'missing' in the family's file of hfinspect/architectures/, and "
        "not what is 'unexpected' (-vv prints all of both; the counts are yours, a save's). Where "
        f"the recording is out of date: python -m tests.regenerate {family}"
    )


def is_default(record: dict[str, Any]) -> bool:
    return "digest" in record


def line(name: str, shape: tuple[int, ...], dtype: str | None = None) -> str:
    """The recording's form of a tensor."""
    return f"{name} {_dims(shape)}" + ("" if dtype in (None, "F32") else f" {dtype}")


@lru_cache(maxsize=10_000)
def _dims(shape: tuple[int, ...]) -> str:
    return "x".join(str(int(size)) for size in shape) or "scalar"


def digest(lines: list[str]) -> str:
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()


def spellings(record: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The config in every spelling that the recording has: minimal, as saved, in full."""
    head: dict[str, Any]
    if record["library"] == "diffusers":
        head = {"_class_name": record["architecture"]}
    else:
        head = {
            "model_type": record["model_type"],
            "architectures": [record["architecture"]],
            "transformers_version": record["version"],
        }
    if is_default(record):
        return {"empty": head}
    forms = {"given": {**record["given"], **head}, "saved": record["saved"]}
    if "full" in record:
        forms["full"] = {**record["full"], "architectures": [record["architecture"]]}
    return forms
