"""Further types without a class in transformers: published sizes, equal built-in models, names.

Every figure is the count of a published checkpoint (the Hub's page shows it from the headers, or
half of the bytes that its index gives); where buffers are in the files it counts them too.
"""

from __future__ import annotations

from typing import Any

import pytest

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


DEEPSEEK_OCR = sizes(
    1280,
    6848,
    12,
    10,
    129280,
    num_key_value_heads=10,
    moe_intermediate_size=896,
    n_routed_experts=64,
    n_shared_experts=2,
    num_experts_per_tok=6,
    first_k_dense_replace=1,
    use_mla=False,
)
JINA = {"feed_forward_type": "geglu", "position_embedding_type": "alibi", "vocab_size": 30528}
XLM_R = {
    "position_embedding_type": "rotary",
    "type_vocab_size": 1,
    "lora_adaptations": ["query", "passage", "separation", "classification", "matching"],
    **sizes(1024, 4096, 24, 16, 250002, max_position_embeddings=8194),
}
NOMIC_MOE = {
    "activation_function": "gelu",
    "n_embd": 768,
    "n_head": 12,
    "n_inner": 3072,
    "n_layer": 12,
    "vocab_size": 250048,
    "type_vocab_size": 1,
    "mlp_fc1_bias": True,
    "mlp_fc2_bias": True,
    "qkv_proj_bias": True,
    "num_experts": 8,
    "moe_every_n_layers": 2,
    "moe_top_k": 2,
}
MOONLIGHT = sizes(
    2048,
    11264,
    27,
    16,
    163840,
    model_type="deepseek_v3",
    moe_intermediate_size=1408,
    n_shared_experts=2,
    n_routed_experts=64,
    kv_lora_rank=512,
    q_lora_rank=None,
    num_experts_per_tok=6,
    first_k_dense_replace=1,
)
OPENELM = {
    "model_dim": 1280,
    "head_dim": 64,
    "num_transformer_layers": 16,
    "vocab_size": 32000,
    "num_query_heads": [12] * 5 + [16] * 7 + [20] * 4,
    "num_kv_heads": [3] * 5 + [4] * 7 + [5] * 4,
    "ffn_multipliers": [
        0.5,
        0.73,
        0.97,
        1.2,
        1.43,
        1.67,
        1.9,
        2.13,
        2.37,
        2.6,
        2.83,
        3.07,
        3.3,
        3.53,
        3.77,
        4.0,
    ],
    "normalize_qk_projections": True,
    "ffn_dim_divisor": 256,
}
LING = {"head_dim": 128, "num_key_value_heads": 4}
COGVLM_VIDEO = {
    "architectures": ["CogVLMVideoForCausalLM"],
    "num_multi_query_heads": 8,
    "vision_config": {"num_positions": 257},
    **sizes(4096, 14336, 32, 32, 128256),
}

