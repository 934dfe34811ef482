"""What loaders are said to ask, next to what a real llama.cpp loads and refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from hfinspect.analysis.gguf.llama_cpp_contract import Contract, contract_of, is_known

from .llama_cpp_mutations import loadable
from .llama_cpp_record import FULL_SIZE, RECORD, recorded

REFUSALS = RECORD.with_name("llama_cpp_refusals.json")


@pytest.mark.parametrize("path", [RECORD, FULL_SIZE], ids=["tiny", "full-size"])
def test_files_that_llama_cpp_loads_are_sound(path: Path) -> None:
    differing = {}
    for file in recorded(path):
        assert is_known(file.architecture)
        whole = loadable(file)
        contract = contract_of(file.architecture, whole.keys, whole.shapes)
        if contract != Contract(sound=contract.sound):
            differing[file.name] = contract
    assert differing == {}
