"""Further types without a class in transformers: what is refused, and what is malformed."""

from __future__ import annotations

from typing import Any

import pytest

from hfinspect.errors import ConfigError, UnknownArchitectureError
from hfinspect.trees.catalog import find_type
from hfinspect.trees.prediction import predict

from .test_remote_catalog import DEEPSEEK_OCR, LLAMA, OPENELM, QWEN2, SMALL
from .test_remote_code import sane


@pytest.mark.parametrize(
    "config",
    [
        {"model_type": "molmo", "moe_num_experts": 64},
        {"model_type": "moondream1", "architectures": ["Moondream"]},
        {"model_type": "kimi_vl", "text_config": {"model_type": "no_such_model"}},
    ],
    ids=lambda config: str(config["model_type"]),
)
def test_relatives_that_are_not_known_are_refused(config: dict[str, Any]) -> None:
    with pytest.raises(UnknownArchitectureError):
        predict(config)


@pytest.mark.parametrize(
    ("config", "key"),
    [
        ({"model_type": "openelm", **OPENELM, "ffn_multipliers": [1.0]}, "ffn_multipliers"),
        ({"model_type": "openelm", **OPENELM, "num_kv_heads": [1, 2]}, "num_kv_heads"),
        ({"model_type": "openelm", **OPENELM, "ffn_multipliers": ["a"] * 16}, "ffn_multipliers"),
        ({"model_type": "molmo", **SMALL, "layer_norm_type": "none"}, "layer_norm_type"),
        (
            {"model_type": "phi3_v", "embd_layer": {"projection_cls": "none"}},
            "embd_layer.projection_cls",
        ),
        ({"model_type": "phi3small", "ff_dim_multiplier": -1}, "ff_dim_multiplier"),
        ({"model_type": "mosaic_gpt", "n_heads": 7}, "n_heads"),
        ({"model_type": "deepseek", "n_routed_experts": 4}, "num_experts_per_tok"),
    ],
)
def test_malformed_keys_are_named(config: dict[str, Any], key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        predict(config)
    assert caught.value.key == key


#: First sizes that absurd values are tried on, key by key.
VISION = {
    "model_type": "moonvit",
    "hidden_size": 32,
    "merge_kernel_size": [2, 2],
    "init_pos_emb_height": 4,
}
SAMPLES: dict[str, dict[str, Any]] = {
    "deepseek": {
        **SMALL,
        "n_routed_experts": 4,
        "num_experts_per_tok": 2,
        "n_shared_experts": 1,
        "first_k_dense_replace": 1,
        "moe_layer_freq": 1,
    },
    "Yi": SMALL,
    "exaone": SMALL,
    "orion": SMALL,
    "aquila": SMALL,
    "stablelm_epoch": SMALL,
    "mixformer-sequential": {
        "n_embd": 64,
        "n_head": 4,
        "n_layer": 2,
        "vocab_size": 99,
        "rotary_dim": 8,
        "pad_vocab_size_multiple": 64,
    },
    "phi-msft": {"n_embd": 64, "n_head": 4, "n_layer": 2, "n_head_kv": 2},
    "phi3small": {**SMALL, "ff_dim_multiplier": 1.5, "num_key_value_heads": 2},
    "mosaic_gpt": {"d_model": 64, "n_heads": 4, "n_layers": 2, "mlp_ratio": 2},
    "jais": {"n_embd": 64, "n_head": 4, "n_layer": 2, "n_inner": 96},
    "openelm": OPENELM,
    "bailing_moe_v2": {
        **SMALL,
        "num_experts": 4,
        "num_experts_per_tok": 2,
        "num_shared_experts": 1,
        "num_nextn_predict_layers": 1,
    },
    "jina_bert": {**SMALL, "feed_forward_type": "geglu"},
    "new": {**SMALL, "pack_qkv": False, "position_embedding_type": "absolute"},
    "xlm-roberta-flash": {**SMALL, "lora_adaptations": ["a"], "lora_rank": 4},
    "nvembed": {
        "latent_attention_config": {"latent_dim": 64, "num_latents_value": 8},
        "text_config": SMALL,
    },
    "cogvlm": {**SMALL, "num_multi_query_heads": 2, "vision_config": {"hidden_size": 32}},
    "kimi_vl": {"vision_config": VISION, "text_config": LLAMA},
    "locateanything": {"vision_config": VISION, "text_config": QWEN2},
    "phi3_v": {**SMALL, "img_processor": {"image_dim_out": 8}},
    "minicpmv": {
        **SMALL,
        "version": 2.6,
        "query_num": 16,
        "drop_vision_last_layer": True,
        "vision_config": {"num_hidden_layers": 2},
    },
    "molmo": {**SMALL, "num_key_value_heads": 2, "embedding_size": 128},
    "moondream1": {"config": {"text": {"dim": 64, "n_heads": 4}, "vision": {"enc_dim": 32}}},
    "DeepseekOCR": {**DEEPSEEK_OCR, "projector_config": {"input_dim": 2048}},
    "step3p5": {"num_hidden_layers": 2, "num_nextn_predict_layers": 1},
    "hf_olmo": {
        "d_model": 64,
        "n_heads": 4,
        "n_layers": 2,
        "mlp_ratio": 2,
        "attention_layer_norm": True,
        "layer_norm_type": "rms",
    },
    "santacoder": {"n_embd": 64, "n_head": 4, "n_layer": 2},
    "moss": {"n_embd": 64, "n_head": 4, "n_layer": 2},
    "florence2": {
        "vision_config": {
            "dim_embed": [16, 32],
            "depths": [1, 1],
            "patch_size": [7, 3],
            "patch_prenorm": [False, True],
        },
        "text_config": {"d_model": 64, "vocab_size": 99},
    },
    "GOT": SMALL,
    "btlm": {"n_embd": 64, "n_head": 4, "n_layer": 2, "n_inner": 96},
    "gpt_refact": {"n_embd": 64, "n_head": 4, "n_layer": 2},
    "dots_ocr": {**SMALL, "vision_config": {"embed_dim": 32, "num_hidden_layers": 1}},
    "mosaic_bert": SMALL,
    "llama_bidirec": SMALL,
    "qwen2_reward": SMALL,
    "colbert": {**SMALL, "dim": 8},
    "h2ovl_chat": {"llm_config": LLAMA, "vision_config": {"num_hidden_layers": 1}},
}
ABSURD: tuple[Any, ...] = (
    -1,
    0,
    10**12,
    "seven",
    float("nan"),
    float("inf"),
    1e308,
    [1],
    None,
    True,
    {},
    2.5,
)


@pytest.mark.parametrize("model_type", SAMPLES)
def test_absurd_values_never_crash(model_type: str) -> None:
    """An exact answer, or an error of ours that names the key."""
    sample = SAMPLES[model_type]
    for i, (key, value) in enumerate(sample.items()):
        values = [ABSURD[(i + 5 * j) % len(ABSURD)] for j in range(4)]
        changed = [{**sample, key: absurd} for absurd in values]
        if isinstance(value, dict):
            changed += [
                {**sample, key: {**value, inner: absurd}} for inner in value for absurd in values
            ]
        for config in changed:
            assert sane({**config, "model_type": model_type}), (key, config[key])


def test_every_type_says_where_its_shapes_come_from() -> None:
    both = {"florence2"}  # Released with code of its own, and as transformers has it.
    others = ("skywork", "cogvlm2", "moonvit", "bailing_moe", "bidir_mistral")
    for model_type in (*(SAMPLES.keys() - both), *others):
        family = find_type(model_type)
        assert family is not None
        assert family.source != "transformers"