PUBLISHED = [
    pytest.param(
        {
            "model_type": "deepseek",
            **sizes(
                2048,
                10944,
                28,
                16,
                102400,
                num_key_value_heads=16,
                moe_intermediate_size=1408,
                n_routed_experts=64,
                n_shared_experts=2,
                num_experts_per_tok=6,
                first_k_dense_replace=1,
            ),
        },
        16_375_728_128,
        id="deepseek-moe-16b",
    ),
    pytest.param(
        {"model_type": "Yi", **sizes(4096, 11008, 32, 32, 64000, num_key_value_heads=4)},
        6_061_035_520,
        id="yi-6b",
    ),
    pytest.param(
        {"model_type": "Yi", **sizes(7168, 20480, 60, 56, 64000, num_key_value_heads=8)},
        34_388_917_248,
        id="yi-34b",
    ),
    pytest.param(
        {
            "model_type": "exaone",
            "hidden_size": 4096,
            "intermediate_size": 14336,
            "num_layers": 32,
            "num_attention_heads": 32,
            "num_key_value_heads": 8,
            "head_dim": 128,
            "vocab_size": 102400,
            "tie_word_embeddings": False,
        },
        7_818_448_896,
        id="exaone-3.0-7.8b",
    ),
    pytest.param(
        {
            "architectures": ["StableLMEpochForCausalLM"],
            "model_type": "stablelm_epoch",
            **sizes(2560, 6912, 32, 32, 50304),
        },
        2_795_443_200,
        id="stablelm-3b-4e1t",
    ),
    pytest.param(
        {
            "model_type": "mixformer-sequential",
            "n_embd": 2048,
            "n_head": 32,
            "n_layer": 24,
            "n_inner": None,
            "vocab_size": 51200,
        },
        1_418_270_720,
        id="phi-1.5-as-first-released",
    ),
    pytest.param(
        {
            "model_type": "phi-msft",
            "architectures": ["PhiForCausalLM"],
            "n_embd": 2560,
            "n_head": 32,
            "n_layer": 32,
            "n_inner": None,
            "vocab_size": 51200,
        },
        2_779_683_840,
        id="phi-2-as-first-released",
    ),
    pytest.param({"model_type": "phi3small"}, 7_392_272_384, id="phi-3-small"),
    pytest.param({"model_type": "openelm", **OPENELM}, 271_527_168, id="openelm-270m"),
    pytest.param(
        {
            "model_type": "bailing_moe",
            **LING,
            **sizes(
                2048,
                5632,
                28,
                16,
                126464,
                num_experts=64,
                num_experts_per_tok=6,
                moe_intermediate_size=1408,
                num_shared_experts=2,
            ),
        },
        16_801_974_272,
        id="ling-lite",
    ),
    # 16,255,638,528 parameters and 19 · 256 values of the routers' balancing bias
    pytest.param(
        {
            "model_type": "bailing_moe",
            "architectures": ["BailingMoeV2ForCausalLM"],
            **LING,
            **sizes(
                2048,
                5120,
                20,
                16,
                157184,
                num_experts=256,
                num_experts_per_tok=8,
                moe_intermediate_size=512,
                num_shared_experts=1,
                first_k_dense_replace=1,
            ),
        },
        16_255_643_392,
        id="ling-mini-2.0",
    ),
    pytest.param(
        {"model_type": "bert", "architectures": ["JinaBertModel"], **JINA},
        137_368_320,
        id="jina-embeddings-v2-base-en",
    ),
    pytest.param(
        {
            "model_type": "bert",
            "architectures": ["JinaBertModel"],
            **JINA,
            "hidden_size": 512,
            "num_hidden_layers": 4,
            "num_attention_heads": 8,
            "intermediate_size": 2048,
        },
        32_690_688,
        id="jina-embeddings-v2-small-en",
    ),
    # XLM-R's 559,364,096 and a pair of rank 4 for each of 5 tasks: 12,946,300
    pytest.param(
        {"model_type": "xlm-roberta", "architectures": ["XLMRobertaModel"], **XLM_R},
        572_310_396,
        id="jina-embeddings-v3-as-released",
    ),
    pytest.param({"model_type": "new", "type_vocab_size": 0}, 136_776_192, id="gte-base-en-v1.5"),
    pytest.param(
        {"model_type": "new", **sizes(1024, 4096, 24, 16, 30528, type_vocab_size=2)},
        434_139_136,
        id="gte-large-en-v1.5",
    ),
    pytest.param(
        {
            "model_type": "new",
            "architectures": ["NewForTokenClassification"],
            "num_labels": 1,
            "vocab_size": 250048,
            "type_vocab_size": 1,
        },
        305_369_089,
        id="gte-multilingual-base",
    ),
    pytest.param(
        {"model_type": "nomic_bert", **NOMIC_MOE}, 475_292_928, id="nomic-embed-text-v2-moe"
    ),
    pytest.param(
        {
            "model_type": "bert",
            "architectures": ["BertModel"],
            "vocab_size": 4096,
            "auto_map": {"AutoModel": "bert_layers.BertModel"},
        },
        117_068_544,
        id="dnabert-2-117m",
    ),
    # BERT's 109,482,240 and 768 · 128
    pytest.param(
        {"model_type": "bert", "architectures": ["HF_ColBERT"]}, 109_580_544, id="colbertv2.0"
    ),
    pytest.param(
        {"model_type": "llama_bidirec", **sizes(2048, 8192, 16, 32, 128256, num_key_value_heads=8)},
        1_235_814_400,
        id="llama-nemotron-embed-1b-v2",
    ),
    pytest.param(
        {
            "model_type": "hf_olmo",
            "d_model": 4096,
            "n_heads": 32,
            "n_layers": 32,
            "mlp_hidden_size": 22016,
            "embedding_size": 50304,
            "weight_tying": False,
            "include_bias": False,
            "layer_norm_with_affine": False,
            "rope": True,
        },
        6_888_095_744,
        id="olmo-7b-as-first-released",
    ),
    pytest.param(
        {
            "model_type": "hf_olmo",
            "d_model": 2048,
            "n_heads": 16,
            "n_layers": 16,
            "mlp_ratio": 8,
            "embedding_size": 50304,
            "weight_tying": True,
            "include_bias": False,
            "layer_norm_with_affine": False,
            "rope": True,
        },
        1_176_764_416,
        id="olmo-1b-as-first-released",
    ),
    pytest.param(
        {
            "model_type": "gpt2",
            "architectures": ["GPT2LMHeadCustomModel"],
            "n_embd": 2048,
            "n_head": 16,
            "n_layer": 24,
            "n_inner": 8192,
            "n_positions": 2048,
            "vocab_size": 49280,
            "attention_head_type": "multiquery",
        },
        1_124_886_528,
        id="santacoder-as-first-released",
    ),
    pytest.param(
        {"model_type": "GOT", **sizes(1024, 2816, 24, 16, 151860, num_key_value_heads=16)},
        716_033_280,
        id="got-ocr2-as-first-released",
    ),
    # 776,465,408 parameters, 51,289 biases of logits and 100 · 2048 positions of images
    pytest.param(
        {
            "model_type": "florence2",
            "vision_config": {"model_type": "davit"},
            "text_config": {"vocab_size": 51289, "d_model": 1024, "max_position_embeddings": 4096},
        },
        776_721_497,
        id="florence-2-large",
    ),
    pytest.param(
        {
            "model_type": "dots_ocr",
            "vision_config": {},
            **sizes(1536, 8960, 28, 12, 151936, num_key_value_heads=2),
        },
        3_039_179_264,
        id="dots.ocr",
    ),
    pytest.param(
        {
            "model_type": "phi3_v",
            "img_processor": {"image_dim_out": 1024},
            **sizes(3072, 8192, 32, 32, 32064),
        },
        4_146_621_440,
        id="phi-3.5-vision",
    ),
    pytest.param(
        {"model_type": "moondream1", "architectures": ["HfMoondream"], "config": {}},
        1_927_237_104,
        id="moondream2",
    ),
    pytest.param(
        {
            "model_type": "molmo",
            "embedding_size": 152064,
            "qkv_bias": True,
            **sizes(3584, 37888, 28, 28, 152064, num_key_value_heads=4),
        },
        8_021_025_280,
        id="molmo-7b-d",
    ),
    pytest.param(
        {
            "model_type": "minicpmv",
            "version": 4.5,
            "drop_vision_last_layer": False,
            **sizes(4096, 12288, 36, 32, 151748, num_key_value_heads=8, head_dim=128),
        },
        8_695_895_280,
        id="minicpm-v-4.5",
    ),
    pytest.param(
        {
            "model_type": "deepseek_vl_v2",
            "architectures": ["DeepseekOCRForCausalLM"],
            "language_config": DEEPSEEK_OCR,
            "projector_config": {"input_dim": 2048, "n_embed": 1280, "projector_type": "linear"},
        },
        3_336_106_240,
        id="deepseek-ocr",
    ),
    pytest.param(
        {"architectures": ["CogVLMForCausalLM"]},
        17_639_685_376 + 32 * 64,
        id="cogvlm-chat-with-frequencies",
    ),
    pytest.param(
        {
            "model_type": "internvl_chat",
            "vision_config": {
                "image_size": 448,
                "patch_size": 14,
                "norm_type": "layer_norm",
                "qkv_bias": True,
                "qk_normalization": False,
                **sizes(1024, 4096, 24, 16, 1),
            },
            "llm_config": {
                "model_type": "qwen3",
                **sizes(4096, 12288, 36, 32, 151936, num_key_value_heads=8, head_dim=128),
            },
        },
        8_528_318_464,
        id="internvl3.5-8b",
    ),
]


