"""When a trace may take the place of a written family."""

from __future__ import annotations

from typing import Any, cast

import pytest

from hfinspect.core.dims import Dim
from hfinspect.errors import ConfigError
from hfinspect.trees.modules import Layers, Module, Parameter

from .held_numbers import held_numbers
from .replace import _kept, _Known, replaced
from .tracing.fitting import Fitter
from .tracing.library import Library
from .tracing.numbering import Build
from .tracing.observing import Saved, tree


def trace(*rules: dict[str, Any]) -> dict[str, Any]:
    first, *more = [{"root": 0, "guards": number} for number in range(len(rules))]
    return {"guards": list(rules), "classes": {"SmallModel": {**first, "or": more}}}


def test_a_size_that_is_held_to_what_was_recorded_is_seen() -> None:
    held = {"hidden_size": {"is": [32, 768]}, "depth": {"least": 1}, "act": {"is": ["gelu"]}}
    assert list(held_numbers(trace(held), "SmallModel")) == ["hidden_size"]
    assert list(held_numbers(trace(held, {"hidden_size": {"is": [64]}}), "SmallModel"))
    lists = {"depths": {"is": [[2, 2], [1, 1], None]}, "stages": {"is": [["a", "b"]]}}
    assert held_numbers(trace(lists), "SmallModel") == {"depths": [[2, 2], [1, 1], None]}


def test_a_size_that_another_root_follows_is_not() -> None:
    held = {"hidden_size": {"is": [32]}}
    assert not list(held_numbers(trace(held, {"hidden_size": {"least": 1}}), "SmallModel"))
    assert not list(
        held_numbers(trace({"tie": {"is": [True]}, "any": {"is": [None]}}), "SmallModel")
    )


def test_a_name_that_is_no_written_family_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert replaced("no_such_file", 1, 1, 0) is None
    assert capsys.readouterr().out == "no_such_file: is no written family\n"


class Small:
    """A library whose config is what is given."""

    def config_json(self, kind: str, name: str, given: Any) -> Any:
        return given


def written(config: Any) -> Module:
    if config.raw("width") % 2:
        raise ConfigError("config.json", "gives an odd width")
    table = Parameter((config.dim("width"),), kind="token")
    return Module("SmallModel", {"table": table})


def test_of_what_the_written_family_refuses_names_and_shapes_are_learned() -> None:
    known = _Known()
    known.written = {"SmallModel": written}
    library = cast("Library", Small())
    builds = []
    for width in (4, 5, 8):
        given = {"width": width}
        held = {"table": ((width,), "float32")}
        made = Saved(held, {"table": "table"}, {}, frozenset(held), {"": "SmallModel"})
        saved = known.labelled(library, "small", "SmallModel", given, made)
        assert saved.partial is (width == 5)
        builds.append(Build(given, frozenset(given), tree(saved)))
    root = Fitter(builds, ["width"], []).root([1, 0, 2])
    assert root["in"]["table"]["shape"] == ["width"]
    assert root["in"]["table"]["label"][2] == "token"


def test_a_window_that_is_a_size_of_the_config_is_a_number_like_any_other() -> None:
    layers = Layers.of(1, Module("Layer"), windows=lambda n: (Dim(4, "sliding_window"),) * n)
    ((path, kept),) = _kept(Module("SmallModel", layers=layers))
    assert (path, kept.window, type(kept.window)) == ("layers.0", 4, int)
