"""Random state dicts, saved by torch in every way it has, against torch's own view of them."""

from __future__ import annotations

import io
import warnings
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hfinspect.core.extents import Extent
from hfinspect.core.tensor import TORCH_DTYPES
from hfinspect.formats.torch.torch import FORMAT

from ..examples import examples
from .readers import MeteredReader

pytestmark = pytest.mark.oracle
DTYPES = ["float32", "float16", "bfloat16", "int64", "uint8", "bool", "complex64", "float8_e4m3fn"]


@st.composite
def recipes(draw: st.DrawFn) -> list[tuple[str, int, Any]]:
    """Steps that make a state dict: new tensors and views of earlier ones."""
    steps: list[tuple[str, int, Any]] = [("new", 0, draw(tensor_specs()))]
    for _ in range(draw(st.integers(0, 6))):
        kind = draw(st.sampled_from(["new", "same", "t", "flat", "slice", "column", "expand"]))
        spec = draw(tensor_specs())
        steps.append((kind, draw(st.integers(0, len(steps) - 1)), spec))
    return steps


def tensor_specs() -> st.SearchStrategy[tuple[list[int], str]]:
    return st.tuples(st.lists(st.integers(0, 4), max_size=3), st.sampled_from(DTYPES))


def build(steps: list[tuple[str, int, Any]]) -> dict[str, Any]:
    import torch

    made: list[Any] = []
    for kind, index, (shape, dtype) in steps:
        base = made[index] if made else None
        if kind == "new" or base is None:
            count = torch.Size(shape).numel()
            made.append(torch.arange(count).reshape(shape).to(getattr(torch, dtype)))
        elif kind == "t" and base.dim() >= 2:
            made.append(base.transpose(0, 1))
        elif kind == "flat" and base.is_contiguous():
            made.append(base.view(-1))
        elif kind == "slice" and base.dim():
            made.append(base[base.shape[0] // 2 :])
        elif kind == "column" and base.dim() >= 2 and base.shape[1]:
            made.append(base[:, 0])
        elif kind == "expand":
            made.append(base[None].expand(3, *base.shape))
        else:
            made.append(base)
    return {f"t{n}": tensor for n, tensor in enumerate(made)}


@given(recipes(), st.sampled_from(["zip", "zip3", "zip5", "legacy"]))
@settings(max_examples=examples(300), deadline=None)
def test_what_torch_saves_is_read_as_torch_loads_it(
    steps: list[tuple[str, int, Any]], way: str
) -> None:
    import torch

    from ..oracle.make_torch_fixtures import first_element, same_bytes

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        state = build(steps)
        if way == "legacy" and any("float8" in str(tensor.dtype) for tensor in state.values()):
            way = "zip"  # torch cannot read the legacy files that it writes of these
        buffer = io.BytesIO()
        if way == "legacy":
            torch.save(state, buffer, _use_new_zipfile_serialization=False)
        else:
            torch.save(state, buffer, pickle_protocol=int(way[3:] or 2))
        loaded = torch.load(io.BytesIO(buffer.getvalue()), weights_only=way != "zip5")
        groups = same_bytes(loaded)
    data = buffer.getvalue()
    shard = FORMAT.read_header(MeteredReader("x.bin", data))
    assert [t.name for t in shard.tensors] == list(loaded)
    names_of: dict[Extent | None, list[str]] = {}
    for tensor in shard.tensors:
        theirs = loaded[tensor.name]
        assert tensor.dtype == TORCH_DTYPES[str(theirs.dtype).removeprefix("torch.")]
        assert tensor.shape == tuple(theirs.shape)
        assert tensor.elements == theirs.numel()
        first = first_element(theirs)
        if first is not None:
            assert tensor.offset is not None
            assert data[tensor.offset :].startswith(bytes.fromhex(first))
        names_of.setdefault(tensor.storage, []).append(tensor.name)
    names_of.pop(None, None)
    assert sorted(sorted(names) for names in names_of.values() if len(names) > 1) == groups
    assert not [f for f in shard.findings if f.severity == "error"]
