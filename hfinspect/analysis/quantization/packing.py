"""The tensors of a quantised checkpoint, predicted from its config: the inverse of ``decode``.

The architecture's tree is rewritten: modules that the method packs get the tensors of its layout in
place of their weight. So a layer of 256 experts that is listed 58 times is packed once, and names,
labels and shares come from the same expansion as everywhere.
"""

import copy
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from math import prod
from types import MappingProxyType
from typing import NamedTuple

from ...core.checkpoint import Finding
from ...core.components import Component, Role
from ...core.records import dataclass
from ...core.results import Quantization
from ...core.tensor import Packed, TensorSpec, nbytes_of
from ...core.tensor_copies import Copies
from ...errors import LimitError
from ...trees.expand import expected_tensors
from ...trees.modules import Layers, Module, Parameter
from ...trees.prediction import Prediction, is_saved
from .declared import Declared, declared_in, group_size_of
from .decoding import Holds
from .expressions import UnreadablePatternError
from .packed_layout import KEEP, Fused, Linear, PackedPlan, Scheme, UndeterminedError, scales
from .registry import find_plan
from .selection import SelectionState

#: Class -> its child that is a Linear although files call its weight by the Linear's name alone.
_WITHOUT_WEIGHT = MappingProxyType({"Inkling2DynamicShortConvolution": "weight_proj"})
#: In front of names of what a module's tensors bring along next to the module.
_OUTSIDE = "../"

Children = Mapping[str, Module | Parameter]
_WEIGHTS = Holds.WEIGHTS.value


@dataclass(frozen=True)
class Packing:
    """How a config says that its tensors are stored.

    ``specs`` are all tensors of the packed tree, None where the layout is not determined; ``dtype``
    is that of the tensors that name none themselves.
    """

    specs: Copies[TensorSpec] | None
    summary: Quantization
    dtype: str | None = None
    findings: tuple[Finding, ...] = ()

    @cached_property
    def tensors(self) -> Copies[TensorSpec]:
        """What a file holds: ties left out, and what the class does not save."""
        return Copies() if self.specs is None else self.specs.where(is_saved)


def packing(
    prediction: Prediction,
    config: Mapping[str, object] | None,
    companions: Mapping[str, Mapping[str, object]] | None = None,
) -> Packing | None:
    """How ``config`` says that the tensors of ``prediction`` are packed; None if they are not.

    ``companions`` are hf_quant_config.json and quantize_config.json where there are. Raises
    nothing: a layout that does not follow from the config is a finding, and ``specs`` is None.
    """
    declared = declared_in(config, companions or {})
    if not declared.method:
        return None
    try:
        plan = find_plan(declared, config or {}, prediction)
        walk = _Walk(plan, prediction.dtype or plan.dtype)
        root = walk.root(prediction)
        if plan.selection.names_nothing:
            raise UndeterminedError("it names modules by other names than the files have")
        specs = expected_tensors(root)
    except UnreadablePatternError as error:
        return _undetermined(declared, f"the pattern {str(error)!r:.80} is not read")
    except (UndeterminedError, LimitError) as error:
        return _undetermined(declared, str(error))
    dtype = prediction.dtype or plan.dtype
    result = Packing(specs, Quantization(declared.method), dtype)
    counts = _counts(result.tensors, dtype)
    return replace(
        result, summary=_summary(declared, counts), findings=(*walk.findings, *_unsized(counts))
    )


def rewritten(plan: PackedPlan, prediction: Prediction) -> Module:
    """The tree of a model as a plan packs it. Raises UndeterminedError."""
    return _Walk(plan, prediction.dtype or plan.dtype).root(prediction)


#: (dtype, shape, what is packed) -> number of tensors.
PackedCounts = Mapping[tuple[str | None, tuple[int, ...], "Packed | None"], int]


def _counts(tensors: Copies[TensorSpec], dtype: str | None) -> PackedCounts:
    """Tensors counted by what their bytes depend on."""
    counts: Counter[tuple[str | None, tuple[int, ...], Packed | None]] = Counter()
    for spec, count in tensors.counted():
        counts[spec.dtype or dtype, spec.shape, spec.packed] += count
    return counts


def _unsized(counts: PackedCounts) -> Iterator[Finding]:
    """Why the bytes of all tensors are no one number."""
    unnamed = sum(count for (dtype, _, _), count in counts.items() if dtype is None)
    if unnamed:
        text = f"config.json names no dtype: the bytes of {unnamed:,} tensors are unknown"
        yield Finding("dtype-undetermined", text, severity="note")
        return
    least = sum((nbytes_of(d, prod(shape)) or 0) * n for (d, shape, _), n in counts.items())
    spread = sum(packed.varies * n for (_, _, packed), n in counts.items() if packed)
    if spread:
        text = (
            f"the tensors take {least:,} to {least + spread:,} bytes: the settings of each module "
            "are text with a number whose digits follow from the data"
        )
        yield Finding("bytes-vary", text, severity="note")


