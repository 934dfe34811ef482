"""Trees put together from other trees: linears that become one, tensors by name."""

from __future__ import annotations

import pytest

from hfinspect.core.dims import Dim
from hfinspect.errors import UnknownArchitectureError
from hfinspect.layers.blocks import Heads, grouped_attention
from hfinspect.layers.composing import joined

QKV = ("q_proj", "k_proj", "v_proj")


def test_joined_linears_keep_rows_bias_and_formula() -> None:
    heads = Heads(Dim(4, "heads"), Dim(2, "groups"), Dim(8, "head_dim"))
    block = grouped_attention("Attention", Dim(32, "hidden_size"), heads, bias=True)
    joined(block, QKV, "qkv", "qkv")
    assert list(block.children) == ["qkv", "o_proj"]
    rows, columns = block.inside("qkv").tensor().shape
    assert (int(rows), int(columns)) == (4 * 8 + 2 * 2 * 8, 32)
    assert str(rows.expr) == "heads * head_dim + 2 * groups * head_dim"  # type: ignore[attr-defined]
    assert block.inside("qkv").tensor("bias").shape == (rows,)


def test_a_module_is_no_tensor() -> None:
    heads = Heads(Dim(4), Dim(4), Dim(8))
    block = grouped_attention("Attention", 32, heads)
    with pytest.raises(UnknownArchitectureError, match="has no q_proj"):
        block.tensor("q_proj")
