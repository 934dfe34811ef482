"""What models weigh under recipes: llama.cpp's own choice of types, and every other layout."""

from __future__ import annotations

import json
import math
import os
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import hfinspect
from hfinspect.errors import UsageError
from hfinspect.formats.gguf.ggml_types import GGML_TYPES, GGML_TYPES_BY_NAME
from hfinspect.sizing.recipes import DEFAULT_RECIPES, RECIPES, find_recipe, recipe_sizes
from hfinspect.sizing.recipes.as_gguf import gguf_model
from hfinspect.sizing.recipes.ggml_mixes import (
    GgufModel,
    GgufTensor,
    mixed,
    padded,
    refusal,
    stored_bytes,
)
from hfinspect.trees.prediction import Prediction, predict

from ..cli.program import ROOT
from ..cli.program import hfinspect as program
from ..formats.gguf_files import GgufWriter
from ..schemas import conforms
from .gguf_types_record import Recorded, read, unpacked
from .llama_gguf import llama_file
from .test_offload import LAYER, OUTPUT, TABLE

MODELS = ROOT / "fixtures" / "models"
LLAMA = str(MODELS / "llama-3-8b")
CONFIG: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 96,
    "vocab_size": 128,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "dtype": "bfloat16",
    "architectures": ["LlamaForCausalLM"],
    "tie_word_embeddings": False,
}
RECORD = read()
PROJECTOR = "+mmproj"


@cache
def _case(name: str) -> Recorded:
    return unpacked(RECORD[name])


def _inspected(config: dict[str, Any], tmp: Path) -> tuple[Any, Prediction]:
    (tmp / "config.json").write_text(json.dumps(config))
    return hfinspect.inspect(tmp), predict(config)


def _as_recorded(case: Recorded) -> GgufModel:
    """The converter's file, as the record has it."""
    keys = case.keys
    architecture = case.keys["general.architecture"]

    def first(key: str, absent: int) -> int:
        value = keys.get(f"{architecture}.{key}", absent)
        return int(value[0] if isinstance(value, list) else value)

    heads = first("attention.head_count", 0)
    kv_heads = first("attention.head_count_kv", heads)
    layers = first("block_count", 0)
    large = {("llama", 80), ("qwen2", 80), ("jais2", 68)}
    return GgufModel(
        architecture,
        layers,
        first("expert_count", 0),
        heads // kv_heads if kv_heads else 0,
        (architecture, layers) in large and (architecture != "llama" or heads != kv_heads),
        tuple(GgufTensor(name, shape, dtype) for name, dtype, shape in case.tensors),
    )


# ---- llama-quantize


@pytest.mark.parametrize("name", RECORD)
def test_every_tensor_gets_the_type_that_llama_quantize_gives_it(name: str) -> None:
    case = _case(name)
    model = _as_recorded(case)
    for recipe_name, recorded in case.types.items():
        if isinstance(recorded, str):
            continue  # its error: a key that the tiny config lacks
        recipe = RECIPES[recipe_name]
        plain = recipe_name.removesuffix(" imatrix")
        dtypes = mixed(model, plain, recipe.dtype, recipe.imatrix)
        wrong = {
            tensor.name: (kind, right)
            for tensor, kind, right in zip(model.tensors, dtypes, recorded, strict=True)
            if kind != right
        }
        assert not wrong, recipe_name


def test_the_record_covers_recipes_and_architectures() -> None:
    quantised = [name for name in RECORD if isinstance(_case(name).types["Q4_K_M"], list)]
    assert len({_case(name).keys["general.architecture"] for name in quantised}) >= 75
    kinds = {kind for name in quantised for kind in _case(name).types}
    assert kinds == {name for name, recipe in RECIPES.items() if recipe.kind == "gguf"}


def test_the_bytes_are_those_of_the_files_that_were_written() -> None:
    written = {name: kept["written"] for name, kept in RECORD.items() if "written" in kept}
    assert len(written) >= 5
    for name, files in written.items():
        model = _as_recorded(_case(name))
        for recipe, (data, whole) in files.items():
            kinds = mixed(model, recipe, RECIPES[recipe].dtype, False)
            sizes = [stored_bytes(t, k) for t, k in zip(model.tensors, kinds, strict=True)]
            assert (sum(sizes), padded(sizes)) == (data, whole), (name, recipe)