def _undetermined(declared: Declared, why: str) -> Packing:
    text = (
        f"{declared.where} names {declared.method:.40}, but {why}: dtypes and bytes are unknown "
        "without the headers of the weight files"
    )
    bits = declared.integer("bits", "w_bit", "num_bits")
    summary = Quantization(
        declared.method,
        bits=bits,
        packed_bytes=None,
        group_size=group_size_of(declared),
        declared_in=declared.where,
    )
    return Packing(None, summary, None, (Finding("layout-undetermined", text, severity="note"),))


def _summary(declared: Declared, counts: PackedCounts) -> Quantization:
    roles: dict[str, int] = {}
    widths: dict[int | None, int] = {}
    schemes: set[str] = set()
    sized = True
    for (dtype, shape, packed), count in counts.items():
        if packed is None:
            continue
        nbytes = nbytes_of(dtype, prod(shape))
        sized = sized and nbytes is not None and not packed.varies
        roles[packed.holds] = roles.get(packed.holds, 0) + (nbytes or 0) * count
        if packed.holds == _WEIGHTS:
            widths[packed.bits] = widths.get(packed.bits, 0) + packed.parameters * count
            schemes.add(packed.scheme)
    known = {bits: parameters for bits, parameters in widths.items() if bits is not None}
    return Quantization(
        method=declared.method,
        bits=next(iter(known)) if len(known) == 1 and None not in widths else None,
        packed_parameters=sum(widths.values()),
        packed_bytes=roles.get(_WEIGHTS, 0) if sized else None,
        roles=roles if sized else {},
        scheme=", ".join(sorted(schemes - {""})),
        widths={str(bits): parameters for bits, parameters in sorted(known.items())},
        group_size=group_size_of(declared),
        declared_in=declared.where,
    )


class _PackedPlace(NamedTuple):
    """What a module is handed down and what matters for whether it is packed. ``name`` is its own,
    or for one of a list that of the list."""

    component: Component = Component.OTHER
    part: str = "text"
    in_layers: bool = False
    is_expert: bool = False
    is_saved: bool = True
    name: str = ""

    def inside(self, node: Module) -> "_PackedPlace":
        part = node.part or self.part
        return _PackedPlace(
            node.component or self.component,
            part,
            (self.in_layers or (isinstance(node, Layers) and node.is_layers)) and part == "text",
            self.is_expert or node.active is not None or node.kind == "expert",
            self.is_saved and node.saved,
            self.name,
        )


