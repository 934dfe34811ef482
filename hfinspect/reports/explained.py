"""The layout of an explanation: a summary, the answer to ``--against``, symbols, the ledger, sums,
remarks by subject."""

from collections.abc import Iterator
from dataclasses import replace

from ..core.choices import Depth
from ..core.explanation import Attention, Explanation
from ..core.formula import Formula
from ..core.ledger_lines import Row, Section, Share
from ..core.overrides import titled
from ..core.text import byte_size, method_word, rounded_count, widths, with_rounded
from .document import Block, Cell, Column, Document, Facts, Paragraph, Table, TextBlock
from .judgement import judgement
from .reconciliation import (
    against_blocks,
    against_facts,
    measured_blocks,
    measured_text,
    name_size_text,
)

#: Longest formula of a sum in a cell; it stands in the JSON form whatever its length.
MAX_CELL = 32
#: The same for groups of modules, whose parts follow below them.
MAX_GROUP = 16
#: Longest closed form in the summary: two lines of 60 columns; one of 80 where more is to be said.
MAX_CLOSED = 92
MAX_CLOSED_BEYOND = 66
#: More kinds of layers than this are shown as their sums alone, unless a depth was given.
MAX_KINDS = 3
#: All tables but that of the symbols leave out the same columns and are equally wide.
_GROUP = "ledger"


def lay_out(e: Explanation, *, depth: Depth | None = None, drawn: bool = False) -> Document:
    """``depth``: the sums of the largest modules; every module, weights and biases apart; every
    tensor. None is ``layer`` where there are few kinds of layers, else ``model``. ``drawn``: with a
    bar of components."""
    kinds = sum(section.times is not None for section in e.sections)
    folded = depth is None and kinds > MAX_KINDS
    depth = depth or ("model" if folded else "layer")
    ledger = _sum_table(e)
    summary = (*against_facts(e), *_summary(e))
    blocks: list[Block] = [Facts(summary), *against_blocks(e), _symbols(e)]
    if drawn:
        blocks.insert(1, _bar(e))
    blocks[:0] = judgement(e.problems)
    if depth != "model":
        shown = [row for section in e.sections for row in _rows(section, depth)]
        biases = any(row.biases and row.status == "counted" for row in shown)
        for section in e.sections:
            blocks += _section(section, depth, biases)
    blocks.append(ledger)
    if folded:
        text = f"{kinds} kinds of layers: --depth layer shows the modules of each"
        blocks.append(Paragraph(text))
    blocks += [*measured_blocks(e), _components(e), *_counts(e)]
    if depth != "model":
        blocks += [_attention(block) for block in e.attention]
    blocks.append(Facts(tuple(_grouped(_remarks(e)))))
    name = e.origin.short_name if drawn else e.origin.name
    title = f"Parameters of {titled(name, e.overrides)}"
    return Document(title, tuple(map(_in_group, blocks)), ledger)


def _bar(e: Explanation) -> Block:
    from .drawings import StackedBar

    shares = [share for share in e.shares if share.value and e.parameters]
    bar = ((s.component, s.value / e.parameters, rounded_count(s.value)) for s in shares)
    return StackedBar("parameters", tuple(bar))


def _in_group(block: Block) -> Block:
    if isinstance(block, Table) and block.columns[0].kind != "math":
        return replace(block, group=_GROUP)
    return block


# ---- the summary


def _summary(e: Explanation) -> Iterator[tuple[str, str]]:
    """At most eight lines of a terminal, and one for each key that was changed."""
    for one in e.overrides:
        yield "changed", str(one)
    yield "model", e.architecture + _kind(e)
    active = ""
    if e.active_parameters is not None:
        active = f", {with_rounded(e.active_parameters)} active"
    yield "total", f"{with_rounded(e.parameters)} parameters{active}"
    for group in e.extra_tensors:
        yield "not loaded", group.text_of(e.architecture)
    if e.closed is not None and _has_room(e.closed, e):
        note = f" ({e.closed_note})" if e.closed_note else ""
        yield "closed form", e.closed.text + note
    else:
        yield "sum", _by_layers(e)
    yield "split", _split(e)
    sizes = ", ".join(widths(e.memory))
    yield "memory", f"{_as_stored(e)}at {sizes} (weights alone, no scales)"
    if e.measured is not None and e.measured.parameters != e.parameters:
        yield "files", measured_text(e, e.measured)


