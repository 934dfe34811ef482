"""Models as their own code saves them, where transformers has another layout or none.

Figures are what the model's page on the Hub counts (from the headers of its safetensors, buffers
included) or the total of its index, and next to them the sum they are made of.
"""

from __future__ import annotations

from typing import Any

import pytest

from hfinspect.errors import ConfigError, UnknownArchitectureError
from hfinspect.trees.prediction import Prediction, predict


def sizes(
    hidden: int, inner: int, layers: int, heads: int, vocab: int, **more: Any
) -> dict[str, Any]:
    return {
        "hidden_size": hidden,
        "intermediate_size": inner,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "vocab_size": vocab,
        **more,
    }


def elements(prediction: Prediction) -> int:
    return prediction.parameters + prediction.buffers


VICUNA_7B = sizes(4096, 11008, 32, 32, 32000, num_key_value_heads=32, tie_word_embeddings=False)
LLAVA = {
    "mm_hidden_size": 1024,
    "mm_projector_type": "mlp2x_gelu",
    "mm_vision_tower": "openai/clip-vit-large-patch14-336",
}
ONEVISION = {
    "model_type": "llava",
    "architectures": ["LlavaQwenForCausalLM"],
    "mm_hidden_size": 1152,
    "mm_projector_type": "mlp2x_gelu",
    "mm_patch_merge_type": "spatial_unpad",
    "mm_vision_tower": "google/siglip-so400m-patch14-384",
    "mm_tunable_parts": "mm_vision_tower,mm_mlp_adapter,mm_language_model",
}
SIGLIP = {"hidden_size": 1152, "intermediate_size": 4304, "image_size": 980, "patch_size": 14}
JANUS = {
    "model_type": "multi_modality",
    "vision_config": {"params": {"model_name": "siglip_large_patch16_384", "image_size": 384}},
    "aligner_config": {"params": {"depth": 2, "input_dim": 1024, "n_embed": 2048}},
    "gen_vision_config": {"params": {"image_token_size": 16384, "n_embed": 8}},
    "gen_aligner_config": {"params": {"depth": 2, "input_dim": 8, "n_embed": 2048}},
    "language_config": {"model_type": "llama", **sizes(2048, 5632, 24, 16, 102400)},
}
DEEPSEEK_OCR_2 = {
    "model_type": "deepseek_vl_v2",
    "architectures": ["DeepseekOCR2ForCausalLM"],
    "language_config": {
        **sizes(1280, 6848, 12, 10, 129280),
        "first_k_dense_replace": 1,
        "use_mla": False,
        "moe_intermediate_size": 896,
        "n_routed_experts": 64,
        "n_shared_experts": 2,
        "num_experts_per_tok": 6,
    },
    "projector_config": {"projector_type": "linear", "input_dim": 896, "n_embed": 1280},
}

