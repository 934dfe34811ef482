"""Quantised twins of one model have its logical parameters, from headers alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import hfinspect
from hfinspect import Inspection

from ..builders import write_config, write_safetensors, write_sharded
from ..schemas import conforms
from . import twins
from .twins import TWINS, Twin


def write(directory: Path, twin: Twin, config: dict[str, Any] | None = None) -> Inspection:
    write_safetensors(directory / "model.safetensors", twin.tensors, twin.metadata)
    write_config(directory, {**(twins.CONFIG if config is None else config), **twin.config})
    for name, content in twin.companions.items():
        (directory / name).write_text(json.dumps(content))
    return hfinspect.inspect(directory)


@pytest.mark.parametrize("name", TWINS)
def test_a_twin_has_the_parameters_of_the_original(name: str, tmp_path: Path) -> None:
    """In total, by component and by tensor; known architecture."""
    twin = TWINS[name]()
    inspection = write(tmp_path, twin)
    predicted = hfinspect.predict(twins.CONFIG)
    assert inspection.parameters == inspection.logical == predicted.parameters
    assert inspection.expectation is not None
    assert inspection.expectation.agrees, inspection.expectation
    whole = hfinspect.inspect(twins.CONFIG)
    assert {key: t.parameters for key, t in inspection.components.items()} == {
        key: t.parameters for key, t in whole.components.items()
    }
    assert inspection.stored == sum(t.elements for t in inspection.tensors)
    assert inspection.quantization is not None
    sizes = inspection.quantization.roles
    assert sum(sizes.values()) < sum(t.nbytes or 0 for t in inspection.tensors)
    assert inspection.quantization.packed_bytes == sizes["weights"]
    assert [f for f in inspection.findings if f.severity != "note"] == []
    conforms(inspection.to_dict(tensors=True))


@pytest.mark.parametrize("name", TWINS)
def test_a_twin_of_an_unknown_architecture(name: str, tmp_path: Path) -> None:
    """The same from the layout alone, where no catalog says what must come out."""
    twin = TWINS[name]()
    inspection = write(tmp_path, twin, {"model_type": "nobody-knows"})
    assert inspection.parameters == hfinspect.predict(twins.CONFIG).parameters
    assert inspection.expectation is None


def packed_bits(inspection: Inspection) -> int:
    assert inspection.quantization is not None
    assert inspection.quantization.bits is not None
    return inspection.quantization.bits


@pytest.mark.parametrize(
    ("name", "bits"),
    [
        ("gptq-3", 3),
        ("awq-gemm", 4),
        ("bnb-int8", 8),
        ("mlx-6", 6),
        ("f6", 6),
        ("bitnet", 2),
        ("ct-pack-3", 3),
        ("aqlm-1x16", 2),
        ("hqq-3-1", 3),
        ("modelopt-nvfp4", 4),
    ],
)
def test_bits(name: str, bits: int, tmp_path: Path) -> None:
    assert packed_bits(write(tmp_path, TWINS[name]())) == bits


def test_bits_with_bookkeeping_are_exact(tmp_path: Path) -> None:
    """GPTQ: 4 bits, a 16-bit scale and a 4-bit zero for 128 weights; 32 bits of g_idx an input."""
    quantization = write(tmp_path, TWINS["gptq-4"]()).quantization
    assert quantization is not None
    assert quantization.packed_parameters is not None
    inputs = sum(shape[1] for name, (_, shape) in twins.original().items() if twins.is_linear(name))
    weights = quantization.packed_parameters
    assert quantization.weight_bits == (4 * weights, weights)
    assert quantization.effective_bits == (4 * weights + weights // 128 * 20 + 32 * inputs, weights)
    assert quantization.roles["scales"] == weights // 128 * 2
    assert quantization.roles["zero points"] == weights // 256
    assert quantization.roles["tables"] == 4 * inputs


def test_mixed_widths_have_no_single_number_of_bits(tmp_path: Path) -> None:
    quantization = write(tmp_path, TWINS["modelopt-mixed"]()).quantization
    assert quantization is not None
    assert quantization.bits is None
    assert set(quantization.widths) == {"4", "8"}
    assert sum(quantization.widths.values()) == quantization.packed_parameters
    assert quantization.scheme == "FP8, NVFP4"


def test_modules_left_out_stay_as_they_are(tmp_path: Path) -> None:
    twin = TWINS["gptq-4"]()
    tensors = {k: v for k, v in twin.tensors.items() if ".layers.0." not in k}
    tensors |= {k: v for k, v in twins.original().items() if ".layers.0." in k}
    inspection = write(tmp_path, twin._replace(tensors=tensors))
    predicted = hfinspect.predict(twins.CONFIG).parameters
    assert inspection.parameters == predicted
    assert inspection.quantization is not None
    assert inspection.quantization.packed_parameters is not None
    assert inspection.quantization.packed_parameters < predicted // 2


def test_shapes_win_over_a_lying_config(tmp_path: Path) -> None:
    inspection = write(tmp_path, TWINS["gptq-4"]()._replace(config=twins.section("gptq", bits=8)))
    assert inspection.parameters == hfinspect.predict(twins.CONFIG).parameters
    assert packed_bits(inspection) == 4
    assert "quantization-mismatch" in {finding.rule for finding in inspection.findings}


def test_a_packed_tensor_that_disagrees_is_named(tmp_path: Path) -> None:
    twin = TWINS["gptq-4"]()
    wrong = "model.layers.0.mlp.down_proj"
    tensors = {**twin.tensors, **twins.gptq(4)(wrong, 256, 640)}
    inspection = write(tmp_path, twin._replace(tensors=tensors))
    assert inspection.expectation is not None
    assert set(inspection.expectation.reshaped) == {f"{wrong}.qweight"}
    assert inspection.parameters == inspection.expectation.parameters - 256 * 128


# ---- what cannot be known is unknown, never a wrong number


def unknown(inspection: Inspection) -> None:
    assert inspection.parameters is None
    assert inspection.logical is None
    assert inspection.stored
    assert inspection.quantization is None or inspection.quantization.packed_parameters is None
    assert "unknown-packing" in {finding.rule for finding in inspection.findings}
    assert inspection.expectation is None or inspection.expectation.agrees
    conforms(inspection.to_dict(tensors=True))


def test_an_unknown_method(tmp_path: Path) -> None:
    twin = Twin(twins.packed(twins.awq_gemm), twins.section("brand-new"))
    inspection = write(tmp_path, twin, {"model_type": "nobody-knows"})
    unknown(inspection)
    assert "unknown-quantization" in {finding.rule for finding in inspection.findings}


def sparse_24(name: str, out: int, inputs: int) -> twins.Stored:
    return {
        f"{name}.weight_packed": ("I32", (inputs // 32, out * 2)),
        f"{name}.scale_packed": ("BF16", (inputs // 128, out)),
        f"{name}.meta": ("I16", (inputs // 32, out * 2)),
        f"{name}.weight_shape": ("I64", (2,)),
    }


def sparse_bitmask(name: str, out: int, inputs: int) -> twins.Stored:
    return {
        f"{name}.compressed": ("BF16", (out * inputs // 2,)),
        f"{name}.bitmask": ("U8", (out, inputs // 8)),
        f"{name}.row_offsets": ("I64", (out, 1)),
        f"{name}.shape": ("I64", (2,)),
    }


@pytest.mark.parametrize(
    ("packing", "word"),
    [(sparse_24, "marlin-24"), (sparse_bitmask, "sparse-24-bitmask")],
)
def test_sparse_layouts_are_refused_by_name(
    packing: twins.Packing, word: str, tmp_path: Path
) -> None:
    config = twins.section(
        "compressed-tensors",
        format="marlin-24",
        config_groups=twins.groups_of(4),
        sparsity_config={"format": "sparse-24-bitmask"},
    )
    inspection = write(
        tmp_path, Twin(twins.packed(packing), config), {"model_type": "nobody-knows"}
    )
    unknown(inspection)
    assert any(word in finding.text for finding in inspection.findings)


@pytest.mark.parametrize(
    ("name", "suffix", "tensor"),
    [
        ("gptq-4", "qweight", ("I32", (7, 11))),
        ("gptq-4", "g_idx", ("I32", (77,))),
        ("awq-gemm", "scales", ("F16", (2, 7))),
        ("marlin", "s", ("F16", (2, 7))),
        ("bnb-nf4", "weight.absmax", ("F32", (7,))),
        ("bnb-int8", "weight", ("U8", (256, 256))),
        ("modelopt-nvfp4", "weight_scale", ("F8_E4M3", (256, 15))),
        ("modelopt-int4", "weight_scale", ("BF16", (100, 2))),
        ("ct-pack-4", "weight_packed", ("I32", (256, 31))),
        ("ct-nvfp4", "weight_scale", ("F8_E4M3", (256, 15))),
        ("mlx-4", "weight", ("U32", (256, 31))),
        ("hqq-4-1", "W_q", ("U8", (100, 64))),
        ("eetq", "weight_scales", ("F16", (7,))),
        ("aqlm-2x8", "codebooks", ("F16", (3, 256, 1, 8))),
        ("quanto-4", "weight._scale", ("BF16", (1, 77))),
        ("torchao-Int4Tensor", "_weight_scale", ("BF16", (3, 7))),
    ],
)
def test_shapes_that_do_not_fit(
    name: str, suffix: str, tensor: tuple[str, tuple[int, ...]], tmp_path: Path
) -> None:
    """One tensor of one module is not what its layout makes: only its parameters are unknown."""
    twin = TWINS[name]()
    module = "model.layers.1.self_attn.q_proj"
    assert f"{module}.{suffix}" in twin.tensors
    inspection = write(
        tmp_path, twin._replace(tensors={**twin.tensors, f"{module}.{suffix}": tensor})
    )
    unknown(inspection)
    assert [t.name for t in inspection.tensors if t.parameters is None] == [
        next(
            t.name for t in inspection.tensors if t.name.startswith(module) and t.parameters is None
        )
    ]


def test_a_method_without_packed_tensors_is_a_note(tmp_path: Path) -> None:
    """bitsandbytes in the config of full-precision weights: quantised when loaded."""
    twin = Twin(twins.original(), twins.section("bitsandbytes", load_in_4bit=True))
    inspection = write(tmp_path, twin)
    assert inspection.parameters == hfinspect.predict(twins.CONFIG).parameters
    assert "not-quantized" in {finding.rule for finding in inspection.findings}


def test_integer_matrices_that_nothing_calls_quantised(tmp_path: Path) -> None:
    tensors: twins.Stored = {"layers.0.weight": ("I8", (8, 8)), "layers.1.weight": ("I8", (8, 8))}
    inspection = write(tmp_path, Twin(tensors, {}), {"model_type": "nobody-knows"})
    assert inspection.parameters == 128
    assert "integer-weights" in {finding.rule for finding in inspection.findings}


@pytest.mark.parametrize("section", [None, [], 7, "gptq", {}, {"quant_method": 7}, {"bits": "4"}])
def test_sections_of_no_sense_count_as_not_said(section: object, tmp_path: Path) -> None:
    inspection = write(tmp_path, Twin(twins.original(), {"quantization_config": section}))
    assert inspection.parameters == hfinspect.predict(twins.CONFIG).parameters
    assert inspection.quantization is None


def test_an_unknown_method_of_floats_is_counted_by_its_dtypes(tmp_path: Path) -> None:
    packing = twins.fp8("weight_scale", lambda out, _: (out, 1))
    inspection = write(tmp_path, Twin(twins.packed(packing), twins.section("brand-new")))
    assert inspection.parameters == hfinspect.predict(twins.CONFIG).parameters
    assert "unknown-quantization" in {finding.rule for finding in inspection.findings}


def torchao_pickled(name: str, out: int, inputs: int) -> twins.Stored:
    return {
        f"{name}.weight.tensor_impl.int_data": ("I8", (out, inputs)),
        f"{name}.weight.tensor_impl.scale": ("BF16", (out,)),
        f"{name}.weight.tensor_impl.zero_point": ("I8", (out,)),
    }


def test_pickled_torchao_parts_are_unknown(tmp_path: Path) -> None:
    twin = Twin(twins.packed(torchao_pickled), twins.section("torchao"))
    unknown_parts = write(tmp_path, twin, {"model_type": "nobody-knows"})
    unknown(unknown_parts)
    assert {t.parameters for t in unknown_parts.tensors if "scale" in t.name} == {0}


@pytest.mark.parametrize(
    ("endings", "method"),
    [
        ({"": ("F8_E4M3", (4, 32, 64)), "_scale_inv": ("F32", (4, 1, 1))}, "fp8"),
        ({"": ("F8_E4M3", (4, 32, 64)), "_scale": ("F32", (4, 1, 64))}, "fbgemm_fp8"),
        (
            {
                "": ("U8", (4, 32, 32)),
                "_weight_scale": ("F8_E4M3", (4, 32, 4)),
                "_weight_scale_2": ("F32", (4,)),
                "_input_scale": ("F32", (4,)),
            },
            "modelopt",
        ),
    ],
)
def test_fused_experts(endings: dict[str, Any], method: str, tmp_path: Path) -> None:
    """One tensor for all experts, named without .weight, and its bookkeeping next to it."""
    module = "model.layers.0.mlp.experts.gate_up_proj"
    tensors = {f"{module}{ending}": tensor for ending, tensor in endings.items()}
    config = {"model_type": "nobody-knows", "num_experts": 4, "num_experts_per_tok": 1}
    inspection = write(tmp_path, Twin(tensors, twins.section(method)), config)
    assert inspection.parameters == 4 * 32 * 64
    assert inspection.active_parameters == 32 * 64
    assert inspection.bookkeeping == inspection.stored - endings[""][1][1] * endings[""][1][2] * 4


def test_scales_of_the_kv_cache(tmp_path: Path) -> None:
    """Next to projections, or in the attention itself."""
    tensors = {**twins.TWINS["modelopt-nvfp4"]().tensors}
    for layer in range(2):
        for name in ("k_scale", "v_scale"):
            tensors[f"model.layers.{layer}.self_attn.{name}"] = ("F32", (1,))
    inspection = write(tmp_path, twins.TWINS["modelopt-nvfp4"]()._replace(tensors=tensors))
    assert inspection.parameters == hfinspect.predict(twins.CONFIG).parameters
    assert inspection.expectation is not None
    assert inspection.expectation.agrees


@pytest.mark.parametrize("shape", [(0,), (2,)])
def test_comfyui_files_come_without_a_config(shape: tuple[int, ...], tmp_path: Path) -> None:
    """One tensor more shows that the file is scaled; it is no weight."""
    tensors = {**twins.packed(twins.comfy), "scaled_fp8": ("F8_E4M3", shape)}
    write_safetensors(tmp_path / "model.safetensors", tensors)
    inspection = hfinspect.inspect(tmp_path)
    assert inspection.parameters == hfinspect.predict(twins.CONFIG).parameters
    assert inspection.quantization is not None
    assert inspection.quantization.scheme == "FP8"


def test_mlx_modules_of_their_own_width(tmp_path: Path) -> None:
    """The config's entry of a module has its bits and group size."""
    tensors = twins.packed(twins.mlx(4), embeddings=True)
    tensors |= twins.mlx(8, 32)("model.layers.0.mlp.down_proj", 256, 768)
    section = {
        "group_size": 64,
        "bits": 4,
        "model.layers.0.mlp.down_proj": {"group_size": 32, "bits": 8},
    }
    inspection = write(tmp_path, Twin(tensors, {"quantization": section}))
    assert inspection.parameters == hfinspect.predict(twins.CONFIG).parameters
    assert inspection.quantization is not None
    assert inspection.quantization.widths["8"] == 256 * 768