def _has_room(closed: Formula, e: Explanation) -> bool:
    return len(closed.text) <= (MAX_CLOSED_BEYOND if e.extra_tensors else MAX_CLOSED)


def _as_stored(e: Explanation) -> str:
    """Of quantised weights, which are stored in none of the usual widths."""
    if e.quantization is None:
        return ""
    size = "unknown" if e.nbytes is None else byte_size(e.nbytes)
    return f"{size} as stored ({method_word(e.quantization)}); "


def _by_layers(e: Explanation) -> str:
    """``58 × 11,507,286,016 (layers) + 1,853,365,376``, where the closed form has no
    room."""
    stacks = [section for section in e.sections if section.times is not None]
    inside = sum(section.parameters for section in stacks)
    if len(stacks) > MAX_KINDS:
        layers = [f"{inside:,} in {sum(s.copies for s in stacks):,} layers"]
    else:
        layers = [_times_text(s.copies, s.value) for s in stacks]
        layers[-1:] = [f"{text} (layers)" for text in layers[-1:]]
    return " + ".join([*layers, f"{e.parameters - inside:,}"])


def _times_text(copies: int, value: int) -> str:
    return f"{value:,}" if copies == 1 else f"{copies} × {value:,}"


def _split(e: Explanation) -> str:
    """Components by size; those below one percent by name alone."""
    shares = sorted(e.shares, key=lambda share: -share.value)
    large = [s for s in shares if s.value * 100 >= e.parameters]
    small = [s.component for s in shares if s not in large and s.value]
    texts = [f"{s.component} {_percent(s.value, e)}" for s in large]
    return ", ".join(texts) + (f"; below 1%: {', '.join(small)}" if small else "")


def _percent(value: int, e: Explanation) -> str:
    return f"{value / e.parameters * 100:.1f}%" if e.parameters else "0%"


def _of_gguf(e: Explanation) -> bool:
    """Whether the keys are those of a GGUF file: the architecture's, or its tokenizer's."""
    return any(s.key.startswith((f"{e.model_type}.", "tokenizer.ggml.")) for s in e.letters)


def _kind(e: Explanation) -> str:
    if _of_gguf(e):
        return " (architecture of the GGUF file)"
    return f" (model_type {e.model_type})" if e.model_type else ""


def _symbols(e: Explanation) -> Table:
    key = "GGUF key" if _of_gguf(e) else "config key"
    columns = (
        Column("letter", "", "math"),
        Column("value", "value", "int"),
        Column("meaning", "meaning"),
        Column("key", key),
    )
    rows = tuple((s.letter, s.value, s.meaning, "" if " " in s.key else s.key) for s in e.letters)
    return Table(columns, rows, title="Symbols", optional=("key",))


def markdown(e: Explanation) -> str:
    """The derivation as Markdown: what a notebook shows."""
    from .markdown import render

    return render(lay_out(e))


# ---- for terminals without the characters of formulas

