"""The layout of an explanation: symbols, the ledger, sums, attention, notes, closing lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

from ..core.explanation import Attention, Explanation, Row, Section, Share
from ..core.formula import Formula
from ..core.text import byte_size, spelled
from .document import Block, Cell, Column, Document, Facts, Paragraph, Table
from .explanation_against import against_blocks, measured_blocks, promise_text

Depth = Literal["model", "layer", "tensor"]
DEPTHS: tuple[Depth, ...] = ("model", "layer", "tensor")


def lay_out(e: Explanation, *, depth: Depth = "layer") -> Document:
    """``depth``: the sums of the largest modules; every module, weights and biases apart; every
    tensor."""
    ledger = _sum_table(e)
    blocks: list[Block] = [_facts(e), _symbols(e)]
    if depth != "model":
        for section in e.sections:
            blocks += _section(section, depth)
    blocks += [ledger, _components(e)]
    if depth != "model":
        for block in e.attention:
            blocks += _attention(block)
    if e.notes:
        blocks.append(Facts(e.notes))
    blocks.append(Facts(tuple(_closing(e))))
    blocks += measured_blocks(e)
    blocks += against_blocks(e)
    return Document(f"Parameters of {e.origin.name}", tuple(blocks), ledger)


def _facts(e: Explanation) -> Facts:
    return Facts((("model", f"{e.architecture} (model_type {e.model_type or 'unknown'})"),))


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
        cells.append((label, _text(section.one), "", "", section.value))
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
    numbers = " + ".join(formula.numbers for formula in parts)
    shown: Cell = row.value if row.status == "counted" else row.status
    return (label, _text(row.weights), _text(row.biases), numbers, shown)


def _text(formula: Formula | None) -> str:
    return "" if formula is None else formula.text


def _times(section: Section) -> Facts:
    """One layer by component, and all of them."""
    items = [(share.component, _share_text(share, section)) for share in section.shares]
    assert section.times is not None
    total = section.total.text if section.total else f"{section.times.text} × {section.value:,}"
    text = f"{total} = {section.copies} × {section.value:,} = {section.parameters:,}"
    return Facts((*items, ("layers", text)))


def _share_text(share: Share, section: Section) -> str:
    formula = f"{share.formula.text} = " if share.formula else ""
    return (
        f"{formula}{share.value:,} a layer, {share.value * section.copies:,} "
        f"in {section.copies}"
    )


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
                    rows.append((row.label, row.count.text, shown))
        else:
            which = section.title.split(":", 1)[0]
            rows.append((which, _text(section.total), section.parameters))
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
        (s.component, _text(s.formula), s.weights, s.biases, s.value) for s in e.shares
    ]
    weights, biases = sum(s.weights for s in e.shares), sum(s.biases for s in e.shares)
    rows.append(("total", "", weights, biases, e.parameters))
    return Table(columns, tuple(rows), title="By component", total=True, optional=("formula",))


# ---- attention


def _attention(block: Attention) -> list[Block]:
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
            per_head = f"{p.letter} × {p.per_head.text} = {p.heads} × {p.per_head.value}"
        rows.append((p.name, p.weights.text, per_head, p.weights.value))
    title = f"Attention: {block.path} (weights)"
    return [Table(columns, tuple(rows), title=title), Paragraph(block.sentence)]


# ---- closing lines


def _closing(e: Explanation) -> Iterator[tuple[str, str]]:
    yield "total", f"{e.parameters:,} = {e.parameters / 10**9:.3f} B parameters"
    if e.closed is not None:
        note = f" ({e.closed_note})" if e.closed_note else ""
        yield "closed form", f"{e.closed.text}{note} = {e.closed.numbers} = {e.closed.value:,}"
    if e.parameters_with_head is not None:
        yield "head apart", f"{e.parameters_with_head:,} with the tied head counted separately"
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
    if e.promise is not None:
        yield "name", promise_text(e.promise)


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
    return (
        f"{found.formula.text} = {found.formula.value:,}{error}; embedding + {found.formula.text} "
        f"= {found.embedding + found.formula.value:,}, and "
        f"{f'{found.left_over:,}'.replace('-', '−')} are left over{rest}"
    )
