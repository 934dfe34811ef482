"""Why an adapter has as many parameters: its rank and the sides of the modules it changes."""

from collections.abc import Iterator

from ..core.results import Inspection
from ..core.text import shape_text, with_rounded
from ..explaining.low_rank import LowRank
from .document import Block, Cell, Column, Facts, Paragraph, Table

#: Rows of one table; the rest is summed up.
MAX_ROWS = 60


def lay_out(inspection: Inspection, derived: LowRank) -> Iterator[Block]:
    """The rule, one row for equal modules, and what that comes to next to the base model."""
    if not derived.modules:
        yield Paragraph("The count cannot be derived: the file holds no pairs of low-rank matrices")
        return
    yield Paragraph(
        "A low-rank adapter holds two matrices for each module that it changes: A has r rows and a "
        "column for each input, B has a row for each output and r columns. That is r·(inputs + "
        "outputs) parameters; r is the rank."
    )
    yield _modules(derived)
    if derived.others:
        yield _others(derived)
    yield Facts(tuple(_sums(inspection, derived)))


def _modules(derived: LowRank) -> Table:
    columns = (
        Column("module", "module"),
        Column("rank", "rank r", "int"),
        Column("inputs", "inputs", "int"),
        Column("outputs", "outputs", "int"),
        Column("formula", "parameters of one", "math"),
        Column("modules", "modules", "int"),
        Column("parameters", "parameters", "int"),
    )
    rows: list[tuple[Cell, ...]] = [
        (m.name, m.rank, m.inputs, m.outputs, m.formula, m.modules, m.parameters)
        for m in derived.modules[:MAX_ROWS]
    ]
    left = derived.modules[MAX_ROWS:]
    if left:
        name = f"{len(left):,} more kinds of modules"
        count = sum(m.modules for m in left)
        size = sum(m.parameters for m in left)
        rows.append((name, "", "", "", "", count, size))
    rows.append(
        ("sum", "", "", "", "", sum(m.modules for m in derived.modules), derived.parameters)
    )
    return Table(columns, tuple(rows), title="Low-rank matrices", total=True)


def _others(derived: LowRank) -> Table:
    columns = (
        Column("name", "name"),
        Column("shape", "shape"),
        Column("tensors", "tensors", "int"),
        Column("parameters", "parameters", "int"),
    )
    rows = tuple(
        (p.name, shape_text(p.shape, "×"), p.tensors, p.parameters)
        for p in derived.others[:MAX_ROWS]
    )
    more = "" if len(derived.others) <= MAX_ROWS else f", the first {MAX_ROWS}"
    return Table(columns, rows, title=f"Tensors that are whole{more}")


def _sums(inspection: Inspection, derived: LowRank) -> Iterator[tuple[str, str]]:
    counts = [pattern.parameters for pattern in derived.others]
    known = [count for count in counts if count is not None]
    if len(known) == len(counts):
        total = derived.parameters + sum(known)
        more = f": {derived.parameters:,} low-rank + {sum(known):,} in whole tensors"
        yield "adapter", f"{with_rounded(total)} parameters" + (more if known else "")
    replaced = sum(m.modules * m.inputs * m.outputs for m in derived.modules)
    share = 100 * derived.parameters / replaced
    changed = f"{with_rounded(replaced)} parameters of the base model (inputs × outputs each)"
    yield "changed weights", f"{changed}; the low-rank matrices are {share:.3g}% of them"
    adapter = inspection.adapter
    if adapter is None or adapter.base is None:
        return
    if adapter.base_parameters is None or inspection.parameters is None:
        yield "base", f"{adapter.base}; its size is unknown"
        return
    both = adapter.base_parameters + inspection.parameters
    summed = (
        f"{adapter.base_parameters:,} + {inspection.parameters:,} = {with_rounded(both)} parameters"
    )
    portion = f"{100 * inspection.parameters / both:.3g}% of them are the adapter's"
    yield "with its base", f"{summed}; {portion}"
