"""Configs of the small models whose ``generate()`` is followed by
``record_transformers_workspace``."""

from __future__ import annotations

from typing import Any

_TOKENS = {"vocab_size": 8000, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
_STACK = {"num_hidden_layers": 2, "max_position_embeddings": 4096, **_TOKENS}
_GROUPED = {
    "hidden_size": 512,
    "intermediate_size": 1408,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "hidden_act": "silu",
    **_STACK,
}
_HEADS = {**_GROUPED, "head_dim": 64}
_WIDE = {**_HEADS, "hidden_size": 1024, "intermediate_size": 4096, "num_attention_heads": 16}
_WIDE["vocab_size"] = 32000
_TWO_KINDS = {"sliding_window": 64, "layer_types": ["sliding_attention", "full_attention"]}
_OLD = {"n_embd": 512, "n_layer": 2, "n_head": 8, "n_positions": 4096, **_TOKENS}
_FEW = {"num_experts_per_tok": 2, "moe_intermediate_size": 384}
_CORRECTED = {
    "n_routed_experts": 8,
    "n_group": 1,
    "topk_group": 1,
    "first_k_dense_replace": 1,
    "n_shared_experts": 1,
}
_LATENT_HEADS = {
    "num_key_value_heads": 8,
    "kv_lora_rank": 128,
    "qk_nope_head_dim": 64,
    "qk_rope_head_dim": 32,
    "v_head_dim": 64,
}
_LATENTS = {
    **_GROUPED,
    **_LATENT_HEADS,
    "n_routed_experts": 8,
    "n_group": 2,
    "topk_group": 1,
    "first_k_dense_replace": 1,
    "q_lora_rank": 192,
    "n_shared_experts": 1,
    **_FEW,
}
_OLD_SEQUENCE = {
    "hidden_size": 512,
    "num_hidden_layers": 2,
    "num_attention_heads": 8,
    "intermediate_size": 2048,
    "hidden_act": "gelu",
    **_TOKENS,
}
_XGLM = {
    "num_layers": 2,
    "attention_heads": 8,
    "max_position_embeddings": 4096,
    "activation_function": "gelu",
    **_TOKENS,
}
_STATES = {"hidden_size": 512, "num_hidden_layers": 2, "hidden_act": "silu", **_TOKENS}
_HEADS_OF_STATES = {"num_heads": 16, "head_dim": 64, "state_size": 64, "n_groups": 1}
_GRIFFIN = {
    **_HEADS,
    "num_hidden_layers": 3,
    "intermediate_size": 3072,
    "lru_width": 512,
    "attention_window_size": 2048,
    "hidden_activation": "gelu_pytorch_tanh",
}
_DELTA = {
    "linear_num_key_heads": 4,
    "linear_num_value_heads": 8,
    "linear_key_head_dim": 64,
    "linear_value_head_dim": 64,
    "layer_types": ["linear_attention", "full_attention"],
}
_WIDE_DELTA = {
    **_DELTA,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 128,
    "linear_value_head_dim": 256,
}
_CONVOLVED = {"layer_types": ["conv", "full_attention"]}
_JAMBA = {
    "num_experts": 4,
    "num_experts_per_tok": 2,
    "attn_layer_period": 2,
    "attn_layer_offset": 1,
    "mamba_dt_rank": 32,
    "use_mamba_kernels": False,
}
_BAMBA = {"mamba_n_heads": 16, "mamba_d_head": 64, "mamba_d_state": 64, "mamba_n_groups": 1}
_NEMOTRON = {
    "layers_block_type": ["linear_attention", "mlp", "full_attention", "mlp"],
    "mlp_hidden_act": "relu2",
    "mamba_num_heads": 16,
    "mamba_head_dim": 64,
    "ssm_state_size": 64,
    "n_groups": 1,
}
_T5 = {
    "d_model": 512,
    "d_kv": 64,
    "d_ff": 2048,
    "num_layers": 2,
    "num_decoder_layers": 2,
    "num_heads": 8,
    "decoder_start_token_id": 0,
    **_TOKENS,
}
_BART = {
    "d_model": 512,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_ffn_dim": 2048,
    "decoder_ffn_dim": 2048,
    "encoder_attention_heads": 8,
    "decoder_attention_heads": 8,
    "max_position_embeddings": 1024,
    "activation_function": "gelu",
    "decoder_start_token_id": 2,
    "forced_eos_token_id": None,
    **_TOKENS,
}
_WIDE_BART = {"d_model": 1024, "encoder_ffn_dim": 4096, "decoder_ffn_dim": 4096, "vocab_size": 2000}
_SOUND = {"max_source_positions": 300, "max_target_positions": 448}
_WIDE_T5 = {"d_model": 1024, "num_heads": 16, "d_ff": 2816, "vocab_size": 2000}
_SWITCH = {
    "dense_act_fn": "relu",
    "num_experts": 8,
    "expert_capacity": 64,
    "num_sparse_encoder_layers": 1,
    "num_sparse_decoder_layers": 1,
}
_NARROW_BART = {"d_model": 256, "encoder_ffn_dim": 512, "decoder_ffn_dim": 512, "vocab_size": 500}
_LED = {
    "max_encoder_position_embeddings": 4096,
    "max_decoder_position_embeddings": 1024,
    "attention_window": 64,
}
_BIG_BIRD = {"block_size": 16, "activation_function": "gelu_new"}
_NLLB = {
    "num_experts": 8,
    "expert_capacity": 64,
    "encoder_sparse_step": 2,
    "decoder_sparse_step": 2,
    "activation_function": "relu",
}
_FSMT = {"src_vocab_size": 8000, "tgt_vocab_size": 8000, "langs": ["en", "de"], "num_beams": 1}
_MOONSHINE = {
    "encoder_hidden_act": "gelu",
    "decoder_hidden_act": "silu",
    "hidden_size": 288,
    "intermediate_size": 1152,
    "encoder_num_hidden_layers": 2,
    "decoder_num_hidden_layers": 2,
    "encoder_num_attention_heads": 8,
    "decoder_num_attention_heads": 8,
    "max_position_embeddings": 512,
    "decoder_start_token_id": 1,
    **_TOKENS,
}
_WIDE_MOONSHINE = {"hidden_size": 416, "intermediate_size": 1664, "vocab_size": 2000}
_LINEAR_HEADS = {"linear_head_dim": 64, "linear_num_heads": 8}
_LINEAR_FIRST = {
    "layer_types": ["linear_attention", "full_attention"],
    "mlp_layer_types": ["dense", "sparse"],
}
_KIMI = {
    **_GROUPED,
    **_LATENT_HEADS,
    "moe_intermediate_size": 384,
    "n_shared_experts": 1,
    "num_experts_per_tok": 2,
    "num_local_experts": 8,
    **_LINEAR_HEADS,
    "linear_conv_kernel_dim": 4,
    **_LINEAR_FIRST,
}
_WIDE_KIMI = {"hidden_size": 768, "linear_head_dim": 128, "vocab_size": 2000}
_XLSTM = {"hidden_size": 512, "num_hidden_layers": 2, "num_heads": 4, **_TOKENS}
_ZAMBA = {
    **_GROUPED,
    "num_key_value_heads": 8,
    "hidden_act": "gelu",
    "n_mamba_heads": 2,
    "mamba_dt_rank": 32,
    "use_mamba_kernels": False,
    "num_hidden_layers": 4,
    "layers_block_type": ["mamba", "hybrid"] * 2,
}
#: Name -> config.json; the type is the name up to a space.
MODELS: dict[str, dict[str, Any]] = {
    "llama": _GROUPED,
    "llama wide": _WIDE,
    "llama narrow": {**_GROUPED, "hidden_size": 128, "intermediate_size": 344, "head_dim": 16},
    "mistral": {**_GROUPED, "sliding_window": 64},
    "qwen2": _GROUPED,
    "qwen3": _HEADS,
    "qwen3 wide": _WIDE,
    "gemma": {**_HEADS, "hidden_act": "gelu_pytorch_tanh"},
    "gemma2": {**_HEADS, **_TWO_KINDS, "hidden_activation": "gelu_pytorch_tanh"},
    "gemma3_text": {**_HEADS, **_TWO_KINDS, "hidden_activation": "gelu_pytorch_tanh"},
    "gemma3_text wide": {**_WIDE, **_TWO_KINDS, "hidden_activation": "gelu_pytorch_tanh"},
    "phi3": _GROUPED,
    "phi": {**_GROUPED, "num_key_value_heads": 8, "hidden_act": "gelu_new"},
    "olmo2": _GROUPED,
    "cohere": _GROUPED,
    "granite": _GROUPED,
    "stablelm": _GROUPED,
    "smollm3": _GROUPED,
    "starcoder2": {**_GROUPED, "intermediate_size": 2048, "hidden_act": "gelu_pytorch_tanh"},
    "gpt2": {**_OLD, "activation_function": "gelu_new"},
    "gptj": {**_OLD, "rotary_dim": 32, "activation_function": "gelu_new"},
    "opt": {
        **_STACK,
        "hidden_size": 512,
        "ffn_dim": 2048,
        "num_attention_heads": 8,
        "word_embed_proj_dim": 512,
        "activation_function": "relu",
    },
    "gpt_neox": {
        **_STACK,
        "hidden_size": 512,
        "intermediate_size": 2048,
        "num_attention_heads": 8,
        "hidden_act": "gelu",
    },
    "bloom": {"hidden_size": 512, "n_layer": 2, "n_head": 8, **_TOKENS},
    "falcon": {**_STACK, "hidden_size": 512, "num_attention_heads": 8, "activation": "gelu"},
    "mixtral": {**_GROUPED, "num_local_experts": 8, "num_experts_per_tok": 2},
    "qwen2_moe": {**_GROUPED, **_FEW, "num_experts": 8, "shared_expert_intermediate_size": 1024},
    "qwen3_moe": {**_HEADS, **_FEW, "num_experts": 16},
    "qwen3_moe wide": {**_WIDE, **_FEW, "num_experts": 16, "num_experts_per_tok": 8},
    "olmoe": {**_GROUPED, "num_experts": 8, "num_experts_per_tok": 2},
    "gpt_oss": {**_HEADS, **_TWO_KINDS, "num_local_experts": 8, "num_experts_per_tok": 2},
    "deepseek_v3": _LATENTS,
    # Recorded when the rule was written.
    "olmo3": {**_HEADS, **_TWO_KINDS},
    "exaone4": {**_HEADS, **_TWO_KINDS},
    "nemotron": {**_GROUPED, "hidden_act": "relu2"},
    "ernie4_5": _GROUPED,
    "glm4": _HEADS,
    "cohere2": {**_GROUPED, **_TWO_KINDS},
    "helium": _HEADS,
    "seed_oss": _HEADS,
    "hunyuan_v1_dense": _HEADS,
    "gpt_bigcode": {**_OLD, "activation_function": "gelu_pytorch_tanh"},
    "gpt_neo": {
        **_STACK,
        "hidden_size": 512,
        "num_layers": 2,
        "num_heads": 8,
        "intermediate_size": 2048,
        "attention_types": [[["global", "local"], 1]],
        "window_size": 64,
        "activation_function": "gelu_new",
    },
    "persimmon": {**_GROUPED, "num_key_value_heads": 8, "hidden_act": "relu2"},
    "glm4_moe": {**_HEADS, **_FEW, **_CORRECTED},
    "ernie4_5_moe": {**_GROUPED, **_FEW, "moe_num_experts": 8, "moe_k": 2},
    "phimoe": {**_GROUPED, "num_local_experts": 8, "num_experts_per_tok": 2},
    "dots1": {**_HEADS, **_FEW, **_CORRECTED},
    # Recorded with the rules of states, of encoders and of scores at 16 bits.
    "codegen": {**_OLD, "rotary_dim": 32, "n_ctx": 4096},
    "biogpt": {**_OLD_SEQUENCE, "max_position_embeddings": 4096},
    "xglm": {**_XGLM, "d_model": 512, "ffn_dim": 2048},
    "xglm wide": {**_XGLM, "d_model": 1024, "ffn_dim": 4096, "attention_heads": 16},
    "mamba": _STATES,
    "mamba wide": {**_STATES, "hidden_size": 768, "state_size": 32, "expand": 3},
    "falcon_mamba": _STATES,
    "mamba2": {**_STATES, **_HEADS_OF_STATES},
    "mamba2 wide": {
        **_STATES,
        "hidden_size": 768,
        "num_heads": 48,
        "head_dim": 32,
        "state_size": 128,
        "n_groups": 2,
        "chunk_size": 64,
    },
    "rwkv": {**_STATES, "attention_hidden_size": 512, "context_length": 4096},
    "recurrent_gemma": _GRIFFIN,
    "recurrent_gemma wide": {**_GRIFFIN, "lru_width": 1024, "intermediate_size": 1024},
    "qwen3_next": {**_HEADS, **_DELTA, **_FEW, "num_experts": 8},
    "qwen3_next wide": {**_WIDE, **_WIDE_DELTA, **_FEW, "num_experts": 8},
    "qwen3_5_text": {**_HEADS, **_DELTA},
    "olmo_hybrid": {**_HEADS, **_DELTA, "num_key_value_heads": 8},
    "olmo_hybrid wide": {
        **_WIDE,
        **_DELTA,
        "num_key_value_heads": 16,
        "linear_num_key_heads": 8,
        "linear_key_head_dim": 96,
        "linear_value_head_dim": 192,
    },
    "lfm2": {**_GROUPED, **_CONVOLVED, "block_auto_adjust_ff_dim": False},
    "lfm2 wide": {**_WIDE, **_CONVOLVED, "block_auto_adjust_ff_dim": False},
    "lfm2_moe": {**_GROUPED, **_CONVOLVED, **_FEW, "num_experts": 8, "num_dense_layers": 1},
    "jamba": {**_GROUPED, **_JAMBA},
    "jamba wide": {**_GROUPED, **_JAMBA, "hidden_size": 1024, "mamba_d_state": 8},
    "bamba": {**_GROUPED, **_BAMBA, "attn_layer_indices": [1]},
    "bamba wide": {**_WIDE, **_BAMBA, "mamba_n_heads": 32, "attn_layer_indices": [1]},
    "zamba2": {
        **_GROUPED,
        "num_key_value_heads": 8,
        "n_mamba_heads": 16,
        "mamba_headdim": 64,
        "layers_block_type": ["mamba", "hybrid"],
        "hidden_act": "gelu",
    },
    "granitemoehybrid": {
        **_GROUPED,
        **_BAMBA,
        "layer_types": ["mamba", "attention"],
        "num_local_experts": 4,
        "num_experts_per_tok": 2,
        "shared_intermediate_size": 512,
    },
    "nemotron_h": {**_HEADS, **_NEMOTRON},
    "nemotron_h wide": {**_HEADS, **_NEMOTRON, "mamba_num_heads": 32, "chunk_size": 256},
    "falcon_h1": {**_GROUPED, **_BAMBA, "mamba_d_ssm": 1024},
    "minimax": {
        **_GROUPED,
        "num_local_experts": 4,
        "num_experts_per_tok": 2,
        "layer_types": ["linear_attention", "full_attention"],
    },
    "t5": {**_T5, "feed_forward_proj": "relu"},
    "t5 wide": {**_T5, "feed_forward_proj": "gated-gelu", "d_model": 1024, "num_heads": 4},
    "mt5": {**_T5, "feed_forward_proj": "gated-gelu", "d_ff": 1024},
    "umt5": {**_T5, "feed_forward_proj": "gated-gelu", "d_ff": 1024},
    "bart": _BART,
    "bart wide": {**_BART, **_WIDE_BART},
    "mbart": _BART,
    "pegasus": {**_BART, "activation_function": "relu"},
    "marian": {**_BART, "activation_function": "swish", "decoder_vocab_size": 8000},
    "m2m_100": {**_BART, "activation_function": "relu"},
    "m2m_100 wide": {**_BART, **_WIDE_BART, "activation_function": "relu"},
    "blenderbot": _BART,
    "blenderbot-small": _BART,
    "plbart": _BART,
    "mvp": _BART,
    "whisper": {**_BART, **_SOUND},
    "whisper wide": {**_BART, **_SOUND, **_WIDE_BART, "max_source_positions": 1500},
    "speech_to_text": {**_BART, **_SOUND, "max_source_positions": 2000},
    # Recorded last: encoders of blocks, experts of encoders, gated states.
    "umt5 wide": {**_T5, "feed_forward_proj": "gated-gelu", **_WIDE_T5},
    "longt5": {**_T5, "feed_forward_proj": "gated-gelu", "local_radius": 31},
    "longt5 wide": {**_T5, **_WIDE_T5, "encoder_attention_type": "transient-global"},
    "switch_transformers": {**_T5, **_SWITCH},
    "switch_transformers wide": {**_T5, **_SWITCH, **_WIDE_T5, "num_experts": 16},
    "led": {**_BART, **_LED},
    "led wide": {**_BART, **_WIDE_BART, **_LED, "attention_window": 128},
    "led narrow": {**_BART, **_NARROW_BART, **_LED, "attention_window": 256},
    "bigbird_pegasus blocks": {**_BART, **_NARROW_BART, "block_size": 32, "num_random_blocks": 1},
    "bigbird_pegasus": {**_BART, **_BIG_BIRD},
    "bigbird_pegasus wide": {**_BART, **_WIDE_BART, **_BIG_BIRD, "attention_type": "original_full"},
    "pegasus_x": {**_BART, "block_size": 64, "forced_eos_token_id": None},
    "pegasus_x wide": {**_BART, **_WIDE_BART, "num_global_tokens": 64},
    "nllb-moe": {**_BART, **_NLLB},
    "nllb-moe wide": {**_BART, **_WIDE_BART, **_NLLB, "num_experts": 16},
    "fsmt": {**_BART, **_FSMT},
    "fsmt wide": {**_BART, **_WIDE_BART, **_FSMT, "tgt_vocab_size": 2000},
    "moonshine": _MOONSHINE,
    "moonshine wide": {**_MOONSHINE, **_WIDE_MOONSHINE},
    "kimi_linear": _KIMI,
    "kimi_linear wide": {**_KIMI, **_WIDE_KIMI},
    "xlstm": _XLSTM,
    "xlstm wide": {**_XLSTM, "hidden_size": 1024, "num_heads": 8, "vocab_size": 500},
    "zamba": _ZAMBA,
    "zamba wide": {**_ZAMBA, "hidden_size": 768, "attention_hidden_size": 1536},
    "qwen3_5_moe_text": {**_HEADS, **_DELTA, **_FEW, "num_experts": 8},
}
