"""Activations with parameters of their own: built by few classes, and refused of all others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..core.config import ModelConfig
from .modules import Module

#: Activations of transformers (activations.py, ``ACT2CLS``) that have parameters of their own, as
#: many as a model has places for them, and their classes.
_SLOPES = {"prelu": "PReLU", "xielu": "XIELUActivation"}
#: A class whose activations are fixed, though its config has the key (fixtures/oracle/recorded).
_FIXED = "PPOCRV6MediumDetForObjectDetection"


def check_activations(class_name: str, config: ModelConfig, root: Module) -> None:
    """Raises UnknownArchitectureError where the config names an activation with parameters, and the
    tree of that class has none. A section is checked by itself: another part may have some."""
    for key, value in _with_slopes(config.file_values):
        if class_name != _FIXED and not _has(root, _SLOPES[_last(value)]):
            raise config.unknown(key, value, "an activation without parameters")


def _with_slopes(values: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, str]]:
    """Where a config or a section names such an activation, and which."""
    for key, value in values.items():
        if isinstance(value, str) and _last(value) in _SLOPES:
            yield path + key, value
        elif isinstance(value, Mapping):
            yield from _with_slopes(value, f"{path}{key}.")


def _last(value: str) -> str:
    """T5 says ``gated-prelu``."""
    return value.rpartition("-")[2]


def _has(module: Module, class_name: str) -> bool:
    """Whether a module of the class is in the tree."""
    children = {id(child): child for child in module.children.values()}.values()
    return module.class_name == class_name or any(
        isinstance(child, Module) and _has(child, class_name) for child in children
    )