PUBLISHED = [
    # Vicuna 6,738,415,616 and a projector of 1024·4096 + 4096 + 4096² + 4096; the tower was not
    # trained, and so is not in the files.
    pytest.param(
        {"model_type": "llava_llama", **VICUNA_7B, **LLAVA}, 6_759_395_328, id="llava-1.5"
    ),
    # CLIP's 303,507,456 and a separator of 4096 more
    pytest.param(
        {
            "model_type": "llava_llama",
            **VICUNA_7B,
            **LLAVA,
            "mm_patch_merge_type": "spatial_unpad",
            "unfreeze_mm_vision_tower": True,
        },
        7_062_906_880,
        id="llava-1.6",
    ),
    pytest.param(
        {
            **sizes(3584, 18944, 28, 28, 152064, num_key_value_heads=4),
            **ONEVISION,
            "tie_word_embeddings": False,
        },
        8_030_348_832,
        id="llava-onevision-7b",
    ),
    pytest.param(
        {
            **sizes(896, 4864, 24, 14, 151936, num_key_value_heads=2),
            **ONEVISION,
            "tie_word_embeddings": True,
        },
        893_618_208,
        id="llava-onevision-0.5b",
    ),
    pytest.param(
        {
            "model_type": "minicpmv",
            "version": 2.6,
            "query_num": 64,
            "vision_config": SIGLIP,
            "drop_vision_last_layer": False,
            "tie_word_embeddings": False,
            **sizes(3584, 18944, 28, 28, 151666, num_key_value_heads=4),
        },
        8_099_175_152,
        id="minicpm-v-2.6",
    ),
    pytest.param(
        {
            "model_type": "minicpmv",
            "version": "2.5",
            "query_num": 96,
            "vision_config": SIGLIP,
            "drop_vision_last_layer": False,
            "tie_word_embeddings": False,
            **sizes(4096, 14336, 32, 32, 128256, num_key_value_heads=8),
        },
        8_537_092_336,
        id="minicpm-llama3-v-2.5",
    ),
    # 65,536 of them count how often a code was used
    pytest.param(JANUS, 2_089_297_547, id="janus-1.3b"),
    pytest.param(
        {
            "model_type": "minimax_m1",
            "head_dim": 128,
            "num_key_value_heads": 8,
            "attn_type_list": [int(i % 8 == 7) for i in range(80)],
            "num_local_experts": 32,
            **sizes(6144, 9216, 80, 64, 200064),
        },
        456_089_655_296,
        id="minimax-m1",
    ),
    # 32·(r·(in + out) of four linear layers) for each adapter; 160 of them are sound's mean and
    # spread
    pytest.param({"model_type": "phi4mm"}, 5_574_460_384, id="phi-4-multimodal"),
    # 36·(2560·(16 + 8)·256 + 2560·16 + 4096·2560 + 3·2560·10240 + 2·2560) + 131072·2560 + 2560
    pytest.param({"model_type": "spark2_5"}, 4_112_079_360, id="spark-x2.5-4b"),
    # Vicuna with 207 tokens more, DINOv2-B, and 768·4096 + 3·4096² + 4·4096
    pytest.param(
        {
            "model_type": "maira2",
            "projector_n_layers": 4,
            "text_config": {"model_type": "llama", **sizes(4096, 11008, 32, 32, 32207)},
            "vision_config": {"model_type": "dinov2", "image_size": 518, "patch_size": 14},
        },
        6_880_185_600,
        id="maira-2",
    ),
    # an index of 5,246,377,988 bytes in float32
    pytest.param(
        {"model_type": "gpt_neox_reward_model", **sizes(2048, 8192, 24, 16, 50288)},
        1_311_594_497,
        id="oasst-rm-2.1-pythia-1.4b",
    ),
    # 2·126464·4096 + 32·(4·4096² + 3·4096·12288 + 2·4096) + 4096
    pytest.param({"model_type": "llada"}, 8_015_581_184, id="llada-8b"),
    # Qwen2-7B
    pytest.param(
        {"model_type": "Dream", **sizes(3584, 18944, 28, 28, 152064, num_key_value_heads=4)},
        7_615_616_512,
        id="dream-7b",
    ),
    # 2·32128·5120 + 64·(5120·7680 + 5120² + 3·5120·17920 + 2·5120) + 5120
    pytest.param(
        {"model_type": "solar", **sizes(5120, 17920, 64, 40, 32128, num_key_value_heads=10)},
        22_140_032_000,
        id="solar-pro-preview",
    ),
    # 58101·512 + 6·(4·512² + ...) twice, and 2·512² of sines that the released files hold
    pytest.param(
        {
            "model_type": "marian",
            "d_model": 512,
            "encoder_layers": 6,
            "decoder_layers": 6,
            "encoder_ffn_dim": 2048,
            "decoder_ffn_dim": 2048,
            "encoder_attention_heads": 8,
            "decoder_attention_heads": 8,
            "max_position_embeddings": 512,
            "vocab_size": 58101,
        },
        74_410_496 + 58_101,
        id="opus-mt-en-de",
    ),
    # The index of the repo holds 2,707 names, all of these; its total is the file's size.
    pytest.param(DEEPSEEK_OCR_2, 3_389_119_360, id="deepseek-ocr-2"),
]


@pytest.mark.parametrize(("config", "count"), PUBLISHED)
def test_published_sizes(config: dict[str, Any], count: int) -> None:
    assert elements(predict(config)) == count


def names(config: dict[str, Any]) -> set[str]:
    return {spec.name for spec in predict(config).tensors}


TINY = sizes(32, 64, 2, 4, 99)


def test_llava_keeps_its_parts_in_the_base_model() -> None:
    tensor_names = names(
        {
            "model_type": "llava_llama",
            **TINY,
            **LLAVA,
            "unfreeze_mm_vision_tower": True,
            "mm_patch_merge_type": "spatial_unpad",
        }
    )
    tower = "model.vision_tower.vision_tower.vision_model."
    assert {
        "model.image_newline",
        "model.mm_projector.0.weight",
        "model.mm_projector.2.bias",
        "model.layers.1.mlp.up_proj.weight",
        "lm_head.weight",
        f"{tower}embeddings.class_embedding",
        f"{tower}encoder.layers.23.mlp.fc2.bias",
    } <= tensor_names


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("linear", {"model.mm_projector.weight", "model.mm_projector.bias"}),
        ("identity", set()),
        ("mlp1x_gelu", {"model.mm_projector.0.weight", "model.mm_projector.0.bias"}),
    ],
)
def test_llava_projectors(form: str, expected: set[str]) -> None:
    tensor_names = names(
        {"model_type": "llava_mistral", **TINY, **LLAVA, "mm_projector_type": form}
    )
    assert {name for name in tensor_names if "projector" in name} == expected


