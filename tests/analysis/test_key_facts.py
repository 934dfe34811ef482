"""Facts of a build: each under a key that its class reads, none derived."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfinspect import inspect
from hfinspect.analysis.gguf.own_facts import gguf_facts
from hfinspect.analysis.key_facts import facts_of
from hfinspect.core.model_facts import FACTS, ModelFacts
from hfinspect.errors import HfinspectError
from hfinspect.trees.prediction import predict

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
LLAMA = json.loads((FIXTURES / "models/llama-3-8b/config.json").read_text())


def facts(config: dict[str, Any]) -> dict[str, Any]:
    return dict(facts_of(config, predict(config)).known)


def test_a_decoder() -> None:
    model_facts = facts_of(LLAMA, predict(LLAMA))
    assert model_facts.known == {
        "layers": 32,
        "width": 4096,
        "heads": 32,
        "kv_heads": 8,
        "vocabulary": 128256,
        "context": 8192,
    }
    assert model_facts.keys["layers"] == "num_hidden_layers"
    assert model_facts.keys["context"] == "max_position_embeddings"


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (
            {
                "model_type": "gpt2",
                "architectures": ["GPT2LMHeadModel"],
                "n_layer": 3,
                "n_head": 4,
                "n_embd": 64,
                "n_positions": 32,
            },
            {"layers": 3, "heads": 4, "width": 64, "context": 32},
        ),
        (
            {
                "model_type": "t5",
                "architectures": ["T5ForConditionalGeneration"],
                "num_layers": 2,
                "num_decoder_layers": 3,
                "d_model": 64,
                "num_heads": 8,
            },
            {"encoder_layers": 2, "decoder_layers": 3, "layers": None, "width": 64, "heads": 8},
        ),
        (
            {"model_type": "t5", "architectures": ["T5EncoderModel"], "num_layers": 2},
            {"layers": 2, "encoder_layers": None, "decoder_layers": None},
        ),
        (
            {
                "model_type": "bart",
                "architectures": ["BartForCausalLM"],
                "encoder_layers": 2,
                "decoder_layers": 3,
            },
            {"layers": 3, "decoder_layers": None},
        ),
        (
            {
                "model_type": "whisper",
                "architectures": ["WhisperForConditionalGeneration"],
                "encoder_layers": 4,
                "decoder_layers": 2,
                "num_mel_bins": 80,
                "max_target_positions": 448,
            },
            {"encoder_layers": 4, "decoder_layers": 2, "mel_bins": 80, "context": 448},
        ),
        (
            {
                "model_type": "clip",
                "architectures": ["CLIPModel"],
                "text_config": {
                    "num_hidden_layers": 2,
                    "hidden_size": 64,
                    "num_attention_heads": 4,
                },
                "vision_config": {
                    "num_hidden_layers": 3,
                    "hidden_size": 96,
                    "num_attention_heads": 6,
                    "image_size": 224,
                    "patch_size": 32,
                },
            },
            {
                "layers": 2,
                "width": 64,
                "vision_layers": 3,
                "vision_width": 96,
                "vision_heads": 6,
                "image_size": 224,
                "patch_size": 32,
            },
        ),
        (
            {
                "model_type": "clip",
                "architectures": ["CLIPVisionModel"],
                "text_config": {"num_hidden_layers": 2},
                "vision_config": {"num_hidden_layers": 3, "hidden_size": 96, "patch_size": 32},
            },
            {"layers": 3, "width": 96, "vision_layers": None, "patch_size": 32},
        ),
        (
            {"model_type": "clip", "architectures": ["CLIPModel"]},  # the class's defaults
            {"layers": 12, "width": 512, "vision_layers": 12, "vision_width": 768},
        ),
        (
            {
                "model_type": "swin",
                "architectures": ["SwinModel"],
                "depths": [1, 2],
                "num_heads": [2, 4],
                "embed_dim": 8,
                "image_size": 32,
            },
            {"depths": (1, 2), "layers": None, "heads": None, "image_size": 32},
        ),
        (
            {"model_type": "mixtral", "num_local_experts": 4, "num_experts_per_tok": 2},
            {"experts": 4, "experts_per_token": 2},
        ),
    ],
)
def test_by_kind(config: dict[str, Any], expected: dict[str, Any]) -> None:
    key_facts = facts(config)
    assert {name: key_facts.get(name) for name in expected} == expected


def test_an_alias_is_what_the_class_reads() -> None:
    config = {"model_type": "gpt2", "n_layer": 2, "num_hidden_layers": 4}
    model_facts = facts_of(config, predict(config))
    assert (model_facts.layers, model_facts.keys["layers"]) == (4, "num_hidden_layers")


def test_diffusion() -> None:
    config = {
        "_class_name": "UNet2DConditionModel",
        "sample_size": 64,
        "in_channels": 4,
        "block_out_channels": [320, 640, 1280, 1280],
        "cross_attention_dim": 768,
    }
    model_facts = facts_of(config)
    assert model_facts.known == {
        "sample_size": 64,
        "in_channels": 4,
        "block_channels": (320, 640, 1280, 1280),
        "cross_attention_width": 768,
    }


def test_without_a_catalogued_class_only_what_the_file_says() -> None:
    model_facts = facts_of({"model_type": "nobody-knows", "hidden_size": 8, "num_hidden_layers": 2})
    assert model_facts.known == {"layers": 2, "width": 8}
    assert facts_of(None) == ModelFacts()
    assert facts_of({"hidden_size": True, "num_hidden_layers": -1, "vocab_size": 1e9}) == facts_of(
        {}
    )


def test_layers_are_those_of_the_tree() -> None:
    """Of every recorded family: a count of layers is the length of a list of modules."""
    from ..oracle_folder import ORACLE  # here, as the other tests need no recordings

    seen = 0
    for path in sorted((ORACLE / "recorded").glob("*.json")):
        recorded = next(iter(json.loads(path.read_text()).values()))
        config = recorded.get("saved") or recorded.get("given")
        if not isinstance(config, dict) or config.get("model_type") == "albert":
            continue
        try:
            prediction = predict(config)
        except HfinspectError:
            continue
        stacks: dict[str | None, set[int]] = {}
        for spec in prediction.tensors:
            if spec.layer is not None:
                stacks.setdefault(spec.stack, set()).add(spec.layer)
        lengths = {len(layers) for layers in stacks.values()}
        model_facts = facts_of(config, prediction)
        for name in ("layers", "encoder_layers", "decoder_layers"):
            number = getattr(model_facts, name)
            assert number is None or number in lengths, (path.name, name, number, lengths)
            seen += number is not None
    assert seen > 200


def test_gguf() -> None:
    said = {
        "general.architecture": "llama",
        "llama.block_count": 2,
        "llama.embedding_length": 8,
        "llama.attention.head_count": 4,
        "llama.attention.head_count_kv": [1, 2],
        "llama.context_length": 64,
        "tokenizer.ggml.tokens": {"length": 100},
    }
    model_facts = gguf_facts(said)
    assert model_facts.known == {
        "layers": 2,
        "width": 8,
        "heads": 4,
        "vocabulary": 100,
        "context": 64,
    }
    assert model_facts.keys["layers"] == "llama.block_count"
    read = inspect(FIXTURES / "checkpoints/gguf-v3").facts
    assert all(read.keys[name] for name in read.known)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "model_type",
                    "num_hidden_layers",
                    "text_config",
                    "vision_config",
                    "image_size",
                    "depths",
                    "layer_types",
                    "hidden_size",
                    "height",
                    "width",
                    "n_layer",
                    "_class_name",
                ]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)


@given(
    st.dictionaries(
        st.sampled_from(
            [
                "model_type",
                "num_hidden_layers",
                "text_config",
                "vision_config",
                "image_size",
                "decoder",
                "encoder",
                "_class_name",
                "layer_types",
            ]
        ),
        JSON,
    )
)
def test_any_config_has_facts_of_the_right_kind(config: dict[str, Any]) -> None:
    model_facts = facts_of(config)
    for name, number in model_facts.known.items():
        assert name in FACTS
        numbers = number if isinstance(number, tuple) else (number,)
        assert all(type(n) is int and n > 0 for n in numbers)
    json.dumps(model_facts.to_dict(), allow_nan=False)


@given(
    st.dictionaries(
        st.sampled_from(
            [
                "general.architecture",
                "x.block_count",
                "x.embedding_length",
                "tokenizer.ggml.tokens",
                "x.decoder_block_count",
            ]
        ),
        JSON | st.just("x"),
    )
)
def test_any_key_values_have_facts(metadata: dict[str, Any]) -> None:
    json.dumps(gguf_facts(metadata).to_dict(), allow_nan=False)