@pytest.mark.parametrize("name", [name for name in RECORD if not name.endswith(PROJECTOR)])
def test_the_converters_file_follows_from_the_config(name: str, tmp_path: Path) -> None:
    """Names, shapes and dtypes; of what stays in float32 the number of elements."""
    case = _case(name)
    model = gguf_model(*_inspected(case.config, tmp_path))
    assert isinstance(model, GgufModel), model
    right = _as_recorded(case)
    assert _listed(model) == _listed(right)
    assert model[1:4] == right[1:4]


PROJECTORS = [name for name in RECORD if name.endswith(PROJECTOR)]


@pytest.mark.parametrize("name", PROJECTORS)
def test_a_file_for_images_or_sound_is_quantised_alone(name: str, tmp_path: Path) -> None:
    """By its own tensors; recipes that look at groups of heads make llama-quantize stop."""
    case = _case(name)
    writer = GgufWriter().text("general.architecture", "clip")
    offset = 0
    for tensor, dtype, shape in case.tensors:
        kind = GGML_TYPES_BY_NAME[dtype]
        number = next(n for n, other in GGML_TYPES.items() if other == kind)
        writer.tensor(tensor, shape, number, offset)
        offset += -(-kind.stored_bytes(shape) // 32) * 32
    head = writer.header()
    path = tmp_path / "mmproj.gguf"
    path.write_bytes(head + bytes(-len(head) % 32) + bytes(offset))
    sizes = {size.name: size for size in recipe_sizes(hfinspect.inspect(path), None, [*case.types])}
    for recipe, kinds in case.types.items():
        if isinstance(kinds, str):
            assert sizes[recipe].why_unknown.startswith("llama-quantize stops"), recipe
            continue
        pairs = zip(case.tensors, kinds, strict=True)
        right = sum(GGML_TYPES_BY_NAME[kind].stored_bytes(t[2]) for t, kind in pairs)
        assert sizes[recipe].nbytes == right, recipe


def test_where_there_is_no_attention_nothing_is_refused() -> None:
    plain = GgufModel("clip", 0, 0, 0, False, (GgufTensor("mm.0.weight", (256, 256), "BF16"),))
    assert refusal(plain, "Q2_K") == ""
    with_values = plain._replace(tensors=(GgufTensor("v.blk.0.attn_v.weight", (64, 64), "BF16"),))
    assert refusal(with_values, "Q2_K")
    assert refusal(with_values, "Q4_K_M") == ""
    assert refusal(with_values._replace(layers=1), "Q2_K") == ""


def _listed(model: GgufModel) -> dict[str, Any]:
    """By name; Falcon H1's converter forgets one ``.weight``."""
    return {
        re.sub(r"(ffn_norm)$", r"\1.weight", tensor.name): math.prod(tensor.shape)
        if tensor.dtype == "F32"
        else (tensor.dtype, tensor.shape)
        for tensor in model.tensors
    }


def test_a_file_is_sized_like_its_config(tmp_path: Path) -> None:
    path = llama_file(tmp_path)
    for target in (path, CONFIG):
        assert _weights(target, "q8_0") == TABLE + OUTPUT + 4 * LAYER
    assert _weights(path, "q4_k_m") == _weights(CONFIG, "q4_k_m")


def test_published_files_have_these_bytes() -> None:
    """Llama 3.1 8B in Q4_K_M: tensor data as llama.cpp's table of ``llama-quantize --help``
    rounds them, 4.58 GiB, and 7.96 in Q8_0 (of Llama 3 8B, the same tensors)."""
    assert round((_weights(LLAMA, "Q4_K_M") or 0) / 2**30, 2) == 4.58
    assert round((_weights(LLAMA, "Q6_K") or 0) / 2**30, 2) == 6.14
    assert round((_weights(LLAMA, "Q3_K_L") or 0) / 2**30, 2) == 4.02


def test_what_the_converter_makes_is_never_guessed(tmp_path: Path) -> None:
    config = {**CONFIG, "architectures": ["LlamaForSequenceClassification"]}
    (size,) = recipe_sizes(*_inspected(config, tmp_path), ["Q4_K_M"])
    assert (size.nbytes, size.bits_per_weight) == (None, None)
    assert "LlamaForSequenceClassification is not known" in size.why_unknown


# ---- other recipes


def _weights(target: Any, width: str) -> int | None:
    return hfinspect.memory(target, width=width, context=64).weights.nbytes


#: Of a layer: queries and output 64², keys and values 64 · 32, three of 64 · 96.
MATRICES = 4 * (2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 96)
#: Rows and columns of these.
ROWS = 4 * (2 * 64 + 2 * 32 + 2 * 96 + 64)
GROUPS = 4 * (64 + 64 + 32 + 32 + 3 * 96 + 64)
UNPACKED = 2 * (2 * 128 * 64 + (4 * 2 + 1) * 64)


def test_whole_bits_a_parameter() -> None:
    for width, bits in (("fp32", 32), ("bf16", 16), ("F16", 16)):
        assert _weights(LLAMA, width) == 8_030_261_248 * bits // 8


def test_rows_have_scales() -> None:
    """Per row two bytes, table and head in 16 bits."""
    assert _weights(CONFIG, "fp8") == UNPACKED + MATRICES + 2 * ROWS
    assert _weights(CONFIG, "w8a8") == UNPACKED + MATRICES + 2 * ROWS


def test_int4_has_scales_and_zero_points() -> None:
    """One group a row, as rows are shorter than 128: scales of two bytes, zero points of half a
    byte; table and head stay in 16 bits."""
    width = MATRICES // 2 + 2 * ROWS + ROWS // 2
    assert _weights(CONFIG, "int4") == UNPACKED + width
    assert _weights(CONFIG, "int4") == _weights(CONFIG, "awq") == _weights(CONFIG, "4bit")


def test_a_quantised_checkpoint_is_quantised_otherwise(tmp_path: Path) -> None:
    """The config's own method counts only for what is stored."""
    fp8 = {"quant_method": "fp8", "weight_block_size": [128, 128]}
    packed = {**CONFIG, "quantization_config": fp8}
    for name in ("AWQ 4-bit", "Q4_K_M", "BF16"):
        (plain,) = recipe_sizes(*_inspected(CONFIG, tmp_path), [name])
        (other,) = recipe_sizes(*_inspected(packed, tmp_path), [name])
        assert plain.nbytes == other.nbytes is not None


def test_sizes_are_those_of_the_width(tmp_path: Path) -> None:
    """The table and ``--width`` say one number, for a dense model and one with experts."""
    experts = {
        **CONFIG,
        "model_type": "qwen3_moe",
        "architectures": ["Qwen3MoeForCausalLM"],
        "num_experts": 4,
        "num_experts_per_tok": 2,
        "moe_intermediate_size": 64,
        "decoder_sparse_step": 1,
        "head_dim": 16,
    }
    for config in (CONFIG, experts):
        for size in recipe_sizes(*_inspected(config, tmp_path), list(RECIPES)[::3]):
            if size.nbytes is not None:
                assert _weights(config, size.name) == size.nbytes, size.name
                assert size.bits_per_weight
            else:
                assert size.why_unknown


def test_experts_and_layers_follow() -> None:
    """DeepSeek-V3 on 8 devices of experts; llama.cpp's plan by layer."""
    model = str(MODELS / "deepseek-v3")
    whole = hfinspect.memory(model, width="awq", context=64).weights
    weight_bytes = hfinspect.memory(model, width="awq", expert_parallel=8, context=64).weights
    assert weight_bytes.per_device is not None and whole.nbytes is not None
    assert whole.nbytes / 8 < weight_bytes.per_device < whole.nbytes / 6
    planned = hfinspect.memory(CONFIG, width="q8_0", engine="llama.cpp", context=256)
    assert planned.offload is not None
    assert [group.weights for group in planned.offload.layers] == [LAYER]


# ---- names


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("q4_k_m", "Q4_K_M"),
        ("Q4_K_M", "Q4_K_M"),
        ("4bit", "AWQ 4-bit"),
        ("awq", "AWQ 4-bit"),
        ("gptq", "GPTQ 4-bit"),
        ("nf4", "NF4"),
        ("mxfp4", "MXFP4"),
        ("fp8", "FP8"),
        ("int4", "AWQ 4-bit"),
        ("mlx", "MLX 4-bit"),
        ("Q4_K", "Q4_K_M"),
        ("bf16", "BF16"),
        ("W4A16", "W4A16"),
        ("int8", "LLM.int8()"),
        ("as stored", "as stored"),
        ("MLX 4-bit", "MLX 4-bit"),
        ("iq4-xs imatrix", "IQ4_XS imatrix"),
        ("fp32", "F32"),
    ],
)
def test_names_are_understood(text: str, name: str) -> None:
    assert find_recipe(text).name == name


