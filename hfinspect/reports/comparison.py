"""The layout of a comparison: models side by side, then what differs."""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from ..analysis.count import per_layer
from ..analysis.differences import Change, Comparison, Difference, ranges
from ..analysis.library_layouts import LAYOUTS
from ..core.expectation import ASSUMED
from ..core.overrides import titled
from ..core.results import Inspection
from ..core.text import byte_size, method_word, more_are, rounded_count
from ..core.weight_changes import (
    SAMPLE_BYTES,
    VERDICTS,
    ChangedTensors,
    FileIdentity,
    WeightChanges,
)
from .document import Block, Cell, Column, Document, Paragraph, Table
from .drawings import Chapter
from .judgement import judgement
from .page_names import page_names

#: Rows of one table of differences; the rest is counted (all are in the JSON form).
MAX_ROWS = 40

_SIGNS = {
    "only_here": "-",
    "only_there": "+",
    "shape": "shape",
    "dtype": "dtype",
    "packing": "packing",
}

_VERDICTS = {"packing": "packed differently", "dtype": "in other dtypes"}


def lay_out(comparison: Comparison, *, drawn: bool = False) -> Document:
    """The verdicts first. The first model is what the others are compared with: ``-`` is only in
    the first. ``drawn``: a bar of components for each, and a chapter for each pair."""
    models = comparison.inspections
    names = [_short(model) for model in models]
    full = [titled(model.target, model.overrides) for model in models]
    if drawn:
        short = page_names([(model.target, model.origin) for model in models])
        full = [titled(name, one.overrides) for name, one in zip(short, models, strict=True)]
        names = [
            f"{name}, changed" if model.overrides else name
            for name, model in zip(short, models, strict=True)
        ]
    table = _side_by_side(models, names, drawn=drawn)
    blocks: list[Block] = [table]
    if drawn:
        bars = zip(full, models, strict=True)
        blocks[:0] = [block for name, model in bars for block in _bar(name, model)]
    verdicts = [_verdict(difference) for difference in comparison.differences]
    for at, (difference, verdict) in enumerate(zip(comparison.differences, verdicts, strict=True)):
        sides = (names[0], names[at + 1])
        sides = ("first", "other") if sides[0] == sides[1] else sides
        inner = _difference(difference, sides, drawn=drawn)
        line = f"{full[0]} and {full[at + 1]}: {verdict}"
        if drawn:
            blocks.append(Chapter(f"pair-{at}", line, tuple(inner)))
            continue
        blocks.insert(at, Paragraph(line))
        heading = [Paragraph(line)] if len(verdicts) > 1 else []
        blocks += [*heading, *inner]
    blocks[:0] = [
        Paragraph(f"{name}: {block.text}", block.severity)
        for name, model in zip(full, models, strict=True)
        for block in judgement(model.problems, short=True)
    ]
    blocks += [
        Paragraph(f"{name}: {finding.text}", "note")
        for name, model in zip(full, models, strict=True)
        for finding in model.findings
        if finding.rule in (ASSUMED, *LAYOUTS)
    ]
    blocks += [
        Paragraph(f"{name}: {problem.text}; compared without that", "note")
        for name, model in zip(full, models, strict=True)
        for problem in model.problems
        if problem.kind == "other_names"
    ]
    if not drawn:
        return Document("", tuple(blocks), _plain(models))
    several = [f"{name}: {text}" for name, text in zip(full[1:], verdicts, strict=True)]
    summary = verdicts[0] if len(verdicts) == 1 else "; ".join(several)
    return Document(" and ".join(full), tuple(blocks), _plain(models), summary)


def _bar(name: str, model: Inspection) -> Iterator[Block]:
    from .drawings import StackedBar
    from .headline import summary

    total = model.parameters
    known = [(name, totals.parameters) for name, totals in model.components.items()]
    shares = tuple(
        (name, size / total, rounded_count(size)) for name, size in known if size and total
    )
    yield Paragraph(f"{name}: {summary(model)}")
    yield StackedBar("parameters", shares)


class _Line(NamedTuple):
    """A property of each model: ``name`` and ``cells`` for machines, plain numbers wherever they
    are any; ``label`` and ``shown`` for people (nothing where another line says it)."""

    name: str
    cells: tuple[Cell, ...]
    label: str = ""
    shown: tuple[Cell, ...] = ()


