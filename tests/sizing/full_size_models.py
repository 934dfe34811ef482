"""The key-values of models of full size, as llama.cpp's converter writes them: what
``record_llama_cpp_full_size`` records."""

from __future__ import annotations

from typing import Any

NUMBERS = (
    "embedding_length",
    "block_count",
    "attention.head_count",
    "attention.head_count_kv",
    "feed_forward_length",
    "vocab_size",
    "context_length",
)
_HEADS_OF_128 = {"attention.key_length": 128, "attention.value_length": 128}

_DELTA_NET = {
    "ssm.conv_kernel": 4,
    "ssm.state_size": 128,
    "ssm.group_count": 16,
    "ssm.time_step_rank": 32,
    "ssm.inner_size": 4096,
}
_LATENTS = {
    "attention.key_length": 576,
    "attention.value_length": 512,
    "attention.key_length_mla": 192,
    "attention.value_length_mla": 128,
    "attention.kv_lora_rank": 512,
    "rope.dimension_count": 64,
}


_EXPERTS = ("expert_count", "expert_used_count", "expert_feed_forward_length")


def _experts(*numbers: int) -> dict[str, int]:
    return dict(zip(_EXPERTS, numbers, strict=False))


#: name -> (architecture, numbers of NUMBERS, other key-values)
MODELS: dict[str, tuple[str, tuple[int, ...], dict[str, Any]]] = {
    "llama-3-8b": ("llama", (4096, 32, 32, 8, 14336, 128256, 8192), {}),
    "llama-2-7b": ("llama", (4096, 32, 32, 32, 11008, 32000, 4096), {}),
    "llama-3-70b": ("llama", (8192, 80, 64, 8, 28672, 128256, 8192), {}),
    "mixtral-8x7b": ("llama", (4096, 32, 32, 8, 14336, 32000, 32768), _experts(8, 2)),
    "qwen2.5-0.5b": ("qwen2", (896, 24, 14, 2, 4864, 151936, 32768), {}),
    "qwen2.5-7b": ("qwen2", (3584, 28, 28, 4, 18944, 152064, 131072), {}),
    "qwen2.5-32b": ("qwen2", (5120, 64, 40, 8, 27648, 152064, 131072), {}),
    "qwen3-4b": ("qwen3", (2560, 36, 32, 8, 9728, 151936, 40960), _HEADS_OF_128),
    "qwen3-30b-a3b": (
        "qwen3moe",
        (2048, 48, 32, 4, 6144, 151936, 40960),
        {**_HEADS_OF_128, **_experts(128, 8, 768)},
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
            **_experts(32, 4, 2880),
            "attention.sliding_window": 128,
        },
    ),
    "deepseek-v2-lite": (
        "deepseek2",
        (2048, 27, 16, 1, 10944, 102400, 163840),
        {
            **_LATENTS,
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
            **_LATENTS,
            "attention.q_lora_rank": 1536,
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
            **_HEADS_OF_128,
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
            **_experts(512, 10, 512),
            "expert_shared_feed_forward_length": 512,
            **_DELTA_NET,
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
            **_HEADS_OF_128,
            **_experts(16, 1, 8192),
            "interleave_moe_layer_step": 1,
            "attention.chunk_size": 8192,
            "rope.dimension_count": 128,
        },
    ),
    "minimax-m3-428b": (
        "minimax-m3",
        (6144, 60, 64, 4, 12288, 200064, 524288),
        {
            **_HEADS_OF_128,
            "rope.dimension_count": 64,
            **_experts(128, 4, 3072),
            "expert_shared_count": 1,
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
            **_experts(288, 8, 2048),
            "expert_shared_count": 1,
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
            **_experts(256, 6, 2048),
            "expert_shared_count": 1,
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
            **_experts(256, 8, 512),
            "expert_shared_feed_forward_length": 512,
            **_DELTA_NET,
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
        {**_HEADS_OF_128, "attention.sliding_window": 1024},
    ),
    "gpt-oss-120b": (
        "gpt-oss",
        (2880, 36, 64, 8, 2880, 201088, 131072),
        {
            "attention.key_length": 64,
            "attention.value_length": 64,
            **_experts(128, 4, 2880),
            "attention.sliding_window": 128,
        },
    ),
    "mistral-small-24b": ("llama", (5120, 40, 32, 8, 32768, 131072, 32768), _HEADS_OF_128),
    "qwen2.5-72b": ("qwen2", (8192, 80, 64, 8, 29568, 152064, 131072), {}),
    "qwen3-235b-a22b": (
        "qwen3moe",
        (4096, 94, 64, 4, 12288, 151936, 40960),
        {**_HEADS_OF_128, **_experts(128, 8, 1536)},
    ),
    "olmo-2-13b": ("olmo2", (5120, 40, 40, 40, 13824, 100352, 4096), {}),
    "smollm2-135m": ("llama", (576, 30, 9, 3, 1536, 49152, 8192), {}),
    "starcoder2-7b": (
        "starcoder2",
        (4608, 32, 36, 4, 18432, 49152, 16384),
        {"attention.layer_norm_epsilon": 1e-05},
    ),
    # Recorded when the rules of experts and of DeepSeek-V4's rows were rewritten.
    "mixtral-8x22b": ("llama", (6144, 56, 48, 8, 16384, 32768, 65536), _experts(8, 2)),
    "olmoe-7b": (
        "olmoe",
        (2048, 16, 16, 16, 1024, 50304, 4096),
        {"expert_count": 64, "expert_used_count": 8},
    ),
    "qwen2-57b-a14b": (
        "qwen2moe",
        (3584, 28, 28, 4, 18944, 151936, 131072),
        {**_experts(64, 8, 2560), "expert_shared_feed_forward_length": 20480},
    ),
    "glm-4.5-air": (
        "glm4moe",
        (4096, 46, 96, 8, 10944, 151552, 131072),
        {
            **_HEADS_OF_128,
            "rope.dimension_count": 64,
            "leading_dense_block_count": 1,
            **_experts(128, 8, 1408),
            "expert_shared_count": 1,
            "expert_gating_func": 2,
            "expert_weights_norm": True,
            "expert_weights_scale": 1.0,
        },
    ),
    "hunyuan-a13b": (
        "hunyuan-moe",
        (4096, 32, 32, 8, 3072, 128167, 32768),
        {
            **_HEADS_OF_128,
            **_experts(64, 8, 3072),
            "expert_shared_count": 1,
            "expert_shared_feed_forward_length": 3072,
        },
    ),
    "dots.llm1": (
        "dots1",
        (4096, 62, 32, 32, 10944, 152064, 32768),
        {
            **_HEADS_OF_128,
            "leading_dense_block_count": 1,
            **_experts(128, 6, 1408),
            "expert_shared_count": 2,
            "expert_gating_func": 2,
            "expert_weights_norm": True,
            "expert_weights_scale": 2.5,
        },
    ),
    "granite-3.1-3b-a800m": (
        "granitemoe",
        (1536, 32, 24, 8, 512, 49155, 131072),
        {
            "expert_count": 40,
            "expert_used_count": 8,
            "attention.scale": 0.015625,
            "embedding_scale": 12.0,
            "residual_scale": 0.22,
            "logit_scale": 6.0,
        },
    ),
    "gemma-2-27b": (
        "gemma2",
        (4608, 46, 32, 16, 36864, 256000, 8192),
        {**_HEADS_OF_128, "attention.sliding_window": 4096},
    ),
    "command-a": (
        "cohere2",
        (12288, 64, 96, 8, 36864, 256000, 131072),
        {
            **_HEADS_OF_128,
            "attention.sliding_window": 4096,
            "attention.layer_norm_epsilon": 1e-05,
            "logit_scale": 0.25,
        },
    ),
    "qwen3-coder-480b": (
        "qwen3moe",
        (6144, 62, 96, 8, 8192, 151936, 262144),
        {**_HEADS_OF_128, **_experts(160, 8, 2560)},
    ),
    "ernie-4.5-21b-a3b": (
        "ernie4_5-moe",
        (2560, 28, 20, 4, 12288, 103424, 131072),
        {
            **_HEADS_OF_128,
            **_experts(64, 6, 1536),
            "expert_shared_count": 2,
            "expert_shared_feed_forward_length": 3072,
            "interleave_moe_layer_step": 1,
            "leading_dense_block_count": 1,
        },
    ),
    "phi-3.5-moe": (
        "phimoe",
        (4096, 32, 32, 8, 6400, 32064, 131072),
        {
            "expert_count": 16,
            "expert_used_count": 2,
            "rope.dimension_count": 128,
            "rope.scaling.original_context_length": 4096,
            "attention.sliding_window": 131072,
        },
    ),
    "qwen1.5-moe-a2.7b": (
        "qwen2moe",
        (2048, 24, 16, 16, 5632, 151936, 8192),
        {**_experts(60, 4, 1408), "expert_shared_feed_forward_length": 5632},
    ),
    "grok-1": ("grok", (6144, 64, 48, 8, 32768, 131072, 8192), _experts(8, 2)),
}
