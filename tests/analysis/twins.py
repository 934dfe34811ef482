"""One small Llama and its quantised twins: the tensors that each method writes for it.

Sizes are chosen so that every layout is what it is for real models (rows of whole groups and
words). Layouts of bitsandbytes, MLX, HQQ, torchao and compressed-tensors were compared with what
these libraries write.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import hfinspect

Stored = dict[str, tuple[str, tuple[int, ...]]]

CONFIG: dict[str, Any] = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "vocab_size": 512,
    "hidden_size": 256,
    "intermediate_size": 768,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}
#: One scale for so many inputs.
GROUP = 128


class Twin(NamedTuple):
    """A quantised checkpoint: tensors, what config.json gains, and files next to it."""

    tensors: Stored
    config: Mapping[str, Any]
    companions: Mapping[str, Any] = {}
    metadata: Mapping[str, str] = {"format": "pt"}


def original() -> Stored:
    """The tensors of the unquantised model, in bfloat16."""
    return {t.name: ("BF16", t.shape) for t in hfinspect.predict(CONFIG).tensors}


def is_linear(name: str) -> bool:
    return name.endswith("_proj.weight")


#: Gives the tensors that stand for a Linear of (out, in), by the names' ends.
Packing = Callable[[str, int, int], Stored]


def packed(packing: Packing, *, embeddings: bool = False) -> Stored:
    """The model with every projection (and its embedding and head) replaced."""
    result: Stored = {}
    for name, (dtype, shape) in original().items():
        if is_linear(name) or (embeddings and len(shape) == 2):
            result |= packing(name.removesuffix(".weight"), shape[0], shape[1])
        else:
            result[name] = (dtype, shape)
    return result


def section(method: str, **values: object) -> dict[str, Any]:
    return {"quantization_config": {"quant_method": method, **values}}


# ---- words


def gptq(bits: int, *, order: bool = True) -> Packing:
    def pack(name: str, out: int, inputs: int) -> Stored:
        groups = inputs // GROUP
        stored: Stored = {
            f"{name}.qweight": ("I32", (inputs * bits // 32, out)),
            f"{name}.qzeros": ("I32", (groups, out * bits // 32)),
            f"{name}.scales": ("F16", (groups, out)),
        }
        return {**stored, f"{name}.g_idx": ("I32", (inputs,))} if order else stored

    return pack


def awq_gemm(name: str, out: int, inputs: int) -> Stored:
    groups = inputs // GROUP
    return {
        f"{name}.qweight": ("I32", (inputs, out // 8)),
        f"{name}.qzeros": ("I32", (groups, out // 8)),
        f"{name}.scales": ("F16", (groups, out)),
    }


def awq_gemv(name: str, out: int, inputs: int) -> Stored:
    zeros = -(-inputs // GROUP // 8)
    return {
        f"{name}.qweight": ("I32", (out, inputs // 8)),
        f"{name}.qzeros": ("I32", (out, zeros)),
        f"{name}.scales": ("F16", (out, zeros * 8)),
    }


def awq_gemv_fast(name: str, out: int, inputs: int) -> Stored:
    groups = -(-inputs // GROUP // 8) * 8
    return {
        f"{name}.qweight": ("I16", (out // 4, inputs)),
        f"{name}.qzeros": ("F16", (groups, out)),
        f"{name}.scales": ("F16", (groups, out)),
    }


def marlin(name: str, out: int, inputs: int) -> Stored:
    return {
        f"{name}.B": ("I32", (inputs // 16, out * 2)),
        f"{name}.s": ("F16", (inputs // GROUP, out)),
    }


# ---- bitsandbytes


def nf4(kind: str, *, nested: bool) -> Packing:
    def pack(name: str, out: int, inputs: int) -> Stored:
        blocks = out * inputs // 64
        stored: Stored = {
            f"{name}.weight": ("U8", (out * inputs // 2, 1)),
            f"{name}.weight.absmax": ("U8" if nested else "F32", (blocks,)),
            f"{name}.weight.quant_map": ("F32", (16,)),
            f"{name}.weight.quant_state.bitsandbytes__{kind}": ("U8", (168,)),
        }
        if nested:
            stored[f"{name}.weight.nested_absmax"] = ("F32", (-(-blocks // 256),))
            stored[f"{name}.weight.nested_quant_map"] = ("F32", (256,))
        return stored

    return pack


def nf4_in_words(name: str, out: int, inputs: int) -> Stored:
    """``bnb_4bit_quant_storage`` bfloat16, as sharded training wants it."""
    stored = nf4("nf4", nested=True)(name, out, inputs)
    return {**stored, f"{name}.weight": ("BF16", (out * inputs // 4, 1))}


def int8(name: str, out: int, inputs: int) -> Stored:
    return {
        f"{name}.weight": ("I8", (out, inputs)),
        f"{name}.SCB": ("F32", (out,)),
        f"{name}.weight_format": ("U8", ()),
    }


# ---- scales


def fp8(ending: str, shape: Callable[[int, int], tuple[int, ...]], *, static: str = "") -> Packing:
    def pack(name: str, out: int, inputs: int) -> Stored:
        stored: Stored = {
            f"{name}.weight": ("F8_E4M3", (out, inputs)),
            f"{name}.{ending}": ("F32", shape(out, inputs)),
        }
        return {**stored, f"{name}.{static}": ("F32", ())} if static else stored

    return pack


def blocks_of_128(out: int, inputs: int) -> tuple[int, ...]:
    return -(-out // 128), -(-inputs // 128)


def comfy(name: str, out: int, inputs: int) -> Stored:
    """ComfyUI's "scaled" files; no config comes with them."""
    return {
        f"{name}.weight": ("F8_E4M3", (out, inputs)),
        f"{name}.scale_weight": ("F32", (1,)),
        f"{name}.scale_input": ("F32", (1,)),
    }


