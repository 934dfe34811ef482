"""Tensors that transformers keeps in float32 where the model is in half precision: routers, sinks,
rates of state spaces.

``float32.json`` has them by model type, as ends of names with ``*`` for numbers: what a save of the
recorded release writes of a model in bfloat16 (``types``), and what else of one in float16
(``float16``).  ``python -m tests.oracle record float32`` records it.  Releases before loaded most
of them in the model's own dtype, so that only a config that a later one saved says something.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Final

from ..core import data_files
from ..core.config import ModelConfig
from ..core.library_versions import REVISED
from ..core.tensor import TensorSpec
from ..core.tensor_copies import Copies, Place, Template

#: The first release of transformers whose classes make these parameters in float32.
SINCE: Final = tuple(map(int, REVISED.split(".")))
_NUMBER: Final = re.compile(r"\d+", re.ASCII)
_HALF: Final = {"BF16": ("types",), "F16": ("types", "float16")}


@cache
def _recorded() -> dict[str, dict[str, Any]]:
    return data_files.read(__package__, "float32.json")


def float32_suffixes(config: ModelConfig, kind: str | None, dtype: str | None) -> tuple[str, ...]:
    """Ends of names of what a file holds in float32, of a config of this type and dtype."""
    if config.saved_by is None or config.saved_by < SINCE or kind is None:
        return ()
    tables = (_recorded()[table] for table in _HALF.get(dtype or "", ()))
    return tuple(end for table in tables for end in table.get(kind, "").split())


def in_float32(specs: Copies[TensorSpec], ends: tuple[str, ...]) -> Copies[TensorSpec]:
    """The tensors, those whose names end so in float32."""
    if not ends:
        return specs
    dotted = tuple(f".{end}" for end in ends)
    templates: dict[tuple[int, str], Template[TensorSpec]] = {}

    def at(place: Place[TensorSpec], before: str) -> Place[TensorSpec]:
        head = _NUMBER.sub("*", before + place.head)
        key = id(place.template), head
        if key not in templates:
            templates[key] = widened(place.template, head)
        return Place(templates[key], place.head, place.stack, place.layer)

    def widened(template: Template[TensorSpec], head: str) -> Template[TensorSpec]:
        items = template.items
        new = [at(one, head) if isinstance(one, Place) else wide(one, head) for one in items]
        return template if new == list(items) else Template(new)

    def wide(spec: TensorSpec, head: str) -> TensorSpec:
        if spec.dtype is None and _NUMBER.sub("*", head + spec.name).endswith(dotted):
            return spec._replace(dtype="F32")
        return spec

    return Copies(at(place, ".") for place in specs.places())
