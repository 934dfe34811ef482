"""Activations with parameters of their own: built by few classes, and refused of all others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..core.config import ModelConfig
from .modules import Module, each_module

#: Activations of transformers (activations.py, ``ACT2CLS``) that have parameters of their own, as
#: many as a model has places for them, and their classes.
_SLOPES = {"prelu": "PReLU", "xielu": "XIELUActivation"}
#: A class whose activations are fixed, though its config has the key (fixtures/oracle/recorded).
_FIXED = "PPOCRV6MediumDetForObjectDetection"


def check_activations(class_name: str, config: ModelConfig, root: Module) -> None:
    """Raises UnknownArchitectureError where the config names an activation with parameters, and the
    tree of that class has none. A section is checked by itself: another part may have some."""
    for key, value, slopes in _with_slopes(config.file_values):
        if class_name != _FIXED and all(m.class_name != slopes for m in each_module(root)):
            raise config.unknown(key, value, "an activation without parameters")


def _with_slopes(values: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, str, str]]:
    """Where a config or a section names such an activation, which, and its class."""
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _with_slopes(value, f"{path}{key}.")
        elif isinstance(value, str) and (name := value.rpartition("-")[2]) in _SLOPES:
            yield path + key, value, _SLOPES[name]  # T5 says ``gated-prelu``
