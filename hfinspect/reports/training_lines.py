"""The layout of what training holds and of FLOPs, as part of ``memory``'s answer."""

from __future__ import annotations

from ..core.bytes_read import Reading
from ..core.flop_count import Flops
from ..core.text import byte_size
from ..core.training_bytes import Training
from .document import Block, Column, Facts, Paragraph, Table


def lay_out_training(found: Training, *, full: bool = True) -> list[Block]:
    """The way of training, the sum line by line, and where all is shown the named estimates."""
    blocks: list[Block] = [_facts(found), _sum(found)]
    if found.adapters:
        blocks.append(_adapters(found))
    if found.estimates and full:
        items = tuple((name, byte_size(size)) for name, size in found.estimates.items())
        blocks += [Paragraph("Published estimates, not part of the sums"), Facts(items)]
    unknown = f"activations: {found.activations_unknown}" if found.activations is None else ""
    notes = [note for note in (unknown, *found.notes) if note]
    return [*blocks, *(Paragraph(note, "note") for note in notes)]


def lay_out_flops(found: Flops) -> Facts:
    """FLOPs of a pass over the main context, of one more token, and the rule of thumb."""
    places = f"{found.batch} × {found.tokens:,} tokens"
    causal = f"{_flops(found.forward_causal)} with a causal kernel's half"
    prefill = f"{_flops(found.forward)} for {places}, attention as the full square; {causal}"
    step = f"{_flops(found.step)} (three passes, full square)"
    error = found.six_nd_error
    side = "low" if error < 0 else "high"
    rule = f"the 6ND rule of thumb gives {_flops(found.six_nd)}, {abs(error):.0%} {side}"
    return Facts(
        (
            ("FLOPs", f"{_flops(found.next_token)} for the next token at {found.tokens:,}"),
            ("prefill", prefill),
            ("matrices", f"{found.formula} = {found.matrices:,}"),
            ("attention", f"{found.attention_formula} = {found.attention_full:,}"),
            ("training step", f"{step}; {rule}"),
        )
    )


def lay_out_reading(found: Reading) -> Facts:
    """Bytes that the next token reads, FLOPs for each, and the upper limit of the speed."""
    items = [("read", f"{byte_size(found.nbytes)} at least for the next token, {found.formula}")]
    if found.tokens_per_second is not None:
        rate = f"{byte_size(found.bandwidth or 0)}/s"
        items = [
            ("speed", f"at most {found.tokens_per_second:,.1f} tokens/s by {rate}: {found.formula}")
        ]
    if found.decode_intensity is not None and found.prefill_intensity is not None:
        words = f"{found.decode_intensity:,.1f} FLOPs per byte for the next token"
        items.append(("intensity", f"{words}, {found.prefill_intensity:,.0f} at prefill"))
    return Facts(tuple(items))


def _flops(count: int) -> str:
    for power, unit in ((18, "E"), (15, "P"), (12, "T"), (9, "G"), (6, "M")):
        if count >= 10**power:
            return f"{count / 10**power:.3g} {unit}FLOP"
    return f"{count:,} FLOP"


def _facts(found: Training) -> Facts:
    zero = f", ZeRO stage {found.zero} on {found.gpus} devices" if found.gpus > 1 else ""
    how = f"{found.method}, {found.optimizer}, {found.precision}{zero}"
    again = ", activations computed again" if found.checkpointing else ""
    items = [("training", f"{how}, {found.batch} × {found.tokens:,} tokens{again}")]
    if found.rank is not None:
        items.append(("adapters", f"rank {found.rank} at {', '.join(found.targets)}"))
    if found.saved:
        items.append(("saved whole", ", ".join(found.saved)))
    whole = f" next to {found.frozen:,} frozen" if found.frozen else ""
    items.append(("trainable", f"{found.trainable:,} parameters{whole}"))
    return Facts(tuple(items))


def _sum(found: Training) -> Table:
    columns = (
        Column("name", "on one device"),
        Column("nbytes", "bytes", "int"),
        Column("size", "size"),
        Column("formula", "formula", "math"),
    )
    lines = [*found.states, *(line for line in (found.activations, found.logits) if line)]
    rows: list[tuple[str | int, ...]] = [
        (line.name, line.nbytes, byte_size(line.nbytes), line.formula) for line in lines
    ]
    if found.activations is None:
        rows.append(("activations", "unknown", "unknown", ""))
    total = found.total
    if total is None:
        rows.append(("states", found.states_nbytes, byte_size(found.states_nbytes), ""))
    else:
        step = found.step
        if step is not None and total == found.states_nbytes + step.nbytes:
            rows.append(
                (
                    f"{step.name} (instead of activations and logits)",
                    step.nbytes,
                    byte_size(step.nbytes),
                    step.formula,
                )
            )
        rows.append(("sum", total, byte_size(total), ""))
    return Table(
        columns, tuple(rows), title="What training holds", total=True, optional=("formula",)
    )


def _adapters(found: Training) -> Table:
    columns = (
        Column("name", "adapters at"),
        Column("count", "matrices", "int"),
        Column("columns", "in", "int"),
        Column("rows", "out", "int"),
        Column("parameters", "parameters", "int"),
        Column("formula", "formula", "math"),
    )
    rows = tuple(
        (
            group.name,
            group.count,
            group.columns,
            group.rows,
            group.parameters,
            f"{group.count} × {found.rank} × ({group.columns:,} + {group.rows:,})",
        )
        for group in found.adapters
    )
    return Table(columns, rows, optional=("formula",))
