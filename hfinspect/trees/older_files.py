"""Tensors that only older files hold, known by the modules they stand in."""

from __future__ import annotations

from ..core.components import Component, Role
from .modules import Module, Parameter


def older_names(module: Module) -> dict[str, Parameter]:
    """What only older files hold: numbers of positions, and a normed weight before torch 2."""
    names = {}
    many = _tensor_at(module, "position_embeddings", "weight")
    table = many or _tensor_at(module, "position_embedding", "weight")
    if table and "entity_embeddings" not in module.children:  # whose positions are inputs
        numbers = (1, table.shape[0])
        names["position_ids"] = Parameter(
            numbers, Role.BUFFER, "I64", saved=False, component=Component.EMBEDDING
        )
    for name, part in (("weight_g", "original0"), ("weight_v", "original1")):
        path = ("parametrizations", "weight", part)
        normed = _tensor_at(module, *path)
        if normed is not None:
            names[name] = Parameter(
                normed.shape, saved=False, component=_component_at(module, *path)
            )
    return names


def _component_at(module: Module, *path: str) -> Component | None:
    """What the innermost says that says anything."""
    component: Component | None = None
    node: Module | Parameter = module
    for name in path:
        assert isinstance(node, Module)
        inner = node.children[name]
        assert inner is not None
        node = inner
        component = node.component or component
    return component


def _tensor_at(module: Module, *path: str) -> Parameter | None:
    place: Module | Parameter | None = module
    for name in path:
        place = place.children.get(name) if isinstance(place, Module) else None
    return place if isinstance(place, Parameter) else None