def test_every_recipe_is_found_by_its_own_name() -> None:
    for name in RECIPES:
        assert find_recipe(name).name == find_recipe(name.lower()).name == name
    assert set(DEFAULT_RECIPES) <= set(RECIPES)


@pytest.mark.parametrize(("text", "nearest"), [("q4_k_x", "Q4_K"), ("awk", "AWQ 4-bit")])
def test_a_wrong_name_gets_the_nearest(text: str, nearest: str) -> None:
    with pytest.raises(UsageError) as raised:
        find_recipe(text)
    assert nearest in (raised.value.hint or "")


def test_nonsense_is_refused() -> None:
    for wrong in ({"width": "int3½"}, {"width": "int4", "train": "lora"}):
        with pytest.raises(UsageError):
            hfinspect.memory(LLAMA, **wrong)  # type: ignore[arg-type]


def test_the_program() -> None:
    done = program("memory", LLAMA, "--width", "int4", "--context", "4k", "--on", "8GB")
    assert done.code == 0
    assert "sized at AWQ 4-bit" in done.out
    assert program("memory", LLAMA, "--width", "wide").code == 2


def test_a_linear_whose_weight_has_the_linears_name() -> None:
    """Inkling 2's short convolutions, of which W4A16 keeps no tensor of that name."""
    config = {"model_type": "inkling2_text", "architectures": ["Inkling2ForCausalLM"]}
    layers = {"num_hidden_layers": 1, "layer_types": ["hybrid"]}
    (size,) = hfinspect.recipes({**config, **layers}, ["W4A16"]).recipes
    assert size.nbytes is None
    assert "the experts in one tensor w13_weight" in size.why_unknown


