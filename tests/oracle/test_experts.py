"""How many experts are used per token, as a written tree says it and a trace repeats it."""

from __future__ import annotations

from typing import Any

import pytest

from .tracing.fitting import Fitter
from .tracing.numbering import Build, NoFit
from .tracing.observing import Leaf, Node
from .tracing.writing import Table


def build(experts: int, per_token: int, *, said: int | None = None) -> Build:
    """One tensor of experts, of which ``said`` in all are used per token."""
    env = {"num_experts": experts, "per_token": per_token, "width": experts * 7}
    active = (min(per_token, experts) if said is None else said, experts)
    root = Node("Experts")
    root.children["up"] = Leaf((experts, 5), False, None, None, active, ("mlp", "text", "expert"))
    return Build(env, frozenset(), root)


def fitted(builds: list[Build]) -> Any:
    keys = ["num_experts", "per_token", "width"]
    return Fitter(builds, keys, []).root(range(len(builds)))


def test_the_keys_of_both_numbers_are_found_where_some_builds_have_fewer_experts() -> None:
    tree = fitted([build(8, 2), build(16, 3), build(2, 4), build(5, 5)])
    assert tree["in"]["up"]["active"] == ["per_token", "num_experts"]
    table = Table()
    table.root(tree, "text")
    assert table.nodes[-1]["in"]["up"]["active"] == ["per_token", "num_experts"]
    assert table.keys == {"num_experts", "per_token"}


def test_a_number_that_no_key_gives_is_no_fit() -> None:
    with pytest.raises(NoFit):
        fitted([build(8, 2, said=3), build(16, 3, said=1), build(9, 4, said=7)])
