"""Classes that libraries have moved are known under their new paths, and nothing else is."""

from __future__ import annotations

from pathlib import Path

import pytest

import hfinspect
from hfinspect.auditing.facts.pickle_names import LIBRARY, danger_of
from hfinspect.formats.pickles.nodes import NAMED

from ..formats.torch_files import state_pickle, torch_zip
from .evil import EVIL_PICKLE
from .opcodes import Raw, name, pickled


@pytest.mark.parametrize(
    ("module", "known"),
    [
        ("peft.tuners.lora.config", "LoraRuntimeConfig"),
        ("peft.config", "LoraRuntimeConfig"),
        ("sentence_transformers.base.sampler", "BatchSamplers"),
        ("sentence_transformers.base.sampler.BatchSamplers", "NO_DUPLICATES"),
        ("torch.distributed.checkpoint.metadata", "Metadata"),
    ],
)
def test_a_class_is_known_by_its_package(module: str, known: str) -> None:
    assert danger_of(module, known) == LIBRARY


@pytest.mark.parametrize(
    ("module", "other"),
    [
        ("peft.utils.os", "LoraRuntimeConfig"),
        ("peft._hidden", "LoraRuntimeConfig"),
        ("peft_evil.config", "LoraRuntimeConfig"),
        ("evil.peft.config", "LoraRuntimeConfig"),
        ("peft.config", "lora_runtime_config"),
        ("torch.hub", "Metadata"),
        ("sentence_transformers.base.sampler.BatchSamplers", "no_duplicates"),
        ("transformers.utils.hub.os", "TrainingArguments"),
    ],
)
def test_anything_else_is_not(module: str, other: str) -> None:
    assert danger_of(module, other, NAMED) != LIBRARY


def _row(*pickles: bytes) -> bytes:
    return b"".join(torch_zip(data, {}) for data in pickles)


def test_archives_in_a_row(tmp_path: Path) -> None:
    """A .distcp is one archive of torch.save behind the other; each is looked into."""
    sound = state_pickle({"a.weight": (2, 2)})
    file = tmp_path / "__0_0.distcp"
    file.write_bytes(_row(sound, sound, sound))
    metadata = name("torch.distributed.checkpoint.metadata.Metadata").code + b")\x81"
    (tmp_path / ".metadata").write_bytes(pickled(Raw(metadata)))
    assert hfinspect.audit(tmp_path).ok
    for place in range(3):
        pickles = [sound] * 3
        pickles[place] = EVIL_PICKLE
        file.write_bytes(_row(*pickles))
        assert any("system" in finding.text for finding in hfinspect.audit(tmp_path).failing())
    file.write_bytes(b"PK\x03\x04" + b"x" * 50 + _row(sound))
    assert not hfinspect.audit(tmp_path).ok
