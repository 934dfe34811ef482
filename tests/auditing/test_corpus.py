"""Real configs with real indexes: shards built to fit them raise no false alarm.

The shards are sparse files whose tensors have the names of the index and the shapes that the config
leads to. They are only read by their headers, so what is judged is the index, the config, and
whether every name in them is one that the catalog knows.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import hfinspect
from hfinspect.analysis.labels.lookup import spec_finder
from hfinspect.core.tensor import TORCH_DTYPES
from hfinspect.errors import ConfigError, UnknownArchitectureError
from hfinspect.trees.prediction import Prediction, predict

from ..builders import Tensors, write_safetensors
from ..formats.torch_files import ZipWriter, state_pickle

CORPUS = Path(
    os.environ.get("HFINSPECT_CORPUS", Path(__file__).resolve().parents[3] / "shared" / "corpus")
)
INDEXED = sorted(path.parent.name for path in CORPUS.glob("*/index.json"))

#: Rules about bytes on disk, which sparse shards without values cannot keep.
UNBUILT = ("HI106", "HI107")


def prediction_of(config: dict[str, Any]) -> Prediction | None:
    try:
        return predict(config)
    except (UnknownArchitectureError, ConfigError):
        return None


def shards_of(config: dict[str, Any], index: dict[str, Any]) -> dict[str, Tensors]:
    """Tensors by shard: promised shapes, or a few elements where nothing is promised."""
    find = spec_finder(prediction_of(config))
    said = config.get("torch_dtype", config.get("dtype"))
    dtype = TORCH_DTYPES.get(said, "F16") if isinstance(said, str) else "F16"
    shards: dict[str, dict[str, tuple[str, tuple[int, ...]]]] = {}
    for name, shard in index["weight_map"].items():
        spec = find(name)
        shards.setdefault(shard, {})[name] = (dtype, spec.shape if spec is not None else (8,))
    return {**shards}


def write_bin(path: Path, tensors: Tensors) -> None:
    """A PyTorch file whose storages are holes. float32, as the hand-written pickles are."""
    shapes = {name: shape for name, (_, shape) in tensors.items()}
    writer = ZipWriter()
    writer.add("archive/data.pkl", state_pickle(shapes))
    for key, shape in enumerate(shapes.values()):
        count = 4
        for size in shape:
            count *= size
        writer.add(f"archive/data/{key}", b"", size=count)
    writer.add("archive/version", b"3\n")
    size, pieces = writer.finish()
    with path.open("wb") as file:
        file.truncate(size)
        for at, data in pieces.items():
            file.seek(at)
            file.write(data)


#: Saved by a class that was never released: no release of transformers loads its names.
OTHER_NAMES = "nuxwork--llama-7b-hf@291"


@pytest.mark.skipif(not INDEXED, reason="the corpus is not there")
@pytest.mark.parametrize("name", INDEXED)
def test_no_false_alarm(name: str, tmp_path: Path) -> None:
    config = json.loads((CORPUS / name / "config.json").read_text())
    index = json.loads((CORPUS / name / "index.json").read_text())
    stem = "pytorch_model.bin" if name_is_bin(index) else "model.safetensors"
    (tmp_path / f"{stem}.index.json").write_text(json.dumps(index))
    (tmp_path / "config.json").write_text(json.dumps(config))
    for shard, tensors in shards_of(config, index).items():
        if shard.endswith(".bin"):
            write_bin(tmp_path / shard, tensors)
        else:
            write_safetensors(tmp_path / shard, tensors)
    result = hfinspect.audit(tmp_path, ignore=UNBUILT)
    if name == OTHER_NAMES:
        assert [finding.code for finding in result.failing("error")] == ["HI301"]
    else:
        assert result.failing("error") == ()
    assert result.files == len(set(index["weight_map"].values()))


def name_is_bin(index: dict[str, Any]) -> bool:
    return str(next(iter(index["weight_map"].values()))).endswith(".bin")
