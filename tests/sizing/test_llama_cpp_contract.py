"""What loaders are said to ask, next to what a real llama.cpp loads and refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hfinspect.analysis.gguf.llama_cpp_contract import Contract, contract_of, is_known

from .llama_cpp_mutations import bases, loadable, mutations
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


#: What is judged apart from the tables: the vocabulary.
_VOCABULARY = "-tokenizer."


def _files() -> list[str]:
    return sorted(json.loads(REFUSALS.read_text()))


@pytest.mark.parametrize("name", _files())
def test_what_is_refused_is_what_llama_cpp_refuses(name: str) -> None:
    """Neither an error where it loads the file, nor silence where it does not."""
    file = next(one for one in recorded() if one.name == name)
    loads = {"", *json.loads(REFUSALS.read_text())[name]}
    wrong = []
    for one in mutations(file):
        if one.what.startswith(_VOCABULARY):
            continue
        contract = contract_of(file.architecture, one.keys, one.shapes)
        is_sound = contract == Contract(sound=contract.sound)
        if is_sound is not (one.what in loads):
            wrong.append(one.what)
    assert wrong == []


def test_the_record_is_of_files_that_the_other_record_has() -> None:
    assert set(_files()) <= set(bases({one.name: one for one in recorded()}))
