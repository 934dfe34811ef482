"""The layout of a whole model as one page: what it is, where its parameters are, its layers, why
there are so many, memory, audit, tensors, config."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ..analysis.count import per_layer
from ..analysis.differences import ranges
from ..analysis.kinds import Folded, Pattern, QuantizationKind, fold
from ..core.components import Component
from ..core.explanation import Explanation
from ..core.footprint import Memory
from ..core.overrides import titled
from ..core.records import dataclass
from ..core.results import Inspection, Totals
from ..core.text import byte_size, rounded_count, shape_text
from ..core.verdicts import AuditResult
from ..explaining.low_rank import low_rank
from ..sizing.curves import CacheOfLayers, Curves
from . import adapter_lines, explained, memory_screen, overview, verdict
from .document import Block, Cell, Column, Document, Facts, Paragraph, Preformatted, Table
from .drawings import Chapter, Leaf, Measure, StackedBar, Stretch, Strips, Treemap, fewer
from .tokenizer_screen import tokenizer_blocks

#: Tiles and rows of tensors; the smallest are counted together. No model that repeats a layer has
#: so many; one page of 300 kB holds them.
MAX_LEAVES = 240
MAX_ROWS = 300
#: Lists of layers that are drawn, and kinds of layers of one list.
MAX_STACKS = 8
MAX_KINDS = 40
#: Characters of config.json that a page holds.
MAX_CONFIG = 16_000
#: What the tiles of tensors are called that the class does not hold.
BEYOND = "beyond"

#: A list of plain values over several lines; a string of JSON has no line breaks of its own.
_FLAT_LIST = re.compile(r"\[\n\s*([^\[\]{}]*?)\n\s*\]")
_BREAK = re.compile(r"\n\s*")

_COMPONENTS = {component.value: i for i, component in enumerate(Component)}


@dataclass(frozen=True)
class PartPortrait:
    """One part of a pipeline as its own folder says it.

    Fields:
        name: the part's, as the pipeline calls it
        inspection: what is inside; None where the part cannot be read for itself
        explanation: where every parameter comes from; why not, as text
    """

    name: str
    inspection: Inspection | None
    explanation: Explanation | str


@dataclass(frozen=True)
class Portrait:
    """All that one run has learned. What is not known is the reason, as text.

    Fields:
        inspection: what is inside
        explanation: where every parameter comes from; why not, as text
        memory: what it needs to run; None where it cannot be said at all
        curves: the same at every context; None where the cache is not known
        layer_caches: what layers keep of the cache
        audit: what is wrong; why it was not looked at, as text
        parts: of a pipeline, each for itself
    """

    inspection: Inspection
    explanation: Explanation | str
    memory: Memory | None
    curves: Curves | None
    layer_caches: tuple[CacheOfLayers, ...]
    audit: AuditResult | str
    parts: tuple[PartPortrait, ...] = ()


def lay_out(
    portrait: Portrait, *, by: str = "component", groups: Mapping[str, Totals] | None = None
) -> Document:
    """Every chapter of the page; those that a model has nothing for say why. ``groups`` are totals
    by ``by``, of the first table."""
    inspection = portrait.inspection
    folded = fold(inspection.tensors)
    screen = overview.lay_out(
        inspection, by=by, groups=groups, layers=per_layer(inspection.tensors)
    )
    known = [item for block in screen.blocks if isinstance(block, Facts) for item in block.items]
    # A page is shown around: where the model lies on this disk is in its JSON form alone.
    facts = [item for item in known if item[0] != "path"]
    remarks = [block for block in screen.blocks if isinstance(block, Paragraph)]
    tables = [block for block in screen.blocks if isinstance(block, Table)]
    chapters = (
        Chapter("where", "Where the parameters are", (*_where(portrait, folded), *tables)),
        Chapter("layers", "Layers", tuple(_layers(portrait, folded))),
        *(_chapters_of_parts(portrait) or [_why(portrait, folded)]),
        Chapter("memory", "Memory", tuple(_memory(portrait))),
        Chapter("audit", "Audit", tuple(_audit(portrait))),
        *_tokenizer(portrait),
        Chapter("tensors", "Tensors", tuple(_tensors(inspection, folded)), folded=True),
        Chapter("config", "config.json", tuple(_config(inspection.config)), folded=True),
    )
    blocks: tuple[Block, ...] = (Facts(tuple(facts)), *remarks, *chapters)
    title = titled(inspection.origin.short_name, inspection.overrides)
    return Document(title, blocks, screen.main, screen.summary)


# ---- where the parameters are


def treemap(
    inspection: Inspection, folded: Folded, caches: Sequence[CacheOfLayers], memory: Memory | None
) -> Treemap | None:
    """Tiles by parameters, bytes and the cache at the model's own context, each where known."""
    measures = []
    if inspection.parameters:
        measures.append(Measure("parameters", "parameters", "parameters", inspection.parameters))
    if inspection.nbytes:
        measures.append(Measure("nbytes", "bytes", "bytes", inspection.nbytes, "as stored"))
    cache = sum(one.nbytes for one in caches)
    if cache and memory is not None and memory.cache is not None:
        of = memory.cache
        note = f"at {of.tokens:,} tokens, batch {of.batch}, {of.dtype}, engine {of.engine}"
        measures.append(Measure("cache", "cache", "bytes", cache, note))
    if not measures:
        return None
    names = [measure.name for measure in measures]
    stacks = {pattern.stack for pattern in folded.patterns if pattern.stack}
    parts = [member.name for member in inspection.members]
    leaves = [_leaf(pattern, names, len(stacks) > 1, parts) for pattern in folded.patterns]
    leaves += [_cache_leaf(one, names, len(stacks) > 1) for one in caches]
    leaves = [leaf for leaf in _by_module(leaves) if any(leaf.sizes)]
    leaves.sort(key=lambda leaf: _COMPONENTS.get(leaf.component, 99))
    return fewer(Treemap("Areas", tuple(measures), tuple(leaves)), MAX_LEAVES)