def stored(prediction: Prediction) -> int:
    return prediction.parameters + prediction.buffers


@pytest.mark.parametrize(("config", "elements"), PUBLISHED)
def test_published_sizes(config: dict[str, Any], elements: int) -> None:
    assert stored(predict(config)) == elements


def test_cogvlm2_video_as_its_files_are_listed() -> None:
    """1,029 tensors; six files of 25,015,199,008 bytes, of which some 130 a tensor are headers."""
    prediction = predict(COGVLM_VIDEO)
    assert len(prediction.tensors) == 1029
    headers = 25_015_199_008 - 2 * stored(prediction)
    assert 110 * 1029 < headers < 150 * 1029


SMALL = sizes(64, 96, 3, 4, 99)
LLAMA = {"model_type": "llama", **SMALL}
QWEN2 = {"model_type": "qwen2", **SMALL, "num_key_value_heads": 2}

EQUALS = [
    pytest.param(
        {"model_type": "moss", "n_embd": 64, "n_layer": 3, "n_head": 4},
        {"model_type": "codegen", "n_embd": 64, "n_layer": 3, "n_head": 4, "vocab_size": 107008},
        id="moss",
    ),
    pytest.param(
        {
            "model_type": "h2ovl_chat",
            "llm_config": {"model_type": "llama", "vocab_size": 99},
            "vision_config": {"num_hidden_layers": 1},
        },
        {
            "model_type": "internvl_chat",
            "llm_config": {"model_type": "llama", "vocab_size": 99},
            "vision_config": {"num_hidden_layers": 1},
        },
        id="h2ovl_chat",
    ),
    pytest.param(
        {
            "model_type": "gpt2",
            "architectures": ["GPT2LMHeadCustomModel"],
            "n_embd": 64,
            "n_head": 4,
            "n_layer": 2,
            "vocab_size": 99,
        },
        {
            "model_type": "gpt_bigcode",
            "n_embd": 64,
            "n_head": 4,
            "n_layer": 2,
            "vocab_size": 99,
            "n_inner": 256,
        },
        id="santacoder",
    ),
    pytest.param(
        {"model_type": "Yi", **SMALL, "num_key_value_heads": 2},
        {**LLAMA, "num_key_value_heads": 2},
        id="Yi",
    ),
    pytest.param({"model_type": "deepseek", **SMALL}, LLAMA, id="deepseek-all-dense"),
    pytest.param(
        {"model_type": "exaone", **SMALL, "tie_word_embeddings": False}, LLAMA, id="exaone"
    ),
    pytest.param({"model_type": "aquila", **SMALL}, LLAMA, id="aquila"),
    pytest.param({"model_type": "skywork", **SMALL}, LLAMA, id="skywork"),
    pytest.param(
        {"model_type": "stablelm_epoch", **SMALL, "use_qkv_bias": True},
        {"model_type": "stablelm", **SMALL, "use_qkv_bias": True, "num_key_value_heads": 32},
        id="stablelm_epoch",
    ),
    pytest.param(
        {
            "model_type": "phi-msft",
            "n_embd": 64,
            "n_inner": 96,
            "n_layer": 3,
            "n_head": 4,
            "vocab_size": 128,
        },
        {"model_type": "phi", **SMALL, "vocab_size": 128},
        id="phi-msft",
    ),
    pytest.param(
        {
            "model_type": "mixformer-sequential",
            "n_embd": 64,
            "n_inner": 96,
            "n_layer": 3,
            "n_head": 4,
            "vocab_size": 128,
        },
        {"model_type": "phi", **SMALL, "vocab_size": 128},
        id="mixformer-sequential",
    ),
    pytest.param(
        {"model_type": "new", **SMALL, "type_vocab_size": 1},
        {"model_type": "gte", **SMALL, "type_vocab_size": 1},
        id="new",
    ),
    pytest.param(
        {
            "model_type": "xlm-roberta",
            "position_embedding_type": "rotary",
            "architectures": ["XLMRobertaModel"],
            "auto_map": {"AutoModel": "jinaai/xlm-roberta-flash-implementation--m"},
            **SMALL,
        },
        {"model_type": "jina_embeddings_v3", **SMALL},
        id="xlm-roberta-flash",
    ),
    pytest.param(
        {"model_type": "step3p5", "num_hidden_layers": 3, "moe_num_experts": 4},
        {
            "model_type": "step3p7",
            "architectures": ["Step3p7FlashForCausalLM"],
            "num_hidden_layers": 3,
            "moe_num_experts": 4,
        },
        id="step3p5",
    ),
]


