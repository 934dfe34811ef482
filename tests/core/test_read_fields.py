"""How a model is read and reached stands in one place: the verbs' arguments and the flags of the
commands are made of it."""

from __future__ import annotations

import inspect
import json
import re
from collections import defaultdict
from dataclasses import fields

import pytest
import typer

import hfinspect
from hfinspect import api
from hfinspect.cli.app import make_app
from hfinspect.core.option_field import options_of
from hfinspect.core.overrides import parse_overrides
from hfinspect.core.read_fields import ModelReading
from hfinspect.inspecting.read_options import ReadOptions
from tests.cli.program import hfinspect as program

GPT2 = "fixtures/models/gpt2"
VERBS = [name for name in api.__all__ if inspect.isfunction(getattr(api, name))]
FIELDS = {one.name: one for one in fields(ReadOptions)}


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_the_same_argument_for_the_same_thing(verb: str) -> None:
    """``compare`` lists its own, for no dataclass has any number of targets."""
    taken = inspect.signature(getattr(api, verb)).parameters
    shared = {name: one for name, one in taken.items() if name in FIELDS}
    assert {"token", "session", "endpoint", "timeout", "cache", "progress"} <= set(shared)
    for name, one in shared.items():
        assert (one.annotation, one.default) == (FIELDS[name].type, FIELDS[name].default), name


def test_help_and_editors_see_the_arguments() -> None:
    told = str(inspect.signature(hfinspect.inspect))
    assert told.startswith("(target: 'Target', *, revision: 'str | None' = None, source: ")
    assert told.endswith("listing: 'Listing | None' = None) -> 'Inspection'")
    with pytest.raises(TypeError, match=r"^inspect\(\) missing a required argument: 'target'"):
        hfinspect.inspect()  # type: ignore[call-arg]


def test_no_token_is_shown() -> None:
    assert "hf_secret" not in repr(ReadOptions(token="hf_secret", revision="v1"))


@pytest.mark.parametrize("command", ["inspect", "tensors", "explain", "memory", "runs"])
def test_commands_have_the_flags_of_the_fields(command: str) -> None:
    shown = "".join(program(command, "--help", env={"COLUMNS": "200"}).out.split())
    for name, (_, one) in options_of(ModelReading).items():
        assert one.flag in shown, name
        assert "".join(one.help.split()) in shown, name


#: Flags that mean another thing, or have another default, in one command than in the next.
TWO_THINGS = frozenset(
    "--context --depth --engine --file --format --on --output --recursive --refresh --sort "
    "--train".split()
)


def test_a_flag_has_the_same_words_and_default_in_every_command() -> None:
    """But for when it counts: ``With --cache: number ...``."""
    meanings = defaultdict(set)
    for command in typer.main.get_command(make_app()).commands.values():  # type: ignore[attr-defined]
        for one in command.params:
            if one.param_type_name == "option":
                text = re.sub("^(With --cache|For memory): ", "", one.help)
                meanings[one.opts[0]].add((text[0].lower() + text[1:], str(one.default)))
    assert {flag for flag, texts in meanings.items() if len(texts) > 1} == TWO_THINGS


def test_words_of_a_repeated_flag_become_the_value() -> None:
    changed = program(
        "inspect", GPT2, "--set", "n_layer=2", "--set", "vocab_size=100", "-f", "json"
    )
    called = hfinspect.inspect(GPT2, overrides=parse_overrides(["n_layer=2", "vocab_size=100"]))
    assert json.loads(changed.out) == called.to_dict()
    assert program("tree", GPT2, "--set", "n_layer").code == 2