def _leaf(pattern: Pattern, names: Sequence[str], several: bool, parts: Sequence[str]) -> Leaf:
    module, _, tensor = pattern.inside.rpartition(".")
    sizes = {"parameters": pattern.parameters, "nbytes": pattern.nbytes, "cache": 0}
    part = pattern.part if pattern.part in parts else ""
    return Leaf(
        part,
        BEYOND if pattern.extra_kind is not None else pattern.component,
        _group(pattern.stack.removeprefix(f"{part}/"), pattern.layers, several),
        module or tensor,
        tuple(sizes[name] for name in names),
    )


def _by_module(leaves: Iterable[Leaf]) -> Iterator[Leaf]:
    """A module's tensors (weight, bias, scales) as one leaf."""
    alike: dict[tuple[str, ...], list[Leaf]] = {}
    for leaf in leaves:
        alike.setdefault(leaf[:4], []).append(leaf)
    for group in alike.values():
        columns = zip(*(leaf.sizes for leaf in group), strict=True)
        sizes = (None if None in column else sum(s or 0 for s in column) for column in columns)
        yield group[0]._replace(sizes=tuple(sizes))


def _cache_leaf(cache: CacheOfLayers, names: Sequence[str], several: bool) -> Leaf:
    component = Component.SSM if cache.state else Component.ATTENTION
    sizes = tuple(cache.nbytes if name == "cache" else 0 for name in names)
    group = _group(cache.stack, cache.layers, several)
    return Leaf("", component.value, group, cache.label, sizes)


def _group(stack: str, layers: Sequence[int], several: bool) -> str:
    if not stack:
        return ""
    layers_text = f"{'layers' if len(layers) > 1 else 'layer'} {ranges(layers)}"
    return f"{stack}: {layers_text}" if several else layers_text


def _where(portrait: Portrait, folded: Folded) -> Iterator[Block]:
    inspection = portrait.inspection
    yield from _bar(inspection)
    drawn = treemap(inspection, folded, portrait.layer_caches, portrait.memory)
    if drawn is None:
        yield Paragraph("parameters and bytes are unknown: nothing to draw")
    else:
        yield drawn


def _bar(inspection: Inspection) -> Iterator[Block]:
    total = inspection.parameters
    if total:
        shares = tuple(
            (name, totals.parameters / total, rounded_count(totals.parameters))
            for name, totals in inspection.components.items()
            if totals.parameters
        )
        yield StackedBar("parameters", shares)


# ---- layers


def _layers(portrait: Portrait, folded: Folded) -> Iterator[Block]:
    stacks: dict[str, list[QuantizationKind]] = {}
    for kind in folded.kinds:
        stacks.setdefault(kind.stack, []).append(kind)
    if not stacks:
        yield Paragraph("the tensor names show no list of layers")
        return
    unit = "bytes" if all(kind.nbytes is not None for kind in folded.kinds) else "parameters"
    cache: dict[tuple[str, int], int] = {}
    for one in portrait.layer_caches:
        for layer in one.layers:
            place = one.stack, layer
            cache[place] = cache.get(place, 0) + one.nbytes // len(one.layers)
    shown = [
        (stack, tuple(_stretches(stack, kinds, unit, cache)))
        for stack, kinds in list(stacks.items())[:MAX_STACKS]
    ]
    yield Strips(tuple(shown), unit)
    more = len(stacks) - len(shown)
    if more:
        yield Paragraph(f"{more:,} more lists of layers are in the table of tensors", "note")
    if any(len(kinds) > MAX_KINDS for kinds in stacks.values()):
        text = f"of a list with more than {MAX_KINDS} kinds of layers the first are shown"
        yield Paragraph(text, "note")


def _stretches(
    stack: str, kinds: Sequence[QuantizationKind], unit: str, cache: Mapping[tuple[str, int], int]
) -> Iterator[Stretch]:
    for kind in kinds[:MAX_KINDS]:
        stretches: dict[int, list[int]] = {}
        for layer in kind.layers:  # equal tensors, but windows may differ
            stretches.setdefault(cache.get((stack, layer), 0), []).append(layer)
        components = {
            name: sizes[unit == "bytes"] or 0
            for name, sizes in sorted(
                kind.components.items(), key=lambda item: _COMPONENTS.get(item[0], 99)
            )
        }
        for numbers, layers in stretches.items():
            title = ranges(layers) + (" (not loaded)" if kind.is_extra else "")
            sizes = kind.parameters, kind.nbytes
            yield Stretch(tuple(layers), title, components, *sizes, numbers or None)


