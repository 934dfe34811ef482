"""Further cases of record_gguf_types.py: encoder-decoders, joined models, base classes, rerankers,
and classes that are remote code.

``REMOTE`` are not run: their tensors are those that the catalog predicts (``catalog``), so that
the converter is asked about names and shapes alone.
"""

from __future__ import annotations

from typing import Any

_T5 = {
    "d_kv": 32,
    "d_ff": 512,
    "num_decoder_layers": 5,
    "num_heads": 8,
    "feed_forward_proj": "gated-gelu",
    "said": {"decoder_start_token_id": 0},
}
VISION = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "depth": 2,
    "num_attention_heads": 4,
    "num_heads": 4,
    "out_hidden_size": 256,
}
_PATCHES = {"image_size": 28, "patch_size": 14}
HYBRID = {
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 32,
    "linear_value_head_dim": 32,
    "layer_types": None,
}
_GEMMA4 = {
    "hidden_size_per_layer_input": 64,
    "vocab_size_per_layer_input": 320,
    "num_kv_shared_layers": 2,
    "layer_types": None,
    "global_head_dim": 64,
    "num_experts": None,
}
_JOINED = {"text_config": {}, "vision_config": VISION}
_VOXTRAL_AUDIO = {
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 256,
}
_QWEN_AUDIO = {
    "d_model": 64,
    "encoder_layers": 2,
    "encoder_attention_heads": 4,
    "encoder_ffn_dim": 128,
}
_DISTILBERT = {"dim": 256, "hidden_dim": 512}

LIBRARY: dict[str, tuple[str, str, dict[str, Any]]] = {
    "t5": ("t5", "T5ForConditionalGeneration", _T5),
    "t5-relu": (
        "t5",
        "T5ForConditionalGeneration",
        {**_T5, "feed_forward_proj": "relu", "tie_word_embeddings": True},
    ),
    "t5-untied": ("t5", "T5ForConditionalGeneration", {**_T5, "tie_word_embeddings": False}),
    "t5-encoder": ("t5", "T5EncoderModel", _T5),
    "mt5": ("mt5", "MT5ForConditionalGeneration", _T5),
    "umt5": ("umt5", "UMT5ForConditionalGeneration", _T5),
    "mistral3": (
        "mistral3",
        "Mistral3ForConditionalGeneration",
        {"text_config": {}, "vision_config": {**VISION, **_PATCHES, "head_dim": 16}},
    ),
    "ministral3": ("ministral3", "Ministral3ForCausalLM", {}),
    "gemma4-joined": (
        "gemma4",
        "Gemma4ForConditionalGeneration",
        {"text_config": _GEMMA4, "vision_config": VISION, "audio_config": None},
    ),
    "glm4v": ("glm4v", "Glm4vForConditionalGeneration", _JOINED),
    "glm4v_moe": (
        "glm4v_moe",
        "Glm4vMoeForConditionalGeneration",
        {"text_config": {"first_k_dense_replace": 2}, "vision_config": VISION},
    ),
    "glm_ocr": ("glm_ocr", "GlmOcrForConditionalGeneration", _JOINED),
    "hunyuan_vl": ("hunyuan_vl", "HunYuanVLForConditionalGeneration", _JOINED),
    "paddleocr_vl": ("paddleocr_vl", "PaddleOCRVLForConditionalGeneration", _JOINED),
    "llava": (
        "llava",
        "LlavaForConditionalGeneration",
        {"text_config": {}, "vision_config": {**VISION, **_PATCHES}},
    ),
    "voxtral": (
        "voxtral",
        "VoxtralForConditionalGeneration",
        {"text_config": {}, "audio_config": _VOXTRAL_AUDIO},
    ),
    "qwen2_audio": (
        "qwen2_audio",
        "Qwen2AudioForConditionalGeneration",
        {"text_config": {}, "audio_config": _QWEN_AUDIO},
    ),
    "qwen2-base": ("qwen2", "Qwen2Model", {}),
    "qwen3-base": ("qwen3", "Qwen3Model", {}),
    "llama-base": ("llama", "LlamaModel", {}),
    "bloom-base": ("bloom", "BloomModel", {}),
    "lfm2-base": ("lfm2", "Lfm2Model", {"layer_types": None, "full_attn_idxs": [2, 5]}),
    "gemma3-base": ("gemma3_text", "Gemma3TextModel", {}),
    "qwen3_5-text": ("qwen3_5_text", "Qwen3_5ForCausalLM", HYBRID),
    "qwen3_5_moe-text": ("qwen3_5_moe_text", "Qwen3_5MoeForCausalLM", HYBRID),
    "granite_swa": ("granite_swa", "GraniteSWAForCausalLM", {}),
    "bert-words": ("bert", "BertForMaskedLM", {}),
    "bert-classes": ("bert", "BertForSequenceClassification", {}),
    "roberta-classes": ("roberta", "RobertaForSequenceClassification", {}),
    "xlm-roberta-classes": ("xlm-roberta", "XLMRobertaForSequenceClassification", {}),
    "distilbert-words": ("distilbert", "DistilBertForMaskedLM", _DISTILBERT),
    "camembert": ("camembert", "CamembertModel", {}),
}

