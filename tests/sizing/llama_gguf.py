"""A small GGUF file that llama.cpp loads."""

from __future__ import annotations

import struct
from pathlib import Path

from hfinspect.formats.gguf.ggml_types import GGML_TYPES

from ..formats.gguf_files import F32 as F32_KEY
from ..formats.gguf_files import GgufWriter

F32 = 0
Q8_0 = 8


def llama_file(folder: Path, *, layers: int = 4, head: bool = True, experts: int = 0) -> Path:
    shapes: dict[str, tuple[int, ...]] = {"token_embd.weight": (128, 64)}
    for i in range(layers):
        inner = (experts,) if experts else ()
        ending = "_exps" if experts else ""
        block: dict[str, tuple[int, ...]] = {
            "attn_norm": (64,),
            "attn_q": (64, 64),
            "attn_k": (32, 64),
            "attn_v": (32, 64),
            "attn_output": (64, 64),
            "ffn_norm": (64,),
            f"ffn_gate{ending}": (*inner, 96, 64),
            f"ffn_up{ending}": (*inner, 96, 64),
            f"ffn_down{ending}": (*inner, 64, 96),
        }
        if experts:
            block["ffn_gate_inp"] = (experts, 64)
        shapes |= {f"blk.{i}.{name}.weight": shape for name, shape in block.items()}
    shapes["output_norm.weight"] = (64,)
    if head:
        shapes["output.weight"] = (128, 64)
    writer = GgufWriter().text("general.architecture", "llama")
    numbers = {
        "block_count": layers,
        "context_length": 256,
        "embedding_length": 64,
        "feed_forward_length": 96,
        "attention.head_count": 4,
        "attention.head_count_kv": 2,
        "vocab_size": 128,
        "expert_count": experts,
        "expert_used_count": min(experts, 2),
    }
    for key, value in numbers.items():
        if value:
            writer.u32(f"llama.{key}", value)
    writer.raw_key("llama.attention.layer_norm_rms_epsilon", F32_KEY, struct.pack("<f", 1e-5))
    writer.text("tokenizer.ggml.model", "no_vocab")
    offset = 0
    for name, shape in shapes.items():
        kind = F32 if len(shape) == 1 or "gate_inp" in name else Q8_0
        writer.tensor(name, shape, kind, offset)
        size = GGML_TYPES[kind].stored_bytes(shape)
        offset += size + -size % 32
    path = folder / "model.gguf"
    path.write_bytes(writer.bytes(offset))
    return path
