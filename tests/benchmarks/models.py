"""The models of the benchmarks: small ones, and one of DeepSeek-V3's size in FP8."""

from __future__ import annotations

import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

import hfinspect

from ..builders import (
    Tensors,
    shard_names,
    write_config,
    write_sharded,
)
from ..hub_repos import Files, weights

SHARDS = 163

DEEPSEEK: dict[str, Any] = {
    "model_type": "deepseek_v3",
    "architectures": ["DeepseekV3ForCausalLM"],
    "vocab_size": 129280,
    "hidden_size": 7168,
    "intermediate_size": 18432,
    "moe_intermediate_size": 2048,
    "num_hidden_layers": 61,
    "num_attention_heads": 128,
    "num_key_value_heads": 128,
    "n_routed_experts": 256,
    "n_shared_experts": 1,
    "num_experts_per_tok": 8,
    "num_nextn_predict_layers": 1,
    "first_k_dense_replace": 3,
    "q_lora_rank": 1536,
    "kv_lora_rank": 512,
    "qk_rope_head_dim": 64,
    "qk_nope_head_dim": 128,
    "v_head_dim": 128,
    "n_group": 8,
    "topk_group": 4,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
    "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]},
}
SMALL: dict[str, Any] = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "vocab_size": 64,
    "hidden_size": 8,
    "intermediate_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
}


def fp8(name: str, shape: tuple[int, ...]) -> Tensors:
    blocks = tuple(-(-size // 128) for size in shape)
    return {name: ("F8_E4M3", shape), f"{name}_scale_inv": ("F32", blocks)}


def stored(config: dict[str, Any]) -> Tensors:
    """What a file of this config holds: the projections packed where the config says FP8."""
    packed = "quantization_config" in config
    tensors: dict[str, tuple[str, tuple[int, ...]]] = {}
    for spec in hfinspect.predict(config).tensors:
        if packed and spec.name.endswith("_proj.weight") and len(spec.shape) == 2:
            tensors |= fp8(spec.name, spec.shape)
        else:
            tensors[spec.name] = ("BF16", spec.shape)
    return tensors


@cache
def deepseek_shards() -> list[Tensors]:
    items = list(stored(DEEPSEEK).items())
    each = -(-len(items) // SHARDS)
    return [dict(items[at : at + each]) for at in range(0, len(items), each)]


def deepseek_files() -> Files:
    """The model as the Hub has it."""
    shards = deepseek_shards()
    names = shard_names("model", ".safetensors", len(shards))
    weight_map = {
        tensor: name for name, tensors in zip(names, shards, strict=True) for tensor in tensors
    }
    index = {"metadata": {"total_size": 1}, "weight_map": weight_map}
    return {
        "config.json": json.dumps(DEEPSEEK).encode(),
        "model.safetensors.index.json": json.dumps(index).encode(),
        **{name: weights(shard) for name, shard in zip(names, shards, strict=True)},
    }


def small_files(number: int = 0) -> Files:
    """A small model; each number makes files of another content."""
    tensors = {**stored(SMALL), f"extra.{number}.weight": ("BF16", (1,))}
    return {"config.json": json.dumps(SMALL).encode(), "model.safetensors": weights(tensors)}


def write_deepseek(directory: Path) -> Path:
    write_sharded(directory, deepseek_shards())
    write_config(directory, DEEPSEEK)
    return directory


def write_million(directory: Path, shards: int = 500) -> Path:
    """A million tensors: one matrix for each of 1,000 experts of 500 layers, and its scale."""
    write_sharded(
        directory,
        [
            {
                name: kind
                for expert in range(1_000)
                for name, kind in fp8(
                    f"model.layers.{layer}.mlp.experts.{expert}.up_proj.weight", (256, 128)
                ).items()
            }
            for layer in range(shards)
        ],
    )
    return directory


def write_gguf(path: Path, blocks: int = 400) -> Path:
    """A GGUF file as gguf's own writer makes it, without data."""
    import gguf
    import numpy

    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(blocks)
    for block in range(blocks):
        for name in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_up", "ffn_down"):
            writer.add_tensor(f"blk.{block}.{name}.weight", numpy.zeros((8, 32), numpy.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def can(module: str) -> bool:
    """Whether a peer is installed here."""
    from importlib.util import find_spec

    return module in sys.modules or find_spec(module) is not None
