"""The layout of what training holds and of FLOPs, as part of ``memory``'s answer."""

from ..core.bytes_read import Reading
from ..core.flop_count import Flops
from ..core.text import byte_size
from ..core.training_bytes import Training
from .document import Block, Column, Facts, Paragraph, Table


def lay_out_training(training: Training, *, full: bool = True) -> list[Block]:
    """The way of training, the sum line by line, and where all is shown the named estimates."""
    blocks: list[Block] = [_facts(training), _sum(training)]
    if training.adapters:
        blocks.append(_adapters(training))
    if training.estimates and full:
        items = tuple((name, byte_size(size)) for name, size in training.estimates.items())
        blocks += [Paragraph("Published estimates, not part of the sums"), Facts(items)]
    unknown = f"activations: {training.activations_unknown}" if training.activations is None else ""
    notes = [note for note in (unknown, *training.notes) if note]
    return [*blocks, *(Paragraph(note, "note") for note in notes)]


def lay_out_flops(flops: Flops) -> Facts:
    """FLOPs of a pass over the main context, of one more token, and the rule of thumb."""
    places = f"{flops.batch} × {flops.tokens:,} tokens"
    causal = f"{_flops(flops.forward_causal)} with a causal kernel's half"
    prefill = f"{_flops(flops.forward)} for {places}, attention as the full square; {causal}"
    step = f"{_flops(flops.step)} (three passes, full square)"
    error = flops.six_nd_error
    side = "low" if error < 0 else "high"
    rule = f"the 6ND rule of thumb gives {_flops(flops.six_nd)}, {abs(error):.0%} {side}"
    return Facts(
        (
            ("FLOPs", f"{_flops(flops.next_token)} for the next token at {flops.tokens:,}"),
            ("prefill", prefill),
            ("matrices", f"{flops.formula} = {flops.matrices:,}"),
            ("attention", f"{flops.attention_formula} = {flops.attention_full:,}"),
            ("training step", f"{step}; {rule}"),
        )
    )


def lay_out_reading(reading: Reading) -> Facts:
    """Bytes that the next token reads, FLOPs for each, and the upper limit of the speed."""
    items = [
        ("read", f"{byte_size(reading.nbytes)} at least for the next token, {reading.formula}")
    ]
    if reading.tokens_per_second is not None:
        rate = f"{byte_size(reading.bandwidth or 0)}/s"
        items = [
            (
                "speed",
                f"at most {reading.tokens_per_second:,.1f} tokens/s by {rate}: {reading.formula}",
            )
        ]
    if reading.decode_intensity is not None and reading.prefill_intensity is not None:
        words = f"{reading.decode_intensity:,.1f} FLOPs per byte for the next token"
        items.append(("intensity", f"{words}, {reading.prefill_intensity:,.0f} at prefill"))
    return Facts(tuple(items))


def _flops(count: int) -> str:
    for power, unit in ((18, "E"), (15, "P"), (12, "T"), (9, "G"), (6, "M")):
        if count >= 10**power:
            return f"{count / 10**power:.3g} {unit}FLOP"
    return f"{count:,} FLOP"


def _facts(training: Training) -> Facts:
    zero = f", ZeRO stage {training.zero} on {training.gpus} devices" if training.gpus > 1 else ""
    how = f"{training.method}, {training.optimizer}, {training.precision}{zero}"
    again = ", activations computed again" if training.checkpointing else ""
    # Where nothing that is counted grows with tokens, images have none.
    grows = training.activations is not None or training.logits is not None
    places = (
        f"{training.batch} × {training.tokens:,} tokens" if grows else f"batch {training.batch}"
    )
    items = [("training", f"{how}, {places}{again}")]
    if training.rank is not None:
        items.append(("adapters", f"rank {training.rank} at {', '.join(training.targets)}"))
    if training.saved:
        items.append(("saved whole", ", ".join(training.saved)))
    frozen = f" next to {training.frozen:,} frozen" if training.frozen else ""
    items.append(("trainable", f"{training.trainable:,} parameters{frozen}"))
    return Facts(tuple(items))


def _sum(training: Training) -> Table:
    columns = (
        Column("name", "on one device"),
        Column("nbytes", "bytes", "int"),
        Column("size", "size"),
        Column("formula", "formula", "math"),
    )
    lines = [*training.states, *(line for line in (training.activations, training.logits) if line)]
    rows: list[tuple[str | int, ...]] = [
        (line.name, line.nbytes, byte_size(line.nbytes), line.formula) for line in lines
    ]
    if training.activations is None:
        rows.append(("activations", "unknown", "unknown", ""))
    total = training.total
    step = training.step
    shown = training.least if total is None else total
    if step is not None and shown == training.states_nbytes + step.nbytes:
        name = f"{step.name} (instead of activations and logits)"
        rows.append((name, step.nbytes, byte_size(step.nbytes), step.formula))
    rows.append(("sum" if total is not None else "sum, at least", shown, byte_size(shown), ""))
    return Table(
        columns, tuple(rows), title="What training holds", total=True, optional=("formula",)
    )


def _adapters(training: Training) -> Table:
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
            f"{group.count} × {training.rank} × ({group.columns:,} + {group.rows:,})",
        )
        for group in training.adapters
    )
    return Table(columns, rows, optional=("formula",))
