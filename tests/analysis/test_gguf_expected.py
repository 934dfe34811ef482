"""GGUF next to what is predicted, tensor by tensor: names as the gguf package maps them, and every
kind of difference."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hfinspect
from hfinspect.analysis.gguf.expected import GgufComparison, compare_names
from hfinspect.analysis.gguf.llama_cpp_names import gguf_name, is_left_out
from hfinspect.analysis.gguf.own_config import config_of
from hfinspect.core.components import Component, Role
from hfinspect.core.tensor import TensorInfo, TensorSpec
from hfinspect.errors import HfinspectError
from hfinspect.trees.prediction import Prediction

from ..architectures import recordings

#: transformers' model type -> llama.cpp's architecture.
ARCHITECTURES = {
    "llama": "llama",
    "mistral": "llama",
    "mixtral": "llama",
    "qwen2": "qwen2",
    "qwen2_moe": "qwen2moe",
    "qwen3": "qwen3",
    "qwen3_moe": "qwen3moe",
    "gemma": "gemma",
    "gemma2": "gemma2",
    "gemma3_text": "gemma3",
    "phi": "phi2",
    "phi3": "phi3",
    "gpt2": "gpt2",
    "bloom": "bloom",
    "falcon": "falcon",
    "gpt_neox": "gptneox",
    "mpt": "mpt",
    "starcoder2": "starcoder2",
    "cohere": "command-r",
    "cohere2": "cohere2",
    "olmo": "olmo",
    "olmo2": "olmo2",
    "olmoe": "olmoe",
    "deepseek_v2": "deepseek2",
    "deepseek_v3": "deepseek2",
    "granite": "granite",
    "granitemoe": "granitemoe",
    "exaone4": "exaone4",
    "glm4": "glm4",
    "glm4_moe": "glm4moe",
    "bert": "bert",
    "smollm3": "smollm3",
    "gpt_oss": "gpt-oss",
    "ernie4_5": "ernie4_5",
    "seed_oss": "seed_oss",
    "nemotron": "nemotron",
    "gptj": "gptj",
    "gpt_bigcode": "starcoder",
    "mamba": "mamba",
    "arcee": "arcee",
    "lfm2": "lfm2",
    "dots1": "dots1",
    "bitnet": "bitnet",
    "phimoe": "phimoe",
    "llama4_text": "llama4",
    "jamba": "jamba",
}

#: What the gguf package has no name for: the converters write them by other means.
ONLY_OURS = re.compile(
    r".*(sub_norm|experts\.(gate_up|down)_proj(_bias)?|input_linear|[qk]_layernorm(\.norms\.\d+)?"
    r"|sinks|post_attention_layernorm|lm_head|mlp\.(gate|up|down)_proj|self_attn\.q_proj)"
    r"(\.weight|\.bias)?"
)


@lru_cache(maxsize=1)
def predictions() -> dict[str, list[Prediction]]:
    """Every recorded config of these types, whose tensors all have names in GGUF."""
    by_architecture: dict[str, list[Prediction]] = {}
    for _, _, record in recordings.everything():
        model_type = record.get("model_type")
        classes = ("ForCausalLM", "LMHeadModel", "BertModel")
        if model_type not in ARCHITECTURES or not record["architecture"].endswith(classes):
            continue
        config = next(iter(recordings.spellings(record).values()))
        try:
            by_architecture.setdefault(str(model_type), []).append(hfinspect.predict(config))
        except HfinspectError:
            continue
    return by_architecture


def stored(specs: Iterable[TensorSpec], name_of: Callable[[TensorSpec], str]) -> list[TensorInfo]:
    """The file that a converter would write: experts of a layer in one tensor."""
    shapes: dict[str, list[tuple[int, ...]]] = {}
    for spec in specs:
        shapes.setdefault(name_of(spec), []).append(spec.shape)
    return [info(name, of[0] if len(of) == 1 else (len(of), *of[0])) for name, of in shapes.items()]


def info(name: str, shape: tuple[int, ...]) -> TensorInfo:
    return TensorInfo(name, shape, "Q8_0", 0, Component.OTHER, role=Role.PARAMETER)


def converted(prediction: Prediction, architecture: str) -> list[TensorInfo]:
    specs = [
        spec
        for spec in prediction.tensors
        if spec.role is Role.PARAMETER and gguf_name(spec, architecture) is not None
    ]
    return stored(specs, lambda spec: gguf_name(spec, architecture) or "")


@pytest.mark.parametrize("model_type", sorted(ARCHITECTURES))
def test_names_are_those_of_the_gguf_package(model_type: str) -> None:
    constants: Any = pytest.importorskip("gguf.constants")
    mapping: Any = pytest.importorskip("gguf.tensor_mapping")
    architecture = ARCHITECTURES[model_type]
    numbers = {name: number for number, name in constants.MODEL_ARCH_NAMES.items()}
    layers = [tensor.layer or 0 for p in predictions()[model_type] for tensor in p.tensors]
    table = mapping.get_tensor_name_map(numbers[architecture], max(layers) + 1)
    checked = 0
    for prediction in predictions()[model_type]:
        for spec in prediction.tensors:
            ours = gguf_name(spec, architecture)
            name = re.sub(r"\.experts\.\d+\.", ".experts.", spec.name)
            names = [name, name.partition(".")[2]]
            theirs = {table.get_name(n, try_suffixes=(".weight", ".bias")) for n in names} - {None}
            if spec.role is not Role.PARAMETER or is_left_out(spec, architecture):
                continue
            if theirs and not spec.name.endswith((".sinks", ".down_proj")):
                assert ours in theirs, spec.name
                checked += 1
            elif ours is not None:
                assert ONLY_OURS.fullmatch(spec.name), spec.name
    assert checked


@pytest.mark.parametrize("model_type", sorted(ARCHITECTURES))
def test_what_was_converted_is_what_was_promised(model_type: str) -> None:
    architecture = ARCHITECTURES[model_type]
    for prediction in predictions()[model_type]:
        comparison = compare_names(converted(prediction, architecture), prediction, architecture)
        assert comparison.expectation.agrees
        if not comparison.unnamed and architecture != "bert":
            assert comparison.expectation.parameters == prediction.parameters


# ---- differences

CONFIG = {
    "model_type": "qwen3_moe",
    "architectures": ["Qwen3MoeForCausalLM"],
    "vocab_size": 64,
    "hidden_size": 16,
    "intermediate_size": 32,
    "moe_intermediate_size": 8,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "num_experts": 4,
    "num_experts_per_tok": 2,
}


def comparison_of(change: Callable[[dict[str, TensorInfo]], None]) -> GgufComparison:
    prediction = hfinspect.predict(CONFIG)
    tensors = {item.name: item for item in converted(prediction, "qwen3moe")}
    change(tensors)
    return compare_names(list(tensors.values()), prediction, "qwen3moe")


def test_a_missing_tensor_is_named_as_the_tree_names_it() -> None:
    comparison = comparison_of(lambda tensors: tensors.pop("blk.1.attn_q_norm.weight") and None)
    assert comparison.expectation.missing == ("model.layers.1.self_attn.q_norm.weight",)


def test_a_missing_group_of_experts() -> None:
    comparison = comparison_of(lambda tensors: tensors.pop("blk.0.ffn_up_exps.weight") and None)
    assert comparison.expectation.missing == tuple(
        f"model.layers.0.mlp.experts.{n}.up_proj.weight" for n in range(4)
    )


def test_a_tensor_that_nothing_promises() -> None:
    def add(tensors: dict[str, TensorInfo]) -> None:
        tensors["blk.0.attn_q.bias"] = info("blk.0.attn_q.bias", (32,))

    assert comparison_of(add).expectation.unexpected == ("blk.0.attn_q.bias",)


@pytest.mark.parametrize(
    ("name", "shape", "predicted"),
    [
        ("token_embd.weight", (65, 16), (64, 16)),
        ("blk.0.ffn_down_exps.weight", (3, 16, 8), (4, 16, 8)),
        ("blk.1.attn_k.weight", (8, 32), (16, 16)),
    ],
)
def test_a_tensor_of_another_size(
    name: str, shape: tuple[int, ...], predicted: tuple[int, ...]
) -> None:
    def change(tensors: dict[str, TensorInfo]) -> None:
        tensors[name] = info(name, shape)

    assert comparison_of(change).expectation.reshaped == {name: (shape, predicted)}


def test_a_transposed_tensor_is_no_difference() -> None:
    def turn(tensors: dict[str, TensorInfo]) -> None:
        shape = tensors["blk.0.attn_q.weight"].shape
        tensors["blk.0.attn_q.weight"] = info("blk.0.attn_q.weight", shape[::-1])

    assert comparison_of(turn).expectation.agrees


def test_experts_one_by_one_as_in_2023() -> None:
    def split(tensors: dict[str, TensorInfo]) -> None:
        for name in [name for name in tensors if "_exps." in name]:
            count, *shape = tensors.pop(name).shape
            for number in range(count):
                own = name.replace("_exps", f".{number}")
                tensors[own] = info(own, tuple(shape))

    assert comparison_of(split).expectation.agrees


@pytest.mark.parametrize("model_type", ["phi3", "deepseek_v3", "gpt_oss", "gpt_bigcode"])
def test_pieces_and_wholes(model_type: str) -> None:
    """Projections that one converter keeps fused and another splits, in either direction."""
    pieces = {
        "attn_qkv": ("attn_q", "attn_k", "attn_v"),
        "attn_kv_b": ("attn_k_b", "attn_v_b"),
        "ffn_gate_up_exps": ("ffn_gate_exps", "ffn_up_exps"),
    }
    architecture = ARCHITECTURES[model_type]
    split = 0
    for prediction in predictions()[model_type]:
        tensors = []
        for item in converted(prediction, architecture):
            stem = next((whole for whole in pieces if f".{whole}." in item.name), None)
            if stem is None or item.shape[-1] < 3:
                tensors.append(item)
                continue
            split += 1
            *names, last = (item.name.replace(stem, piece) for piece in pieces[stem])
            tensors += [info(name, (*item.shape[:-1], 1)) for name in names]
            tensors.append(info(last, (*item.shape[:-1], item.shape[-1] - len(names))))
        assert compare_names(tensors, prediction, architecture).expectation.agrees
    assert split


def test_separate_projections_in_one_tensor() -> None:
    prediction = hfinspect.predict({**CONFIG, "model_type": "llama", "architectures": []})
    tensors = {item.name: item for item in converted(prediction, "llama")}
    for layer in range(2):
        shapes = [tensors.pop(f"blk.{layer}.attn_{x}.weight").shape for x in "qkv"]
        rows = sum(shape[0] for shape in shapes)
        tensors[f"blk.{layer}.attn_qkv.weight"] = info(
            f"blk.{layer}.attn_qkv.weight", (rows, shapes[0][1])
        )
    assert compare_names(list(tensors.values()), prediction, "llama").expectation.agrees


def test_a_tied_head_that_is_stored_is_said() -> None:
    prediction = hfinspect.predict({**CONFIG, "tie_word_embeddings": True})
    tensors = [*converted(prediction, "qwen3moe"), info("output.weight", (64, 16))]
    comparison = compare_names(tensors, prediction, "qwen3moe")
    assert comparison.expectation.agrees
    assert comparison.stored_ties == ("output.weight",)


def test_tensors_without_a_known_name_are_compared_by_their_sum() -> None:
    [prediction] = [p for p in predictions_of_apertus() if p.parameters][:1]
    known = converted(prediction, "apertus")
    rest = sum(spec.parameters for spec in prediction.tensors) - sum(
        spec.parameters for spec in prediction.tensors if gguf_name(spec, "apertus") is not None
    )
    comparison = compare_names([*known, info("blk.0.xielu", (rest,))], prediction, "apertus")
    assert comparison.unnamed
    assert comparison.expectation.agrees
    assert comparison.rest == (rest, rest)
    assert compare_names(known, prediction, "apertus").rest == (0, rest)


def predictions_of_apertus() -> list[Prediction]:
    return [
        hfinspect.predict(next(iter(recordings.spellings(record).values())))
        for record in recordings.of("apertus").values()
        if record["architecture"] == "ApertusForCausalLM"
    ]


# ---- the file alone

KEYS = {
    "embedding_length": ("hidden_size", "n_embd"),
    "feed_forward_length": ("intermediate_size", "n_inner", "ffn_hidden_size"),
    "block_count": ("num_hidden_layers", "n_layer"),
    "attention.head_count": ("num_attention_heads", "n_head"),
    "attention.head_count_kv": ("num_key_value_heads", "num_kv_heads"),
    "attention.key_length": ("head_dim",),
    "vocab_size": ("vocab_size",),
    "expert_count": ("num_local_experts", "num_experts"),
    "expert_used_count": ("num_experts_per_tok",),
    "expert_feed_forward_length": ("moe_intermediate_size",),
    "expert_shared_feed_forward_length": ("shared_expert_intermediate_size",),
}
ALONE: list[dict[str, Any]] = [
    {"model_type": "llama", "head_dim": 8},
    {"model_type": "llama", "tie_word_embeddings": True, "attention_bias": True, "mlp_bias": True},
    {"model_type": "mixtral", "num_local_experts": 4, "num_experts_per_tok": 2},
    {"model_type": "mistral"},
    {"model_type": "qwen2"},
    {"model_type": "qwen3", "head_dim": 8},
    CONFIG,
    {
        "model_type": "qwen2_moe",
        "num_experts": 4,
        "num_experts_per_tok": 2,
        "moe_intermediate_size": 8,
        "shared_expert_intermediate_size": 24,
    },
    {"model_type": "gemma", "head_dim": 8},
    {"model_type": "gemma2", "head_dim": 8},
    {"model_type": "gemma3_text", "head_dim": 8},
    {"model_type": "phi3", "pad_token_id": 0},
    {"model_type": "starcoder2"},
    {"model_type": "olmo2"},
    {
        "model_type": "gpt2",
        "n_embd": 16,
        "n_inner": 48,
        "n_layer": 2,
        "n_head": 4,
        "n_positions": 64,
    },
    {"model_type": "bloom", "n_layer": 2, "n_head": 4, "intermediate_size": 64},
    {
        "model_type": "falcon",
        "new_decoder_architecture": True,
        "num_kv_heads": 2,
        "ffn_hidden_size": 64,
    },
    {"model_type": "falcon", "multi_query": True, "num_kv_heads": 1, "ffn_hidden_size": 64},
]
SHARED = {
    "vocab_size": 64,
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
}


def metadata_of(config: dict[str, Any], architecture: str) -> dict[str, object]:
    metadata: dict[str, object] = {"general.architecture": architecture}
    metadata[f"{architecture}.context_length"] = 64
    for key, names in KEYS.items():
        value = next((config[name] for name in reversed(names) if name in config), None)
        if value is not None:
            metadata[f"{architecture}.{key}"] = value
    return metadata


@pytest.mark.parametrize("given", ALONE)
def test_a_file_alone_promises_by_its_key_values(given: dict[str, Any]) -> None:
    config = {**SHARED, **given}
    architecture = ARCHITECTURES[config["model_type"]]
    prediction = hfinspect.predict(config)
    tensors = converted(prediction, architecture)
    own = config_of(metadata_of(config, architecture), {item.name for item in tensors})
    assert own is not None
    comparison = compare_names(tensors, hfinspect.predict(own), architecture)
    assert comparison.expectation.agrees, comparison.expectation
    assert comparison.expectation.parameters == prediction.parameters


@pytest.mark.parametrize(
    "change",
    [
        {"general.architecture": "unheard-of"},
        {"general.architecture": None},
        {"general.type": "adapter"},
        {"llama.block_count": None},
        {"llama.attention.head_count": [4, 4]},
        {"llama.embedding_length": -16},
        {"llama.vocab_size": "64"},
    ],
)
def test_a_file_that_says_too_little_promises_nothing(change: dict[str, object]) -> None:
    metadata = {**metadata_of({**SHARED, "model_type": "llama"}, "llama"), **change}
    assert config_of(metadata, {"output.weight", "token_embd.weight"}) is None


def test_more_layers_than_tensors_are_made_up() -> None:
    metadata = metadata_of({**SHARED, "model_type": "llama"}, "llama")
    assert config_of(metadata, {"output.weight"}) is None
    assert config_of(metadata, {"output.weight", "token_embd.weight"}) is not None


_VALUES = (
    st.integers(-1, 3)
    | st.sampled_from([16, 64, 2**31, 2**64 - 1])
    | st.none()
    | st.booleans()
    | st.floats()
    | st.text(max_size=3)
    | st.lists(st.integers(0, 4), max_size=3)
)


@given(
    st.sampled_from([*sorted(set(ARCHITECTURES.values())), ""]),
    st.dictionaries(st.sampled_from([*KEYS, "context_length"]), _VALUES),
    st.lists(
        st.tuples(
            st.sampled_from(
                [
                    "output.weight",
                    "token_embd.weight",
                    "blk.0.attn_q.bias",
                    "blk.0.ffn_up.3.weight",
                    "blk.1.attn_qkv.weight",
                    "blk..attn_q.weight",
                    "v.blk.0.ln1.weight",
                    "",
                ]
            ),
            st.lists(st.integers(0, 5), max_size=3).map(tuple),
        ),
        max_size=6,
    ),
)
def test_any_key_values_promise_something_or_nothing(
    architecture: str, values: dict[str, object], held: list[tuple[str, tuple[int, ...]]]
) -> None:
    """Key-values are foreign: whatever they say, a config comes out that is judged, or none."""
    base = metadata_of({**SHARED, "model_type": architecture}, architecture)
    metadata = {**base, **{f"{architecture}.{key}": value for key, value in values.items()}}
    tensors = [info(name, shape) for name, shape in held]
    own = config_of(metadata, {item.name for item in tensors})
    try:
        prediction = hfinspect.predict(own or {})
        assert prediction.specs is not None
    except HfinspectError:
        return
    comparison = compare_names(tensors, prediction, architecture)
    assert comparison.expectation.parameters >= 0


@pytest.mark.parametrize(
    ("architecture", "said", "windows"),
    [("gemma2", None, 4096), ("gemma2", 512, 512), ("gemma3", 1024, 1024), ("gemma3", None, None)],
)
def test_windows_are_those_of_the_file(
    architecture: str, said: int | None, windows: int | None
) -> None:
    """Where it says none, llama.cpp's: 4,096 of Gemma 2, none of Gemma 3."""
    metadata = metadata_of({**SHARED, "head_dim": 16}, architecture)
    metadata["gemma3.vocab_size"] = metadata["gemma2.vocab_size"] = 64
    if said is not None:
        metadata[f"{architecture}.attention.sliding_window"] = said
    own = config_of(metadata, {str(i) for i in range(20)})
    assert own is not None
    assert own.get("sliding_window") == windows
    assert ("layer_types" in own) is (windows is None)
