"""Mutants next to the real loaders (marker ``loaders``): none is accepted in silence and runs."""

from __future__ import annotations

import os
import sys

import pytest

from ..trust.test_loaders import lacking
from .against_loaders import KINDS, run

#: Seconds for each kind; HFINSPECT_FUZZ_SECONDS gives another number.
SECONDS = 20


@pytest.mark.loaders
@pytest.mark.parametrize("kind", KINDS)
def test_no_accepted_mutant_runs(kind: str) -> None:
    python = os.environ.get("HFINSPECT_LOADERS_PYTHON", sys.executable)
    if missing := lacking(python):
        pytest.skip(f"{python} (HFINSPECT_LOADERS_PYTHON) has no {', '.join(missing)}")
    result = run(kind, float(os.environ.get("HFINSPECT_FUZZ_SECONDS", SECONDS)))
    assert result.seen > 5
    assert result.loaded > 0
    assert result.ran == []
