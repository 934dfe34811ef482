"""Configs of small models of types that were chosen to judge rules written before, and of types
whose rules came last; ``record_transformers_workspace`` follows them with long prompts too."""

from typing import Any, Final

from tests.sizing.workspace_models import (
    _BART,
    _FEW,
    _FSMT,
    _GROUPED,
    _HEADS,
    _LATENT_HEADS,
    _LATENTS,
    _LINEAR_FIRST,
    _LINEAR_HEADS,
    _NARROW_BART,
    _NLLB,
    _OLD,
    _STACK,
    _T5,
    _TOKENS,
    _TWO_KINDS,
    _WIDE_BART,
    _XGLM,
)
from tests.sizing.workspace_models import MODELS as FIRST

_ALONE: Final = {**_HEADS, "num_key_value_heads": 8}
_DECODES: Final = {**_ALONE, "is_decoder": True}
_EXPERTS: Final = {
    **_HEADS,
    **_FEW,
    "num_local_experts": 8,
    "num_experts": 8,
    "n_routed_experts": 8,
}
_ONE_GROUP: Final = {**_LATENTS, "n_group": 1}
_INDEX: Final = {"index_topk": 64, "index_head_dim": 64, "index_n_heads": 4}
_INDEXED: Final = {**_ONE_GROUP, **_INDEX}
_GEMMA: Final = {**_HEADS, **_TWO_KINDS, "hidden_activation": "gelu_pytorch_tanh"}
_DELTA: Final = {
    "linear_num_key_heads": 4,
    "linear_num_value_heads": 8,
    "linear_key_head_dim": 64,
    "linear_value_head_dim": 64,
}
_PER_LAYER: Final = {"hidden_size_per_layer_input": 64, "vocab_size_per_layer_input": 8000}
_TOWER: Final = {
    "hidden_size": 64,
    "intermediate_size": 64,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
}
_NEXT: Final = {
    "text_config": {
        **_EXPERTS,
        **_INDEX,
        "model_type": "glm5_next_text",
        **_LATENT_HEADS,
        "q_lora_rank": 192,
        "qk_rope_head_dim": 0,
        "head_dim": 0,
        "n_group": 1,
        "topk_group": 1,
        **_LINEAR_FIRST,
        **_LINEAR_HEADS,
        "indexer_types": ["full", "full"],
    },
    "vision_config": {**_TOWER, "out_hidden_size": 512},
}
_MINICPM: Final = {
    "text_config": {"model_type": "qwen3_5_text", **FIRST["qwen3_5_text"]},
    "vision_config": _TOWER,
    "image_token_id": 7999,
    "video_token_id": 7998,
}
_KOSMOS: Final = {
    "embed_dim": 512,
    "layers": 2,
    "attention_heads": 8,
    "ffn_dim": 2048,
    "activation_function": "gelu",
    **_TOKENS,
}
_NARROW: Final = {"embed_dim": 128, "attention_heads": 2, "ffn_dim": 512, "vocab_size": 500}
#: Fewer positions than the prompts have tokens: tables of sines are made anew for each.
_SHORT: Final = {"max_position_embeddings": 64}
_SPEECH: Final = {
    "hidden_size": 512,
    **{key: _BART[key] for key in _BART if key.startswith(("encoder_", "decoder_"))},
    "decoder_start_token_id": 2,
    **_TOKENS,
    "architectures": ["SpeechT5ForSpeechToText"],
}
_TROCR: Final = {
    "d_model": 512,
    "decoder_layers": 2,
    "decoder_attention_heads": 8,
    "decoder_ffn_dim": 2048,
    "max_position_embeddings": 4096,
    "cross_attention_hidden_size": None,
    "activation_function": "gelu",
    **_TOKENS,
}
_LAYERS: Final = {
    "hidden_size": 512,
    "num_hidden_layers": 2,
    "num_attention_heads": 8,
    "intermediate_size": 2048,
    "hidden_act": "gelu",
}
_OF_TEXT: Final = {**_LAYERS, "max_position_embeddings": 4096, **_TOKENS}
_OF_SOUND: Final = {**_LAYERS, "vocab_size": 32, "pad_token_id": 0}
_BESIDE: Final = {"is_decoder": True, "add_cross_attention": True}
_WIDER: Final = {"hidden_size": 1024, "intermediate_size": 4096, "vocab_size": 2000}
_NARROWER: Final = {
    "hidden_size": 128,
    "intermediate_size": 512,
    "num_attention_heads": 2,
    "vocab_size": 500,
}
_GPT2: Final = {"model_type": "gpt2", **_OLD, "activation_function": "gelu_new", **_BESIDE}
_MBART: Final = {
    "model_type": "mbart",
    **{key: value for key, value in _BART.items() if key != "forced_eos_token_id"},
    "max_position_embeddings": 4096,
    **_BESIDE,
}


