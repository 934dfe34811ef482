"""Modules with shapes only: enough of torch.nn to write a model's ``__init__`` down.

A tree of modules gives three things at once: exact tensor names and shapes (``expected_tensors``),
the printed structure (``structure.py``) and the formula of every count (the Dims in the shapes).

Component, part and kind are said where a module is built and inherited downwards; norms and
embeddings say their own.  ``saved=False`` marks what a freshly saved checkpoint leaves out although
files on the Hub may hold it (a module so marked is not in the printed structure either);
``active=(k, n)`` marks modules of which k in n are used per token.
Repeated layers are one template object listed many times, so that 256 experts cost one.
``tied_to`` names are full tensor names, counted from the nearest enclosing module with ``scope``
(a base model inside a composite) or from the root.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from ..core.components import Component, Role
from ..core.records import dataclass
from ..core.tensor import Packed
from ..errors import UnknownArchitectureError
from .cache_layout import CacheItem

Shape = tuple[int, ...]
Kind = TypeVar("Kind")
#: For so many layers, how many tokens back each one's attention looks; None for all of them.
WindowsOf = Callable[[int], Sequence[int | None]]


@dataclass(frozen=True, eq=False)
class Parameter:
    """A tensor of a module. Shape in the file's order (row-major, out before in for linears)."""

    shape: Shape
    role: Role = Role.PARAMETER
    dtype: str | None = None
    tied_to: str | None = None
    saved: bool = True
    component: Component | None = None
    kind: str | None = None
    active: tuple[int, int] | None = None
    packed: Packed | None = None


def Weight(
    *shape: int,
    tied_to: str | None = None,
    component: Component | None = None,
    kind: str | None = None,
    active: tuple[int, int] | None = None,
    saved: bool = True,
) -> Parameter:
    """A bare ``nn.Parameter`` of the given shape."""
    return Parameter(
        shape, tied_to=tied_to, component=component, kind=kind, active=active, saved=saved
    )


def Buffer(
    *shape: int,
    dtype: str | None = None,
    saved: bool = True,
    kind: str | None = None,
    component: Component | None = None,
) -> Parameter:
    """A buffer: saved by default, never a parameter. ``dtype`` None is the model's own."""
    return Parameter(
        shape, role=Role.BUFFER, dtype=dtype, saved=saved, kind=kind, component=component
    )


class Module:
    """A node: class name as print(model) shows it, and children by attribute name.

    Children that are None are left out, so optional parts can be written in place.
    ``detail`` is what stands between the parentheses of a leaf. ``cache`` is what it holds between
    tokens (``cache_layout.py``); None where its projections show it.
    """

    __slots__ = (
        "__weakref__",
        "active",
        "cache",
        "children",
        "class_name",
        "component",
        "detail",
        "kind",
        "part",
        "saved",
        "scope",
    )

    def __init__(
        self,
        class_name: str,
        /,
        children: Mapping[str, Module | Parameter | None] | None = None,
        *,
        component: Component | None = None,
        part: str | None = None,
        kind: str | None = None,
        saved: bool = True,
        active: tuple[int, int] | None = None,
        detail: str = "",
        scope: bool = False,
        cache: tuple[CacheItem, ...] | None = None,
        **more: Module | Parameter | None,
    ) -> None:
        self.class_name = class_name
        self.children: dict[str, Module | Parameter] = {
            name: child for name, child in {**(children or {}), **more}.items() if child is not None
        }
        self.component = component
        self.part = part
        self.kind = kind
        self.saved = saved
        self.active = active
        self.detail = detail
        self.scope = scope
        self.cache = cache

    def __getitem__(self, name: str) -> Module | Parameter:
        """The child of that name. Raises UnknownArchitectureError: a section may describe a model
        of another form than the composite's class can hold."""
        child = self.children.get(name)
        if child is None:
            raise without_part(self, name)
        return child

    def adding(self, **more: Module | Parameter | None) -> Module:
        """This module, with further children, or others in place of those that it has."""
        self.children |= {name: child for name, child in more.items() if child is not None}
        return self

    def without(self, *names: str) -> Module:
        """This module, without the children of these names."""
        for name in names:
            del self.children[name]
        return self

    def called(self, class_name: str) -> Module:
        """This module, with another class name."""
        self.class_name = class_name
        return self

    def inside(self, *path: str) -> Module:
        """The module at a path of attribute names below this one. Raises as ``[]`` does."""
        at = self
        for name in path:
            child = at[name]
            if not isinstance(child, Module):
                raise without_part(at, name)
            at = child
        return at

    def tensor(self, name: str = "weight") -> Parameter:
        """The tensor of that name in this module. Raises as ``[]`` does."""
        child = self[name]
        if isinstance(child, Module):
            raise without_part(self, name)
        return child


