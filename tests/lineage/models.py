"""Small models with real bytes in them, for comparisons of weights."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from pathlib import Path

import hfinspect

from ..builders import header_text, raw_safetensors, safetensors_header, write_config

CONFIG = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "vocab_size": 512,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "dtype": "bfloat16",
}


def weights(seed: int = 0) -> dict[str, bytearray]:
    """Random bytes for each tensor of ``CONFIG``, in BF16."""
    source = random.Random(seed)
    tensors = hfinspect.predict(CONFIG).tensors
    return {t.name: bytearray(source.randbytes(2 * t.elements)) for t in tensors}


def file_bytes(contents: Mapping[str, bytearray]) -> bytes:
    shapes = {t.name: ("BF16", t.shape) for t in hfinspect.predict(CONFIG).tensors}
    header = safetensors_header({name: shapes[name] for name in contents}, {"format": "pt"})
    return raw_safetensors(header_text(header), b"".join(contents.values()))


def write(folder: Path, contents: Mapping[str, bytearray]) -> Path:
    write_config(folder, CONFIG)
    (folder / "model.safetensors").write_bytes(file_bytes(contents))
    return folder


def tuned(touched: Callable[[str], bool], seed: int = 0) -> dict[str, bytearray]:
    """The same weights with one bit of every element changed where ``touched`` says so."""
    changed = weights(seed)
    for name, data in changed.items():
        if touched(name):
            data[::2] = bytes(byte ^ 1 for byte in data[::2])
    return changed
