"""Expressions of exported programs: what torch.export writes, and anything else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hfinspect
from hfinspect.formats.torch.exported import MAX_ODD, odd_expression, odd_texts

from ..trust.third_round import EXPRESSIONS, exported

#: As torch 2.13 wrote them (srepr), and torch 2.4 (infix).
WRITTEN = """
Symbol('s77', positive=True, integer=True)
FloorDiv(Symbol('s77', positive=True, integer=True), Integer(2))
Mul(Integer(4), FloorDiv(Add(Symbol('s17'), Mul(Integer(2), Symbol('s83'))), Integer(-2)))
Mod(Mul(Integer(4), Symbol('s83', positive=True, integer=True)), Integer(3))
Float('1.5', precision=53)
s0
2*s0 + 1
Mod(s77, 8)
Eq(Mod(s0*s1, 3), 0)
Max(1, u0//4) - 3**2
s0 < 2147483647
int_oo
Piecewise((1, Eq(s0, 1)), (s0, True))
OpaqueUnaryFn_sqrt(s0)
True
""".strip().splitlines()


@pytest.mark.parametrize("text", WRITTEN)
def test_what_the_serializer_writes(text: str) -> None:
    assert odd_expression(text) == ""


@pytest.mark.parametrize(
    "text",
    [
        *EXPRESSIONS.values(),
        "s0.is_integer",
        "s0[0]",
        "'text'",
        'f"{s0}"',
        "s0 s1",
        "(s0",
        "s0)",
        "lambda",
        "__import__",
        "eval(1)",
        "Symbol(eval)('a')('b').x",
        "a" * 200,
        "(" * 300,
        5,
        None,
        "0\x85",
        "Add('text', 1)",
        "s0; s1",
        "s0 if s1 else s2",
        "x:=1",
        "\uff45val(1)",
    ],
)
def test_anything_else(text: object) -> None:
    assert odd_expression(text) or text == "lambda"


@given(st.text(max_size=60))
def test_no_text_of_strangers_reaches_attributes_or_code(text: str) -> None:
    if odd_expression(text) == "":
        assert not set(text) & set('"[]{};:@`\\\0')
        assert "__" not in text.replace("'", "") or "'" in text or "__" in text[1:]
        assert text.isascii() or not text.strip()


@given(st.binary(max_size=300))
def test_any_bytes_are_judged(data: bytes) -> None:
    assert len(list(odd_texts("m", data))) <= MAX_ODD


@pytest.mark.parametrize(
    ("target", "odd"),
    [
        ("torch.ops.aten.add.Tensor", False),
        ("_operator.floordiv", False),
        ("math.floor", False),
        ("torch.ops.higher_order.cond", False),
        ("torch.sym_max", False),
        ("torch.os.system", True),
        ("torch.ops.load_library", True),
        ("_operator.methodcaller", True),
        ("os.system", True),
        ("_operator.__import__", True),
        ("torch.hub.load", True),
    ],
)
def test_targets_of_nodes(target: str, odd: bool) -> None:
    node = json.dumps({"nodes": [{"target": target, "inputs": [], "outputs": []}]})
    assert bool(list(odd_texts("m", node.encode()))) == odd


def test_a_sound_program_has_no_error(tmp_path: Path) -> None:
    (tmp_path / "m.pt2").write_bytes(exported("Symbol('s77', positive=True, integer=True)"))
    assert hfinspect.audit(tmp_path).ok
    (tmp_path / "m.pt2").write_bytes(exported(EXPRESSIONS["an import"]))
    assert any("expr_str" in finding.text for finding in hfinspect.audit(tmp_path).failing())
