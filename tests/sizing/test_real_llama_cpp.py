"""The record once more, from a real llama.cpp: what it reserves today is what is recorded.

    LLAMA_CPP_SOURCE=... LLAMA_CPP_BUILD=... python -m pytest -m llama_cpp tests/sizing

See record_llama_cpp.py for what these folders hold.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.sizing import record_llama_cpp
from tests.sizing.llama_cpp_record import Reserved, Setting, recorded

pytestmark = pytest.mark.llama_cpp


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source, build = (os.environ.get(f"LLAMA_CPP_{name}") for name in ("SOURCE", "BUILD"))
    if not source or not build:
        pytest.skip("LLAMA_CPP_SOURCE and LLAMA_CPP_BUILD name no llama.cpp")
    folder = tmp_path_factory.mktemp("llama_cpp")
    return record_llama_cpp.compiled(Path(source), Path(build), folder)


def test_it_reserves_what_is_recorded(program: Path, tmp_path: Path) -> None:
    known = {one.name: one for one in recorded()}
    files = record_llama_cpp.tiny_files(program, tmp_path, ())
    compared = 0
    for path in files:
        sizes = record_llama_cpp.one(program, path)
        if sizes is None or path.stem not in known:  # it aborts at some settings
            continue
        compared += 1
        for text, real in sizes["settings"].items():
            before = known[path.stem].settings[Setting.of(text)]
            if isinstance(before, Reserved):
                assert Reserved(*real) == before, (path.stem, text)
            else:
                assert real == before
        path.unlink()
    assert compared > 140
