"""Records what a real llama.cpp reserves for models of full size, from headers without weights.

    python -m tests.sizing.record_llama_cpp_full_size --source LLAMA.CPP --build BUILD --work FOLDER

The key-values are those of the models' own configs, as llama.cpp's converter writes them; the
tensors are those that llama.cpp then needs. ``plan`` loads the header alone, of a sparse file,
and reserves nothing: the compute buffer is that of the graph of a whole step. (Where the graph of
one token is larger, as with block-sparse attention, only the tiny files of llama_cpp.json say it.)
A model that is in the record stays as it is, but for those of ``--only`` and with ``--fresh``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from hfinspect.formats.gguf.gguf import FORMAT
from tests.formats.gguf_files import GgufWriter
from tests.formats.readers import MeteredReader
from tests.sizing.llama_cpp_record import FULL_SIZE, pack, unpack, write_key
from tests.sizing.record_llama_cpp import compiled, options, run, version

#: n_ctx, n_seq_max, n_ubatch, kv_unified, swa_full, type_k, type_v, flash_attn, n_outputs_max:
#: those of a program, and those of llama-server, by default and with -np, -nkvu, --swa-full.
SETTINGS = (
    "8192,1,512,0,0,f16,f16,1",
    "8192,1,512,0,0,f16,f16,0",
    "32768,1,512,0,0,f16,f16,1",
    "32768,1,2048,0,0,f16,f16,1",
    "32768,1,2048,0,0,f16,f16,0",
    "32768,4,512,1,0,f16,f16,1,4",
    "32768,4,512,0,0,f16,f16,1,4",
    "32768,4,512,1,1,q8_0,q8_0,1,4",
    "32768,8,512,0,1,f16,f16,0,8",
    "131072,1,512,0,0,f16,f16,1",
    "2048,1,128,0,0,f16,f16,1",
    "131072,4,2048,1,0,f16,f16,0,4",
)
_NUMBERS = (
    "embedding_length",
    "block_count",
    "attention.head_count",
    "attention.head_count_kv",
    "feed_forward_length",
    "vocab_size",
    "context_length",
)
#: name -> (architecture, numbers of _NUMBERS, other key-values)
MODELS: dict[str, tuple[str, tuple[int, ...], dict[str, Any]]] = {
    "llama-3-8b": ("llama", (4096, 32, 32, 8, 14336, 128256, 8192), {}),
    "llama-2-7b": ("llama", (4096, 32, 32, 32, 11008, 32000, 4096), {}),
    "llama-3-70b": ("llama", (8192, 80, 64, 8, 28672, 128256, 8192), {}),
    "mixtral-8x7b": (
        "llama",
        (4096, 32, 32, 8, 14336, 32000, 32768),
        {"expert_count": 8, "expert_used_count": 2},
    ),
    "qwen2.5-0.5b": ("qwen2", (896, 24, 14, 2, 4864, 151936, 32768), {}),
    "qwen2.5-7b": ("qwen2", (3584, 28, 28, 4, 18944, 152064, 131072), {}),
    "qwen2.5-32b": ("qwen2", (5120, 64, 40, 8, 27648, 152064, 131072), {}),
    "qwen3-4b": (
        "qwen3",
        (2560, 36, 32, 8, 9728, 151936, 40960),
        {"attention.key_length": 128, "attention.value_length": 128},
    ),
    "qwen3-30b-a3b": (
        "qwen3moe",
        (2048, 48, 32, 4, 6144, 151936, 40960),
        {
            "attention.key_length": 128,
            "attention.value_length": 128,
            "expert_count": 128,
            "expert_used_count": 8,
            "expert_feed_forward_length": 768,
        },
    ),
    "gemma-2-9b": (
        "gemma2",
        (3584, 42, 16, 8, 14336, 256000, 8192),
        {
            "attention.key_length": 256,
            "attention.value_length": 256,
            "attention.sliding_window": 4096,
            "attn_logit_softcapping": 50.0,
            "final_logit_softcapping": 30.0,
        },
    ),
    "gemma-3-1b": (
        "gemma3",
        (1152, 26, 4, 1, 6912, 262144, 32768),
        {
            "attention.key_length": 256,
            "attention.value_length": 256,
            "attention.sliding_window": 512,
        },
    ),
    "gemma-3-12b": (
        "gemma3",
        (3840, 48, 16, 8, 15360, 262208, 131072),
        {
            "attention.key_length": 256,
            "attention.value_length": 256,
            "attention.sliding_window": 1024,
        },
    ),
    "gpt-oss-20b": (
        "gpt-oss",
        (2880, 24, 64, 8, 2880, 201088, 131072),
        {
            "attention.key_length": 64,
            "attention.value_length": 64,
            "expert_count": 32,
            "expert_used_count": 4,
            "expert_feed_forward_length": 2880,
            "attention.sliding_window": 128,
        },
    ),
    "deepseek-v2-lite": (
        "deepseek2",
        (2048, 27, 16, 1, 10944, 102400, 163840),
        {
            "attention.key_length": 576,
            "attention.value_length": 512,
            "attention.key_length_mla": 192,
            "attention.value_length_mla": 128,
            "attention.kv_lora_rank": 512,
            "rope.dimension_count": 64,
            "leading_dense_block_count": 1,
            "expert_feed_forward_length": 1408,
            "expert_count": 64,
            "expert_used_count": 6,
            "expert_shared_count": 2,
            "expert_weights_scale": 1.0,
        },
    ),
    "deepseek-r1": (
        "deepseek2",
        (7168, 61, 128, 1, 18432, 129280, 163840),
        {
            "attention.key_length": 576,
            "attention.value_length": 512,
            "attention.key_length_mla": 192,
            "attention.value_length_mla": 128,
            "attention.q_lora_rank": 1536,
            "attention.kv_lora_rank": 512,
            "rope.dimension_count": 64,
            "leading_dense_block_count": 3,
            "expert_feed_forward_length": 2048,
            "expert_count": 256,
            "expert_used_count": 8,
            "expert_shared_count": 1,
            "expert_weights_scale": 2.5,
            "expert_weights_norm": True,
            "expert_gating_func": 2,
            "expert_group_count": 8,
            "expert_group_used_count": 4,
        },
    ),
    "phi-3-mini": (
        "phi3",
        (3072, 32, 32, 32, 8192, 32064, 4096),
        {"rope.dimension_count": 96, "rope.scaling.original_context_length": 4096},
    ),
    "phi-2": (
        "phi2",
        (2560, 32, 32, 32, 10240, 51200, 2048),
        {"rope.dimension_count": 32, "attention.layer_norm_epsilon": 1e-05},
    ),
    "gpt2-small": (
        "gpt2",
        (768, 12, 12, 12, 3072, 50257, 1024),
        {"attention.layer_norm_epsilon": 1e-05},
    ),
    "falcon-7b": (
        "falcon",
        (4544, 32, 71, 1, 18176, 65024, 2048),
        {"attention.layer_norm_epsilon": 1e-05},
    ),
    "falcon-40b": (
        "falcon",
        (8192, 60, 128, 8, 32768, 65024, 2048),
        {"attention.layer_norm_epsilon": 1e-05},
    ),
    "mamba-2.8b": (
        "mamba",
        (2560, 64, 0, 0, 0, 50280, 2048),
        {
            "ssm.conv_kernel": 4,
            "ssm.inner_size": 5120,
            "ssm.state_size": 16,
            "ssm.time_step_rank": 160,
        },
    ),
    "mamba2-2.7b": (
        "mamba2",
        (2560, 64, 0, 0, 0, 50288, 2048),
        {
            "ssm.conv_kernel": 4,
            "ssm.inner_size": 5120,
            "ssm.state_size": 128,
            "ssm.time_step_rank": 80,
            "ssm.group_count": 1,
        },
    ),
    "command-r-35b": (
        "command-r",
        (8192, 40, 64, 64, 22528, 256000, 131072),
        {"logit_scale": 0.0625, "attention.layer_norm_epsilon": 1e-05},
    ),
    "mpt-7b": (
        "mpt",
        (4096, 32, 32, 32, 16384, 50432, 2048),
        {"attention.layer_norm_epsilon": 1e-05, "attention.max_alibi_bias": 8.0},
    ),
    "bloom-7b1": (
        "bloom",
        (4096, 30, 32, 32, 16384, 250880, 2048),
        {"attention.layer_norm_epsilon": 1e-05},
    ),
    "falcon-h1-7b": (
        "falcon-h1",
        (3072, 44, 12, 2, 12288, 130048, 262144),
        {
            "attention.key_length": 128,
            "attention.value_length": 128,
            "ssm.conv_kernel": 4,
            "ssm.inner_size": 3072,
            "ssm.state_size": 256,
            "ssm.time_step_rank": 24,
            "ssm.group_count": 1,
        },
    ),
    "qwen3-next-80b": (
        "qwen3next",
        (2048, 48, 16, 2, 5120, 151936, 262144),
        {
            "attention.key_length": 256,
            "attention.value_length": 256,
            "rope.dimension_count": 64,
            "expert_count": 512,
            "expert_used_count": 10,
            "expert_feed_forward_length": 512,
            "expert_shared_feed_forward_length": 512,
            "ssm.conv_kernel": 4,
            "ssm.state_size": 128,
            "ssm.group_count": 16,
            "ssm.time_step_rank": 32,
            "ssm.inner_size": 4096,
            "full_attention_interval": 4,
        },
    ),
    "rwkv6-7b": (
        "rwkv6",
        (4096, 32, 0, 0, 14336, 65536, 4096),
        {
            "attention.layer_norm_epsilon": 1e-05,
            "wkv.head_size": 64,
            "time_mix_extra_dim": 64,
            "time_decay_extra_dim": 128,
            "rescale_every_n_layers": 6,
        },
    ),
    "llama-4-scout": (
        "llama4",
        (5120, 48, 40, 8, 16384, 202048, 262144),
        {
            "attention.key_length": 128,
            "attention.value_length": 128,
            "expert_count": 16,
            "expert_used_count": 1,
            "expert_feed_forward_length": 8192,
            "interleave_moe_layer_step": 1,
            "attention.chunk_size": 8192,
            "rope.dimension_count": 128,
        },
    ),
    "minimax-m3-428b": (
        "minimax-m3",
        (6144, 60, 64, 4, 12288, 200064, 524288),
        {
            "attention.key_length": 128,
            "attention.value_length": 128,
            "rope.dimension_count": 64,
            "expert_count": 128,
            "expert_used_count": 4,
            "expert_shared_count": 1,
            "expert_feed_forward_length": 3072,
            "expert_gating_func": 2,
            "expert_weights_scale": 2.0,
            "leading_dense_block_count": 3,
            "attention.indexer.head_count": 4,
            "attention.indexer.key_length": 128,
            "attention.indexer.top_k": 16,
            "attention.indexer.block_size": 128,
            "attention.indexer.local_blocks": 1,
        },
    ),
    "glm-5-next": (
        "glm5-next",
        (4096, 45, 64, 1, 12288, 154880, 1048576),
        {
            "attention.head_count_kv": [0, 0, 0, 1] * 11 + [0],
            "attention.key_length": 512,
            "attention.value_length": 512,
            "attention.key_length_mla": 256,
            "attention.value_length_mla": 256,
            "attention.q_lora_rank": 1536,
            "attention.kv_lora_rank": 512,
            "rope.dimension_count": 0,
            "ssm.conv_kernel": 4,
            "kda.head_dim": 128,
            "leading_dense_block_count": 3,
            "expert_count": 288,
            "expert_used_count": 8,
            "expert_shared_count": 1,
            "expert_feed_forward_length": 2048,
            "expert_gating_func": 2,
            "attention.indexer.head_count": 32,
            "attention.indexer.key_length": 128,
            "attention.indexer.top_k": 2048,
            "attention.indexer.kpool": 16,
            "attention.indexer.kpool_select_tail": True,
            "hyper_connection.count": 4,
            "hyper_connection.sinkhorn_iterations": 20,
            "hyper_connection.epsilon": 1e-6,
        },
    ),
    "deepseek-v4-flash": (
        "deepseek4",
        (4096, 43, 64, 1, 2048, 129280, 1048576),
        {
            "attention.key_length": 512,
            "attention.value_length": 512,
            "attention.q_lora_rank": 1024,
            "attention.output_lora_rank": 1024,
            "attention.output_group_count": 8,
            "attention.sliding_window": 128,
            "attention.compress_ratios": [0, 0, *[4, 128] * 20, 4],
            "attention.compress_rope_freq_base": 160000.0,
            "rope.dimension_count": 64,
            "hash_layer_count": 0,
            "expert_count": 256,
            "expert_used_count": 6,
            "expert_shared_count": 1,
            "expert_feed_forward_length": 2048,
            "expert_weights_scale": 1.5,
            "expert_weights_norm": True,
            "expert_gating_func": 4,
            "swiglu_clamp_exp": 10.0,
            "attention.indexer.head_count": 64,
            "attention.indexer.key_length": 128,
            "attention.indexer.top_k": 512,
            "hyper_connection.count": 4,
            "hyper_connection.sinkhorn_iterations": 20,
            "hyper_connection.epsilon": 1e-6,
        },
    ),
    # The class's own default sizes, and an indexer as wide as that of MiniMax-M3.
    "qwen4-exp": (
        "qwen4exp",
        (2048, 40, 16, 2, 5120, 248320, 262144),
        {
            "attention.key_length": 256,
            "attention.value_length": 256,
            "rope.dimension_count": 64,
            "rope.dimension_sections": [11, 11, 10, 0],
            "expert_count": 256,
            "expert_used_count": 8,
            "expert_feed_forward_length": 512,
            "expert_shared_feed_forward_length": 512,
            "ssm.conv_kernel": 4,
            "ssm.state_size": 128,
            "ssm.group_count": 16,
            "ssm.time_step_rank": 32,
            "ssm.inner_size": 4096,
            "full_attention_interval": 4,
            "hyper_connection.count": 4,
            "hyper_connection.low_rank": 320,
            "attention.indexer.head_count": 4,
            "attention.indexer.key_length": 128,
            "attention.indexer.top_k": 2048,
            "attention.compress_ratios": [4] * 40,
        },
    ),
    # Added when the rules of the limit were whole: it had not seen them.
    "gemma-3-27b": (
        "gemma3",
        (5376, 62, 32, 16, 21504, 262208, 131072),
        {
            "attention.key_length": 128,
            "attention.value_length": 128,
            "attention.sliding_window": 1024,
        },
    ),
    "gpt-oss-120b": (
        "gpt-oss",
        (2880, 36, 64, 8, 2880, 201088, 131072),
        {
            "attention.key_length": 64,
            "attention.value_length": 64,
            "expert_count": 128,
            "expert_used_count": 4,
            "expert_feed_forward_length": 2880,
            "attention.sliding_window": 128,
        },
    ),
    "mistral-small-24b": (
        "llama",
        (5120, 40, 32, 8, 32768, 131072, 32768),
        {"attention.key_length": 128, "attention.value_length": 128},
    ),
    "qwen2.5-72b": ("qwen2", (8192, 80, 64, 8, 29568, 152064, 131072), {}),
    "qwen3-235b-a22b": (
        "qwen3moe",
        (4096, 94, 64, 4, 12288, 151936, 40960),
        {
            "attention.key_length": 128,
            "attention.value_length": 128,
            "expert_count": 128,
            "expert_used_count": 8,
            "expert_feed_forward_length": 1536,
        },
    ),
    "olmo-2-13b": ("olmo2", (5120, 40, 40, 40, 13824, 100352, 4096), {}),
    "smollm2-135m": ("llama", (576, 30, 9, 3, 1536, 49152, 8192), {}),
    "starcoder2-7b": (
        "starcoder2",
        (4608, 32, 36, 4, 18432, 49152, 16384),
        {"attention.layer_norm_epsilon": 1e-05},
    ),
}
#: More than any of these files has: a sparse file takes no room.
_SPARSE = 3 * 2**40
_HEADER = 4 * 2**20


def main() -> None:
    asked = options()
    program = compiled(asked.source, asked.build, asked.work)
    record = {} if asked.fresh else unpack(json.loads(FULL_SIZE.read_text()))
    for name, (architecture, numbers, others) in MODELS.items():
        if name in record and name not in asked.only:
            continue
        keys = asked.work / f"{name}.keys.gguf"
        writer = GgufWriter()
        write_key(writer, "general.architecture", architecture)
        own = dict(zip(_NUMBERS, numbers, strict=True)) | others
        own.setdefault("attention.layer_norm_rms_epsilon", 1e-5)
        for key, value in own.items():
            write_key(writer, f"{architecture}.{key}", value)
        write_key(writer, "tokenizer.ggml.model", "no_vocab")
        keys.write_bytes(writer.bytes(0))
        path = asked.work / f"{name}.gguf"
        subprocess.run([str(program), "header", str(keys), str(path)], check=True)
        with path.open("rb") as file:
            shard = FORMAT.read_header(MeteredReader(path.name, file.read(_HEADER)))
        os.truncate(path, _SPARSE)
        settings = {}
        for line in run([str(program), "plan", str(path), *SETTINGS]):
            setting = line.pop("setting", None)
            if setting is not None:
                found = [line.get(key) for key in ("model", "kv", "rs", "compute")]
                settings[setting] = line["refused"].strip() if "refused" in line else found
        path.unlink()
        metadata = {
            key: value for key, value in shard.metadata.items() if not key.startswith("tokenizer.")
        }
        tensors = [[tensor.name, list(tensor.shape), tensor.dtype] for tensor in shard.tensors]
        record[name] = {"keys": metadata, "tensors": tensors, "settings": settings}
        sys.stdout.write(f"{name}: {len(settings)}\n")
    FULL_SIZE.write_text(pack(record, {"llama.cpp": version(asked.source)}))
    json.loads(FULL_SIZE.read_text())


if __name__ == "__main__":
    main()