@pytest.mark.parametrize(("remote", "built_in"), EQUALS)
def test_as_many_as_the_built_in_equal(remote: dict[str, Any], built_in: dict[str, Any]) -> None:
    """The same sizes in a class that transformers has, itself proved against its saves."""
    assert predict(remote).parameters == predict(built_in).parameters


# ---- details that counts do not show


def shapes(config: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    return {tensor.name: tensor.shape for tensor in predict(config).tensors}


def test_names_of_text_decoders() -> None:
    assert "model.layers.0.ln2.weight" in shapes({"model_type": "Yi", **SMALL})
    exaone = shapes({"model_type": "exaone", **SMALL, "num_key_value_heads": 2})
    assert exaone["transformer.h.2.attn.attention.v_proj.weight"] == (32, 64)
    assert exaone["transformer.h.0.mlp.c_fc_1.weight"] == (96, 64)
    assert "lm_head.weight" not in exaone
    orion = shapes({"model_type": "orion", **SMALL})
    assert orion["model.layers.1.post_attention_layernorm.bias"] == (64,)
    phi = shapes({"model_type": "mixformer-sequential", "n_embd": 64, "n_layer": 3, "n_head": 4})
    assert phi["layers.0.wte.weight"] == (50304, 64)
    assert phi["layers.3.mixer.Wqkv.bias"] == (192,)
    assert phi["layers.4.linear.bias"] == (50304,)
    small = shapes(
        {"model_type": "phi3small", **SMALL, "ff_intermediate_size": 96, "num_key_value_heads": 2}
    )
    assert small["model.layers.0.mlp.up_proj.weight"] == (192, 64)
    assert small["model.layers.0.self_attn.query_key_value.bias"] == (128,)


def test_mosaic_gpt_removes_every_bias() -> None:
    config = {
        "model_type": "mosaic_gpt",
        "d_model": 64,
        "n_layers": 2,
        "n_heads": 4,
        "vocab_size": 99,
        "max_seq_len": 24,
    }
    shape_of = shapes({**config, "attn_qk_ln": True})
    assert shape_of["transformer.wpe.weight"] == (24, 64)
    assert shape_of["transformer.blocks.1.attn.q_ln.bias"] == (64,)
    plain = shapes({**config, "no_bias": True, "alibi": True})
    assert not [name for name in plain if name.endswith("bias")]
    assert "transformer.wpe.weight" not in plain
    assert "lm_head.weight" not in plain


def test_jais_slopes_and_gate() -> None:
    shape_of = shapes(
        {
            "model_type": "jais",
            "n_embd": 64,
            "n_head": 4,
            "n_layer": 2,
            "n_inner": 96,
            "vocab_size": 99,
            "activation_function": "swiglu",
            "position_embedding_type": "alibi",
        }
    )
    assert shape_of["transformer.relative_pe.slopes"] == (4, 1)
    assert shape_of["transformer.h.0.mlp.c_fc2.weight"] == (64, 96)
    assert "transformer.wpe.weight" not in shape_of


def test_jina_bert_in_two_implementations() -> None:
    config = {
        "model_type": "bert",
        "architectures": ["JinaBertForMaskedLM"],
        **SMALL,
        "feed_forward_type": "geglu",
    }
    first = shapes(config)
    assert first["bert.encoder.layer.0.mlp.gated_layers.weight"] == (192, 64)
    assert first["bert.encoder.layer.0.mlp.layernorm.bias"] == (64,)
    assert "bert.embeddings.position_embeddings.weight" not in first
    code = {"AutoModel": "jinaai/jina-bert-v2-qk-post-norm--modeling_bert.JinaBertModel"}
    second = shapes({**config, "auto_map": code})
    assert second["bert.encoder.layer.2.attention.self.layer_norm_k.weight"] == (64,)
    assert second["bert.encoder.layer.2.layer_norm_2.weight"] == (64,)
    assert "bert.encoder.layer.0.mlp.layernorm.bias" not in second


def test_jina_v3_pairs_of_every_task() -> None:
    config = {**XLM_R, **SMALL, "model_type": "xlm-roberta", "architectures": ["XLMRobertaModel"]}
    shape_of = shapes(config)
    pair = "parametrizations.weight.0.lora_"
    assert shape_of[f"roberta.embeddings.word_embeddings.{pair}A"] == (5, 99, 4)
    assert shape_of[f"roberta.embeddings.word_embeddings.{pair}B"] == (5, 4, 64)
    assert shape_of[f"roberta.encoder.layers.2.mlp.fc1.{pair}A"] == (5, 4, 64)
    assert shape_of[f"roberta.encoder.layers.2.mlp.fc1.{pair}B"] == (5, 96, 4)
    assert (
        shapes({**config, "lora_adaptations": []})
        .keys()
        .isdisjoint(name for name in shape_of if "parametrizations" in name)
    )


def test_nomic_mixture_active_parameters() -> None:
    """Of 8 experts 2: 6 of 8 rest, in every second layer."""
    prediction = predict({"model_type": "nomic_bert", **NOMIC_MOE})
    resting = 6 * 6 * 2 * 3072 * 768
    assert prediction.parameters - prediction.active_parameters == resting
    assert shapes({"model_type": "nomic_bert", **NOMIC_MOE})[
        "encoder.layers.1.mlp.experts.mlp.w2"
    ] == (8 * 3072, 768)


def test_towers_and_projectors() -> None:
    cog = shapes(COGVLM_VIDEO)
    assert cog["model.vision.conv.weight"] == (1792, 1792, 2, 2)
    assert cog["model.vision.linear_proj.dense_4h_to_h.weight"] == (4096, 14336)
    assert not [name for name in cog if "vision_mlp" in name]
    glm = {
        "model_type": "chatglm",
        "padded_vocab_size": 99,
        "hidden_size": 64,
        "num_layers": 1,
        "ffn_hidden_size": 96,
        "num_attention_heads": 4,
        "kv_channels": 16,
        "vision_config": {"hidden_size": 32, "num_hidden_layers": 1, "intermediate_size": 48},
    }
    assert shapes(glm)["transformer.vision.conv.weight"] == (64, 32, 2, 2)
    vision = {
        "model_type": "moonvit",
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 1,
    }
    kimi = shapes({"model_type": "kimi_vl", "vision_config": vision, "text_config": LLAMA})
    assert kimi["multi_modal_projector.pre_norm.weight"] == (32,)
    assert kimi["multi_modal_projector.linear_2.weight"] == (64, 128)
    located = shapes(
        {"model_type": "locateanything", "vision_config": vision, "text_config": QWEN2}
    )
    assert located["mlp1.0.weight"] == (128,)
    assert located["vision_model.encoder.blocks.0.wqkv.weight"] == (96, 32)


def test_kimi_vl_is_moonlight_and_a_tower() -> None:
    """Half of the bytes that its index gives, the frequencies left out: 27 · 32 of 4 bytes."""
    whole = {"model_type": "kimi_vl", "vision_config": {}, "text_config": MOONLIGHT}
    assert stored(predict(whole)) == 16_407_657_776 - 27 * 64
    assert stored(predict(MOONLIGHT)) == 15_960_111_936 - 27 * 64


def test_minicpm_v_of_every_version() -> None:
    config = {"model_type": "minicpmv", **SMALL, "hidden_size": 128}
    first = shapes({**config, "vision_encoder": "vit_so400m_patch14_siglip_384.webli"})
    assert first["resampler.pos_embed"] == (64, 128)
    assert first["vpm.blocks.25.attn.qkv.weight"] == (3456, 1152)
    assert "vpm.blocks.26.norm1.weight" not in first
    later = shapes(
        {**config, "version": 2.6, "num_key_value_heads": 2, "vision_config": {"image_size": 980}}
    )
    assert later["llm.model.layers.0.self_attn.k_proj.bias"] == (64,)
    assert later["vpm.embeddings.position_embedding.weight"] == (4900, 1152)
    assert "resampler.pos_embed" not in later


def test_phi3_vision_shares_its_table() -> None:
    prediction = predict({"model_type": "phi3_v", **SMALL})
    shared = "model.vision_embed_tokens.wte.weight"
    assert prediction.tied[shared] == "model.embed_tokens.weight"


def test_deepseek_ocr_sees_twice() -> None:
    shape_of = shapes(
        {
            "model_type": "deepseek_vl_v2",
            "architectures": ["DeepseekOCRForCausalLM"],
            **DEEPSEEK_OCR,
        }
    )
    assert shape_of["model.sam_model.blocks.2.attn.rel_pos_h"] == (127, 64)
    assert shape_of["model.sam_model.blocks.3.attn.rel_pos_w"] == (27, 64)
    assert shape_of["model.sam_model.net_3.weight"] == (1024, 512, 3, 3)
    assert shape_of["model.projector.layers.weight"] == (1280, 2048)


def test_scores_behind_qwen2() -> None:
    config = {"model_type": "qwen2", **SMALL}
    step = shapes({**config, "architectures": ["Qwen2ForProcessRewardModel"]})
    assert (step["score.0.weight"], step["score.2.bias"]) == ((64, 64), (2,))
    whole = shapes({**config, "architectures": ["Qwen2ForRewardModel"]})
    assert whole["score.2.weight"] == (1, 64)


def test_refact_keeps_its_last_norm_outside() -> None:
    shape_of = shapes({"model_type": "gpt_refact", "n_embd": 64, "n_head": 4, "n_layer": 1})
    assert shape_of["ln_f.weight"] == (64,)
    assert shape_of["transformer.h.0.attn.kv.weight"] == (32, 64)
    assert shape_of["transformer.h.0.mlp.gate_up_proj.weight"] == (512, 64)
    assert predict({"model_type": "gpt_refact"}).parameters == 1_585_842_176


def test_florence_stages() -> None:
    shape_of = shapes(
        {
            "model_type": "florence2",
            "vision_config": {"model_type": "davit"},
            "text_config": {
                "d_model": 64,
                "vocab_size": 99,
                "encoder_layers": 1,
                "decoder_layers": 1,
                "encoder_attention_heads": 4,
                "decoder_attention_heads": 4,
            },
        }
    )
    assert shape_of["vision_tower.convs.2.norm.weight"] == (512,)
    assert shape_of["vision_tower.blocks.2.8.channel_block.ffn.fn.net.fc1.weight"] == (4096, 1024)
    assert shape_of["vision_tower.blocks.0.0.spatial_block.conv2.fn.dw.weight"] == (256, 1, 3, 3)
    assert shape_of["image_pos_embed.column_embeddings.weight"] == (50, 1024)
    assert shape_of["language_model.final_logits_bias"] == (1, 99)


# ---- layers that predict further tokens

PREDICTORS: dict[str, tuple[dict[str, Any], int, dict[str, tuple[int, ...]]]] = {
    "longcat_flash": (
        {"num_layers": 1, "n_routed_experts": 2},
        17,
        {
            "model.mtp.layers.0.enorm.m.weight": (6144,),
            "model.mtp.layers.0.transformer_layer.mlp.down_proj.weight": (6144, 12288),
        },
    ),
    "hy_v3": (
        {"num_hidden_layers": 2, "num_experts": 2, "num_nextn_predict_layers": 1},
        23,
        {
            "model.layers.2.eh_proj.weight": (4096, 8192),
            "model.layers.2.final_layernorm.weight": (4096,),
            "model.layers.2.mlp.experts.1.up_proj.weight": (1536, 4096),
        },
    ),
    "mimo_v2_flash": (
        {"num_hidden_layers": 1},
        3 * 14,
        {
            "model.mtp.layers.2.pre_mlp_layernorm.weight": (4096,),
            "model.mtp.layers.0.self_attn.attention_sink_bias": (64,),
            "model.mtp.layers.1.mlp.gate_proj.weight": (16384, 4096),
        },
    ),
    "ernie4_5_moe": (
        {"num_hidden_layers": 1, "num_nextn_predict_layers": 1},
        12,
        {
            "model.mtp_linear_proj.0.weight": (2560, 5120),
            "model.mtp_block.0.mlp.up_proj.weight": (12288, 2560),
        },
    ),
    "exaone_moe": (
        {"num_hidden_layers": 1, "num_nextn_predict_layers": 1},
        15,
        {
            "mtp.fc.weight": (4096, 8192),
            "mtp.layers.0.mlp.gate_proj.weight": (16384, 4096),
        },
    ),
    "step3p5": (
        {
            "num_hidden_layers": 1,
            "moe_layers_enum": "3",
            "num_nextn_predict_layers": 3,
            "attention_other_setting": {"num_attention_heads": 96},
            "layer_types": ["full_attention"] + ["sliding_attention"] * 3,
        },
        3 * 17,
        {
            "model.layers.1.self_attn.g_proj.weight": (96, 4096),
            "model.layers.3.transformer.shared_head.output.weight": (128815, 4096),
            "model.layers.2.mlp.up_proj.weight": (11264, 4096),
        },
    ),
}


@pytest.mark.parametrize("model_type", PREDICTORS)
def test_layers_that_predict_further_tokens(model_type: str) -> None:
    """They are in the Hub's files, not in what transformers saves."""
    config, number, some = PREDICTORS[model_type]
    prediction = predict({"model_type": model_type, **config})
    extras = {t.name: t.shape for t in prediction.extras if t.part == "mtp"}
    assert len(extras) == number
    assert some.items() <= extras.items()
    assert all(t.part != "mtp" for t in prediction.tensors)


def test_ling_saves_its_predictor() -> None:
    config = {
        "model_type": "bailing_moe_v2",
        **SMALL,
        "num_experts": 2,
        "moe_intermediate_size": 32,
        "num_nextn_predict_layers": 1,
    }
    parts = {t.name: t.part for t in predict(config).tensors}
    assert parts["model.layers.3.eh_proj.weight"] == "mtp"
    assert parts["model.layers.3.attention.query_key_value.weight"] == "mtp"
    assert parts["model.layers.2.attention.query_layernorm.weight"] == "text"
