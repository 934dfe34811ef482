"""The words of flags: each list is written once, and what stands for each word exists."""

from __future__ import annotations

import pytest

from hfinspect.analysis.count import GROUPINGS
from hfinspect.core import choices
from hfinspect.errors import UsageError
from hfinspect.sizing.engines.registry import ENGINES
from hfinspect.sizing.optimizers import OPTIMIZERS

from ..cli.program import hfinspect


def test_every_word_stands_for_something() -> None:
    assert tuple(GROUPINGS) == choices.GROUPS
    assert tuple(ENGINES) == choices.ENGINES
    assert tuple(engine.name for engine in ENGINES.values()) == choices.ENGINES
    assert tuple(OPTIMIZERS) == choices.OPTIMIZERS


@pytest.mark.parametrize(
    ("command", "flag", "words"),
    [
        ("inspect", "--by", choices.GROUPS),
        ("inspect", "--source", choices.SOURCES),
        ("tensors", "--sort", choices.TENSOR_SORTS),
        ("explain", "--depth", choices.DEPTHS),
        ("memory", "--engine", choices.ENGINES),
    ],
)
def test_a_word_that_is_none_is_refused_with_the_list(
    command: str, flag: str, words: tuple[str, ...]
) -> None:
    done = hfinspect(command, "fixtures/models/gpt2", flag, "nonsense")
    assert done.code == 2
    assert choices.listed(words) in " ".join(done.err.split())


def test_one_choice_is_listed_alone() -> None:
    assert choices.listed(["auto"]) == "auto"
    with pytest.raises(UsageError, match="nonsense"):
        choices.checked("source", "nonsense", choices.SOURCES)
