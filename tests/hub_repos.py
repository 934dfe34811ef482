"""What the loopback Hub holds: repos of commits of files, some larger than any disk."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from .builders import (
    Tensors,
    data_size,
    header_text,
    raw_safetensors,
    safetensors_header,
    shard_names,
)

#: Suffixes that the Hub keeps in LFS, on another host, whatever their size.
LFS_SUFFIXES = (".safetensors", ".bin", ".gguf", ".pt", ".h5", ".onnx", ".msgpack")


@dataclass(frozen=True)
class StoredFile:
    """``head``, then zeros up to ``size``: the bytes of a 100 GB file cost nothing."""

    head: bytes
    size: int
    lfs: bool

    @cached_property
    def sha256(self) -> str:
        if self.size <= len(self.head):
            return hashlib.sha256(self.head).hexdigest()
        return hashlib.sha256(self.head + b"|%d" % self.size).hexdigest()

    @cached_property
    def oid(self) -> str:
        return hashlib.sha1(b"blob" + self.head + b"|%d" % self.size).hexdigest()

    def read(self, start: int, stop: int) -> bytes:
        stop = min(stop, self.size)
        data = self.head[start:stop]
        return data + bytes(max(0, stop - max(start, len(self.head)))) if stop > start else b""


def sparse(head: bytes, size: int) -> StoredFile:
    """An LFS file of ``size`` bytes that begins with ``head``."""
    return StoredFile(head, size, lfs=True)


Files = Mapping[str, "bytes | StoredFile"]


def _stored(path: str, content: bytes | StoredFile) -> StoredFile:
    if isinstance(content, StoredFile):
        return content
    return StoredFile(content, len(content), path.endswith(LFS_SUFFIXES))


@dataclass
class Repo:
    """A model. ``readers`` are the users with access if it is gated or private."""

    id: str
    private: bool = False
    gated: str | bool = False
    readers: frozenset[str] = frozenset()
    #: Anything else its api answer holds: downloads, tags, pipeline_tag, safetensors ...
    info: dict[str, object] = field(default_factory=dict)
    commits: dict[str, dict[str, StoredFile]] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)

    def commit(self, files: Files, branch: str = "main") -> str:
        """Put these files, and only these, on a branch; the new commit's sha."""
        stored = {path: _stored(path, content) for path, content in sorted(files.items())}
        label = f"{self.id}|{len(self.commits)}|{sorted((p, f.sha256) for p, f in stored.items())}"
        sha = hashlib.sha1(label.encode()).hexdigest()
        self.commits[sha] = stored
        self.branches[branch] = sha
        return sha

    @property
    def sha(self) -> str:
        return self.branches["main"]

    def resolve(self, revision: str) -> str | None:
        """The commit a branch, tag or (abbreviated) commit names."""
        for names in (self.branches, self.tags):
            if revision in names:
                return names[revision]
        return next((sha for sha in self.commits if sha == revision), None)

    def files(self, sha: str) -> dict[str, StoredFile]:
        return self.commits[sha]


def weights(tensors: Tensors) -> StoredFile:
    """A safetensors file whose data is a hole."""
    header = safetensors_header(tensors, {"format": "pt"})
    head = raw_safetensors(header_text(header))
    return sparse(head, len(head) + data_size(header))


def header_bytes(file: StoredFile) -> int:
    """Bytes of a safetensors file up to its data."""
    return len(file.head)


def sharded_files(shards: int, tensors_per_shard: int = 4) -> dict[str, bytes | StoredFile]:
    """A model in many shards of 64 MiB tensors, with config.json and index."""
    files: dict[str, bytes | StoredFile] = {"config.json": b'{"model_type": "llama"}'}
    weight_map: dict[str, str] = {}
    for number, name in enumerate(shard_names("model", ".safetensors", shards)):
        tensors = {
            f"model.layers.{number}.mlp.experts.{k}.up_proj.weight": ("BF16", (4096, 8192))
            for k in range(tensors_per_shard)
        }
        files[name] = weights(tensors)
        weight_map.update(dict.fromkeys(tensors, name))
    index = {"metadata": {"total_size": 1}, "weight_map": weight_map}
    files["model.safetensors.index.json"] = json.dumps(index).encode()
    return files
