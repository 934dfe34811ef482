"""Lists that a class computes where config.json has none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hfinspect.core.config import ModelConfig
from hfinspect.errors import UnknownArchitectureError
from hfinspect.trees.arithmetic import NoValueError
from hfinspect.trees.guarded import GuardedRead

from .tracing.evaluating import EnvValues
from .tracing.listing import Listing
from .tracing.writing import keys_of
from .unlisted_keys import _under, read_defaults


def kinds(depth: int, pattern: int, dense: int) -> list[str]:
    return ["dense" if i < dense else "odd" if (i + 1) % pattern else "even" for i in range(depth)]


CONFIGS = [(2, 4, 0), (5, 4, 0), (9, 2, 0), (9, 2, 3), (7, 3, 1), (8, 4, 3), (12, 5, 2)]
KEYS = ["depth", "pattern", "dense", "bias"]


def where(lists: Any) -> list[tuple[EnvValues, Any]]:
    return [
        (EnvValues({"depth": a, "pattern": b, "dense": c, "bias": a == 2}), lists(a, b, c))
        for a, b, c in CONFIGS
    ]


FOUND = {
    "count": "depth",
    "pick": [
        [["<", "i", "dense"], "dense"],
        [["==", ["%", ["+", "i", 1], "pattern"], 0], "even"],
        [None, "odd"],
    ],
}


def test_entries_are_parted_by_their_places() -> None:
    assert Listing([], KEYS).computed(where(kinds)) == FOUND
    assert set(keys_of(FOUND)) == {"depth", "dense", "pattern"}


def test_an_entry_may_be_a_number_of_the_config() -> None:
    rule = Listing([], KEYS).computed(where(lambda depth, pattern, dense: [pattern] * depth))
    assert rule == {"count": "depth", "pick": [[None, ["+", "pattern", 0]]]}


def test_what_nothing_gives_is_not_known() -> None:
    assert Listing([], KEYS).computed(where(lambda *config: [hash(config)])) is None
    assert Listing([], KEYS).computed(where(lambda *config: None)) is None


def test_one_value_may_be_chosen_by_a_flag() -> None:
    rule = Listing([], KEYS).chosen(where(lambda depth, *_: "few" if depth == 2 else None))
    assert rule == {"pick": [[["true", "bias"], "few"], [None, None]]}
    rule = Listing([], KEYS).chosen(where(lambda depth, *rest: rest[depth == 2]))
    assert rule == {"pick": [[["true", "bias"], 0], [None, ["+", "pattern", 0]]]}
    trace = {"defaults": {"size": {"of": rule}}, "guards": [{}]}
    config = ModelConfig({"architectures": ["M"], "bias": False, "pattern": 3})
    assert GuardedRead(config, "M", trace, {"guards": 0}).raw("size") == 3


def test_what_chooses_a_value_has_the_name_that_the_class_reads() -> None:
    trace = {
        "defaults": {"size": {"of": {"pick": [[["null", "dim"], 1], [None, 2]]}}},
        "guards": [{}],
    }
    for spelled, wanted in ({"dim": 8}, 2), ({}, 1):
        config = ModelConfig({"model_type": "distilbert", **spelled})
        assert GuardedRead(config, "M", trace, {"guards": 0}).raw("size") == wanted
    other = GuardedRead(
        ModelConfig({"model_type": "distilbert", "hidden_size": 8}), "M", trace, {"guards": 0}
    )
    with pytest.raises(UnknownArchitectureError, match="dim = 8"):
        other.raw("size")


def reading(**values: Any) -> GuardedRead:
    trace = {
        "defaults": {"kinds": {"of": FOUND}, "pattern": 4, "dense": 0},
        "guards": [{"kinds": {"of": ["odd", "even"]}}],
    }
    return GuardedRead(ModelConfig({"architectures": ["M"], **values}), "M", trace, {"guards": 0})


def test_the_reader_computes_the_list_where_it_is_absent() -> None:
    assert reading(depth=9).items("kinds") == kinds(9, 4, 0)
    assert reading(depth=9, pattern=2).items("kinds") == kinds(9, 2, 0)
    assert reading(depth=2, kinds=["even", "odd"]).items("kinds") == ["even", "odd"]


def test_its_entries_are_guarded_and_its_length_is_bounded() -> None:
    assert not reading(depth=9).failing()
    assert "kinds" in str(reading(depth=9, dense=1).failing()[0])
    with pytest.raises(NoValueError):
        reading(depth=10**9).items("kinds")


def test_what_an_unlisted_key_stands_for_is_read_from_the_source(tmp_path: Path) -> None:
    (tmp_path / "configuration_small.py").write_text(
        "pattern = kwargs.pop('pattern', 4)\n"
        "other = kwargs.get('other', 1)\nother = kwargs.get('other', 2)\nnone = kwargs.pop('none')"
    )
    (tmp_path / "modeling_small.py").write_text(
        "a = getattr(config, 'head_dim', config.width // config.heads)\n"
        "b = getattr(config, 'reach', -1)\nc = getattr(config, 'kind', kind())"
    )
    heads = ["//", ["key", "width"], ["key", "heads"]]
    assert read_defaults(tmp_path) == {"pattern": 4, "head_dim": heads, "reach": -1}
    assert _under("text", {"width": "dim"}, heads) == ["//", "text.dim", "text.heads"]
