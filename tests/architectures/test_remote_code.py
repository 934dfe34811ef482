"""Types without a class in transformers: published sizes, equal built-in models, real indexes.

Every figure is the parameter count that the model's page on the Hub shows (from the headers of its
safetensors) or its paper gives, and next to it stands the sum it is made of.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from hfinspect.errors import ConfigError, LimitError, UnknownArchitectureError
from hfinspect.trees.catalog import find_type
from hfinspect.trees.prediction import predict

CORPUS = Path(os.environ.get("HFINSPECT_CORPUS", Path(__file__).parents[3] / "shared" / "corpus"))


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


INTERN_VIT_300M = {
    "image_size": 448,
    "patch_size": 14,
    "norm_type": "layer_norm",
    "qkv_bias": True,
    "qk_normalization": False,
    **sizes(1024, 4096, 24, 16, 1),
}
QWEN_VL_TOWER = {
    "image_size": 448,
    "patch_size": 14,
    "width": 1664,
    "layers": 48,
    "heads": 16,
    "mlp_ratio": 4.9231,
    "output_dim": 4096,
}
GLM_4_9B = {
    "padded_vocab_size": 151552,
    "hidden_size": 4096,
    "ffn_hidden_size": 13696,
    "num_layers": 40,
    "num_attention_heads": 32,
    "kv_channels": 128,
    "multi_query_attention": True,
    "multi_query_group_num": 2,
    "add_qkv_bias": True,
    "add_bias_linear": False,
}
INTERNLM2_7B = sizes(4096, 14336, 32, 32, 92544, num_key_value_heads=8, bias=False)

PUBLISHED = [
    # 40·(4096·4608 + 4608 + 4096² + 3·4096·13696 + 2·4096) + 2·151552·4096 + 4096; the Hub shows
    # 32 more, which are the rotary frequencies.
    pytest.param("chatglm", GLM_4_9B, 9_399_951_360, id="glm-4-9b"),
    # 28·(12·4096² + 13·4096) + 130528·4096 + 2·4096; the head is the embedding.
    pytest.param(
        "chatglm",
        {"vocab_size": 130528, "inner_hidden_size": 16384, "position_encoding_2d": True},
        6_173_286_400,
        id="chatglm-6b",
    ),
    # 32·(4·4096² + 3·4096 + 3·4096·11008 + 2·4096) + 2·151936·4096 + 4096
    pytest.param("qwen", sizes(4096, 22016, 32, 32, 151936), 7_721_324_544, id="qwen-7b"),
    pytest.param("qwen", sizes(5120, 27392, 40, 40, 152064), 14_167_290_880, id="qwen-14b"),
    # Qwen-7B and a tower of 1,935,610,624: 48 blocks of width 1664 with MLPs of 8192, a resampler.
    pytest.param("qwen", {"visual": QWEN_VL_TOWER}, 9_656_935_168, id="qwen-vl"),
    # 32·(4·4096² + 3·4096·11008 + 2·4096) + 2·V·4096 + 4096 with V = 64,000 and 125,696
    pytest.param("baichuan", sizes(4096, 11008, 32, 32, 64000), 7_000_559_616, id="baichuan-7b"),
    pytest.param("baichuan", sizes(4096, 11008, 32, 32, 125696), 7_505_973_248, id="baichuan2-7b"),
    pytest.param("baichuan", sizes(5120, 13696, 40, 40, 64000), 13_264_901_120, id="baichuan-13b"),
    pytest.param("baichuan", sizes(5120, 13696, 40, 40, 125696), 13_896_668_160, id="baichuan2-13"),
    # 32·(4·4096² + 4·4096 + 3·4096·11008 + 2·4096) + 2·103168·4096 + 4096
    pytest.param("internlm", sizes(4096, 11008, 32, 32, 103168), 7_321_948_160, id="internlm-7b"),
    # 32·(4096·6144 + 4096² + 3·4096·14336 + 2·4096) + 2·92544·4096 + 4096
    pytest.param("internlm2", INTERNLM2_7B, 7_737_708_544, id="internlm2-7b"),
    pytest.param(
        "internlm2",
        sizes(6144, 16384, 48, 48, 92544, num_key_value_heads=8, bias=False),
        19_861_149_696,
        id="internlm2-20b",
    ),
    pytest.param(
        "internlm2",
        sizes(2048, 8192, 24, 16, 92544, num_key_value_heads=8, bias=False),
        1_889_110_016,
        id="internlm2-1.8b",
    ),
    # 24·(12·1024² + 15·1024) + 1025·1024 + 588·1024 + 2·1024: layers, positions, patches, class
    pytest.param("intern_vit_6b", INTERN_VIT_300M, 304_012_288, id="internvit-300m"),
    # ViT, 4096·4096·2 + 4·4096 of projector, InternLM2.5-7B with nine words more
    pytest.param(
        "internvl_chat",
        {
            "vision_config": INTERN_VIT_300M,
            "llm_config": {**INTERNLM2_7B, "model_type": "internlm2", "vocab_size": 92553},
        },
        8_075_365_376,
        id="internvl2-8b",
    ),
    pytest.param(
        "internvl_chat",
        {
            "vision_config": INTERN_VIT_300M,
            "llm_config": {
                "model_type": "qwen2",
                **sizes(3584, 18944, 28, 28, 151674, num_key_value_heads=4),
            },
        },
        7_944_373_760,
        id="internvl3-8b",
    ),
    pytest.param(
        "internvl_chat",
        {
            "vision_config": INTERN_VIT_300M,
            "llm_config": {
                "model_type": "qwen2",
                **sizes(896, 4864, 24, 14, 151655, num_key_value_heads=2),
            },
        },
        938_158_976,
        id="internvl2-1b",
    ),
    # 40·(4·2304² + 3·2304·5760 + 2·2304) + 122753·2304 + 2304; tied by default.
    pytest.param("minicpm", sizes(2304, 5760, 40, 36, 122753), 2_724_880_896, id="minicpm-2b"),
    # 52,832,509,952 · 2 bytes and 64 masking values of 2 bytes are its index's total_size.
    pytest.param(
        "telechat",
        {
            "n_embd": 8192,
            "n_head": 64,
            "n_layer": 64,
            "n_inner": 21824,
            "vocab_size": 80896,
            "add_bias_linear": False,
            "activation_function": "silu",
            "use_RMSNorm": True,
            "tie_word_embeddings": False,
        },
        52_832_509_952,
        id="telechat-52b",
    ),
]


@pytest.mark.parametrize(("model_type", "config", "parameters"), PUBLISHED)
def test_published_sizes(model_type: str, config: dict[str, Any], parameters: int) -> None:
    assert predict({**config, "model_type": model_type}).parameters == parameters


SMALL = sizes(64, 96, 3, 4, 99)
LLAMA = {"model_type": "llama", **SMALL}

EQUALS = [
    pytest.param({"model_type": "baichuan", **SMALL}, LLAMA, id="baichuan"),
    pytest.param({"model_type": "xverse", **SMALL}, LLAMA, id="xverse"),
    pytest.param(
        {"model_type": "minicpm", **SMALL}, {**LLAMA, "tie_word_embeddings": True}, id="minicpm"
    ),
    pytest.param(
        {"model_type": "internlm", **SMALL}, {**LLAMA, "attention_bias": True}, id="internlm"
    ),
    pytest.param(
        {"model_type": "internlm2", **SMALL, "num_key_value_heads": 2, "bias": False},
        {**LLAMA, "num_key_value_heads": 2},
        id="internlm2",
    ),
    pytest.param(
        {"model_type": "internlm2", **SMALL, "num_key_value_heads": 2},
        {**LLAMA, "num_key_value_heads": 2, "attention_bias": True},
        id="internlm2-biased",
    ),
    pytest.param(
        {"model_type": "mimo", **SMALL},
        {"model_type": "qwen2", **SMALL, "num_key_value_heads": 32},
        id="mimo-without-mtp",
    ),
    pytest.param(
        {"model_type": "qwen", **SMALL, "intermediate_size": 192, "kv_channels": 16},
        {"model_type": "qwen2", **SMALL, "num_key_value_heads": 4},
        id="qwen",
    ),
    pytest.param(
        {
            "model_type": "chatglm",
            "padded_vocab_size": 99,
            "hidden_size": 64,
            "num_layers": 3,
            "ffn_hidden_size": 96,
            "num_attention_heads": 4,
            "kv_channels": 32,
            "add_qkv_bias": True,
            "multi_query_attention": True,
            "multi_query_group_num": 2,
        },
        {"model_type": "glm", **SMALL, "head_dim": 32, "num_key_value_heads": 2},
        id="chatglm",
    ),
    pytest.param(
        {"model_type": "deci", **SMALL, "num_key_value_heads_per_layer": [2, 2, 2]},
        {**LLAMA, "num_key_value_heads": 2},
        id="deci",
    ),
    pytest.param(
        {
            "model_type": "nemotron-nas",
            **SMALL,
            "intermediate_size": None,
            "block_configs": [{"attention": {"n_heads_in_group": 2}, "ffn": {"ffn_mult": 6.0}}] * 3,
        },
        {**LLAMA, "num_key_value_heads": 2, "intermediate_size": 256},
        id="nemotron-nas",
    ),
    pytest.param(
        {
            "model_type": "RefinedWebModel",
            "hidden_size": 64,
            "n_layer": 3,
            "n_head": 4,
            "vocab_size": 99,
            "multi_query": True,
            "parallel_attn": True,
        },
        {"model_type": "falcon", **SMALL},
        id="falcon-7b-by-its-old-names",
    ),
    pytest.param(
        {
            "model_type": "RefinedWeb",
            "hidden_size": 64,
            "n_layer": 3,
            "n_head": 4,
            "n_head_kv": 2,
            "vocab_size": 99,
            "architectures": ["RWForCausalLM"],
        },
        {"model_type": "falcon", **SMALL, "new_decoder_architecture": True, "num_kv_heads": 2},
        id="falcon-40b-by-its-old-names",
    ),
    pytest.param(
        {
            "model_type": "RefinedWebModel",
            "hidden_size": 64,
            "n_layer": 3,
            "n_head": 4,
            "vocab_size": 99,
            "bias": True,
            "alibi": True,
        },
        {
            "model_type": "falcon",
            **SMALL,
            "parallel_attn": False,
            "multi_query": False,
            "bias": True,
        },
        id="falcon-rw-1b",
    ),
    pytest.param(
        {
            "model_type": "mpt",
            "architectures": ["MPTForCausalLM"],
            "d_model": 64,
            "n_layers": 3,
            "n_heads": 4,
            "vocab_size": 99,
            "no_bias": True,
            "attn_config": {"alibi": True},
        },
        {"model_type": "mpt", "d_model": 64, "n_layers": 3, "n_heads": 4, "vocab_size": 99},
        id="mpt-of-the-hub",
    ),
    pytest.param(
        {
            "model_type": "gpt_neo",
            "architectures": ["GPTNeoForCausalLM"],
            "rotary": True,
            "hidden_size": 64,
            "num_layers": 3,
            "num_heads": 4,
            "vocab_size": 99,
        },
        {"model_type": "gptj", "n_embd": 64, "n_layer": 3, "n_head": 4, "vocab_size": 99},
        id="gpt-j-as-gpt-neo",
    ),
]


@pytest.mark.parametrize(("remote", "built_in"), EQUALS)
def test_as_many_as_the_built_in_equal(remote: dict[str, Any], built_in: dict[str, Any]) -> None:
    """The same sizes in a class that transformers has, itself proved against its saves."""
    assert predict(remote).parameters == predict(built_in).parameters


# ---- details that equal counts do not show


def shapes(config: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    return {tensor.name: tensor.shape for tensor in predict(config).tensors}


def test_chatglm_prefix_of_virtual_tokens() -> None:
    config = {"model_type": "chatglm", **GLM_4_9B, "num_layers": 2, "pre_seq_len": 16}
    table = "transformer.prefix_encoder.embedding.weight"
    assert shapes(config)[table] == (16, 2 * 128 * 2 * 2)
    projected = shapes({**config, "prefix_projection": True})
    assert projected["transformer.prefix_encoder.trans.2.weight"] == (1024, 4096)


def test_chatglm_frequencies_are_a_saved_buffer() -> None:
    """A quarter of kv_channels: half of a head is rotated, and a frequency serves two."""
    prediction = predict({"model_type": "chatglm", **GLM_4_9B})
    assert prediction.buffers == 32
    assert "transformer.rotary_pos_emb.inv_freq" in {t.name for t in prediction.tensors}


def test_first_chatglm_has_a_tied_head() -> None:
    config = {"model_type": "chatglm", "position_encoding_2d": True, "vocab_size": 99}
    assert predict(config).tied == {"lm_head.weight": "transformer.word_embeddings.weight"}
    assert predict({**config, "tie_word_embeddings": False}).tied == {}


def test_mimo_predicts_one_token_further() -> None:
    """A layer, a projection of 2·H to H and four more norms of H than a layer has."""
    plain = predict({"model_type": "mimo", **SMALL, "num_key_value_heads": 2})
    further = predict(
        {"model_type": "mimo", **SMALL, "num_key_value_heads": 2, "num_nextn_predict_layers": 1}
    )
    layer = sum(t.parameters for t in plain.tensors if t.layer == 0)
    assert further.parameters - plain.parameters == layer + 2 * 64 * 64 + 3 * 64
    added = [t for t in further.tensors if t.name not in {u.name for u in plain.tensors}]
    assert {t.part for t in added} == {"mtp"}


def test_nemotron_layers_without_attention_or_mlp() -> None:
    blocks = [
        {"attention": {"no_op": True}, "ffn": {"ffn_mult": 1.0}},
        {"attention": {"n_heads_in_group": 4}, "ffn": {"no_op": True}},
        {"attention": {"replace_with_linear": True}, "ffn": {"replace_with_linear": True}},
    ]
    shape_of = shapes({"model_type": "nemotron-nas", **SMALL, "block_configs": blocks})
    layers = {name.removeprefix("model.layers."): shape for name, shape in shape_of.items()}
    assert {name: shape for name, shape in layers.items() if name[0] in "012"} == {
        "0.post_attention_layernorm.weight": (64,),
        "0.mlp.gate_proj.weight": (256, 64),  # 2/3 · 64 = 42, rounded up to 256
        "0.mlp.up_proj.weight": (256, 64),
        "0.mlp.down_proj.weight": (64, 256),
        "1.input_layernorm.weight": (64,),
        "1.self_attn.q_proj.weight": (64, 64),
        "1.self_attn.k_proj.weight": (16, 64),
        "1.self_attn.v_proj.weight": (16, 64),
        "1.self_attn.o_proj.weight": (64, 64),
        "2.input_layernorm.weight": (64,),
        "2.self_attn.linear_attn.weight": (64, 64),
        "2.post_attention_layernorm.weight": (64,),
        "2.mlp.linear_mlp.weight": (64, 64),
    }


def test_minicpm_mixture() -> None:
    """8 experts of which 2 are used per token: 6 of 8 expert MLPs rest."""
    config = {"model_type": "minicpm", **SMALL, "num_experts": 8, "num_experts_per_tok": 2}
    prediction = predict(config)
    assert shapes(config)["model.layers.0.mlp.experts.7.w2.weight"] == (64, 96)
    assert prediction.parameters - prediction.active_parameters == 3 * 6 * 3 * 64 * 96


def test_yuan_filters_and_shared_matrices() -> None:
    shape_of = shapes({"model_type": "yuan", **SMALL})
    assert shape_of["model.layers.0.self_attn.lf_gate.conv1.weight"] == (32, 64, 2, 1)
    assert shape_of["model.layers.0.self_attn.lf_gate.conv2.weight"] == (64, 32, 2, 1)
    shared = shapes({"model_type": "yuan", **SMALL, "use_shareqk": True})
    assert shared["model.layers.0.self_attn.qk_weight"] == (2, 64)
    assert "model.layers.0.self_attn.q_proj.weight" not in shared


def test_telechat_layout_follows_the_keys() -> None:
    narrow = shapes(
        {
            "model_type": "telechat",
            "hidden_size": 64,
            "ffn_hidden_size": 96,
            "n_head": 4,
            "n_layer": 1,
            "vocab_size": 99,
        }
    )
    assert narrow["transformer.h.0.self_attention.key_value.weight"] == (128, 64)
    assert narrow["transformer.h.0.mlp.down_proj.bias"] == (64,)
    assert "transformer.h.0.self_attention.query.bias" not in narrow


def test_mpt_of_the_hub_honours_its_keys() -> None:
    config = {
        "model_type": "mpt",
        "architectures": ["MPTForCausalLM"],
        "d_model": 64,
        "n_layers": 1,
        "n_heads": 4,
        "vocab_size": 99,
        "max_seq_len": 24,
    }
    queries = {"attn_type": "multiquery_attention", "qk_ln": True}
    shape_of = shapes({**config, "expansion_ratio": 2, "attn_config": queries})
    assert shape_of["transformer.wpe.weight"] == (24, 64)
    assert shape_of["transformer.blocks.0.attn.Wqkv.weight"] == (64 + 2 * 16, 64)
    assert shape_of["transformer.blocks.0.attn.k_ln.weight"] == (16,)
    assert shape_of["transformer.blocks.0.ffn.up_proj.bias"] == (128,)
    assert "lm_head.weight" not in shape_of


@pytest.mark.parametrize(
    "config",
    [
        {"model_type": "qwen", "audio": {"n_mels": 80}},
        {"model_type": "yuan", **SMALL, "moe_config": {"moe_num_experts": 32}},
        {"model_type": "xverse", **SMALL, "num_experts": 64},
        {"model_type": "minicpm", **SMALL, "mixer_types": ["lightning"]},
        {"model_type": "internvl_chat", "llm_config": {"model_type": "no_such_model"}},
    ],
    ids=lambda config: str(config["model_type"]),
)
def test_relatives_that_are_not_known_are_refused(config: dict[str, Any]) -> None:
    with pytest.raises(UnknownArchitectureError):
        predict(config)


NAS: dict[str, Any] = {"model_type": "nemotron-nas", **SMALL}


@pytest.mark.parametrize(
    ("config", "key"),
    [
        ({**NAS, "block_configs": [{}]}, "block_configs"),
        ({**NAS, "block_configs": ["a", "b", "c"]}, "block_configs[0]"),
        ({**NAS, "block_configs": [{}] * 3}, "block_configs[0].attention.n_heads_in_group"),
        (
            {**NAS, "block_configs": [{"attention": {"n_heads_in_group": 3}}] * 3},
            "block_configs[0].attention.n_heads_in_group",
        ),
        (
            {**NAS, "block_configs": [{"attention": {"no_op": True}}] * 3},
            "block_configs[0].ffn.ffn_mult",
        ),
        ({**NAS, "num_key_value_heads_per_layer": [2]}, "num_key_value_heads_per_layer"),
        ({"model_type": "baichuan"}, "vocab_size"),
        ({"model_type": "internvl_chat", "downsample_ratio": 0}, "downsample_ratio"),
        (
            {"model_type": "internvl_chat", "vision_config": {"norm_type": "none"}},
            "vision_config.norm_type",
        ),
        ({"model_type": "qwen", "visual": {"patch_size": 14}}, "visual.width"),
        ({"model_type": "gpt_neox", "rotary_pct": 1e308}, "rotary_pct"),
        (
            {"model_type": "mpt", "architectures": ["MPTForCausalLM"], "expansion_ratio": -1.5},
            "expansion_ratio",
        ),
        (
            {
                "model_type": "mpt",
                "architectures": ["MPTForCausalLM"],
                "attn_config": {"attn_type": "none"},
            },
            "attn_config.attn_type",
        ),
    ],
)
def test_malformed_keys_are_named(config: dict[str, Any], key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        predict(config)
    assert caught.value.key == key


#: First sizes that absurd values are tried on, key by key.
SAMPLES: dict[str, dict[str, Any]] = {
    "chatglm": {**GLM_4_9B, "num_layers": 2, "pre_seq_len": 4},
    "qwen": {**SMALL, "kv_channels": 16, "visual": {**QWEN_VL_TOWER, "layers": 1}},
    "baichuan": SMALL,
    "internlm": SMALL,
    "internlm2": SMALL,
    "internvl_chat": {
        "downsample_ratio": 0.5,
        "vision_config": INTERN_VIT_300M,
        "llm_config": {"model_type": "llama", **SMALL},
    },
    "minicpm": {**SMALL, "num_experts": 4, "num_experts_per_tok": 2},
    "xverse": SMALL,
    "mimo": {**SMALL, "num_nextn_predict_layers": 1},
    "telechat": {"n_embd": 64, "n_head": 4, "n_layer": 2, "n_inner": 96, "vocab_size": 99},
    "yuan": {**SMALL, "attention_projection_size": 64},
    "nemotron-nas": {
        **SMALL,
        "block_configs": [{"attention": {"n_heads_in_group": 2}, "ffn": {"ffn_mult": 2.5}}] * 3,
    },
    "RefinedWeb": {"hidden_size": 64, "n_layer": 2, "n_head": 4, "n_head_kv": 2},
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
@pytest.mark.parametrize("turn", range(3))
def test_absurd_values_never_crash(model_type: str, turn: int) -> None:
    """An exact answer, or an error of ours; four values a turn for each key."""
    sample = SAMPLES[model_type]
    for key, value in sample.items():
        values = ABSURD[4 * turn : 4 * turn + 4]
        changed = [{**sample, key: absurd} for absurd in values]
        if isinstance(value, dict):
            changed += [
                {**sample, key: {**value, inner: absurd}} for inner in value for absurd in values
            ]
        for config in changed:
            assert sane({**config, "model_type": model_type}), key


def sane(config: dict[str, Any]) -> bool:
    try:
        return predict(config).parameters >= 0
    except ConfigError as error:
        return bool(error.key)
    except (LimitError, UnknownArchitectureError):
        return True


def test_every_type_says_where_its_shapes_come_from() -> None:
    for model_type in (*SAMPLES, "RefinedWebModel", "deci", "intern_vit_6b"):
        family = find_type(model_type)
        assert family is not None
        assert family.source != "transformers"


# ---- real indexes

#: Folder of the corpus -> bytes of one element.
INDEXED = {
    "THUDM--chatglm2-6b": 2,
    "XiaomiMiMo--MiMo-7B": 2,
    "Tele-AI--TeleChat-52B": 2,
    "mosaicml--mpt-7b": 2,
}


@pytest.mark.parametrize("folder", INDEXED)
def test_names_and_bytes_of_a_real_index(folder: str) -> None:
    path = CORPUS / folder
    if not path.is_dir():
        pytest.skip("no corpus of real configs next to the project")
    index = json.loads((path / "index.json").read_text())
    prediction = predict(json.loads((path / "config.json").read_text()))
    assert {t.name for t in prediction.tensors} == set(index["weight_map"])
    elements = sum(t.elements for t in prediction.tensors)
    assert elements * INDEXED[folder] == index["metadata"]["total_size"]


def test_falcon_40b_stores_the_head_that_its_class_ties() -> None:
    path = CORPUS / "tiiuae--falcon-40b"
    if not path.is_dir():
        pytest.skip("no corpus of real configs next to the project")
    index = json.loads((path / "index.json").read_text())
    prediction = predict(json.loads((path / "config.json").read_text()))
    assert set(index["weight_map"]) == {t.name for t in prediction.tensors} | {"lm_head.weight"}
    stored = sum(t.elements for t in prediction.specs if t.saved)
    assert stored * 2 == index["metadata"]["total_size"]


def test_gpt_j_under_its_first_config_holds_its_masks() -> None:
    path = CORPUS / "EleutherAI--gpt-j-6B"
    if not path.is_dir():
        pytest.skip("no corpus of real configs next to the project")
    index = json.loads((path / "index.json").read_text())
    prediction = predict(json.loads((path / "config.json").read_text()))
    assert {t.name for t in prediction.specs} == set(index["weight_map"])
    size = {"U8": 1, "F32": 4, None: 4}
    assert sum(t.elements * size[t.dtype] for t in prediction.specs) == 24_320_971_760