_GEMMA3N = {
    "model_type": "gemma3n_text",
    "hidden_size": 256,
    "num_hidden_layers": 9,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "vocab_size": 320,
    "max_position_embeddings": 64,
    "intermediate_size": 512,
    "hidden_size_per_layer_input": 64,
    "vocab_size_per_layer_input": 320,
    "laurel_rank": 16,
    "num_kv_shared_layers": 2,
    "layer_types": None,
    "activation_sparsity_pattern": None,
}
_CHATGLM = {
    "num_layers": 9,
    "ffn_hidden_size": 512,
    "kv_channels": 32,
    "multi_query_attention": True,
    "multi_query_group_num": 2,
    "padded_vocab_size": 320,
    "seq_length": 64,
    "add_qkv_bias": True,
    "layernorm_epsilon": 1e-5,
}
_QWEN = {
    "rms_norm_eps": 1e-6,
    "max_position_embeddings": 64,
    "intermediate_size": 1024,
    "kv_channels": 32,
    "seq_length": 64,
    "layer_norm_epsilon": 1e-6,
    "rotary_emb_base": 10000,
}
_DEEPSEEK = {
    "first_k_dense_replace": 1,
    "n_shared_experts": 1,
    "rms_norm_eps": 1e-6,
    "moe_layer_freq": 1,
}
_EXAONE = {
    "layer_norm_epsilon": 1e-5,
    "activation_function": "silu",
    "rms_norm_eps": 1e-6,
    "max_position_embeddings": 64,
}
_BAILING = {
    "rms_norm_eps": 1e-6,
    "num_shared_experts": 1,
    "first_k_dense_replace": 0,
    "norm_topk_prob": True,
}
_MPT = {
    "expansion_ratio": 2,
    "max_seq_len": 64,
    "attn_config": {"alibi": True, "alibi_bias_max": 8, "clip_qkv": None},
}
_RW = {"multi_query": True, "parallel_attn": True, "layer_norm_epsilon": 1e-5, "n_head_kv": 1}
_MINICPM = {
    "num_experts": 0,
    "rms_norm_eps": 1e-6,
    "scale_emb": 12,
    "scale_depth": 1.4,
    "dim_model_base": 256,
}
_DECI = {"rms_norm_eps": 1e-6, "num_key_value_heads_per_layer": [2, 2, 4, 4, 8, 8, 2, 2, 2]}
_NORM = {"rms_norm_eps": 1e-6}
_BAICHUAN = {**_NORM, "num_key_value_heads": 8}
_DBRX = {
    "attn_config": {"kv_n_heads": 2, "clip_qkv": 8, "rope_theta": 500000},
    "ffn_config": {"ffn_hidden_size": 256, "moe_num_experts": 4, "moe_top_k": 2},
    "max_seq_len": 64,
}
_JAIS = {
    "activation_function": "swiglu",
    "position_embedding_type": "alibi",
    "embeddings_scale": 14.6,
    "width_scale": 0.22,
    "layer_norm_epsilon": 1e-5,
    "n_inner": 512,
    "n_positions": 64,
}
_OPENELM = {
    "model_dim": 256,
    "head_dim": 32,
    "num_transformer_layers": 9,
    "num_query_heads": [4, 4, 4, 8, 8, 8, 8, 12, 12],
    "num_kv_heads": [1, 1, 1, 2, 2, 2, 2, 3, 3],
    "ffn_multipliers": [0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 4.0],
    "ffn_dim_divisor": 256,
    "normalize_qk_projections": True,
    "max_context_length": 64,
    "rope_freq_constant": 10000,
    "rope_max_length": 128,
}
_MLA = {
    "q_lora_rank": 64,
    "kv_lora_rank": 64,
    "qk_rope_head_dim": 16,
    "qk_nope_head_dim": 32,
    "v_head_dim": 32,
}
_KIMI = {
    **_NORM,
    **_MLA,
    "q_lora_rank": None,
    "num_key_value_heads": 8,
    "linear_attn_config": {
        "full_attn_layers": [4, 8],
        "kda_layers": [1, 2, 3, 5, 6, 7, 9],
        "head_dim": 32,
        "num_heads": 8,
        "short_conv_kernel_size": 4,
    },
    "first_k_dense_replace": 1,
    "num_shared_experts": 1,
    "routed_scaling_factor": 2.4,
    "moe_router_activation_func": "sigmoid",
}
_KIMI_TEXT = {
    **_MLA,
    "model_type": "deepseek_v3",
    "hidden_size": 256,
    "intermediate_size": 512,
    "moe_intermediate_size": 256,
    "num_hidden_layers": 9,
    "num_attention_heads": 8,
    "num_key_value_heads": 8,
    "vocab_size": 320,
    "max_position_embeddings": 64,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "n_shared_experts": 1,
    "first_k_dense_replace": 2,
    "n_group": 1,
    "topk_group": 1,
}
_MOONVIT = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "patch_size": 14,
    "init_pos_emb_height": 8,
    "init_pos_emb_width": 8,
    "merge_kernel_size": [2, 2],
}

