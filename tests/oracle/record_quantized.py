"""Records what quantisation libraries write for one Linear of 256 inputs and 192 outputs.

    python -m tests.oracle record quantized bitsandbytes mlx ...

writes ``fixtures/checkpoints/quantized/<library>.json``: names, dtypes and shapes, no data. The
libraries are not needed by any test.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[2] / "fixtures" / "checkpoints" / "quantized"
OUT = 192
IN = 256

_DTYPES = {
    "float32": "F32",
    "float16": "F16",
    "bfloat16": "BF16",
    "uint8": "U8",
    "int8": "I8",
    "int16": "I16",
    "int32": "I32",
    "uint32": "U32",
    "int64": "I64",
    "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2",
}

#: Name of the case, what config.json says, tensors of the module, metadata of the file.
Case = tuple[str, dict[str, Any], Mapping[str, Any], dict[str, str]]


def section(method: str, **values: object) -> dict[str, Any]:
    return {"quantization_config": {"quant_method": method, **values}}


def bitsandbytes() -> Iterator[Case]:
    import bitsandbytes as bnb
    import torch

    weight = torch.randn(OUT, IN)
    for kind in ("nf4", "fp4"):
        for nested in (False, True):
            layer = bnb.nn.Linear4bit(IN, OUT, compress_statistics=nested, quant_type=kind)
            packed = bnb.nn.Params4bit(
                weight, requires_grad=False, compress_statistics=nested, quant_type=kind
            )
            layer.weight = packed._quantize("cpu")
            config = section("bitsandbytes", load_in_4bit=True, bnb_4bit_quant_type=kind)
            yield f"{kind}{'-nested' if nested else ''}", config, layer.state_dict(), {}
    plain = bnb.nn.Linear8bitLt(IN, OUT, has_fp16_weights=False)
    plain.weight = bnb.nn.Int8Params(weight, requires_grad=False, has_fp16_weights=False).to("cpu")
    plain(torch.randn(2, IN))
    yield "int8", section("bitsandbytes", load_in_8bit=True), plain.state_dict(), {}


def mlx() -> Iterator[Case]:
    import mlx.nn as nn
    from mlx.utils import tree_flatten

    linear = nn.Linear(IN, OUT)
    for bits in (2, 3, 4, 5, 6, 8):
        for group in (32, 64, 128):
            layer = nn.QuantizedLinear.from_linear(linear, group, bits)
            config: dict[str, Any] = {"quantization": {"group_size": group, "bits": bits}}
            yield f"{bits}-bit-{group}", config, dict(tree_flatten(layer.parameters())), {}
    for mode, bits, group in (("mxfp4", 4, 32), ("nvfp4", 4, 16), ("mxfp8", 8, 32)):
        layer = nn.QuantizedLinear.from_linear(linear, None, None, mode=mode)
        config = {"quantization": {"group_size": group, "bits": bits, "mode": mode}}
        yield mode, config, dict(tree_flatten(layer.parameters())), {}


def hqq() -> Iterator[Case]:
    import torch
    from hqq.core.quantize import BaseQuantizeConfig, HQQLinear

    for bits in (8, 4, 3, 2, 1):
        for axis in (0, 1):
            told = BaseQuantizeConfig(nbits=bits, group_size=64, axis=axis)
            layer = HQQLinear(
                torch.nn.Linear(IN, OUT), told, compute_dtype=torch.float32, device="cpu"
            )
            inner = {"nbits": bits, "group_size": 64, "axis": axis}
            config = section("hqq", quant_config={"weight_quant_params": inner})
            yield f"{bits}-bit-axis-{axis}", config, layer.state_dict(), {}


def torchao() -> Iterator[Case]:
    import torch
    import torchao.quantization as kinds
    from torchao.prototype.safetensors.safetensors_support import flatten_tensor_state_dict

    for name, told in (
        ("int8", kinds.Int8WeightOnlyConfig()),
        ("int8-dynamic", kinds.Int8DynamicActivationInt8WeightConfig()),
        ("float8", kinds.Float8WeightOnlyConfig()),
        ("intx-int4", kinds.IntxWeightOnlyConfig(weight_dtype=torch.int4)),
        ("intx-groups", kinds.Int8DynamicActivationIntxWeightConfig()),
    ):
        model = torch.nn.Sequential(torch.nn.Linear(IN, OUT)).to(torch.bfloat16)
        kinds.quantize_(model, told)
        yield name, section("torchao"), *flatten_tensor_state_dict(model.state_dict())


def quanto() -> Iterator[Case]:
    import torch
    from optimum.quanto import freeze, qfloat8, qint2, qint4, qint8, quantize

    for name, kind in (("int2", qint2), ("int4", qint4), ("int8", qint8), ("float8", qfloat8)):
        model = torch.nn.Sequential(torch.nn.Linear(IN, OUT))
        quantize(model, weights=kind)
        freeze(model)
        yield name, section("quanto", weights=name), model.state_dict(), {}


#: (bits, type, strategy, group size, symmetric, shape of the scales) by format.
_COMPRESSED = (
    ("pack-quantized", 4, "int", "group", 128, True, (OUT, IN // 128)),
    ("pack-quantized", 4, "int", "group", 128, False, (OUT, IN // 128)),
    ("pack-quantized", 3, "int", "group", 128, True, (OUT, IN // 128)),
    ("pack-quantized", 8, "int", "channel", None, True, (OUT, 1)),
    ("int-quantized", 8, "int", "channel", None, True, (OUT, 1)),
    ("float-quantized", 8, "float", "channel", None, True, (OUT, 1)),
    ("nvfp4-pack-quantized", 4, "float", "tensor_group", 16, True, (OUT, IN // 16)),
    ("mxfp4-pack-quantized", 4, "float", "group", 32, True, (OUT, IN // 32)),
    ("mxfp6-pack-quantized", 6, "float", "group", 32, True, (OUT, IN // 32)),
)


def compressed_tensors() -> Iterator[Case]:
    import torch
    from compressed_tensors.compressors.base import BaseCompressor
    from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme

    for format_name, bits, kind, strategy, group, symmetric, scales in _COMPRESSED:
        told = {"num_bits": bits, "type": kind, "strategy": strategy, "group_size": group}
        state = {"weight": torch.randn(OUT, IN), "weight_scale": torch.full(scales, 0.5)}
        if not symmetric:
            state["weight_zero_point"] = torch.zeros(scales, dtype=torch.int8)
        if format_name.startswith("nvfp4"):
            state["weight_global_scale"] = torch.ones(1)
        scheme = QuantizationScheme(
            targets=["Linear"], weights=QuantizationArgs(**told, symmetric=symmetric)
        )
        packed = BaseCompressor.get_value_from_registry(format_name).compress(state, scheme)
        groups = {"group_0": {"targets": ["Linear"], "weights": {**told, "symmetric": symmetric}}}
        config = section("compressed-tensors", format=format_name, config_groups=groups)
        name = f"{format_name}-{bits}{'' if symmetric else '-zeros'}"
        yield name, config, packed, {}


LIBRARIES: dict[str, Callable[[], Iterator[Case]]] = {
    "bitsandbytes": bitsandbytes,
    "mlx": mlx,
    "hqq": hqq,
    "torchao": torchao,
    "optimum-quanto": quanto,
    "compressed-tensors": compressed_tensors,
}


def record(library: str) -> None:
    cases = []
    for name, config, tensors, metadata in LIBRARIES[library]():
        shapes = {
            key: [_DTYPES[str(value.dtype).rpartition(".")[2]], list(value.shape)]
            for key, value in tensors.items()
        }
        cases.append({"name": name, "config": config, "tensors": shapes, "metadata": metadata})
    content = {"library": library, "version": version(library), "out": OUT, "in": IN}
    FOLDER.mkdir(parents=True, exist_ok=True)
    text = json.dumps({**content, "cases": cases}, indent=1)
    (FOLDER / f"{library}.json").write_text(text + "\n")


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        record(argument)
