"""docs/quantization.md lists every reason for which bytes are unknown by config alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from hfinspect.analysis.quantization import float8, modules_not_packed
from hfinspect.analysis.quantization.packed_layout import UndeterminedError

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "hfinspect" / "analysis" / "quantization"


def reasons() -> Iterator[str]:
    """What is said, with three dots for values."""
    yield from float8._NOT_SAVED.values()
    yield modules_not_packed.NO_VERSION
    yield modules_not_packed.NOT_AS_NAMED
    for path in sorted(FOLDER.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call) or ast.unparse(node.func) != "UndeterminedError":
                continue
            (reason,) = node.args
            if isinstance(reason, ast.Constant):
                yield str(reason.value)
            elif isinstance(reason, ast.JoinedStr):
                parts = (
                    str(p.value) if isinstance(p, ast.Constant) else "…" for p in reason.values
                )
                yield "".join(parts)


def test_every_reason_is_in_the_document() -> None:
    """Word for word, so that what a reader sees can be looked up."""
    text = " ".join((ROOT / "docs" / "quantization.md").read_text().split())
    all_reasons = sorted(set(reasons()))
    assert len(all_reasons) > 30
    assert [reason for reason in all_reasons if f"“{reason}”" not in text] == []
    assert issubclass(UndeterminedError, Exception)
