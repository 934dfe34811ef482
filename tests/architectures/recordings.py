"""Reading fixtures/oracle/recorded: what transformers and diffusers saved."""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).resolve().parents[2] / "fixtures" / "oracle" / "recorded"


def paths() -> list[Path]:
    return sorted(RECORDED.glob("*/*.json"))


def families() -> dict[str, list[Path]]:
    """The recordings of each family, by the family's name."""
    found: dict[str, list[Path]] = {}
    for path in paths():
        found.setdefault(path.parent.name, []).append(path)
    return found


def load(path: Path) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(path.read_text())
    return record


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
        head = {"model_type": record["model_type"], "architectures": [record["architecture"]]}
    if is_default(record):
        return {"empty": head}
    forms = {"given": {**record["given"], **head}, "saved": record["saved"]}
    if "full" in record:
        forms["full"] = {**record["full"], "architectures": [record["architecture"]]}
    return forms