def each_module(root: Module) -> Iterator[Module]:
    """``root`` and every module in it once, in no order; equal layers are one object."""
    waiting = [root]
    seen = set[int]()
    while waiting:
        module = waiting.pop()
        if id(module) not in seen:
            seen.add(id(module))
            yield module
            waiting += [child for child in module.children.values() if isinstance(child, Module)]


def without_part(module: Module, name: str) -> UnknownArchitectureError:
    """The error of a composite with a part of a form that its class cannot hold."""
    return UnknownArchitectureError(
        f"class {module.class_name}",
        f"has no {name}, which the class around it needs",
        hint="a section of the config names a model_type that this class does not accept",
    )


class ModuleList(Module):
    """``nn.ModuleList``: children named 0, 1, 2 ...; equal ones should be one shared object.

    ``count``, where given, is the number of children as a Dim that knows its config key.
    """

    __slots__ = ("count", "is_layers")

    def __init__(
        self,
        items: Iterable[Module],
        *,
        class_name: str = "ModuleList",
        component: Component | None = None,
        part: str | None = None,
        kind: str | None = None,
        saved: bool = True,
        active: tuple[int, int] | None = None,
        start: int = 0,
        count: int | None = None,
    ) -> None:
        super().__init__(
            class_name,
            {str(i): item for i, item in enumerate(items, start)},
            component=component,
            part=part,
            kind=kind,
            saved=saved,
            active=active,
        )
        self.is_layers = False
        self.count = count


class Layers(ModuleList):
    """The ModuleList whose members reports call layer 0, 1, 2 ... (blocks, not experts).

    For a decoder of equal blocks: ``Layers.of(n, block)``. Where layers differ, build each distinct
    kind once and list it as often as it occurs. ``windows`` gives, for so many layers, the tokens
    that each one's attention looks back on (None: all of them); ``reused`` is how many layers at
    the end take keys and values of earlier ones and keep none; ``passes`` how often a token goes
    through all of them, each time with keys and values of its own. ``like`` are the layers of
    another family that keep the same, where these do not say it; ``static`` is False where
    transformers takes no StaticCache for them.
    """

    __slots__ = ("like", "passes", "reused", "static", "windows")

    def __init__(
        self,
        items: Iterable[Module],
        *,
        class_name: str = "ModuleList",
        part: str | None = None,
        saved: bool = True,
        start: int = 0,
        count: int | None = None,
        windows: WindowsOf | None = None,
        reused: int = 0,
        passes: int = 1,
    ) -> None:
        super().__init__(
            items, class_name=class_name, part=part, saved=saved, start=start, count=count
        )
        self.is_layers = True
        self.windows = windows
        self.reused = reused
        self.passes = passes
        self.like: Layers | None = None
        self.static = True

    @classmethod
    def of(
        cls,
        count: int,
        block: Module,
        *,
        class_name: str = "ModuleList",
        part: str | None = None,
        windows: WindowsOf | None = None,
    ) -> Layers:
        return cls(
            [block] * int(count), class_name=class_name, part=part, count=count, windows=windows
        )


def Sequential(
    *items: Module | None,
    class_name: str = "Sequential",
    component: Component | None = None,
    kind: str | None = None,
    part: str | None = None,
) -> Module:
    """``nn.Sequential``; None keeps its number free of parameters (an activation left unsaid)."""
    return Module(
        class_name,
        {str(i): item for i, item in enumerate(items)},
        component=component,
        kind=kind,
        part=part,
    )


def once(kinds: Sequence[Kind], make: Callable[[Kind], Module]) -> list[Module]:
    """What ``make`` makes of each; of equal ones it is one object."""
    module_of = {kind: make(kind) for kind in dict.fromkeys(kinds)}
    return [module_of[kind] for kind in kinds]


# ---- leaves


def Linear(
    in_features: int,
    out_features: int,
    bias: bool = True,
    *,
    tied_to: str | None = None,
    bias_tied_to: str | None = None,
    component: Component | None = None,
    kind: str | None = None,
    class_name: str = "Linear",
) -> Module:
    """y = x·Wᵀ + b; weight (out, in), bias (out,): in·out + out parameters."""
    return Module(
        class_name,
        weight=Parameter((out_features, in_features), tied_to=tied_to),
        bias=Parameter((out_features,), tied_to=bias_tied_to) if bias else None,
        component=component,
        kind=kind,
        detail=f"in_features={in_features}, out_features={out_features}, bias={bias}",
    )