# ---- why, memory, audit


def _why(portrait: Portrait, folded: Folded) -> Chapter:
    inspection = portrait.inspection
    if inspection.adapter is not None:
        derived = tuple(adapter_lines.lay_out(inspection, low_rank(folded.patterns)))
    else:
        derived = _derived(portrait.explanation)
    return Chapter("why", "Why so many", derived)


def _derived(explanation: Explanation | str) -> tuple[Block, ...]:
    if isinstance(explanation, str):
        return (Paragraph(f"The count cannot be derived: {explanation}"),)
    return explained.lay_out(explanation).blocks


def _chapters_of_parts(portrait: Portrait) -> list[Chapter]:
    """Each part: how it is built, its components, and why it has so many parameters."""
    declared = {member.name: member for member in portrait.inspection.members}
    chapters = []
    for at, part in enumerate(portrait.parts):
        member = declared[part.name]
        inspection = part.inspection
        kind = (member.declared or member.architecture or "").rpartition(".")[2]
        blocks: list[Block] = []
        if inspection is not None:
            screen = overview.lay_out(inspection, layers=per_layer(inspection.tensors))
            blocks += [
                Paragraph(f"{kind}: {screen.summary}" if kind else screen.summary),
                *_bar(inspection),
            ]
            if isinstance(part.explanation, str):
                blocks += [block for block in screen.blocks if isinstance(block, Table)]
        inner = (*blocks, *_derived(part.explanation))
        chapters.append(Chapter(f"part-{at}", part.name, inner, folded=True))
    return chapters


def _memory(portrait: Portrait) -> list[Block]:
    if portrait.memory is None:
        return [Paragraph("The memory that it needs is unknown.")]
    return list(memory_screen.lay_out(portrait.memory, portrait.curves, drawn=True).blocks)


def _audit(portrait: Portrait) -> list[Block]:
    audit = portrait.audit
    if isinstance(audit, str):
        return [Paragraph(f"Not audited: {audit}")]
    return list(verdict.lay_out([audit], fixes=True).blocks)


def _tokenizer(portrait: Portrait) -> Iterator[Chapter]:
    """What the audit has read of it; none without an audit."""
    facts = portrait.audit.tokenizer if not isinstance(portrait.audit, str) else None
    if facts is not None:
        yield Chapter("tokenizer", "Tokenizer", tokenizer_blocks(facts))


# ---- tensors and config


def _tensors(inspection: Inspection, folded: Folded) -> Iterator[Block]:
    columns = (
        Column("name", "name"),
        Column("tensors", "tensors", "int"),
        Column("shape", "shape"),
        Column("dtype", "dtype"),
        Column("parameters", "parameters", "int"),
        Column("nbytes", "bytes", "int"),
        Column("component", "component", "component"),
        Column("role", "role"),
        Column("remark", "remark"),
    )
    patterns = folded.patterns
    order = sorted(range(len(patterns)), key=lambda i: -(patterns[i].nbytes or 0))
    chosen = sorted(order[:MAX_ROWS])
    parts = [member.name for member in inspection.members]
    rows = tuple(_tensor_row(patterns[i], parts) for i in chosen)
    total = sum(pattern.tensors for pattern in patterns)
    yield Paragraph(
        f"{total:,} tensors in {len(patterns):,} patterns: equal ones of all layers and experts in "
        "one row."
    )
    yield Table(columns, rows, optional=("nbytes", "role", "remark"), tools=True)
    left = [patterns[i] for i in order[MAX_ROWS:]]
    if left:
        count = sum(pattern.tensors for pattern in left)
        text = f"{len(left):,} smaller patterns of {count:,} tensors are left out here"
        yield Paragraph(text, "note")


def _tensor_row(p: Pattern, parts: Sequence[str]) -> tuple[Cell, ...]:
    prefix = f"{p.part}/" if p.part in parts and not p.stack else ""
    remark = "tied" if p.tied else "" if p.extra_kind is None else "not loaded"
    return (
        prefix + p.name,
        p.tensors,
        shape_text(p.shape, "×"),
        p.dtype or "unknown",
        p.parameters,
        p.nbytes,
        p.component,
        "" if p.role == "parameter" else p.role,
        remark,
    )


def _config(config: Mapping[str, object] | None) -> Iterable[Block]:
    if config is None:
        yield Paragraph("There is no config.json, or it was not read.")
        return
    text = json.dumps(config, indent=1, ensure_ascii=False, default=str)
    text = _FLAT_LIST.sub(lambda match: f"[{_BREAK.sub(' ', match[1])}]", text)
    yield Preformatted(text[:MAX_CONFIG], "json")
    if len(text) > MAX_CONFIG:
        left = byte_size(len(text) - MAX_CONFIG)
        yield Paragraph(f"the last {left} of it are left out here", "note")
