"""CPU time for whole inspections of giants on disk, next to the floor and the field.

    python -m tests.benchmarks.bench_inspect

Sparse checkpoints of a mixture of experts as DeepSeek-V3 is built (61 layers, 256 experts; 384 for
the largest): bfloat16, FP8 with block scales, NVFP4 as ModelOpt writes it. All candidates run in
one process, best of ROUNDS, so that their ratio means something whatever the machine.
``json.loads`` and huggingface_hub's parser have the headers in memory already; hfinspect lists
the directory, reads index and headers, and places, decodes and compares every tensor.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import hfinspect

from ..builders import Tensors, write_config, write_sharded

SHARDS = 163
ROUNDS = 3

CONFIG: dict[str, Any] = {
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
}
Shape = tuple[int, ...]
#: What is stored in place of a matrix.
Packing = Callable[[str, Shape], Tensors]


def plain(name: str, shape: Shape) -> Tensors:
    return {name: ("BF16", shape)}


def fp8(name: str, shape: Shape) -> Tensors:
    blocks = tuple(-(-size // 128) for size in shape)
    return {name: ("F8_E4M3", shape), f"{name}_scale_inv": ("F32", blocks)}


def nvfp4(name: str, shape: Shape) -> Tensors:
    out, inputs = shape
    return {
        name: ("U8", (out, inputs // 2)),
        f"{name}_scale": ("F8_E4M3", (out, inputs // 16)),
        f"{name}_scale_2": ("F32", ()),
        f"{name.removesuffix('weight')}input_scale": ("F32", ()),
    }


BLOCKS = {"quant_method": "fp8", "weight_block_size": [128, 128]}
CHECKPOINTS: dict[str, tuple[Packing, Mapping[str, Any]]] = {
    "bfloat16": (plain, {}),
    "FP8": (fp8, {"quantization_config": BLOCKS}),
    "NVFP4": (
        nvfp4,
        {
            "n_routed_experts": 384,
            "n_group": 1,
            "topk_group": 1,
            "quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4"},
        },
    ),
}


def build(directory: Path, packing: Packing, changes: Mapping[str, Any]) -> None:
    config = {**CONFIG, **changes}
    stored: dict[str, tuple[str, Shape]] = {}
    for spec in hfinspect.predict(config).tensors:
        is_packed = spec.name.endswith("_proj.weight") and ".mlp." in spec.name
        stored |= (packing if is_packed else plain)(spec.name, spec.shape)
    items = list(stored.items())
    count = -(-len(items) // SHARDS)
    write_sharded(directory, [dict(items[at : at + count]) for at in range(0, len(items), count)])
    write_config(directory, config)


def headers(directory: Path) -> list[bytes]:
    texts = []
    for path in sorted(directory.glob("*.safetensors")):
        with path.open("rb") as file:
            texts.append(file.read(int.from_bytes(file.read(8), "little")))
    return texts


def seconds(run: Callable[[], object]) -> float:
    """The least CPU time of ROUNDS; what came out is kept until the clock has stopped."""
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.process_time()
        kept = run()
        best = min(best, time.process_time() - start)
        del kept
    return best


def hub_parser(texts: list[bytes]) -> object:
    from huggingface_hub import hf_api

    return [hf_api._parse_safetensors_header(text, "x.safetensors", "") for text in texts]


def measure(title: str, directory: Path) -> None:
    texts = headers(directory)
    hub_parser(texts[:1])
    found = hfinspect.inspect(directory)
    candidates: dict[str, Callable[[], object]] = {
        "json.loads alone": lambda: [json.loads(text) for text in texts],
        "huggingface_hub: headers parsed, unchecked": lambda: hub_parser(texts),
        "hfinspect.inspect: all of it": lambda: hfinspect.inspect(directory),
    }
    size = sum(map(len, texts))
    print(f"{title}: {len(found.tensors):,} tensors, {size:,} bytes in {len(texts)} headers")
    del found
    floor = None
    for name, run in candidates.items():
        taken = seconds(run)
        floor = floor or taken
        print(f"{taken:8.3f} s {taken / floor:6.1f} x  {name}")


def main() -> None:
    for title, (packing, changes) in CHECKPOINTS.items():
        with tempfile.TemporaryDirectory() as folder:
            build(Path(folder), packing, changes)
            measure(title, Path(folder))


if __name__ == "__main__":
    main()
