"""The matrices of a module tree: what adapters attach to and what a token is multiplied with."""

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from ..core.components import Component, Role
from ..core.records import dataclass
from ..trees.modules import Module, ModuleList, Parameter

#: Classes that peft's "all-linear" and bitsandbytes take: nn.Linear, its subclasses and Conv1D.
_LINEAR = ("Linear", "Conv1D")


@dataclass(frozen=True)
class Matrix:
    """A tensor of two or more dimensions that is no table and no norm, and its module.

    ``rows`` are outputs and ``columns`` inputs, whichever way the file has them. ``times`` is how
    often a list of experts holds it; ``active`` = (k, n) experts serve a token. ``linear``: its
    module is an nn.Linear or Conv1D, by its class's name. ``plain``: its product is rows · columns
    for each token; False for kernels of convolutions and all that is not known.
    """

    path: str
    rows: int
    columns: int
    kind: str
    component: Component
    active: tuple[int, int] | None = None
    times: int = 1
    linear: bool = False
    plain: bool = True

    @property
    def name(self) -> str:
        """The last part of the path: ``q_proj``."""
        return self.path.rsplit(".", 1)[-1]

    @property
    def elements(self) -> int:
        return self.rows * self.columns * self.times


@dataclass(frozen=True)
class _Inherited:
    component: Component = Component.OTHER
    kind: str = ""
    active: tuple[int, int] | None = None
    times: int = 1

    def entering(self, node: Module | Parameter) -> "_Inherited":
        return _Inherited(
            node.component or self.component,
            node.kind or self.kind,
            node.active or self.active,
            self.times,
        )


def matrices(root: Module) -> Iterator[Matrix]:
    """Every matrix in module order; equal experts of a list once, with ``times``.

    Modules that a fresh save leaves out (multi-token prediction) are left out here too.
    """
    return iter(_listed(root))


@lru_cache(maxsize=1)
def _listed(root: Module) -> tuple[Matrix, ...]:
    """Made once for all who ask of one model, one after the other: work, floating-point operations
    and the curves of a page. A tree is not changed any more once it is built."""
    return tuple(_walk(root, "", _Inherited().entering(root)))


def _walk(module: Module, path: str, inherited: _Inherited) -> Iterator[Matrix]:
    if isinstance(module, ModuleList):
        listed = _experts if inherited.kind == "expert" else _members
        yield from listed(module, path, inherited)
        return
    for name, child in module.children.items():
        if not child.saved or child.kind == "mtp":
            continue
        inner = inherited.entering(child)
        if isinstance(child, Module):
            yield from _walk(child, f"{path}{name}.", inner)
        else:
            yield from _of_child(module, path, name, child, inherited)


def _of_child(
    module: Module, path: str, name: str, tensor: Parameter, inherited: _Inherited
) -> Iterator[Matrix]:
    if len(tensor.shape) > 1 and tensor.role is Role.PARAMETER:
        matrix = _matrix(module, path, name, tensor, inherited.entering(tensor))
        if matrix is not None:
            yield matrix


def _members(module: ModuleList, path: str, inherited: _Inherited) -> Iterator[Matrix]:
    """Those of each member. Equal layers are one module listed many times, walked once."""
    walked: dict[int, list[Matrix]] = {}
    for name, child in module.children.items():
        if not child.saved or child.kind == "mtp":
            continue
        if not isinstance(child, Module):
            yield from _of_child(module, path, name, child, inherited)
            continue
        if id(child) not in walked:
            walked[id(child)] = list(_walk(child, "", inherited.entering(child)))
        for matrix in walked[id(child)]:
            yield replace(matrix, path=f"{path}{name}.{matrix.path}".rstrip("."))


def _experts(module: ModuleList, path: str, inherited: _Inherited) -> Iterator[Matrix]:
    counted: dict[int, tuple[str, Module, int]] = {}
    for name, child in module.children.items():
        if isinstance(child, Module):
            first, _, count = counted.get(id(child), (name, child, 0))
            counted[id(child)] = (first, child, count + 1)
    for name, child, count in counted.values():
        inner = inherited.entering(child)
        times = _Inherited(inner.component, inner.kind, inner.active, count * inherited.times)
        yield from _walk(child, f"{path}{name}.", times)


def _matrix(
    module: Module, path: str, name: str, tensor: Parameter, inherited: _Inherited
) -> Matrix | None:
    linear = name == "weight" and module.class_name.endswith(_LINEAR)
    table = inherited.component is Component.EMBEDDING and not linear
    if table or inherited.component is Component.NORM or name.endswith("bias"):
        return None
    *outer, rows, columns = tensor.shape
    count = inherited.times * math.prod(map(int, outer))
    if module.class_name == "Conv1D":
        rows, columns = columns, rows
    alone = name == "weight" and (linear or inherited.component is Component.ROUTER)
    fused = inherited.kind == "expert" and inherited.active is not None
    plain = (not outer and alone) or (len(outer) == 1 and fused)
    return Matrix(
        path.rstrip(".") if name == "weight" else f"{path}{name}",
        int(rows),
        int(columns),
        inherited.kind,
        inherited.component,
        inherited.active,
        count,
        linear and not outer,
        plain,
    )


# ---- modules by name


def named_modules(root: Module, path: str = "") -> Iterator[tuple[str, Module]]:
    """Every module that a fresh save has, with its path; a layer as often as it is listed."""
    for name, child in root.children.items():
        if isinstance(child, Module) and child.saved and child.kind != "mtp":
            yield f"{path}{name}", child
            yield from named_modules(child, f"{path}{name}.")


def tables(root: Module) -> Iterator[Matrix]:
    """Every nn.Embedding, by its class's name: ``rows`` are the width of what it gives out,
    ``columns`` the number of its entries."""
    for path, module in named_modules(root):
        weight = module.children.get("weight")
        is_table = module.class_name.endswith("Embedding") and isinstance(weight, Parameter)
        if is_table and isinstance(weight, Parameter) and len(weight.shape) == 2:
            entries, width = map(int, weight.shape)
            yield Matrix(path, width, entries, module.kind or "", Component.EMBEDDING)


def parameters_of(module: Module) -> int:
    """Parameters of a module, tied ones too: a copy holds them all."""
    total = 0
    for child in module.children.values():
        if isinstance(child, Module):
            total += parameters_of(child)
        elif child.role is Role.PARAMETER:
            total += math.prod(map(int, child.shape))
    return total
