"""The layout of an explanation: symbols, the ledger, sums, attention, notes, closing lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

from ..core.explanation import Attention, Explanation, Row, Section, Share
from ..core.formula import Formula
from ..core.overrides import titled
from ..core.text import byte_size, spelled
from .document import Block, Cell, Column, Document, Facts, Table
from .reconciliation import against_blocks, measured_blocks, name_size_text

Depth = Literal["model", "layer", "tensor"]
#: Longest formula of a sum in a cell; it stands in the JSON form whatever its length.
MAX_CELL = 32
#: The same for groups of modules, whose parts follow below them.
MAX_GROUP = 16
DEPTHS: tuple[Depth, ...] = ("model", "layer", "tensor")


def lay_out(e: Explanation, *, depth: Depth = "layer") -> Document:
    """``depth``: the sums of the largest modules; every module, weights and biases apart; every
    tensor."""
    ledger = _sum_table(e)
    blocks: list[Block] = [_facts(e), _symbols(e)]
    if depth != "model":
        for section in e.sections:
            blocks += _section(section, depth)
    blocks += [ledger, _components(e), *_counts(e)]
    if depth != "model":
        blocks += [_attention(block) for block in e.attention]
    notes = (*(("attention", block.sentence) for block in e.attention), *e.notes)
    blocks += [Facts(notes)] if notes else []
    blocks.append(Facts(tuple(_closing(e))))
    blocks += measured_blocks(e)
    blocks += against_blocks(e)
    title = f"Parameters of {titled(e.origin.name, e.overrides)}"
    return Document(title, tuple(blocks), ledger)


def _facts(e: Explanation) -> Facts:
    changes = [("changed", str(one)) for one in e.overrides]
    model = f"{e.architecture} (model_type {e.model_type or 'unknown'})"
    return Facts((*changes, ("model", model)))


def _symbols(e: Explanation) -> Table:
    columns = (
        Column("letter", "", "math"),
        Column("value", "value", "int"),
        Column("key", "config key"),
        Column("meaning", "meaning"),
    )
    rows = tuple((s.letter, s.value, s.key, s.meaning) for s in e.letters)
    said = any(s.meaning for s in e.letters)
    return Table(
        columns if said else columns[:3],
        rows if said else tuple(row[:3] for row in rows),
        title="Symbols",
    )


def markdown(e: Explanation) -> str:
    """The derivation as Markdown: what a notebook shows."""
    from .markdown import render

    return render(lay_out(e))


# ---- for terminals without the characters of formulas

_ASCII = str.maketrans(
    {
        "·": "*", "×": "x", "−": "-", "\N{NO-BREAK SPACE}": " ",
        **{power: f"^{digit}" for digit, power in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")},
    }
)  # fmt: skip


def in_ascii(document: Document) -> Document:
    """``4*H^2 + 4*H`` for ``4·H² + 4·H``."""
    return Document(_plain(document.title), tuple(_plain_block(block) for block in document.blocks))


def _plain(text: str) -> str:
    return text.translate(_ASCII)


def _plain_block(block: Block) -> Block:
    if isinstance(block, Facts):
        return Facts(tuple((_plain(label), _plain(text)) for label, text in block.items))
    if isinstance(block, Table):
        columns = tuple(replace(column, title=_plain(column.title)) for column in block.columns)
        rows = tuple(
            tuple(_plain(cell) if isinstance(cell, str) else cell for cell in row)
            for row in block.rows
        )
        return replace(block, columns=columns, rows=rows, title=_plain(block.title))
    return replace(block, text=_plain(block.text))


# ---- the ledger


def _section(section: Section, depth: Depth) -> list[Block]:
    rows = [row for row in section.rows if depth == "tensor" or row.level != "tensor"]
    columns = [
        Column("module", "module"),
        Column("weights", "weights", "math"),
        Column("biases", "biases", "math"),
        Column("numbers", "in numbers", "math"),
        Column("parameters", "parameters", "int"),
    ]
    cells = [_row(row) for row in rows]
    layers = section.times is not None
    label = "one layer" if layers else "sum"
    if len([row for row in rows if row.indent == 0]) > 1:
        # One layer's formula stands below, where it has room.
        cells.append((label, "" if layers else _text(section.one), "", "", section.value))
    total = len(cells) > len(rows)
    if not any(row[2] for row in cells):
        columns.pop(2)
        cells = [(*row[:2], *row[3:]) for row in cells]
    table = Table(
        tuple(columns), tuple(cells), title=section.title, total=total, optional=("numbers",)
    )
    return [table, *([_times(section)] if layers else [])]


def _row(row: Row) -> tuple[Cell, ...]:
    # Markdown and TeX would swallow plain spaces.
    label = "\N{NO-BREAK SPACE}" * (2 * row.indent) + row.label
    parts = [formula for formula in (row.weights, row.biases) if formula is not None]
    numbers = "" if row.level == "group" else " + ".join(formula.numbers for formula in parts)
    shown: Cell = row.value if row.status == "counted" else row.status
    parts_shown = (_text(row.weights), _text(row.biases))
    if row.level == "group" and max(map(len, parts_shown)) > MAX_GROUP:
        parts_shown = ("", "")
    return (label, *parts_shown, numbers, shown)


def _text(formula: Formula | None) -> str:
    return "" if formula is None else formula.text


def _short(formula: Formula | None) -> str:
    """Sums of many modules are told in numbers where the formula has no room in a table."""
    return "" if formula is None or len(formula.text) > MAX_CELL else formula.text


def _times(section: Section) -> Facts:
    """One layer by component, and all of them."""
    items = [(share.component, _share_text(share, section)) for share in section.shares]
    assert section.times is not None
    one = f"{section.one.text} = " if section.one else ""
    items.append(("one layer", f"{one}{section.value:,}"))
    total = f"{section.times.text} × one layer"
    if section.total and len(section.total.text) <= MAX_CELL:
        total = section.total.text
    text = f"{total} = {section.copies} × {section.value:,} = {section.parameters:,}"
    return Facts((*items, ("all of them", text)))


def _share_text(share: Share, section: Section) -> str:
    formula = f"{share.formula.text} = " if share.formula else ""
    return f"{formula}{share.value:,} a layer, {share.value * section.copies:,} in {section.copies}"


def _sum_table(e: Explanation) -> Table:
    columns = (
        Column("module", "module"),
        Column("formula", "formula", "math"),
        Column("parameters", "parameters", "int"),
    )
    rows: list[tuple[Cell, ...]] = []
    for section in e.sections:
        if section.times is None:
            for row in section.rows:
                if row.indent == 0:
                    shown: Cell = row.value if row.status == "counted" else row.status
                    rows.append((row.label, _short(row.count), shown))
        else:
            which = section.title.split(":", 1)[0]
            rows.append((which, _short(section.total), section.parameters))
    rows.append(("total", "", e.parameters))
    return Table(columns, tuple(rows), title="Sum", total=True, optional=("formula",))


def _components(e: Explanation) -> Table:
    columns = (
        Column("component", "component"),
        Column("formula", "formula", "math"),
        Column("weights", "weights", "int"),
        Column("biases", "biases", "int"),
        Column("parameters", "parameters", "int"),
    )
    rows: list[tuple[Cell, ...]] = [
        (s.component, _short(s.formula), s.weights, s.biases, s.value) for s in e.shares
    ]
    weights, biases = sum(s.weights for s in e.shares), sum(s.biases for s in e.shares)
    rows.append(("total", "", weights, biases, e.parameters))
    return Table(columns, tuple(rows), title="By component", total=True, optional=("formula",))


def _counts(e: Explanation) -> list[Block]:
    """The same model by the usual conventions; nothing where only one applies."""
    columns = (Column("convention", "convention"), Column("parameters", "parameters", "int"))
    rows = tuple((count.name, count.value) for count in e.counts)
    return [Table(columns, rows, title="Counted otherwise")] if len(rows) > 1 else []


# ---- attention


def _attention(block: Attention) -> Table:
    columns = (
        Column("projection", "projection"),
        Column("weights", "weights", "math"),
        Column("heads", "heads × a head", "math"),
        Column("parameters", "a layer", "int"),
    )
    rows = []
    for p in block.projections:
        per_head = ""
        if p.per_head is not None:
            one = f"({p.per_head.text})" if " " in p.per_head.text else p.per_head.text
            per_head = f"{p.letter} × {one} = {p.heads} × {p.per_head.value}"
        rows.append((p.name, p.weights.text, per_head, p.weights.value))
    title = f"Attention: {block.path} (weights)"
    return Table(columns, tuple(rows), title=title, optional=("weights",))


# ---- closing lines


def _closing(e: Explanation) -> Iterator[tuple[str, str]]:
    short = f" ({spelled(e.parameters)})" if e.parameters < 10**9 else ""
    yield "total", f"{e.parameters:,} = {e.parameters / 10**9:.3f} B{short} parameters"
    if e.closed is not None:
        note = f" ({e.closed_note})" if e.closed_note else ""
        yield "closed form", f"{e.closed.text}{note} = {e.closed.numbers} = {e.closed.value:,}"
    if e.active_parameters is not None:
        active = e.active_parameters
        yield "active", f"{active:,} ({spelled(active)}) serve one token"
    rest = e.parameters - e.embedding
    share = f" ({e.embedding / e.parameters * 100:.1f}%)" if e.parameters else ""
    yield "split", f"embedding {e.embedding:,}{share}, non-embedding {rest:,}"
    sizes = ", ".join(f"{name} {byte_size(size)}" for name, size in e.memory.items())
    yield "memory", f"weights alone: {sizes}"
    if e.approximation is not None:
        yield "rule of thumb", _rule_of_thumb(e)
    if e.name_size is not None:
        yield "name", name_size_text(e.name_size)


def _rule_of_thumb(e: Explanation) -> str:
    found = e.approximation
    assert found is not None
    error = ""
    if found.non_embedding:
        off = (found.formula.value - found.non_embedding) / found.non_embedding * 100
        error = f", {off:+.2f}% of the {found.non_embedding:,} outside the embeddings".replace(
            "-", "−"
        )
    rest = f" = {found.rest.text}" if found.rest else ""
    rough, left = found.formula, f"{found.left_over:,}".replace("-", "−")
    return (
        f"{rough.text} = {rough.value:,} (attention of 4·H², MLPs of 8·H²){error}; embedding + "
        f"{rough.text} = {found.embedding + rough.value:,}, and {left} are left over{rest}"
    )
