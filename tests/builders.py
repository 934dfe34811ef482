"""Small checkpoints for the tests: safetensors files, sharded directories, sparse giants.

Tensors are given as ``{name: (dtype, shape)}`` with safetensors' dtype names. Data is zeros and, on
disk, a hole: files of any size are written in an instant.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hfinspect.core.tensor import nbytes_of

Tensors = Mapping[str, tuple[str, tuple[int, ...]]]

#: An encoder that is written in an instant.
SMALL_BERT: dict[str, Any] = {
    "model_type": "bert",
    "architectures": ["BertModel"],
    "vocab_size": 60,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 32,
    "max_position_embeddings": 20,
}


def safetensors_header(
    tensors: Tensors, metadata: Mapping[str, str] | None = None
) -> dict[str, object]:
    """The header as the safetensors library writes it: offsets without gaps, in the order given."""
    header: dict[str, object] = {}
    if metadata is not None:
        header["__metadata__"] = dict(metadata)
    offset = 0
    for name, (dtype, shape) in tensors.items():
        count = 1
        for size in shape:
            count *= size
        nbytes = nbytes_of(dtype, count)
        assert nbytes is not None, f"give a known dtype, not {dtype}"
        stop = offset + nbytes
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [offset, stop]}
        offset = stop
    return header


def header_text(header: Mapping[str, object], align: int = 8) -> bytes:
    """The header's JSON, padded with spaces to a multiple of ``align``."""
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    return text + b" " * (-len(text) % align)


def raw_safetensors(text: str | bytes, data: bytes = b"", *, length: int | None = None) -> bytes:
    """A file of a given header text, claimed to be ``length`` bytes long, and data."""
    encoded = text.encode() if isinstance(text, str) else text
    return struct.pack("<Q", len(encoded) if length is None else length) + encoded + data


def data_size(header: Mapping[str, object]) -> int:
    """Where the last tensor of a header ends, counted from the start of the data."""
    entries = [value for key, value in header.items() if key != "__metadata__"]
    return max((entry["data_offsets"][1] for entry in entries), default=0)  # type: ignore[index]


def safetensors_bytes(tensors: Tensors, metadata: Mapping[str, str] | None = None) -> bytes:
    header = safetensors_header(tensors, metadata)
    return raw_safetensors(header_text(header), bytes(data_size(header)))


def write_sparse(path: Path, start: bytes, size: int) -> Path:
    """A file of ``size`` bytes that begins with ``start`` and takes no more room than that."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.write(start)
        file.truncate(size)
    return path


def write_safetensors(
    path: Path, tensors: Tensors, metadata: Mapping[str, str] | None = None
) -> Path:
    header = safetensors_header(tensors, {"format": "pt"} if metadata is None else metadata)
    start = raw_safetensors(header_text(header))
    return write_sparse(path, start, len(start) + data_size(header))


def shard_names(stem: str, suffix: str, count: int) -> list[str]:
    return [f"{stem}-{number:05d}-of-{count:05d}{suffix}" for number in range(1, count + 1)]


def write_index(
    path: Path, weight_map: Mapping[str, str], metadata: Mapping[str, object] | None = None
) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {"metadata": dict(metadata or {}), "weight_map": dict(weight_map)}
    path.write_text(json.dumps(content))
    return path


def write_sharded(
    directory: Path,
    shards: Sequence[Tensors],
    *,
    stem: str = "model",
    names: Sequence[str] | None = None,
    index: bool = True,
) -> list[Path]:
    """A sharded safetensors checkpoint; returns the paths of the shards."""
    names = names or shard_names(stem, ".safetensors", len(shards))
    paths = [
        write_safetensors(directory / name, tensors)
        for name, tensors in zip(names, shards, strict=True)
    ]
    if index:
        weight_map = {
            tensor: name for name, tensors in zip(names, shards, strict=True) for tensor in tensors
        }
        total = sum(data_size(safetensors_header(tensors)) for tensors in shards)
        write_index(directory / f"{stem}.safetensors.index.json", weight_map, {"total_size": total})
    return paths


def write_config(directory: Path, config: Mapping[str, object]) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "config.json"
    path.write_text(json.dumps(config))
    return path
