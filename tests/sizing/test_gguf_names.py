"""The architectures that a GGUF file may name: each is sized or refused by its own name."""

from __future__ import annotations

from pathlib import Path

import pytest

import hfinspect
from hfinspect.analysis.gguf.gguf_cache import ARCHITECTURES

from ..formats.gguf_files import GgufWriter

#: In the converter's list: a projector next to a model, and one that llama.cpp does not load.
NOT_RUN = frozenset({"clip", "gptj"})


def _file(folder: Path, architecture: str) -> str:
    made = GgufWriter().text("general.architecture", architecture)
    made.u32(f"{architecture}.block_count", 1).tensor("token_embd.weight", (4, 2), 0, 0)
    path = folder / f"{architecture}.gguf"
    head = made.header()
    path.write_bytes(head + bytes(-len(head) % 32) + bytes(32))
    return str(path)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("deepseek2", "the key-values have no deepseek2.embedding_length"),
        ("deepsick2", "llama.cpp 0.5.0 has no architecture 'deepsick2'"),
    ],
)
def test_what_is_not_sized_is_refused_by_its_name(name: str, words: str, tmp_path: Path) -> None:
    memory = hfinspect.memory(_file(tmp_path, name), engine="llama.cpp")
    assert memory.cache is None
    assert words in memory.cache_unknown


def test_every_name_that_the_converter_writes_is_known() -> None:
    """gguf-py's list is that of what may be written; ours is read in llama.cpp itself."""
    constants = pytest.importorskip("gguf.constants")
    names = set(constants.MODEL_ARCH_NAMES.values())
    assert len(names) > 100
    assert names - set(ARCHITECTURES) <= NOT_RUN