def comfy_quant(name: str, out: int, inputs: int) -> Stored:
    """The same since 2025: what the format is stands as JSON in a tensor."""
    return {
        f"{name}.weight": ("F8_E4M3", (out, inputs)),
        f"{name}.weight_scale": ("F32", ()),
        f"{name}.comfy_quant": ("U8", (27,)),
    }


def nvfp4(name: str, out: int, inputs: int) -> Stored:
    """ModelOpt's."""
    return {
        f"{name}.weight": ("U8", (out, inputs // 2)),
        f"{name}.weight_scale": ("F8_E4M3", (out, inputs // 16)),
        f"{name}.weight_scale_2": ("F32", ()),
        f"{name}.input_scale": ("F32", ()),
    }


def modelopt_mixed(name: str, out: int, inputs: int) -> Stored:
    """NVFP4 in the MLP, FP8 in attention, scales for the KV cache."""
    if ".mlp." in name:
        return nvfp4(name, out, inputs)
    stored = fp8("weight_scale", lambda _out, _in: (), static="input_scale")(name, out, inputs)
    if name.endswith(("k_proj", "v_proj")):
        stored[f"{name}.{name[-6]}_scale"] = ("F32", (1,))
    return stored


def modelopt_int4(name: str, out: int, inputs: int) -> Stored:
    return {
        f"{name}.weight": ("U8", (out // 2, inputs)),
        f"{name}.weight_scale": ("BF16", (out, inputs // GROUP)),
        f"{name}.pre_quant_scale": ("BF16", (inputs,)),
    }


def f4(name: str, out: int, inputs: int) -> Stored:
    """The dtypes F4 and F8_E8M0 of safetensors: the header's shape counts weights."""
    return {
        f"{name}.weight": ("F4", (out, inputs)),
        f"{name}.weight_scale": ("F8_E8M0", (out, inputs // 32)),
    }


def f6(name: str, out: int, inputs: int) -> Stored:
    return {
        f"{name}.weight": ("F6_E2M3", (out, inputs)),
        f"{name}.weight_scale": ("F8_E8M0", (out, inputs // 32)),
    }


# ---- compressed-tensors


def pack_quantized(bits: int, *, dense: bool = True, zeros: bool = False) -> Packing:
    def pack(name: str, out: int, inputs: int) -> Stored:
        words = inputs * bits // 32 if dense else -(-inputs // (32 // bits))
        groups = inputs // GROUP
        stored: Stored = {
            f"{name}.weight_packed": ("I32", (out, words)),
            f"{name}.weight_scale": ("BF16", (out, groups)),
            f"{name}.weight_shape": ("I64", (2,)),
        }
        if zeros:
            stored[f"{name}.weight_zero_point"] = ("I32", (out * bits // 32, groups))
        return stored

    return pack


def ct_int8(name: str, out: int, inputs: int) -> Stored:
    return {
        f"{name}.weight": ("I8", (out, inputs)),
        f"{name}.weight_scale": ("BF16", (out, 1)),
        f"{name}.weight_zero_point": ("I8", (out, 1)),
        f"{name}.input_scale": ("BF16", (1,)),
        f"{name}.input_zero_point": ("I8", (1,)),
    }


def ct_nvfp4(name: str, out: int, inputs: int) -> Stored:
    return {
        f"{name}.weight_packed": ("U8", (out, inputs // 2)),
        f"{name}.weight_scale": ("F8_E4M3", (out, inputs // 16)),
        f"{name}.weight_global_scale": ("F32", (1,)),
        f"{name}.input_global_scale": ("F32", (1,)),
    }


def ct_mx(bits: int) -> Packing:
    def pack(name: str, out: int, inputs: int) -> Stored:
        return {
            f"{name}.weight_packed": ("U8", (out, inputs * bits // 8)),
            f"{name}.weight_scale": ("U8", (out, inputs // 32)),
        }

    return pack


def groups_of(bits: int, kind: str = "int", group: int | None = GROUP, **more: object) -> Any:
    weights = {"num_bits": bits, "type": kind, "group_size": group, **more}
    return {"group_0": {"targets": ["Linear"], "weights": weights}}


# ---- the rest


def mlx(bits: int, group: int = 64) -> Packing:
    def pack(name: str, out: int, inputs: int) -> Stored:
        return {
            f"{name}.weight": ("U32", (out, inputs * bits // 32)),
            f"{name}.scales": ("BF16", (out, inputs // group)),
            f"{name}.biases": ("BF16", (out, inputs // group)),
        }

    return pack


def mlx_mxfp4(name: str, out: int, inputs: int) -> Stored:
    return {
        f"{name}.weight": ("U32", (out, inputs // 8)),
        f"{name}.scales": ("U8", (out, inputs // 32)),
    }


_HQQ_SETTINGS: dict[str, tuple[str, tuple[int, ...]]] = {
    "nbits": ("I32", ()),
    "group_size": ("I32", ()),
    "shape": ("I64", (2,)),
    "axis": ("I32", ()),
    "packing": ("U8", (7,)),
    "unpack_view_dtype": ("U8", (11,)),
    "view_as_float": ("U8", ()),
    "quant_scale": ("U8", ()),
    "quant_zero": ("U8", ()),
    "compute_dtype": ("U8", (13,)),
    "offload_meta": ("U8", ()),
    "encoded_state_dict": ("U8", ()),
    "stores_quant_config": ("U8", ()),
    "channel_wise": ("U8", ()),
    "optimize": ("U8", ()),
    "round_zero": ("U8", ()),
}


def hqq(bits: int, axis: int) -> Packing:
    rows_a_word = {8: 1, 4: 2, 3: 10, 2: 4, 1: 8}[bits]

    def pack(name: str, out: int, inputs: int) -> Stored:
        groups = out * inputs // 64
        dtype = "I32" if bits == 3 else "U8"
        rows, columns = (groups, 64) if axis == 1 else (64, groups)
        scales = (groups, 1) if axis == 1 else (1, groups)
        return {
            f"{name}.W_q": (dtype, (-(-rows // rows_a_word), columns)),
            f"{name}.scale": ("F16", scales),
            f"{name}.zero": ("F16", scales),
            **{f"{name}.{key}": value for key, value in _HQQ_SETTINGS.items()},
        }

    return pack


def eetq(name: str, out: int, inputs: int) -> Stored:
    return {
        f"{name}.qweight": ("I8", (inputs, out)),
        f"{name}.weight_scales": ("F16", (out,)),
    }


def aqlm(books: int, entries: int, size: int) -> Packing:
    def pack(name: str, out: int, inputs: int) -> Stored:
        return {
            f"{name}.codes": ("I16" if entries > 256 else "I8", (out, inputs // size, books)),
            f"{name}.codebooks": ("F16", (books, entries, 1, size)),
            f"{name}.scales": ("F16", (out, 1, 1, 1)),
        }

    return pack


def bitnet(name: str, out: int, inputs: int) -> Stored:
    return {
        f"{name}.weight": ("U8", (out // 4, inputs)),
        f"{name}.weight_scale": ("BF16", (1,)),
    }


def quanto(bits: int) -> Packing:
    def pack(name: str, out: int, inputs: int) -> Stored:
        if bits == 8:
            return {
                f"{name}.weight._data": ("I8", (out, inputs)),
                f"{name}.weight._scale": ("BF16", (out, 1)),
                f"{name}.input_scale": ("F32", ()),
                f"{name}.output_scale": ("F32", ()),
            }
        groups = out * inputs // GROUP
        return {
            f"{name}.weight._data._data": ("U8", (GROUP * bits // 8, groups)),
            f"{name}.weight._scale": ("BF16", (1, groups)),
            f"{name}.weight._shift": ("BF16", (1, groups)),
        }

    return pack


def torchao(kind: str) -> Packing:
    def pack(name: str, out: int, inputs: int) -> Stored:
        base = f"{name}._weight"
        if kind == "Int4Tensor":
            scales = (inputs // GROUP, out)
            return {
                f"{base}_qdata": ("I8", (out, inputs // 2)),
                f"{base}_scale": ("BF16", scales),
                f"{base}_zero_point": ("BF16", scales),
            }
        dtype = "F8_E4M3" if kind == "Float8Tensor" else "I8"
        return {f"{base}_qdata": (dtype, (out, inputs)), f"{base}_scale": ("F32", (out, 1))}

    return pack


def torchao_of_0_14() -> Stored:
    """Names with colons, also of what is not quantised."""
    stored: Stored = {}
    for name, entry in packed(torchao("Float8Tensor")).items():
        module, _, last = name.rpartition(".")
        own = f"weight:{last.removeprefix('_weight_')}" if last.startswith("_") else f"{last}:_data"
        stored[f"{module}.{own}"] = entry
    return stored


def torchao_metadata(kind: str) -> dict[str, str]:
    import json

    entries = {}
    for name, (_, shape) in original().items():
        if is_linear(name):
            block = [1, GROUP] if kind == "Int4Tensor" else [1, shape[1]]
            data = {"block_size": block, "dtype": {"_type": "torch.dtype", "_data": "bfloat16"}}
            entries[name] = json.dumps({"_type": kind, "_data": data})
    return entries


def _ct(format_name: str, groups: object) -> dict[str, Any]:
    return section("compressed-tensors", format=format_name, config_groups=groups)


def _gptq(bits: int, **more: object) -> dict[str, Any]:
    return section("gptq", bits=bits, group_size=GROUP, **more)


def _mlx(bits: int, group: int = 64) -> dict[str, Any]:
    return {"quantization": {"group_size": group, "bits": bits}}


def _hqq(bits: int, axis: int) -> dict[str, Any]:
    inner = {"nbits": bits, "group_size": 64, "axis": axis}
    return section("hqq", quant_config={"weight_quant_params": inner})


_MODELOPT = {"hf_quant_config.json": {"quantization": {"quant_algo": "NVFP4", "group_size": 16}}}
_MIXED = {"hf_quant_config.json": {"quantization": {"quant_algo": "MIXED_PRECISION"}}}
_BNB4 = section("bitsandbytes", load_in_4bit=True, bnb_4bit_quant_type="nf4")

#: Every format, by a name that tests show.
TWINS: dict[str, Callable[[], Twin]] = {
    **{
        f"gptq-{bits}": lambda bits=bits: Twin(packed(gptq(bits)), _gptq(bits))  # type: ignore[misc]
        for bits in (2, 3, 4, 8)
    },
    "gptq-no-order": lambda: Twin(packed(gptq(4, order=False)), _gptq(4)),
    "gptq-3-no-order": lambda: Twin(packed(gptq(3, order=False)), _gptq(3)),
    "gptq-other-file": lambda: Twin(
        packed(gptq(4)), {}, {"quantize_config.json": {"bits": 4, "group_size": GROUP}}
    ),
    "gptq-unnamed": lambda: Twin(
        packed(gptq(4)), {"quantization_config": {"bits": 4, "group_size": 128, "desc_act": False}}
    ),
    "gptq-untold": lambda: Twin(packed(gptq(4)), {}),
    "awq-untold": lambda: Twin(packed(awq_gemm), {}),
    "nf4-untold": lambda: Twin(packed(nf4("nf4", nested=True)), {}),
    "fp8-untold": lambda: Twin(packed(fp8("weight_scale_inv", blocks_of_128)), {}),
    "nvfp4-untold": lambda: Twin(packed(nvfp4), {}),
    "hqq-untold": lambda: Twin(packed(hqq(4, 1)), {}),
    "aqlm-untold": lambda: Twin(packed(aqlm(2, 256, 8)), {}),
    "marlin": lambda: Twin(packed(marlin), _gptq(4, checkpoint_format="marlin")),
    "awq-gemm": lambda: Twin(packed(awq_gemm), section("awq", bits=4, version="gemm")),
    "awq-gemv": lambda: Twin(packed(awq_gemv), section("awq", bits=4, version="gemv")),
    "awq-gemv-fast": lambda: Twin(
        packed(awq_gemv_fast), section("awq", bits=4, version="gemv_fast")
    ),
    "auto-round-gptq": lambda: Twin(
        packed(gptq(4, order=False)),
        section("auto-round", bits=4, packing_format="auto_round:auto_gptq"),
    ),
    "auto-round-awq": lambda: Twin(packed(awq_gemm), section("intel/auto-round", bits=4)),
    "auto-round-compressed": lambda: Twin(
        packed(pack_quantized(4)),
        section("auto-round", bits=4, group_size=GROUP, packing_format="auto_round:llm_compressor"),
    ),
    "bnb-nf4": lambda: Twin(packed(nf4("nf4", nested=False)), _BNB4),
    "bnb-nf4-double": lambda: Twin(packed(nf4("nf4", nested=True)), _BNB4),
    "bnb-fp4": lambda: Twin(packed(nf4("fp4", nested=False)), _BNB4),
    "bnb-nf4-words": lambda: Twin(packed(nf4_in_words), _BNB4),
    "bnb-int8": lambda: Twin(packed(int8), section("bitsandbytes", load_in_8bit=True)),
    "fp8-blocks": lambda: Twin(
        packed(fp8("weight_scale_inv", blocks_of_128)),
        section("fp8", weight_block_size=[128, 128], activation_scheme="dynamic"),
    ),
    "fp8-static": lambda: Twin(
        packed(fp8("weight_scale_inv", lambda _o, _i: (), static="activation_scale")),
        section("fp8", activation_scheme="static"),
    ),
    "fbgemm": lambda: Twin(
        packed(fp8("weight_scale", lambda out, _: (out, 1), static="input_scale_ub")),
        section("fbgemm_fp8"),
    ),
    "modelopt-nvfp4": lambda: Twin(packed(nvfp4), {}, _MODELOPT),
    "modelopt-mixed": lambda: Twin(packed(modelopt_mixed), {}, _MIXED),
    "modelopt-int4": lambda: Twin(
        packed(modelopt_int4), section("modelopt", quant_algo="W4A16_AWQ")
    ),
    "f4": lambda: Twin(packed(f4), section("quark")),
    "f6": lambda: Twin(packed(f6), section("quark")),
    "ct-pack-4": lambda: Twin(packed(pack_quantized(4)), _ct("pack-quantized", groups_of(4))),
    "ct-pack-4-zeros": lambda: Twin(
        packed(pack_quantized(4, zeros=True)), _ct("pack-quantized", groups_of(4))
    ),
    "ct-pack-8": lambda: Twin(packed(pack_quantized(8)), _ct("pack-quantized", groups_of(8))),
    "ct-pack-3": lambda: Twin(packed(pack_quantized(3)), _ct("pack-quantized", groups_of(3))),
    "ct-pack-3-loose": lambda: Twin(
        packed(pack_quantized(3, dense=False)), _ct("pack-quantized", groups_of(3))
    ),
    "ct-int8": lambda: Twin(packed(ct_int8), _ct("int-quantized", groups_of(8, group=None))),
    "ct-float": lambda: Twin(
        packed(fp8("weight_scale", lambda out, _: (out, 1))),
        _ct("float-quantized", groups_of(8, "float", None)),
    ),
    "ct-nvfp4": lambda: Twin(
        packed(ct_nvfp4), _ct("nvfp4-pack-quantized", groups_of(4, "float", 16))
    ),
    "ct-mxfp4": lambda: Twin(
        packed(ct_mx(4)), _ct("mxfp4-pack-quantized", groups_of(4, "float", 32))
    ),
    "ct-mxfp6": lambda: Twin(
        packed(ct_mx(6)), _ct("mxfp6-pack-quantized", groups_of(6, "float", 32))
    ),
    **{
        f"mlx-{bits}": lambda bits=bits: Twin(  # type: ignore[misc]
            packed(mlx(bits), embeddings=True), _mlx(bits)
        )
        for bits in (2, 3, 4, 5, 6, 8)
    },
    "mlx-group-32": lambda: Twin(packed(mlx(4, 32), embeddings=True), _mlx(4, 32)),
    "mlx-mxfp4": lambda: Twin(packed(mlx_mxfp4), _mlx(4, 32)),
    **{
        f"hqq-{bits}-{axis}": lambda bits=bits, axis=axis: Twin(  # type: ignore[misc]
            packed(hqq(bits, axis)), _hqq(bits, axis)
        )
        for bits in (8, 4, 3, 2, 1)
        for axis in (0, 1)
    },
    "eetq": lambda: Twin(packed(eetq), section("eetq", weights="int8")),
    "aqlm-1x16": lambda: Twin(packed(aqlm(1, 65_536, 8)), section("aqlm")),
    "aqlm-2x8": lambda: Twin(packed(aqlm(2, 256, 8)), section("aqlm")),
    "bitnet": lambda: Twin(packed(bitnet), section("bitnet", quantization_mode="offline")),
    "quanto-8": lambda: Twin(packed(quanto(8)), section("quanto", weights="int8")),
    "quanto-4": lambda: Twin(packed(quanto(4)), section("quanto", weights="int4")),
    "quanto-2": lambda: Twin(packed(quanto(2)), section("quanto", weights="int2")),
    **{
        f"torchao-{kind}": lambda kind=kind: Twin(  # type: ignore[misc]
            packed(torchao(kind)), section("torchao"), metadata=torchao_metadata(kind)
        )
        for kind in ("Int8Tensor", "Float8Tensor", "Int4Tensor")
    },
    "comfy": lambda: Twin(packed(comfy), section("fp8")),
    "comfy-quant": lambda: Twin(packed(comfy_quant), section("fp8")),
    "torchao-0.14": lambda: Twin(
        torchao_of_0_14(), section("torchao"), metadata=torchao_metadata("Float8Tensor")
    ),
}