@pytest.mark.parametrize("form", ["mlp0x_gelu", "mlp999x_gelu", "pixel_shuffle", ""])
def test_a_projector_that_no_code_names(form: str) -> None:
    with pytest.raises(ConfigError, match="mm_projector_type"):
        predict({"model_type": "llava_llama", **TINY, **LLAVA, "mm_projector_type": form})


def test_a_tower_that_files_hold_must_be_known() -> None:
    own = {"model_type": "llava_llama", **TINY, **LLAVA, "mm_vision_tower": "someone/some-tower"}
    assert not any("vision_tower" in name for name in names(own))
    with pytest.raises(UnknownArchitectureError, match="some-tower"):
        predict({**own, "unfreeze_mm_vision_tower": True})


def test_the_first_minicpm_v_has_its_tower_in_timms_names() -> None:
    tensor_names = names({"model_type": "minicpmv", **TINY, "drop_vision_last_layer": True})
    assert {"resampler.pos_embed", "vpm.pos_embed", "vpm.blocks.25.mlp.fc2.bias"} <= tensor_names
    assert "vpm.blocks.26.mlp.fc2.bias" not in tensor_names  # of 27
    assert len({name for name in tensor_names if name.startswith("resampler.")}) == 14


def test_minicpm_v_of_an_unknown_version() -> None:
    with pytest.raises(UnknownArchitectureError, match=r"version 9\.9"):
        predict({"model_type": "minicpmv", **TINY, "version": 9.9, "vision_config": {}})


def test_deepseek_vl_makes_no_images() -> None:
    config = {key: value for key, value in JANUS.items() if not key.startswith("gen_")}
    assert {name.split(".")[0] for name in names(config)} == {
        "vision_model",
        "aligner",
        "language_model",
    }


def test_a_tower_of_two_is_refused() -> None:
    with pytest.raises(UnknownArchitectureError, match="HybridVisionTower"):
        predict({**JANUS, "vision_config": {"cls": "HybridVisionTower"}})


def test_minimax_alternates_as_it_says() -> None:
    config = {
        "model_type": "minimax_text_01",
        **TINY,
        "attn_type_list": [0, 1],
        "num_local_experts": 2,
        "num_key_value_heads": 2,
    }
    tensor_names = names(config)
    assert {"model.layers.0.self_attn.qkv_proj.weight", "model.layers.0.self_attn.norm.weight"} <= (
        tensor_names
    )
    assert "model.layers.1.self_attn.k_proj.weight" in tensor_names
    with pytest.raises(ConfigError, match="attn_type_list"):
        predict({**config, "attn_type_list": [1]})


def test_deepseek_ocr_2_reads_queries_after_the_image() -> None:
    shapes = {spec.name: spec.shape for spec in predict(DEEPSEEK_OCR_2).tensors}
    assert len(shapes) == 2707
    assert shapes["model.qwen2_model.query_768.weight"] == (144, 896)
    assert shapes["model.sam_model.net_3.weight"] == (896, 512, 3, 3)
    assert "model.qwen2_model.model.model.layers.23.self_attn.k_proj.bias" in shapes
    assert not any(name.startswith("model.vision_model") for name in shapes)


def test_phi4mm_keeps_its_adapters_beside_each_layer() -> None:
    shapes = {
        spec.name: spec.shape
        for spec in predict({"model_type": "phi4mm", "num_hidden_layers": 1}).tensors
    }
    at = "model.layers.0.self_attn.qkv_proj."
    assert shapes[f"{at}base_layer.weight"] == (5120, 3072)
    assert shapes[f"{at}lora_A.vision.weight"] == (256, 3072)
    assert shapes[f"{at}lora_B.speech.weight"] == (5120, 320)
    sound = "model.embed_tokens_extend.audio_embed."
    assert shapes[f"{sound}encoder.encoders.0.feed_forward_in.net.0.linear.weight"] == (3072, 1024)
    assert shapes[f"{sound}audio_projection.vision.2.weight"] == (3072, 3072)
    assert "lm_head.weight" not in shapes  # tied


def test_qwen3_asr_as_released() -> None:
    """Encoder of 186,376,192 and Qwen3-0.6B's 596,049,920."""
    prediction = predict(
        {
            "model_type": "qwen3_asr",
            "thinker_config": {
                "dtype": "bfloat16",
                "audio_config": {
                    "d_model": 896,
                    "encoder_attention_heads": 14,
                    "encoder_ffn_dim": 3584,
                    "encoder_layers": 18,
                    "output_dim": 1024,
                },
                "text_config": {
                    "model_type": "qwen3_asr_text",
                    "head_dim": 128,
                    "num_key_value_heads": 8,
                    **sizes(1024, 3072, 28, 16, 151936),
                },
            },
        }
    )
    assert prediction.parameters == 186_376_192 + 596_049_920
    assert prediction.dtype == "BF16"
    assert prediction.tied == {"thinker.lm_head.weight": "thinker.model.embed_tokens.weight"}
    assert {spec.name.split(".")[1] for spec in prediction.tensors} == {"audio_tower", "model"}


