"""Small sound checkpoints of every kind, as files in memory: path -> bytes."""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from hfinspect.trees.prediction import predict

from ..builders import Tensors, header_text, raw_safetensors, safetensors_header, shard_names
from ..formats.torch_files import state_pickle, torch_zip
from ..formats.whole_gguf import llama

Files = dict[str, bytes]

CONFIG: Mapping[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 32,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "tie_word_embeddings": False,
    "torch_dtype": "float16",
}
LORA: Mapping[str, Any] = {
    "peft_type": "LORA",
    "r": 4,
    "lora_alpha": 8,
    "target_modules": ["q_proj", "v_proj"],
    "base_model_name_or_path": "org/base",
}
GPTQ: Mapping[str, Any] = {
    "quant_method": "gptq",
    "bits": 4,
    "group_size": 8,
    "desc_act": False,
    "sym": True,
}
SHARDS = 4
CARD = b"---\nlicense: apache-2.0\n---\n# A model\n"


def numbers(dtype: str, count: int, seed: str) -> bytes:
    """``count`` small values, none zero, none special."""
    draw = random.Random(seed)
    if dtype == "I32":
        return b"".join(struct.pack("<i", draw.randrange(1, 2**31)) for _ in range(count))
    if dtype == "BF16":
        return b"".join(struct.pack("<f", draw.uniform(0.1, 1.0))[2:] for _ in range(count))
    code = {"F16": "e", "F32": "f"}[dtype]
    return struct.pack(f"<{count}{code}", *(draw.uniform(0.1, 1.0) for _ in range(count)))


def safetensors(tensors: Tensors, metadata: Mapping[str, str] | None = None) -> bytes:
    """A file of values that are neither zero nor special."""
    header = safetensors_header(tensors, {"format": "pt"} if metadata is None else metadata)
    data = b"".join(numbers(dtype, _count(shape), name) for name, (dtype, shape) in tensors.items())
    return raw_safetensors(header_text(header), data)


def _count(shape: tuple[int, ...]) -> int:
    count = 1
    for size in shape:
        count *= size
    return count


@cache
def shapes(tied: bool = False) -> Mapping[str, tuple[int, ...]]:
    config = {**CONFIG, "tie_word_embeddings": tied}
    return {spec.name: spec.shape for spec in predict(config).tensors}


def half() -> Tensors:
    return {name: ("F16", shape) for name, shape in shapes().items()}


def _beside(config: Mapping[str, Any]) -> Files:
    vocabulary = {f"t{number}": number for number in range(32)}
    return {
        "README.md": CARD,
        "config.json": json.dumps(config, indent=1).encode(),
        "generation_config.json": b'{"bos_token_id": 1, "eos_token_id": [2, 3]}',
        "tokenizer.json": json.dumps({"model": {"vocab": vocabulary}, "added_tokens": []}).encode(),
        "tokenizer_config.json": b'{"model_max_length": 64}',
    }


def single() -> Files:
    return {**_beside(CONFIG), "model.safetensors": safetensors(half())}


def sharded() -> Files:
    files = _beside(CONFIG)
    tensors = list(half().items())
    names = shard_names("model", ".safetensors", SHARDS)
    size = -(-len(tensors) // SHARDS)
    weight_map = {}
    total = 0
    for at, name in enumerate(names):
        part = dict(tensors[at * size : (at + 1) * size])
        files[name] = safetensors(part)
        weight_map.update(dict.fromkeys(part, name))
        total += sum(2 * _count(shape) for _, shape in part.values())
    index = {"metadata": {"total_size": total}, "weight_map": weight_map}
    files["model.safetensors.index.json"] = json.dumps(index).encode()
    return files


def torch() -> Files:
    """Pickled, float32."""
    tensors = shapes()
    storages = {str(key): 4 * _count(shape) for key, shape in enumerate(tensors.values())}
    content = torch_zip(state_pickle(tensors), storages)
    return {**_beside({**CONFIG, "torch_dtype": "float32"}), "pytorch_model.bin": content}


def copies() -> Files:
    """The same weights as safetensors and pickled."""
    return {
        **torch(),
        "model.safetensors": safetensors({n: ("F32", s) for n, s in shapes().items()}),
    }


def gguf() -> Files:
    """A whole Llama of four layers, as llama.cpp has it."""
    content = llama(4).content(fill=numbers("F16", 1, "gguf"))
    return {"README.md": CARD, "model.gguf": content}


def gptq() -> Files:
    tensors: dict[str, tuple[str, tuple[int, ...]]] = {}
    for name, shape in shapes().items():
        module = name.removesuffix(".weight")
        if not module.endswith("_proj"):
            tensors[name] = ("F16", shape)
            continue
        out, into = shape
        tensors[f"{module}.qweight"] = ("I32", (into // 8, out))
        tensors[f"{module}.qzeros"] = ("I32", (into // 8, out // 8))
        tensors[f"{module}.scales"] = ("F16", (into // 8, out))
        tensors[f"{module}.g_idx"] = ("I32", (into,))
    config = {**CONFIG, "quantization_config": GPTQ}
    return {**_beside(config), "model.safetensors": safetensors(tensors)}


def adapter() -> Files:
    """LoRA next to the config of its base."""
    tensors: dict[str, tuple[str, tuple[int, ...]]] = {}
    for name, (out, into) in ((n, s) for n, s in shapes().items() if len(s) == 2):
        module = name.removesuffix(".weight")
        if module.endswith(("q_proj", "v_proj")):
            tensors[f"base_model.model.{module}.lora_A.weight"] = ("F32", (4, into))
            tensors[f"base_model.model.{module}.lora_B.weight"] = ("F32", (out, 4))
    return {
        "README.md": CARD,
        "adapter_config.json": json.dumps(LORA).encode(),
        "adapter_model.safetensors": safetensors(tensors),
        "config.json": json.dumps(CONFIG).encode(),
    }


BASES: Mapping[str, Callable[[], Files]] = {
    "single": single,
    "sharded": sharded,
    "torch": torch,
    "copies": copies,
    "gguf": gguf,
    "gptq": gptq,
    "adapter": adapter,
}


@cache
def _made(base: str) -> Files:
    return BASES[base]()


def made(base: str) -> Files:
    """A fresh mapping of a base's files."""
    return dict(_made(base))


def write(files: Mapping[str, bytes], directory: Path) -> Path:
    for path, content in files.items():
        full = directory / path
        full.parent.mkdir(parents=True, exist_ok=True)
        full.write_bytes(content)
        full.chmod(0o644)
    directory.chmod(0o755)
    return directory