@pytest.mark.parametrize(
    ("method", "where", "lists"),
    [
        ("gptq", "dynamic", {"+:(((a+)+)+)+$": {"bits": 8}}),
        ("auto-round", "extra_config", {"model.layers.0.mlp.down_proj": {"bits": 8}}),
    ],
)
def test_gptq_modules_of_their_own_width(
    tmp_path: Path, method: str, where: str, lists: dict[str, Any]
) -> None:
    """GPTQModel's ``dynamic`` has patterns that are never compiled: shapes decide."""
    tensors = twins.packed(twins.gptq(4))
    for key in [key for key in tensors if key.startswith("model.layers.0.mlp.down_proj.")]:
        del tensors[key]
    tensors |= twins.gptq(8)("model.layers.0.mlp.down_proj", 256, 768)
    section = twins.section(method, bits=4, **{where: lists})
    inspection = write(tmp_path, Twin(tensors, section))
    assert inspection.parameters == hfinspect.predict(twins.CONFIG).parameters
    assert inspection.quantization is not None
    assert set(inspection.quantization.widths) == {"4", "8"}
    assert inspection.quantization.widths["8"] == 256 * 768
    assert "quantization-mismatch" not in {finding.rule for finding in inspection.findings}


def test_totals_of_an_index_are_compared_and_not_believed(tmp_path: Path) -> None:
    twin = TWINS["gptq-4"]()
    write_sharded(tmp_path, [twin.tensors])
    write_config(tmp_path, {**twins.CONFIG, **twin.config})
    assert "index-total" not in {f.rule for f in hfinspect.inspect(tmp_path).findings}
    path = tmp_path / "model.safetensors.index.json"
    index = json.loads(path.read_text())
    index["metadata"] = {"total_size": 5, "total_parameters": 10**12}
    path.write_text(json.dumps(index))
    inspection = hfinspect.inspect(tmp_path)
    assert inspection.parameters == hfinspect.predict(twins.CONFIG).parameters
    assert len([f for f in inspection.findings if f.rule == "index-total"]) == 2


