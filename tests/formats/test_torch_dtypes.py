"""Element types of PyTorch files beyond the usual: sub-byte, quantised, and of versions to come."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import hfinspect
from hfinspect.core.checkpoint import Shard
from hfinspect.core.components import Role
from hfinspect.formats.base import BytesReader
from hfinspect.formats.torch.torch import FORMAT

from .torch_files import ORDERED_DICT, number, numbers, pickled, storage, torch_zip

UNTYPED = b"ctorch.storage\nUntypedStorage\n"


def read(data: bytes) -> Shard:
    return FORMAT.read_header(BytesReader("pytorch_model.bin", data))


def rules(shard: Shard) -> set[str]:
    return {finding.rule for finding in shard.findings}


def of_dtype(dtype: str, shape: tuple[int, ...], nbytes: int) -> bytes:
    """A file of one tensor on an untyped storage, as torch 2 saves dtypes without storage class."""
    tensor = (
        b"ctorch._utils\n_rebuild_tensor_v3\n("
        + storage("0", nbytes, UNTYPED)
        + number(0)
        + numbers(shape)
        + numbers([1] * len(shape))
        + b"\x89"
        + ORDERED_DICT
        + b")R"
        + f"ctorch\n{dtype}\n".encode()
        + b"tR"
    )
    return torch_zip(pickled({"weight": tensor}), {"0": nbytes})


def quantized(kind: str, shape: tuple[int, ...], nbytes: int) -> bytes:
    """A file of one tensor that is quantised channel by channel."""
    channels = shape[0]

    def piece(key: str) -> bytes:
        kind = b"ctorch\nFloatStorage\n"
        return (
            b"ctorch._utils\n_rebuild_tensor_v2\n("
            + storage(key, channels, kind)
            + number(0)
            + numbers([channels])
            + numbers([1])
            + b"\x89"
            + ORDERED_DICT
            + b")RtR"
        )

    steps = [1]
    for size in shape[:0:-1]:
        steps.insert(0, steps[0] * size)
    tensor = (
        b"ctorch._utils\n_rebuild_qtensor\n("
        + storage("0", nbytes, f"ctorch\n{kind}\n".encode())
        + number(0)
        + numbers(shape)
        + numbers(steps)
        + b"(ctorch\nper_channel_affine_float_qparams\n"
        + piece("1")
        + piece("2")
        + number(0)
        + b"t\x89"
        + ORDERED_DICT
        + b")RtR"
    )
    sizes = {"0": nbytes, "1": 4 * channels, "2": 4 * channels}
    return torch_zip(pickled({"weight": tensor}), sizes)


@pytest.mark.parametrize(
    ("kind", "shape", "nbytes", "dtype", "bits"),
    [
        ("QUInt4x2Storage", (4, 8), 16, "QUINT4X2", 4),
        ("QUInt4x2Storage", (3, 7), 12, "QUINT4X2", 4),
        ("QUInt2x4Storage", (4, 8), 8, "QUINT2X4", 2),
        ("QUInt2x4Storage", (3, 5), 6, "QUINT2X4", 2),
        ("QInt8Storage", (4, 8), 32, "QINT8", 8),
    ],
)
def test_quantised_tensors_count_their_weights(
    tmp_path: Path, kind: str, shape: tuple[int, ...], nbytes: int, dtype: str, bits: int
) -> None:
    data = quantized(kind, shape, nbytes)
    weight = read(data).tensors[0]
    count = shape[0] * shape[1]
    assert (weight.dtype, weight.shape, weight.elements) == (dtype, shape, count)
    assert weight.nbytes == nbytes
    assert rules(read(data)) == {"compound-tensor"}
    (tmp_path / "pytorch_model.bin").write_bytes(data)
    inspection = hfinspect.inspect(tmp_path)
    assert (inspection.parameters, inspection.bookkeeping) == (count, 2 * shape[0])
    roles = {tensor.name: tensor.role for tensor in inspection.tensors}
    assert roles.pop("weight") is Role.PARAMETER
    assert set(roles.values()) == {Role.QUANTIZATION}
    assert inspection.quantization is not None
    assert inspection.quantization.bits == bits
    assert inspection.quantization.weight_bits == (8 * nbytes, count)


def test_a_quantised_storage_that_is_too_small_is_found() -> None:
    assert "out-of-storage" in rules(read(quantized("QUInt4x2Storage", (4, 8), 15)))


@pytest.mark.parametrize(
    ("dtype", "each"), [("float4_e2m1fn_x2", 2), ("bits4x2", 2), ("bits1x8", 8)]
)
def test_several_weights_in_an_element(tmp_path: Path, dtype: str, each: int) -> None:
    data = of_dtype(dtype, (24,), 24)
    assert (read(data).tensors[0].elements, read(data).tensors[0].nbytes) == (24, 24)
    (tmp_path / "pytorch_model.bin").write_bytes(data)
    assert hfinspect.inspect(tmp_path).parameters == 24 * each


@pytest.mark.parametrize("nbytes", [18, 24, 96])
def test_a_dtype_to_come_takes_its_storage_and_is_said(nbytes: int) -> None:
    shard = read(of_dtype("float6_e9m9", (24,), nbytes))
    [tensor] = shard.tensors
    assert (tensor.dtype, tensor.elements, tensor.nbytes) == ("FLOAT6_E9M9", 24, nbytes)
    assert rules(shard) == {"unknown-dtype", "pickle-global"}


# ---- what torch itself writes


def makers() -> dict[str, Callable[[Any], Any]]:
    names = """bfloat16 bool complex32 complex64 complex128 float16 float32 float64 float8_e4m3fn
        float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu float4_e2m1fn_x2 int8 int16
        int32 int64 uint8 uint16 uint32 uint64 bits8 bits16 bits1x8 bits2x4 bits4x2""".split()
    maker_of: dict[str, Callable[[Any], Any]] = {name: partial(_empty, name) for name in names}
    for name in ("qint8", "quint8", "qint32"):
        maker_of[name] = partial(_by_tensor, name)
    for name in ("quint4x2", "quint2x4"):
        for shape in ((4, 8), (3, 7)):
            maker_of[f"{name} {shape}"] = partial(_by_channel, name, shape)
    return maker_of


def _empty(name: str, torch: Any) -> Any:
    return torch.empty((4, 6), dtype=getattr(torch, name))


def _by_tensor(name: str, torch: Any) -> Any:
    return torch.quantize_per_tensor(torch.zeros(4, 6), 0.1, 0, getattr(torch, name))


def _by_channel(name: str, shape: tuple[int, int], torch: Any) -> Any:
    scales = torch.ones(shape[0])
    zeros = torch.zeros(shape[0])
    return torch.quantize_per_channel(torch.zeros(shape), scales, zeros, 0, getattr(torch, name))


@pytest.mark.oracle
@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize("name", sorted(makers()))
def test_every_dtype_that_torch_saves(name: str, legacy: bool) -> None:
    torch: Any = pytest.importorskip("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tensor = makers()[name](torch)
        buffer = io.BytesIO()
        torch.save({"weight": tensor}, buffer, _use_new_zipfile_serialization=not legacy)
    shard = read(buffer.getvalue())
    first = shard.tensors[0]
    assert first.shape == tuple(tensor.shape)
    assert first.elements == tensor.numel()
    assert first.nbytes == tensor.untyped_storage().nbytes()
    assert rules(shard) <= {"compound-tensor"}