#: Case -> (model type, class, keys of the config).
_REMOTE: dict[str, tuple[str, str, dict[str, Any]]] = {
    "gemma3n-joined": ("gemma3n", "Gemma3nForConditionalGeneration", {"text_config": _GEMMA3N}),
    "chatglm": ("chatglm", "ChatGLMModel", _CHATGLM),
    "internlm2": (
        "internlm2",
        "InternLM2ForCausalLM",
        {**_NORM, "bias": False, "max_position_embeddings": 64},
    ),
    "internlm3": ("internlm3", "InternLM3ForCausalLM", _NORM),
    "qwen": ("qwen", "QWenLMHeadModel", _QWEN),
    "xverse": (
        "xverse",
        "XverseForCausalLM",
        {**_NORM, "num_experts": None, "num_key_value_heads": 8},
    ),
    "orion": ("orion", "OrionForCausalLM", {**_NORM, "model_max_length": 64}),
    "minicpm": ("minicpm", "MiniCPMForCausalLM", _MINICPM),
    "exaone": ("exaone", "ExaoneForCausalLM", _EXAONE),
    "deepseek": ("deepseek", "DeepseekForCausalLM", _DEEPSEEK),
    "mpt": ("mpt", "MPTForCausalLM", _MPT),
    "rw": ("RefinedWebModel", "RWForCausalLM", _RW),
    "bailing_moe": ("bailing_moe", "BailingMoeForCausalLM", _BAILING),
    "pangu": ("PanguEmbedded", "PanguEmbeddedForCausalLM", _NORM),
    "phimoe": (
        "phimoe",
        "PhiMoEForCausalLM",
        {"rms_norm_eps": 1e-5, "original_max_position_embeddings": 64},
    ),
    "dream": ("Dream", "DreamModel", {**_NORM, "mask_token_id": 3, "max_position_embeddings": 64}),
    "iquest": ("iquestcoder", "IQuestCoderForCausalLM", _NORM),
    "deci": ("deci", "DeciLMForCausalLM", _DECI),
    "baichuan": ("baichuan", "BaichuanForCausalLM", _BAICHUAN),
    "baichuan-13b": ("baichuan", "BaichuanForCausalLM", {**_BAICHUAN, "alibi_bias_max": 8}),
    "dbrx": ("dbrx", "DbrxForCausalLM", _DBRX),
    "jais": ("jais", "JAISLMHeadModel", _JAIS),
    "openelm": ("openelm", "OpenELMForCausalLM", _OPENELM),
    "kimi_linear": ("kimi_linear", "KimiLinearForCausalLM", _KIMI),
    "kimi_vl": (
        "kimi_vl",
        "KimiVLForConditionalGeneration",
        {
            "text_config": {**_KIMI_TEXT, "q_lora_rank": None, "num_hidden_layers": 27},
            "vision_config": _MOONVIT,
        },
    ),
    "kimi_k25": (
        "kimi_k25",
        "KimiK25ForConditionalGeneration",
        {"text_config": _KIMI_TEXT, "vision_config": _MOONVIT},
    ),
}
REMOTE = {
    case: (kind, name, {"catalog": True, **own}) for case, (kind, name, own) in _REMOTE.items()
}
