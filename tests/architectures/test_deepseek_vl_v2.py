"""DeepSeek-VL2: published sizes, next to the sums they are made of (transformers has no class)."""

from __future__ import annotations

from typing import Any

import pytest

from hfinspect.trees.prediction import predict

VISION = {"layers": 27, "mlp_ratio": 3.7362, "patch_size": 14, "width": 1152}
V2 = {"n_shared_experts": 2, "num_experts_per_tok": 6, "first_k_dense_replace": 1}
TINY = {
    **V2,
    "hidden_size": 1280,
    "intermediate_size": 6848,
    "moe_intermediate_size": 896,
    "n_routed_experts": 64,
    "num_attention_heads": 10,
    "num_hidden_layers": 12,
    "num_key_value_heads": 10,
    "use_mla": False,
    "vocab_size": 129280,
    "kv_lora_rank": None,
}
SMALL = {
    **V2,
    "hidden_size": 2048,
    "intermediate_size": 10944,
    "moe_intermediate_size": 1408,
    "n_routed_experts": 64,
    "num_attention_heads": 16,
    "num_hidden_layers": 27,
    "kv_lora_rank": 512,
    "q_lora_rank": None,
    "vocab_size": 102400,
}
LARGE = {
    **SMALL,
    "hidden_size": 2560,
    "intermediate_size": 12288,
    "moe_intermediate_size": 1536,
    "n_routed_experts": 72,
    "num_attention_heads": 32,
    "num_hidden_layers": 30,
    "vocab_size": 129280,
    "topk_method": "noaux_tc",
}


def config(language: dict[str, Any], **more: Any) -> dict[str, Any]:
    width = language["hidden_size"]
    return {
        "model_type": "deepseek_vl_v2",
        "vision_config": VISION,
        "language_config": language,
        "projector_config": {"n_embed": width},
        "tile_tag": "2D",
        **more,
    }


def tower() -> int:
    """SigLIP: 27 layers, patches, 27·27 positions, a norm, and the pooling that files hold."""
    w = 1152
    inner = int(1152 * 3.7362)
    mlp = 2 * w * inner + inner + w
    layer = 4 * w * w + 4 * w + mlp + 4 * w
    pooling = w + 4 * w * w + 4 * w + 2 * w + mlp
    return 27 * layer + 3 * 14 * 14 * w + w + 729 * w + 2 * w + pooling


def joined(width: int) -> int:
    """The projector over 2x2 patches and the two marks."""
    return 4 * 1152 * width + width + width * width + width + 2 * width


def test_tiny_is_the_sum_of_its_parts() -> None:
    h = 1280
    inner = 896
    vocab = 129280
    attention = 4 * h * h
    dense = 3 * h * 6848
    sparse = 64 * 3 * h * inner + 64 * h + 3 * h * 2 * inner
    text = 2 * vocab * h + h + 12 * (attention + 2 * h) + dense + 11 * sparse
    assert predict(config(TINY)).parameters == tower() + joined(h) + text


@pytest.mark.parametrize(
    ("language", "published"),
    [
        pytest.param(TINY, "3.37", id="tiny"),
        pytest.param(SMALL, "16.1", id="small"),
        pytest.param(LARGE, "27.5", id="large"),
    ],
)
def test_sizes_are_the_published_ones(language: dict[str, Any], published: str) -> None:
    """In billions to three digits, as the models' pages show them."""
    assert f"{predict(config(language)).parameters / 1e9:.3g}" == published


def test_one_mark_per_resolution() -> None:
    sizes = [[384, 384], [384, 768]]
    tiled = config(TINY, tile_tag="1D", candidate_resolutions=sizes)
    tensors = {tensor.name: tensor.shape for tensor in predict(tiled).tensors}
    assert tensors["tile_indicators"] == (3, 1280)
    assert "image_newline" not in tensors


def test_corrected_routing_has_a_bias() -> None:
    names = {tensor.name for tensor in predict(config(LARGE)).tensors}
    assert "language.model.layers.1.mlp.gate.e_score_correction_bias" in names
    assert "language.model.layers.0.mlp.gate.weight" not in names
