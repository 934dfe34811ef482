"""From a tree of modules to the tensors it stands for."""

from typing import NamedTuple, TypeAlias

from ..core.components import Component
from ..core.tensor import TensorSpec
from ..core.tensor_copies import Copies, Place, Template
from ..errors import LimitError
from .modules import Module, ModuleList, Parameter

#: Ten times the largest real checkpoint; what a config can make us list is bounded by this.
MAX_TENSORS = 5_000_000

#: Tensors and the places of templates, in module order.
_Items: TypeAlias = list["TensorSpec | Place[TensorSpec]"]


class Context(NamedTuple):
    """What a module hands down to its children."""

    component: Component = Component.OTHER
    part: str = "text"
    kind: str = ""
    saved: bool = True
    active: tuple[int, int] | None = None
    stack: str | None = None
    layer: int | None = None
    scope: str = ""

    def entering(self, node: Module | Parameter) -> "Context":
        """The context inside ``node``: what it says itself, else what it was handed."""
        part = node.part if isinstance(node, Module) and node.part else self.part
        return Context(
            node.component or self.component,
            part,
            node.kind or self.kind,
            self.saved and node.saved,
            node.active or self.active,
            self.stack,
            self.layer,
            self.scope,
        )


def expected_tensors(root: Module) -> Copies[TensorSpec]:
    """Every tensor of the tree in module order, those not saved included and marked.

    Raises LimitError beyond MAX_TENSORS.
    """
    _bounded(root)
    items: _Items = []
    _emit(root, "", Context().entering(root), items)
    return Copies(items)


def _bounded(root: Module) -> None:
    sizes: dict[int, int] = {}

    def size(module: Module) -> int:
        known = sizes.get(id(module))
        if known is None:
            known = sum(
                size(child) if isinstance(child, Module) else 1
                for child in module.children.values()
            )
            sizes[id(module)] = known
        return known

    total = size(root)
    if total > MAX_TENSORS:
        raise LimitError(
            "config", f"describes {total:,} tensors", expected=f"at most {MAX_TENSORS:,}"
        )


def _emit(module: Module, prefix: str, context: Context, out: _Items) -> None:
    if isinstance(module, ModuleList):
        _emit_list(module, prefix, context, out)
        return
    for name, child in module.children.items():
        inner = context.entering(child)
        if isinstance(child, Module):
            if child.scope:
                inner = inner._replace(scope=f"{prefix}{name}.")
            _emit(child, f"{prefix}{name}.", inner, out)
        else:
            out.append(_spec(prefix + name, child, inner))


def _emit_list(modules: ModuleList, prefix: str, context: Context, out: _Items) -> None:
    # A template listed many times is expanded once, with names relative to itself; the copies
    # differ only in the name's head and, for layers, in the layer's number.
    flat: dict[int, Template[TensorSpec]] = {}
    stack = prefix[:-1]
    for name, child in modules.children.items():
        if not isinstance(child, Module):
            out.append(_spec(prefix + name, child, context.entering(child)))
            continue
        template = flat.get(id(child))
        if template is None:
            specs: _Items = []
            inner = context.entering(child)
            if modules.is_layers:
                inner = inner._replace(stack=None, layer=None)
            _emit(child, "", inner, specs)
            template = flat[id(child)] = Template(specs)
        if template.items:
            layer = int(name) if modules.is_layers else None
            out.append(Place(template, f"{prefix}{name}.", stack, layer))


def _spec(name: str, tensor: Parameter, context: Context) -> TensorSpec:
    return TensorSpec(
        name,
        tuple(int(size) for size in tensor.shape),
        context.component,
        tensor.role,
        context.part,
        context.stack,
        context.layer,
        context.kind,
        tensor.dtype,
        context.scope + tensor.tied_to if tensor.tied_to else None,
        context.saved,
        context.active,
        tensor.packed,
    )
