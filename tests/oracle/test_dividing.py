"""What has to divide what is found by experiment, and only where it holds everywhere."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any, cast

import pytest

from hfinspect.core.config import ModelConfig
from hfinspect.errors import ConfigError
from hfinspect.trees.traced import builders

from .tracing.dividing import with_divisors
from .tracing.library import Library


class Heads:
    """A library of one class, which wants heads to divide the width where ``wants`` holds."""

    name = "transformers"

    def __init__(self, wants: str = "always") -> None:
        self.wants = wants

    def starts(self, kind: str, name: str) -> Iterator[dict[str, Any]]:
        yield {}

    def sections(self, kind: str, name: str) -> dict[str, str]:
        return {}

    def optional(self, kind: str, name: str) -> dict[str, str]:
        return {}

    def full(self, kind: str, name: str, given: Any) -> dict[str, Any]:
        return {"width": 16, "heads": 4, "inner": 64, "fused": False, "layers": 2, **given}

    def mutated(self, kind: str, name: str, base: Any, rng: Random) -> dict[str, Any]:
        return {**base, "inner": rng.choice((7, 32, 48)), "layers": rng.choice((0, 1, 2))}

    def config_json(self, kind: str, name: str, given: Any) -> dict[str, Any]:
        return {"architectures": [name], **given}

    def build(self, kind: str, name: str, given: Any) -> None:
        full = self.full(kind, name, given)
        uneven = bool(full["width"] % full["heads"] and full["layers"])
        if uneven and (self.wants == "always" or (self.wants == "not fused" and not full["fused"])):
            raise ValueError("heads must divide the width")


TRACE = {
    "model_type": "small",
    "category": "encoder",
    "defaults": {"width": 16},
    "guards": [{"width": {"least": 1}}, {}],
    "classes": {"SmallModel": {"root": 0, "guards": 0, "or": [{"root": 0, "guards": 1}]}},
    "nodes": [{"class": "SmallModel", "in": {"weight": ["width", 3]}}],
}


def guarded(wants: str, trace: dict[str, Any] = TRACE) -> dict[str, Any]:
    return with_divisors(cast("Library", Heads(wants)), "small", trace)


def test_a_guard_in_every_root() -> None:
    trace = guarded("always")
    rules = [
        {"width": {"least": 1}, "heads": {"divides": ["width"]}},
        {"heads": {"divides": ["width"]}},
    ]
    assert trace["guards"] == rules
    roots = trace["classes"]["SmallModel"]
    assert [roots["guards"], roots["or"][0]["guards"]] == [0, 1]
    assert trace["defaults"] == {"heads": 4, "width": 16}
    assert guarded("always", trace) == trace  # found again, it is there already


@pytest.mark.parametrize("wants", ["never", "not fused"])
def test_what_some_configs_need_not_is_no_guard(wants: str) -> None:
    assert guarded(wants) == TRACE


def test_the_reader_names_both_keys() -> None:
    build = builders(guarded("always"))["SmallModel"]
    assert build(ModelConfig({"width": 24, "heads": 6})).children
    with pytest.raises(ConfigError, match="heads: is 4, expected a divisor of width = 18"):
        build(ModelConfig({"width": 18}))