def _lines(models: tuple[Inspection, ...]) -> Iterator[_Line]:
    """What is known of any of the models."""

    def line(
        name: str, of: Callable[[Inspection], Cell], show: Callable[[Cell], Cell], label: str = ""
    ) -> Iterator[_Line]:
        cells = tuple(of(model) for model in models)
        if any(cell not in (None, "", 0) for cell in cells):
            yield _Line(name, cells, label or name, tuple(map(show, cells)))

    yield from line("architecture", lambda m: m.architecture or "unknown", _text)
    yield from line("model_type", lambda m: m.model_type or "unknown", _text)
    yield from line("changed", lambda m: "; ".join(map(str, m.overrides)), _text)
    yield from line("source", lambda m: m.source if m.format is None else m.format, _text)
    yield from line("parameters", lambda m: m.parameters, _count)
    yield from line("active_parameters", lambda m: m.active_parameters, _known, "active")
    names = list(dict.fromkeys(name for m in models for name in m.components))
    for name in names:
        yield from line(name, lambda m, name=name: _part(m, name), _count, f"  {name}")  # type: ignore[misc]
    spans = {id(m): per_layer(m.tensors) for m in models}
    for name in names:
        spans_of_models = tuple(spans[id(m)].get(name) for m in models)
        if any(spans_of_models):
            least = tuple(None if span is None else span[0] for span in spans_of_models)
            most = tuple(None if span is None else span[1] for span in spans_of_models)
            shown = tuple(map(_span, spans_of_models))
            yield _Line(f"{name}_per_layer", least, f"  {name} per layer", shown)
            if least != most:
                yield _Line(f"{name}_per_layer_most", most)
    yield from line("dtypes", lambda m: ", ".join(m.dtypes), _text)
    yield from line("quantization", _method, _word, "quantised")
    yield from line("nbytes", lambda m: m.nbytes, _size, "bytes")
    yield from line("memory_16_bit", lambda m: m.memory.get("16-bit"), _size, "16-bit memory")
    yield from line("context", lambda m: m.facts.context, _known)
    yield from _cache_lines(models)


#: Of the cache at the model's own context: the name for machines, the field, the label.
_CACHE = (
    ("cache_per_token", "per_token_first", "cache per token"),
    ("cache_per_token_later", "per_token", "  windows full"),
    ("cache_per_sequence", "fixed", "cache per sequence"),
    ("cache_tokens", "tokens", ""),
    ("cache_nbytes", "nbytes", "cache at context"),
    ("cache_dtype", "dtype", ""),
)


def _cache_lines(models: tuple[Inspection, ...]) -> Iterator[_Line]:
    """What models keep between tokens; blank for one that keeps nothing."""
    caches = [model.cache for model in models]
    grow_alike = all(one is None or one.per_token == one.per_token_first for one in caches)
    for name, field, label in _CACHE:
        cells = tuple(None if one is None else getattr(one, field) for one in caches)
        if not any(cells):
            continue
        shown = tuple(byte_size(cell) if isinstance(cell, int) else "" for cell in cells)
        if field == "nbytes":
            shown = tuple(
                "" if one is None else f"{size} at {one.tokens:,} ({one.dtype})"
                for one, size in zip(caches, shown, strict=True)
            )
        hidden = field == "per_token" and grow_alike
        yield _Line(name, cells, "" if hidden else label, shown)


def _side_by_side(models: tuple[Inspection, ...], names: Sequence[str], *, drawn: bool) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for line in _lines(models):
        if line.label:
            rows.append((line.label, *line.shown))
        if line.name == "parameters":
            rows.append(("  rounded", *(rounded_count(m.parameters or 0) for m in models)))
    columns = [Column("property", "")]
    columns += [Column(m.target, name) for m, name in zip(models, names, strict=True)]
    return Table(tuple(columns), tuple(rows), title="Properties" if drawn else "")


def _plain(models: tuple[Inspection, ...]) -> Table:
    """The same for machines: their names, plain numbers."""
    columns = [Column("property", "property"), *(Column(m.target, m.target) for m in models)]
    return Table(tuple(columns), tuple((line.name, *line.cells) for line in _lines(models)))


def _method(model: Inspection) -> str | None:
    return model.quantization.method if model.quantization else None


def _part(model: Inspection, name: str) -> int | None:
    return model.components[name].parameters if name in model.components else 0


def _text(cell: Cell) -> Cell:
    return "" if cell is None else cell


def _word(cell: Cell) -> Cell:
    return method_word(cell) if isinstance(cell, str) else ""


def _count(cell: Cell) -> Cell:
    return f"{cell:,}" if isinstance(cell, int) else "unknown"


def _span(span: tuple[int, int] | None) -> str:
    if span is None:
        return ""
    least, most = span
    return f"{least:,}" if least == most else f"{least:,} - {most:,}"


def _known(cell: Cell) -> Cell:
    """A number that not every model has."""
    return f"{cell:,}" if isinstance(cell, int) else ""