def test_names_alone_discount_nothing(tmp_path: Path) -> None:
    """Parameters that are called like bookkeeping, in a model that nothing calls quantised."""
    tensors: twins.Stored = {
        "layers.0.weight": ("F32", (8, 8)),
        "layers.0.weight_scale": ("F32", (8,)),
        "layers.1.W_q": ("F32", (8, 8)),
        "layers.2.codebooks": ("F32", (4, 8)),
        "layers.3.B": ("F32", (4, 4)),
        "layers.3.s": ("F32", (4,)),
        "layers.4.scales": ("F32", (4,)),
    }
    inspection = write(tmp_path, Twin(tensors, {}), {"model_type": "nobody-knows"})
    assert inspection.parameters == inspection.stored == 64 + 8 + 64 + 32 + 16 + 4 + 4
    assert inspection.quantization is None
    assert {finding.rule for finding in inspection.findings} <= {"unknown_architecture"}


def test_mlx_without_its_config(tmp_path: Path) -> None:
    """Words and scales fit 2 bits in groups of 128 as well as 4 in groups of 64; the catalog knows
    how many weights there are, and without it nobody does."""
    twin = Twin(twins.packed(twins.mlx(4)), {})
    assert write(tmp_path, twin).parameters == hfinspect.predict(twins.CONFIG).parameters
    unknown(write(tmp_path, twin, {"model_type": "nobody-knows"}))