class _Walk:
    """The tree once more, with packed modules; a template is rewritten once for each state."""

    def __init__(self, plan: PackedPlan, dtype: str | None) -> None:
        self.findings: list[Finding] = []
        self._plan = plan
        self._dtype = dtype
        self._made: dict[tuple[int, SelectionState, _PackedPlace], Module] = {}

    def root(self, prediction: Prediction) -> Module:
        return self.module(prediction.root, self._plan.selection.start(), _PackedPlace())

    def module(self, node: Module, state: SelectionState, place: _PackedPlace) -> Module:
        inside = place.inside(node)
        key = (id(node), state, inside)
        rewritten = self._made.get(key)
        if rewritten is None:
            rewritten = self._made[key] = self._rewritten(node, state, inside)
        return rewritten

    def _rewritten(self, node: Module, state: SelectionState, place: _PackedPlace) -> Module:
        scheme = self._scheme(node, state, place)
        children: dict[str, Module | Parameter] = {}
        enter = self._plan.selection.enter
        is_packed = False
        for name, child in node.children.items():
            if isinstance(child, Module):
                below = place if name.isdigit() else place._replace(name=name)
                packed = self.module(child, enter(state, name), below)
                if name == "experts" and packed is not child:
                    packed = self._with_joined(packed)
                children[name] = packed
            elif scheme is not None and name == "weight" and _is_matrix(child):
                layout = scheme(self._linear(node, child, place))
                children.update({name: child} if layout is None else _in_place_of(child, layout))
                is_packed = layout is not None
            elif is_packed and name == "bias" and self._plan.biases:
                children[name] = replace(child, dtype=self._plan.biases)
            else:
                children.update(self._bare(node, name, child, enter(state, name), place))
        if self._plan.cache_scales and place.in_layers and place.is_saved:
            children.update(self._cache_scales(children))
        if children == node.children:
            return node
        return _with_children(node, _brought_out(children))

    def _with_joined(self, experts: Module) -> Module:
        """A list of experts with the tensors that it has for all of them."""
        count = sum(name.isdigit() for name in experts.children)
        if self._plan.joined is None or not count:
            return experts
        return _with_children(experts, {**experts.children, **self._plan.joined(count)})

    def _linear(self, node: Module, weight: Parameter, place: _PackedPlace) -> Linear:
        first, second = (int(size) for size in weight.shape)
        out, inputs = (second, first) if node.class_name == "Conv1D" else (first, second)
        has_bias = "bias" in node.children
        return Linear(out, inputs, node.class_name, has_bias, self._dtype, place.is_expert)

    def _scheme(self, node: Module, state: SelectionState, place: _PackedPlace) -> Scheme | None:
        """That of a module, None for one that stays as it is."""
        plan = self._plan
        is_embedding = plan.embeddings and node.class_name == "Embedding"
        if node.class_name not in plan.classes and not is_embedding:
            return None
        return self._chosen(state, place)

    def _chosen(self, state: SelectionState, place: _PackedPlace) -> Scheme | None:
        plan = self._plan
        label = plan.selection.label(state)
        if label is not None:
            return label if callable(label) else None
        outside = not place.in_layers or place.component is Component.HEAD
        if not plan.layers_only or not outside:
            return plan.scheme
        if plan.outside and place.is_saved:
            raise UndeterminedError(plan.outside)
        return None

    def _bare(
        self, node: Module, name: str, tensor: Parameter, state: SelectionState, place: _PackedPlace
    ) -> Mapping[str, Parameter]:
        """A tensor that is no Linear's weight: as it is, unless it holds experts."""
        if tensor.dtype == "F32" and self._plan.floats is not None:
            tensor = replace(tensor, dtype=self._plan.floats)
        if _WITHOUT_WEIGHT.get(node.class_name) == name:
            return self._without_weight(name, tensor, state, place)
        is_expert = place.is_expert or tensor.active is not None or tensor.kind == "expert"
        if not is_expert or not _has_matrices(node, name, tensor):
            return {name: tensor}
        plan = self._plan
        if plan.selection.label(state) == KEEP:
            return {name: tensor}
        if plan.fused is not None:
            sizes = _sizes(node)
            fused = Fused(name, sizes[name], sizes, node.class_name, place.name)
            return _in_place_of(tensor, plan.fused(fused))
        if self._chosen(state, place) is None:
            return {name: tensor}
        raise UndeterminedError(f"it does not say how the experts in one tensor {name} are packed")

    def _without_weight(
        self, name: str, tensor: Parameter, state: SelectionState, place: _PackedPlace
    ) -> Mapping[str, Parameter]:
        """A Linear's weight that has the Linear's name."""
        scheme = self._chosen(state, place)
        out, inputs = tensor.shape
        linear = Linear(out, inputs, "Linear", False, self._dtype, place.is_expert)
        layout = None if scheme is None else scheme(linear)
        if layout is None:
            return {name: tensor}
        names = {k: f"{name}.{k.removeprefix('weight.')}" for k in layout} | {"weight": name}
        return _in_place_of(tensor, {names[k]: one for k, one in layout.items()})

    def _cache_scales(self, children: Children) -> dict[str, Module | Parameter]:
        """The factors for keys and values, where an attention projects to these."""
        members: dict[str, Module | Parameter] = {}
        for letter in "kv":
            projection = children.get(f"{letter}_proj")
            if not isinstance(projection, Module):
                continue
            if self._plan.cache_scales == "attention":
                members[f"{letter}_scale"] = scales(None, 1)
            else:
                copied = copy.copy(projection)
                copied.children = {**projection.children, f"{letter}_scale": scales("F32")}
                members[f"{letter}_proj"] = copied
        if not members and not {"kv_b_proj", "qkv_proj", "query_key_value"}.isdisjoint(children):
            text = "the scales of the KV cache are not counted: their names depend on the exporter"
            if not self.findings:
                self.findings.append(Finding("cache-scales", text, severity="note"))
        return members


def _with_children(node: Module, children: dict[str, Module | Parameter]) -> Module:
    copied = copy.copy(node)
    copied.children = children
    return copied


def _brought_out(children: dict[str, Module | Parameter]) -> dict[str, Module | Parameter]:
    """With what modules in it have outside of themselves: ``../experts.x`` as ``experts.x``."""
    members = dict(children)
    for name, child in children.items():
        if not isinstance(child, Module):
            continue
        outside = [key for key in child.children if key.startswith(_OUTSIDE)]
        if outside:
            inside = {k: c for k, c in child.children.items() if k not in outside}
            members[name] = _with_children(child, inside)
            members.update({key.removeprefix(_OUTSIDE): child.children[key] for key in outside})
    return members


def _is_matrix(tensor: Parameter) -> bool:
    return len(tensor.shape) == 2 and tensor.role is Role.PARAMETER and not tensor.tied_to


def _has_matrices(node: Module, name: str, tensor: Parameter) -> bool:
    """Whether a tensor of experts holds weights, not biases or a router's table."""
    if tensor.role is not Role.PARAMETER or len(tensor.shape) < 2 or "bias" in name:
        return False
    return node.component is not Component.ROUTER


def _sizes(node: Module) -> dict[str, tuple[int, ...]]:
    """The shapes of a module's own tensors."""
    pairs = ((name, child) for name, child in node.children.items() if isinstance(child, Parameter))
    return {name: tuple(int(size) for size in tensor.shape) for name, tensor in pairs}


def _in_place_of(weight: Parameter, tensors: Mapping[str, Parameter]) -> dict[str, Parameter]:
    """The tensors of a layout in the place of ``weight``, with its labels."""
    parameters = {}
    for name, piece in tensors.items():
        parameters[name] = Parameter(
            piece.shape,
            piece.role,
            piece.dtype,
            None,
            weight.saved,
            weight.component,
            weight.kind,
            weight.active,
            piece.packed,
        )
    return parameters