_ASCII = str.maketrans(
    {
        "·": "*",
        "×": "x",
        "−": "-",
        "\N{NO-BREAK SPACE}": " ",
        **{power: f"^{digit}" for digit, power in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")},
    }
)


def in_ascii(document: Document) -> Document:
    """``4*H^2 + 4*H`` for ``4·H² + 4·H``."""
    return Document(_plain(document.title), tuple(map(_plain_block, document.in_text)))


def _plain(text: str) -> str:
    return text.translate(_ASCII)


def _plain_block(block: TextBlock) -> TextBlock:
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


def _rows(section: Section, depth: Depth) -> list[Row]:
    return [row for row in section.rows if depth == "tensor" or row.level != "tensor"]


def _section(section: Section, depth: Depth, biases: bool) -> list[Block]:
    rows = _rows(section, depth)
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
    if not biases:
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
    """Sums of many modules are given in numbers where the formula has no room in a table."""
    return "" if formula is None or len(formula.text) > MAX_CELL else formula.text


def _times(section: Section) -> Facts:
    """One layer by component, and all of them."""
    items = [(share.component, _share_text(share, section)) for share in section.shares]
    assert section.times is not None
    one = f"{section.one.text} = " if section.one else ""
    items.append(("one layer", f"{one}{section.value:,}"))
    if section.copies > 1:
        total = f"{section.times.text} × one layer"
        if section.total and len(section.total.text) <= MAX_CELL:
            total = section.total.text
        text = f"{total} = {section.copies} × {section.value:,} = {section.parameters:,}"
        items.append(("all layers", text))
    return Facts(tuple(items))


def _share_text(share: Share, section: Section) -> str:
    formula = f"{share.formula.text} = " if share.formula else ""
    if section.copies == 1:
        return f"{formula}{share.value:,}"
    total = share.value * section.copies
    return f"{formula}{share.value:,} per layer, {total:,} in all {section.copies} layers"


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
            title = section.title.split(":", 1)[0]
            rows.append((title, _short(section.total), section.parameters))
    rows.append(("total", "", e.parameters))
    return Table(columns, tuple(rows), title="Sum", total=True, optional=("formula",))


def _components(e: Explanation) -> Table:
    columns = (
        Column("component", "component"),
        Column("component_formula", "formula", "math"),
        Column("weights", "weights", "int"),
        Column("biases", "biases", "int"),
        Column("parameters", "parameters", "int"),
    )
    rows: list[tuple[Cell, ...]] = [
        (s.component, _short(s.formula), s.weights, s.biases, s.value) for s in e.shares
    ]
    weights = sum(s.weights for s in e.shares)
    biases = sum(s.biases for s in e.shares)
    rows.append(("total", "", weights, biases, e.parameters))
    return Table(
        columns, tuple(rows), title="By component", total=True, optional=("component_formula",)
    )


def _counts(e: Explanation) -> list[Block]:
    """The same model by the usual conventions; nothing where only one applies."""
    columns = (
        Column("convention", "convention"),
        Column("parameters", "parameters", "int"),
    )
    rows = tuple((count.name, count.value) for count in e.counts)
    return [Table(columns, rows, title="Counted otherwise")] if len(rows) > 1 else []


# ---- attention


def _attention(block: Attention) -> Table:
    columns = (
        Column("projection", "projection"),
        Column("weights_formula", "formula", "math"),
        Column("heads", "heads × one head", "math"),
        Column("parameters", "per layer", "int"),
    )
    rows = []
    for p in block.projections:
        per_head = ""
        if p.per_head is not None:
            one = f"({p.per_head.text})" if " " in p.per_head.text else p.per_head.text
            per_head = f"{p.letter} × {one} = {p.heads} × {p.per_head.value}"
        rows.append((p.name, p.weights.text, per_head, p.weights.value))
    title = f"Attention: {block.path} (weights)"
    return Table(columns, tuple(rows), title=title, optional=("heads", "weights_formula"))


# ---- closing lines


# ---- remarks


def _remarks(e: Explanation) -> Iterator[tuple[str, str]]:
    """What is worth knowing, by subject: attention, positions, ..., experts, ties, sums, name."""
    if e.assumed is not None:
        yield "class", e.assumed.text(e.parameters)
    for block in e.attention:
        yield "attention", block.sentence
    yield from e.notes
    if e.closed is not None:
        shown = "" if _has_room(e.closed, e) else f"{e.closed.text} = "
        yield "closed form", f"{shown}{e.closed.numbers} = {e.closed.value:,}"
    rest = e.parameters - e.embedding
    yield "embedding", f"{e.embedding:,} ({_percent(e.embedding, e)}), everything else {rest:,}"
    if e.approximation is not None and len(e.approximation.formula.text) <= MAX_CELL:
        yield "rule of thumb", _rule_of_thumb(e)
    if e.name_size is not None:
        yield "name", name_size_text(e.name_size)


def _grouped(remarks: Iterator[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Remarks of one subject together, the subject and equal remarks said once."""
    groups: dict[str, dict[str, None]] = {}
    for about, text in remarks:
        groups.setdefault(about, {})[text] = None
    for about, texts in groups.items():
        for i, text in enumerate(texts):
            yield "" if i else about, text


def _rule_of_thumb(e: Explanation) -> str:
    approximation = e.approximation
    assert approximation is not None
    error = ""
    if approximation.non_embedding:
        off = (
            (approximation.formula.value - approximation.non_embedding)
            / approximation.non_embedding
            * 100
        )
        error = (
            f", {off:+.2f}% of the {approximation.non_embedding:,} outside the embeddings".replace(
                "-", "−"
            )
        )
    rest = f" = {approximation.rest.text}" if approximation.rest else ""
    rough = approximation.formula
    left = f"{approximation.left_over:,}".replace("-", "−")
    square = rough.text.rpartition("·")[2]
    return (
        f"{rough.text} = {rough.value:,} (attention of 4·{square}, MLPs of 8·{square}){error}; "
        f"embedding + {rough.text} = {approximation.embedding + rough.value:,}, and {left} are "
        f"left over{rest}"
    )
