"""Each option of ``memory`` stands in one dataclass: the flags, the arguments and the page of the
library are made of it."""

from __future__ import annotations

import inspect
import json
import re
from dataclasses import fields

import pytest

import hfinspect
from hfinspect.core.memory_options import CacheOptions, MemoryOptions, RowMemory
from hfinspect.core.option_field import called_with, option, options_of
from hfinspect.core.records import dataclass
from tests.cli.program import hfinspect as program

BLOOM = "fixtures/models/bloom-1b4-zh"


@dataclass(frozen=True, kw_only=True)
class Cuts:
    """Two options, as a new command may have them."""

    slices: int = option(3, "Number of slices.", least=1, other_names="pieces")
    crust: bool = option(True, "Cut it off.", flag="--no-crust")


@called_with(Cuts)
def cut(cuts: Cuts) -> str:
    return f"{cuts.slices} with{'' if cuts.crust else 'out'} crust"


def test_a_function_of_a_dataclass_takes_its_fields() -> None:
    assert cut() == "3 with crust"
    assert cut(slices=2, crust=False) == "2 without crust"
    assert str(inspect.signature(cut)) == "(*, slices: 'int' = 3, crust: 'bool' = True) -> 'str'"
    with pytest.raises(TypeError, match=r"^cut\(\) got an unexpected keyword argument 'salt'$"):
        cut(salt=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="did you mean 'slices'"):
        cut(pieces=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="did you mean 'slices'"):
        cut(slice=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="did you mean 'crust'"):
        cut(no_crust=True)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("verb", "record"),
    [("memory", MemoryOptions), ("explain_cache", CacheOptions), ("scan", RowMemory)],
)
def test_the_library_takes_every_option(verb: str, record: type) -> None:
    taken = inspect.signature(getattr(hfinspect, verb)).parameters
    for one in fields(record):
        assert taken[one.name].default == one.default
        assert taken[one.name].annotation == one.type


def test_the_documentation_names_every_option() -> None:
    text = inspect.getdoc(hfinspect.memory) or ""
    assert [one.name for one in fields(MemoryOptions) if f"``{one.name}``" not in text] == []


def test_the_command_line_has_every_option() -> None:
    shown = program("memory", "--help", env={"COLUMNS": "200"}).out
    text = "".join(shown.split())
    for name, (_, one) in options_of(MemoryOptions).items():
        assert re.search(rf"^  {one.flag}\b", shown, re.MULTILINE), name
        assert "".join(one.help.split()) in text, name


def test_a_flag_is_the_argument_of_its_field() -> None:
    """A number that changes says so, also for a switch that turns something off."""
    options = ("--engine", "llama.cpp", "--context", "4096", "--no-flash-attention")
    typed = program("memory", BLOOM, *options, "--slots", "2", "--split-cache", "-f", "json")
    called = hfinspect.memory(
        BLOOM,
        engine="llama.cpp",
        context=4096,
        flash_attention=False,
        slots=2,
        split_cache=True,
    )
    assert json.loads(typed.out) == called.to_dict()
    assert called.to_dict() != hfinspect.memory(BLOOM, engine="llama.cpp", context=4096).to_dict()