def _pair(encoder: dict[str, Any], decoder: dict[str, Any]) -> dict[str, Any]:
    ends = {"decoder_start_token_id": 1, "pad_token_id": 0, "is_encoder_decoder": True}
    return {"encoder": encoder, "decoder": decoder, **ends}


def _text(name: str, **more: int) -> dict[str, Any]:
    return {"model_type": name, **_OF_TEXT, **more}


def _beside(name: str, **more: int) -> dict[str, Any]:
    return {**_text(name, **more), **_BESIDE}


_PAIRS: Final = {
    "encoder-decoder": _pair(_text("bert"), _beside("bert")),
    "encoder-decoder roberta": _pair(_text("roberta"), _beside("roberta", **_WIDER)),
    "encoder-decoder gpt2": _pair(_text("bert", **_WIDER), _GPT2),
    "encoder-decoder generation": _pair(
        _text("bert-generation", **_NARROWER), _beside("bert-generation")
    ),
    "encoder-decoder camembert": _pair(_text("camembert"), _beside("xlm-roberta", **_NARROWER)),
    "encoder-decoder xlm-roberta": _pair(_text("xlm-roberta", **_WIDER), _beside("camembert")),
    "vision-encoder-decoder": _pair({"model_type": "vit", **_LAYERS}, _beside("bert")),
    "vision-encoder-decoder deit": _pair(
        {"model_type": "deit", **_LAYERS, "image_size": 384},
        {"model_type": "trocr", **_TROCR, **_BESIDE},
    ),
    "vision-encoder-decoder beit": _pair(
        {"model_type": "beit", **_LAYERS, "image_size": 384}, _beside("roberta")
    ),
    "vision-encoder-decoder narrow": _pair(
        {"model_type": "vit", **_LAYERS}, {**_GPT2, "n_embd": 128, "n_head": 2, "vocab_size": 500}
    ),
    "vision-encoder-decoder mbart": _pair(
        {"model_type": "vit", **_LAYERS, **_WIDER, "image_size": 384, "patch_size": 32}, _MBART
    ),
    "speech-encoder-decoder": _pair({"model_type": "wav2vec2", **_OF_SOUND}, _MBART),
    "speech-encoder-decoder norms": _pair(
        {
            "model_type": "wav2vec2",
            **_OF_SOUND,
            "feat_extract_norm": "layer",
            "do_stable_layer_norm": True,
            "conv_bias": True,
        },
        _beside("bert"),
    ),
    "speech-encoder-decoder hubert": _pair(
        {
            "model_type": "hubert",
            **_OF_SOUND,
            "hidden_size": 1024,
            "num_attention_heads": 16,
            "intermediate_size": 4096,
        },
        _GPT2,
    ),
}
#: Name -> config.json; the type is the name up to a space.
TYPES: dict[str, dict[str, Any]] = {
    **dict.fromkeys(("diffllama", "doge", "flint", "glm", "hrm_text"), _HEADS),
    **dict.fromkeys(("hyperclovax", "nanochat", "olmo"), _HEADS),
    **{name: {**_HEADS, **_TWO_KINDS} for name in ("cwm", "ministral")},
    **{name: {**_HEADS, "hidden_act": "relu2"} for name in ("arcee", "bitnet")},
    **{name: {**_EXPERTS, **_TWO_KINDS} for name in ("cohere2_moe", "mellum")},
    **dict.fromkeys(("flex_olmo", "lfm3", "mimo_v2_flash", "minimax_m2"), _EXPERTS),
    "granitemoe": {**_EXPERTS, "intermediate_size": 384},
    "granitemoeshared": {**_EXPERTS, "intermediate_size": 384, "shared_intermediate_size": 512},
    "bert-generation": _DECODES,
    "big_bird": {
        **_DECODES,
        "attention_type": "original_full",
        "architectures": ["BigBirdForCausalLM"],
    },
    **{
        name: {**_DECODES, "architectures": [f"{stem}ForCausalLM"]}
        for name, stem in {
            "megatron-bert": "MegatronBert",
            "rembert": "RemBert",
            "roberta-prelayernorm": "RobertaPreLayerNorm",
            "xlm-roberta-xl": "XLMRobertaXL",
        }.items()
    },
    **dict.fromkeys(("glm4_moe_lite", "axk1"), _ONE_GROUP),
    **dict.fromkeys(("axk2", "deepseek_v32", "dots3_note_text", "glm_moe_dsa"), _INDEXED),
    "glm_moe_dsa wide": {**_ONE_GROUP, **_INDEX, "index_n_heads": 16},
    **dict.fromkeys(("minicpm_ocr", "minicpmv4_6", "minicpmv4_7"), _MINICPM),
    "afmoe": {**_EXPERTS, **_TWO_KINDS, "num_dense_layers": 1, "num_shared_experts": 1},
    "apertus": {**_HEADS, "hidden_act": "xielu"},
    "aria_text": {**_HEADS, "moe_num_experts": 8, "moe_topk": 2},
    "ctrl": {"n_embd": 512, "n_layer": 2, "n_head": 8, "dff": 2048, "n_positions": 4096, **_TOKENS},
    "dbrx": {
        "d_model": 512,
        "n_heads": 8,
        "n_layers": 2,
        "max_seq_len": 4096,
        "attn_config": {"kv_n_heads": 2, "rope_theta": 10000.0, "clip_qkv": 8},
        "ffn_config": {
            "ffn_hidden_size": 768,
            "moe_num_experts": 8,
            "moe_top_k": 4,
            "hidden_size": 512,
        },
        **_TOKENS,
    },
    "deepseek_v2": {**_LATENTS, "num_local_experts": 8, "topk_method": "greedy"},
    "deepseek_v4": {
        **_ONE_GROUP,
        **_INDEX,
        "head_dim": 64,
        "num_key_value_heads": 1,
        "o_groups": 2,
        "o_lora_rank": 64,
    },
    "exaone_moe": {
        **_EXPERTS,
        **_TWO_KINDS,
        "num_shared_experts": 1,
        "n_group": 1,
        "topk_group": 1,
        "first_k_dense_replace": 1,
        "mlp_layer_types": ["dense", "sparse"],
    },
    "gemma3n_text": {
        **_GEMMA,
        **_PER_LAYER,
        "num_kv_shared_layers": 0,
        "laurel_rank": 16,
        "activation_sparsity_pattern": [0.0, 0.0],
    },
    "gemma4_text": {**_GEMMA, **_PER_LAYER, "global_head_dim": 128, "num_kv_shared_layers": 0},
    "gpt_neox_japanese": {
        **_STACK,
        "hidden_size": 512,
        "num_attention_heads": 8,
        "intermediate_multiple_size": 4,
        "hidden_act": "gelu",
    },
    "hunyuan_v1_moe": {**_HEADS, "num_experts": 8, "moe_topk": 2, "moe_intermediate_size": 384},
    "hy_v3": {**_EXPERTS, "num_shared_experts": 1, "first_k_dense_replace": 1},
    "hy_v4": {
        **_EXPERTS,
        **_INDEX,
        **_LATENT_HEADS,
        "q_lora_rank": 192,
    },
    "jais2": {**_ALONE, "hidden_act": "relu2"},
    "jetmoe": {
        **_GROUPED,
        "num_local_experts": 8,
        "num_experts_per_tok": 2,
        "kv_channels": 64,
        "num_key_value_heads": 4,
        "intermediate_size": 768,
    },
    "laguna": {**_EXPERTS, **_TWO_KINDS, "shared_expert_intermediate_size": 384},
    "llama4_text": {
        **_HEADS,
        "intermediate_size": 384,
        "intermediate_size_mlp": 1408,
        "num_local_experts": 4,
        "num_experts_per_tok": 1,
        "interleave_moe_layer_step": 2,
        "attention_chunk_size": 64,
    },
    "longcat_flash": {
        **_LATENTS,
        "num_layers": 2,
        "ffn_hidden_size": 1408,
        "expert_ffn_hidden_size": 384,
        "moe_topk": 2,
        "zero_expert_num": 2,
        "head_dim": 32,
    },
    "minimax_m3_vl_text": {
        **_EXPERTS,
        **_INDEX,
        "dense_intermediate_size": 1408,
        "shared_intermediate_size": 384,
    },
    "ministral3": {**_HEADS, "sliding_window": None},
    "modernbert-decoder": {**_ALONE, "global_attn_every_n_layers": 2, "local_attention": 64},
    "moshi": {**_ALONE, "ffn_dim": 2816},
    "mpt": {
        "d_model": 512,
        "n_heads": 8,
        "n_layers": 2,
        "max_seq_len": 4096,
        "use_cache": True,
        **_TOKENS,
    },
    "solar_open": {**_EXPERTS, "n_shared_experts": 1, "n_group": 1, "topk_group": 1},
    "trocr": _TROCR,
    "trocr sines": {**_TROCR, "use_learned_position_embeddings": False},
    "vaultgemma": {**_GEMMA, "num_key_value_heads": 8},
    "youtu": _LATENTS,
    # Types with states or an encoder whose rules came last.
    "bailing_hybrid": {
        **_EXPERTS,
        **_LATENT_HEADS,
        "num_experts_per_token": 2,
        "num_expert_group": 2,
        "topk_group": 1,
        "first_k_dense_replace": 1,
        **_LINEAR_FIRST,
    },
    "glm5_next": _NEXT,
    "lara_mini": {**_EXPERTS, **_DELTA, "sliding_window": 64},
    "zaya": {**_EXPERTS, "num_experts_per_tok": 1},
    "pop2piano": {**_T5, "feed_forward_proj": "gated-gelu"},
    "prophetnet": {
        "hidden_size": 512,
        "num_encoder_layers": 2,
        "num_decoder_layers": 2,
        "num_encoder_attention_heads": 8,
        "num_decoder_attention_heads": 8,
        "encoder_ffn_dim": 2048,
        "decoder_ffn_dim": 2048,
        "max_position_embeddings": 1024,
        "activation_function": "gelu",
        "decoder_start_token_id": 1,
        **_TOKENS,
    },
    "speecht5": _SPEECH,
    "t5gemma": {
        "encoder": _GEMMA,
        "decoder": {**_GEMMA, "cross_attention_hidden_size": 512},
        "decoder_start_token_id": 1,
        **_TOKENS,
    },
    "t5gemma2": {
        "encoder": {"text_config": _GEMMA, "vision_config": _TOWER},
        "decoder": _GEMMA,
        "decoder_start_token_id": 1,
        **_TOKENS,
    },
    "udop": {
        **_T5,
        "feed_forward_proj": "relu",
        "relative_bias_args": [{"type": "1d"}, {"type": "horizontal"}, {"type": "vertical"}],
    },
    **_PAIRS,
    "bart deep": {**_BART, "decoder_layers": 10},
    "m2m_100 deep": {**_BART, "activation_function": "relu", "decoder_layers": 10},
    "t5 deep": {**_T5, "feed_forward_proj": "relu", "num_layers": 10, "num_decoder_layers": 10},
    "umt5 deep": {
        **_T5,
        "feed_forward_proj": "gated-gelu",
        "num_layers": 10,
        "num_decoder_layers": 10,
    },
    "t5gemma2 deep": {
        "encoder": {"text_config": _GEMMA, "vision_config": _TOWER},
        "decoder": {**_GEMMA, "num_hidden_layers": 10, "layer_types": ["full_attention"] * 10},
        "decoder_start_token_id": 1,
        **_TOKENS,
    },
    "encoder-decoder deep": _pair(
        _text("bert", **_NARROWER), _beside("roberta", **_WIDER, num_hidden_layers=10)
    ),
    # Prompts longer than the table of positions.
    "m2m_100 short": {**_BART, **_SHORT, "activation_function": "relu"},
    "m2m_100 short wide": {**_BART, **_WIDE_BART, **_SHORT, "activation_function": "relu"},
    "m2m_100 short narrow": {**_BART, **_NARROW_BART, **_SHORT, "activation_function": "relu"},
    "nllb-moe short": {**_BART, **_NLLB, **_SHORT},
    "fsmt short": {**_BART, **_FSMT, **_SHORT},
    "xglm short": {**_XGLM, "d_model": 512, "ffn_dim": 2048, **_SHORT},
    "speech_to_text short": {**_BART, "max_source_positions": 64, "max_target_positions": 64},
    "speecht5 short": {**_SPEECH, "max_speech_positions": 64, "max_text_positions": 64},
    **{
        name: {"text_config": {**_KOSMOS, **more}, "vision_config": _TOWER}
        for name, more in {
            "kosmos-2": {"max_position_embeddings": 4096},
            "kosmos-2 short": _SHORT,
            "kosmos-2 narrow": {**_NARROW, **_SHORT},
            "kosmos-2.5": {"max_position_embeddings": 4096},
            "kosmos-2.5 short": _SHORT,
        }.items()
    },
}
