"""A part's class as model_index.json names it, against the class that its own config names.

diffusers builds the class of model_index.json from the config, whatever class the config names: its
tensors that the other class does not have stay as they were initialised. Source: load_sub_model in
pipelines/pipeline_loading_utils.py of diffusers 0.42.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ...core.wholeness import Problem
from ...errors import ConfigError, MalformedError, UnknownArchitectureError
from ...trees.catalog import index
from ...trees.prediction import predict
from .parts_declared import PartsEvidence

#: Key under which a library's configs name their class.
_KEYS: Final[Mapping[str, str]] = {"diffusers": "_class_name", "transformers": "architectures"}
#: Tensors that a pipeline does not use: the head of a language model that encodes text.
_UNUSED: Final = ("lm_head.weight", "lm_head.bias")
#: Tensors of two classes that are the same under another prefix: ``model.layers.0``.
_PREFIX: Final = "model."


def class_problems(evidence: PartsEvidence) -> Iterator[Problem]:
    """Parts whose two classes are both known, and of which one has tensors that the other lacks."""
    if not evidence.is_pipeline:
        return
    for part in evidence.parts:
        declared = evidence.declared[part]
        config = evidence.configs.get(part)
        library, _, name = declared.partition(".")
        other = _class_in(config, library)
        if config is None or other is None or other == name:
            continue
        if {name, other} <= index().classes.keys() and _differ(config, library, name, other):
            yield Problem(
                "parts_differ",
                f"{part} is a {name} by {evidence.naming} and a {other} by its own config: "
                f"{name} has tensors that {other} does not have",
                1,
                part,
                fix=f"name {other} in {evidence.naming}, or take the files of a {name}",
                file=evidence.config_path(part),
                names=(part,),
            )


def _class_in(config: Mapping[str, Any] | None, library: str) -> str | None:
    value = (config or {}).get(_KEYS.get(library, ""))
    if isinstance(value, list):
        value = value[0] if value else None
    return value if isinstance(value, str) else None


def _differ(config: Mapping[str, Any], library: str, name: str, other: str) -> bool:
    """Whether the class ``name`` cannot be made from the config, or has tensors that ``other`` does
    not have, or has in another shape. A config that does not fit its own class says nothing."""
    try:
        theirs = _shapes(config, library, other)
    except (ConfigError, MalformedError, UnknownArchitectureError):
        return False
    try:
        ours = _shapes(config, library, name)
    except UnknownArchitectureError:
        return False
    except (ConfigError, MalformedError):
        return True
    return any(
        theirs.get(tensor) != shape for tensor, shape in ours.items() if tensor not in _UNUSED
    )


def _shapes(config: Mapping[str, Any], library: str, name: str) -> dict[str, tuple[int, ...]]:
    """Shapes by name, without the prefix of a base model. Raises what ``predict`` raises."""
    key = _KEYS[library]
    values = {**config, key: name if key == "_class_name" else [name]}
    tensors = predict(values).tensors
    return {tensor.name.removeprefix(_PREFIX): tuple(tensor.shape) for tensor in tensors}
