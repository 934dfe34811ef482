"""The modules that tensors' names in headers spell, for files without a config.json.

The parts of such a tree sum up to what the headers hold, whatever the sizes are called.
"""

from collections.abc import Callable, Mapping
from typing import Any

from ..core.components import Component
from ..core.results import Inspection
from ..core.tensor import TensorInfo
from ..trees.modules import Layers, Module, Parameter


def tree_of_headers(
    name: str,
    inspection: Inspection,
    *,
    shape: Callable[[TensorInfo], tuple[int, ...]],
    kind: Callable[[TensorInfo], str | None],
    layers: int | None = None,
) -> Module:
    """Modules by the segments of the tensors' names; lists of layers where reports see them.

    ``shape`` and ``kind`` are those of a tensor, ``layers`` the number of layers by its key.
    """
    nodes: dict[str, Any] = {}
    stacks: set[str] = set()
    shapes: dict[str, tuple[int, ...]] = {}
    for tensor in inspection.tensors:
        if tensor.stack is not None:
            stacks.add(tensor.stack)
        shapes[tensor.name] = sides = shape(tensor)
        _place(nodes, tensor.name, _parameter(tensor, sides, kind(tensor)))
    for tied, source in inspection.tied.items():
        if tied not in shapes and source in shapes:
            head = Parameter(
                shapes[source], tied_to=source, component=Component.HEAD, kind="lm_head"
            )
            _place(nodes, tied, head)
    return Module(name, _modules(nodes, stacks, "", layers))


def _place(nodes: dict[str, Any], name: str, tensor: Parameter) -> None:
    *path, last = name.split(".")
    at = nodes
    for segment in path:
        inner = at.setdefault(segment, {})
        if isinstance(inner, Parameter):  # a tensor whose name goes on in another's
            inner = at[segment] = {"": inner}
        at = inner
    inner = at.get(last)
    if isinstance(inner, dict):
        inner[""] = tensor
    else:
        at[last] = tensor


def _modules(
    nodes: Mapping[str, Any], stacks: set[str], path: str, layers: int | None
) -> dict[str, Module | Parameter]:
    modules: dict[str, Module | Parameter] = {}
    for name, node in nodes.items():
        where = f"{path}{name}"
        if isinstance(node, Parameter):
            modules[name] = node
            continue
        children = _modules(node, stacks, f"{where}.", layers)
        if where in stacks:
            modules[name] = _layers(children, layers)
        else:
            norm = all(_is_norm(child) for child in children.values())
            modules[name] = Module("norm" if norm else "module", children)
    return modules


def _is_norm(child: Module | Parameter) -> bool:
    return isinstance(child, Parameter) and child.component is Component.NORM


def _layers(children: Mapping[str, Module | Parameter], known: int | None) -> Layers:
    count = sum(key.isdecimal() for key in children)
    layers = Layers((), count=known if known == count else count)
    layers.children.update(children)
    return layers


def _parameter(tensor: TensorInfo, shape: tuple[int, ...], kind: str | None) -> Parameter:
    return Parameter(
        shape,
        role=tensor.role,
        component=tensor.component,
        kind=kind,
        active=tensor.active,
        tied_to=tensor.tied_to,
    )