def test_pangu_with_the_frequencies_that_its_files_hold() -> None:
    """The total of openPangu-Embedded-7B's index: bfloat16, and 34·64 frequencies in float32."""
    prediction = predict({"model_type": "PanguEmbedded"})
    kept = sum(spec.elements for spec in prediction.extras)
    assert 2 * elements(prediction) + 4 * kept == 16_061_784_576
    assert {spec.dtype for spec in prediction.extras} == {"F32"}


@pytest.mark.parametrize(("key", "value"), [("block_type", "sequential"), ("include_bias", True)])
def test_llada_as_nobody_published_it(key: str, value: object) -> None:
    with pytest.raises(ConfigError, match=key):
        predict({"model_type": "llada", key: value})


ERNIE_VL = {
    "model_type": "ernie4_5_moe_vl",
    "architectures": ["Ernie4_5_VLMoeForConditionalGeneration"],
    "moe_num_experts": [64, 64],
    "num_key_value_heads": 8,
    "use_bias": False,
    "vision_config": {"depth": 32, "embed_dim": 1280, "mlp_ratio": 4, "num_heads": 16},
}


def test_ernie_vl_as_released() -> None:
    """The decoder's keys at the top; the Hub shows 29.4 B and 424 B."""
    small = {
        **ERNIE_VL,
        **sizes(2560, 12288, 28, 20, 103424),
        "num_key_value_heads": 4,
        "moe_intermediate_size": [1536, 512],
        "moe_layer_start_index": [1, 1],
        "moe_num_shared_experts": 2,
    }
    assert predict(small).parameters == predict({"model_type": "ernie4_5_vl_moe"}).parameters
    large = {
        **ERNIE_VL,
        **sizes(8192, 28672, 54, 64, 103424),
        "tie_word_embeddings": False,
        "moe_intermediate_size": [3584, 1536],
        "moe_layer_start_index": [3, 3],
        "moe_k": 8,
        "moe_num_shared_experts": 0,
    }
    prediction = predict(large)
    assert prediction.parameters == 423_526_285_184
    dense = [spec.layer for spec in prediction.tensors if spec.name.endswith("mlp.up_proj.weight")]
    assert dense == [0, 1, 2]


def test_ernie_vls_sets_of_experts_are_alike() -> None:
    with pytest.raises(ConfigError, match="moe_num_experts"):
        predict({**ERNIE_VL, **sizes(64, 96, 2, 4, 99), "moe_num_experts": [8, 4]})


MOLMO_2 = {
    "model_type": "molmo2",
    "architectures": ["Molmo2ForConditionalGeneration"],
    "text_config": {
        **sizes(32, 48, 1, 4, 99),
        "num_key_value_heads": 2,
        "head_dim": 8,
        "additional_vocab_size": 7,
    },
    "vit_config": {
        **sizes(16, 24, 5, 2, 1),
        "num_key_value_heads": 2,
        "head_dim": 8,
        "image_patch_size": 14,
        "image_default_input_size": [28, 28],
        "image_num_pos": 4,
    },
    "adapter_config": {
        **sizes(16, 20, 1, 2, 1),
        "num_key_value_heads": 2,
        "head_dim": 8,
        "text_hidden_size": 32,
        "vit_layers": [-3, -4],
    },
}


def test_molmo_2_as_released() -> None:
    """What transformers counts; in the files, the embedding's rows in two parts, and of the ViT the
    layers up to the deepest that is read."""
    assert predict({"model_type": "molmo2"}).parameters == 8_694_602_192
    prediction = predict(MOLMO_2)
    assert prediction.parameters == 32_856
    shapes = {spec.name: spec.shape for spec in prediction.tensors}
    assert shapes["model.transformer.wte.embedding"] == (99, 32)
    assert shapes["model.transformer.wte.new_embedding"] == (7, 32)
    assert shapes["model.vision_backbone.image_pooling_2d.wk.weight"] == (16, 32)
    vit = "model.vision_backbone.image_vit.transformer.resblocks."
    assert {name.removeprefix(vit)[0] for name in shapes if name.startswith(vit)} == {"0", "1", "2"}


@pytest.mark.parametrize("layers", [[], "last", [True], [1.5]])
def test_molmo_2_reads_layers_by_number(layers: object) -> None:
    with pytest.raises(ConfigError, match="vit_layers"):
        predict({**MOLMO_2, "adapter_config": {"vit_layers": layers}})