def test_the_list_of_recipes() -> None:
    done = program("memory", LLAMA, "--quantize", "all", "--format", "json")
    document = json.loads(done.out)
    conforms(document, "recipes")
    assert [size["name"] for size in document["recipes"]] == list(RECIPES)
    shown = program("memory", LLAMA, "--quantize", "all").out
    assert "4,912,898,048" in shown and "MXFP4: its layout is known for gpt-oss alone" in shown
    rows = program("memory", LLAMA, "--quantize", "q4_k_m,awq", "--format", "csv").out.splitlines()
    assert [row.split(",")[0] for row in rows] == ["name", "Q4_K_M", "AWQ 4-bit"]
    assert program("memory", LLAMA, "--quantize", "q9").code == 2
    assert program("memory", LLAMA, LLAMA, "--quantize", "all").code == 2


@pytest.mark.oracle
@pytest.mark.skipif("LLAMA_CPP_BUILD" not in os.environ, reason="needs a build of llama.cpp")
@pytest.mark.parametrize("name", ["llama-odd", "qwen3_moe-8", "gpt_oss"])
def test_the_record_is_what_llama_quantize_says_today(name: str, tmp_path: Path) -> None:
    from . import record_gguf_types

    recording, _ = record_gguf_types.record(name, tmp_path)
    kept = _case(name)
    assert dict(
        zip((t[0] for t in recording.tensors), recording.types["Q4_K_M"], strict=True)
    ) == dict(zip((t[0] for t in kept.tensors), kept.types["Q4_K_M"], strict=True))