def _size(cell: Cell) -> Cell:
    return byte_size(cell) if isinstance(cell, int) else "unknown"


def _short(model: Inspection) -> str:
    """Long paths make a table unreadable; their ends distinguish them."""
    name = model.target.rstrip("/")
    name = name if len(name) <= 28 else "…" + name[-27:]
    return f"{name}, changed" if model.overrides else name


def _verdict(difference: Difference) -> str:
    kinds = {change.kind for change in difference.changes}
    words = ["identical in structure" if difference.same_structure else "different in structure"]
    words += [text for kind, text in _VERDICTS.items() if kind in kinds]
    return ", ".join(words)


def _difference(difference: Difference, sides: tuple[str, str], *, drawn: bool) -> Iterator[Block]:
    """``sides`` are the names of both as the columns have room for them."""
    # A page leaves out what is empty; a narrow terminal is not to leave out what is not.
    idle = ("here", "there") if drawn else ()
    here, there = sides
    if difference.files is not None:
        yield Paragraph(equal_files(difference.files, here))
    if difference.weights is not None:
        yield from _weights(difference.weights)
    if difference.config:
        keys = (Column("key", "config key"), Column("here", here), Column("there", there))
        changed = list(difference.config.items())[:MAX_ROWS]
        rows = tuple((key, _value(a), _value(b)) for key, (a, b) in changed)
        yield Table(keys, rows, "Config keys that differ", optional=idle)
    if difference.changes:
        columns = (
            Column("change", ""),
            Column("tensors", "tensors"),
            Column("here", here),
            Column("there", there),
        )
        changes = tuple(map(_change, difference.changes[:MAX_ROWS]))
        title = "Tensors that differ"
        yield Table(columns, changes, title, optional=idle)
    hidden = max(len(difference.changes) - MAX_ROWS, 0) + max(len(difference.config) - MAX_ROWS, 0)
    if hidden:
        yield Paragraph(f"{more_are(hidden, 'row')} in --format json", "note")


# ---- equal files, and weights


def equal_files(files: FileIdentity, first: str) -> str:
    """``12 of 30 files are byte-identical to BASE``, and whether its weights are."""
    text = f"{len(files.equal)} of {files.files:,} files are byte-identical to {first}"
    if files.compared < files.files:
        text += f" ({files.files - files.compared:,} without a known hash)"
    if not files.weights:
        return text
    moved = any(one.weights for one in files.renamed)
    return f"{text}: the same weights{' under another name' if moved else ''}"


_ORIGIN = {
    "sample": f"{SAMPLE_BYTES:,} bytes of each; equal samples do not prove equal tensors",
    "values": "all bytes of each",
}


def _weights(weights: WeightChanges) -> Iterator[Block]:
    """How many tensors differ and what that looks like, then where."""
    counts = f"{weights.changed:,} of {weights.tensors:,} tensors differ"
    yield Paragraph(f"weights: {counts} ({_ORIGIN[weights.method]}): {VERDICTS[weights.verdict]}")
    changed = [group for group in weights.groups if group.changed]
    columns = [Column("name", "weights that differ"), Column("layers", "layers")]
    columns += [Column("same", "layers alike")] if any(group.same for group in changed) else []
    if weights.method == "values":
        columns.append(Column("elements", "elements", "int"))
    if changed:
        rows = tuple(tuple(_group(g)[c.name] for c in columns) for g in changed[:MAX_ROWS])
        yield Table(tuple(columns), rows)
    if len(changed) > MAX_ROWS:
        yield Paragraph(f"{more_are(len(changed) - MAX_ROWS, 'row')} in --format json", "note")
    for reason, count in weights.not_compared.items():
        yield Paragraph(f"{count:,} not compared: {reason}", "note")


def _group(group: ChangedTensors) -> dict[str, Cell]:
    return {
        "name": group.name,
        "layers": ranges(group.differing),
        "same": ranges(group.same),
        "elements": group.elements,
    }


def _change(change: Change) -> tuple[Cell, ...]:
    many_layers = "s" if len(change.layers) > 1 else ""
    where = f"layer{many_layers} {ranges(change.layers)}: " if change.layers else ""
    name = change.name
    if change.layers and ".N." in name:
        name = name.split(".N.", 1)[1] if change.kind != "shape" else name
    many = f" ({change.count})" if change.count > max(len(change.layers), 1) else ""
    return (_SIGNS[change.kind], f"{where}{name}{many}", change.here or "", change.there or "")


def _value(value: Any) -> str:
    text = json.dumps(value) if value is not None else ""
    return text if len(text) <= 40 else text[:37] + "..."