def Conv1D(
    nf: int,
    nx: int,
    *,
    bias: bool = True,
    component: Component | None = None,
    kind: str | None = None,
) -> Module:
    """GPT-2's linear with transposed weight (nx, nf) and bias (nf,)."""
    return Module(
        "Conv1D",
        weight=Parameter((nx, nf)),
        bias=Parameter((nf,)) if bias else None,
        component=component,
        kind=kind,
        detail=f"nf={nf}, nx={nx}",
    )


def Embedding(
    num_embeddings: int,
    embedding_dim: int,
    *,
    tied_to: str | None = None,
    component: Component | None = Component.EMBEDDING,
    kind: str | None = "token",
    class_name: str = "Embedding",
    padding_idx: int | None = None,
    saved: bool = True,
) -> Module:
    """A table (num_embeddings, embedding_dim)."""
    padding = "" if padding_idx is None else f", padding_idx={padding_idx}"
    return Module(
        class_name,
        weight=Parameter((num_embeddings, embedding_dim), tied_to=tied_to),
        component=component,
        kind=kind,
        saved=saved,
        detail=f"{num_embeddings}, {embedding_dim}{padding}",
    )


def LayerNorm(
    size: int | Sequence[int],
    *,
    eps: float | None = None,
    bias: bool = True,
    weight: bool = True,
    class_name: str = "LayerNorm",
) -> Module:
    """gamma and beta, each of ``size``."""
    shape = (size,) if isinstance(size, int) else tuple(size)
    return Module(
        class_name,
        weight=Parameter(shape) if weight else None,
        bias=Parameter(shape) if bias and weight else None,
        component=Component.NORM,
        detail=f"({_listed(shape)}), eps={eps or 1e-05:g}, elementwise_affine={weight}"
        + (f", bias={bias}" if weight else ""),
    )


def RMSNorm(size: int, *, eps: float | None = None, class_name: str = "RMSNorm") -> Module:
    """gamma only."""
    return Module(
        class_name,
        weight=Parameter((size,)),
        component=Component.NORM,
        detail=f"({_listed((size,))}), eps={eps or 1e-06:g}",
    )


def GroupNorm(groups: int, channels: int, *, eps: float = 1e-05) -> Module:
    """gamma and beta per channel."""
    return Module(
        "GroupNorm",
        weight=Parameter((channels,)),
        bias=Parameter((channels,)),
        component=Component.NORM,
        detail=f"{groups}, {channels}, eps={eps:g}, affine=True",
    )


def BatchNorm(
    features: int, *, dims: int = 2, eps: float = 1e-05, class_name: str | None = None
) -> Module:
    """gamma and beta as parameters; running mean, variance and the batch counter as buffers."""
    return Module(
        class_name or f"BatchNorm{dims}d",
        weight=Parameter((features,)),
        bias=Parameter((features,)),
        running_mean=Buffer(features),
        running_var=Buffer(features),
        num_batches_tracked=Buffer(dtype="I64"),
        component=Component.NORM,
        detail=f"{features}, eps={eps:g}",
    )


def Conv(
    in_channels: int,
    out_channels: int,
    kernel: int | Sequence[int],
    *,
    dims: int = 2,
    groups: int = 1,
    bias: bool = True,
    stride: int | Sequence[int] = 1,
    component: Component | None = Component.CONV,
    kind: str | None = None,
    transposed: bool = False,
    class_name: str | None = None,
) -> Module:
    """ConvNd: weight (out, in / groups, *kernel); transposed: (in, out / groups, *kernel)."""
    sizes = (kernel,) * dims if isinstance(kernel, int) else tuple(kernel)
    per_group = out_channels if transposed else in_channels
    per_group = per_group // groups if groups != 1 else per_group
    outer = in_channels if transposed else out_channels
    strides = (stride,) * dims if isinstance(stride, int) else tuple(stride)
    return Module(
        class_name or f"Conv{'Transpose' if transposed else ''}{dims}d",
        weight=Parameter((outer, per_group, *sizes)),
        bias=Parameter((out_channels,)) if bias else None,
        component=component,
        kind=kind,
        detail=f"{in_channels}, {out_channels}, kernel_size=({_listed(sizes)}), "
        f"stride=({_listed(strides)})" + (f", groups={groups}" if groups != 1 else ""),
    )


def Activation(class_name: str, detail: str = "") -> Module:
    """A module without tensors, shown because print(model) shows it."""
    return Module(class_name, detail=detail)


def Dropout(p: float = 0.0) -> Module:
    return Module("Dropout", detail=f"p={float(p)}, inplace=False")


def _listed(sizes: Sequence[int]) -> str:
    # The familiar print shows one-element tuples with their comma.
    return f"{sizes[0]}," if len(sizes) == 1 else ", ".join(str(int(size)) for size in sizes)
