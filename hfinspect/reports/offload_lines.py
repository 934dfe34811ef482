"""The layout of what llama.cpp puts on the GPU, as part of ``memory``'s answer."""

from ..core.offload_plan import LayerBytes, Offload
from ..core.text import byte_size
from .document import Block, Column, Paragraph, Table


def lay_out_offload(offload: Offload, has_device: bool) -> list[Block]:
    """The plans that fit, then the weights by layer."""
    return [*lay_out_plans(offload, has_device), _layers(offload)]


def lay_out_plans(offload: Offload, has_device: bool) -> list[Block]:
    """The plans that fit, or that none does."""
    blocks: list[Block] = []
    if offload.plans:
        blocks.append(_plans(offload))
    elif has_device:
        blocks.append(Paragraph("Not even the output layer fits on the GPU.", "note"))
    return blocks


def _plans(offload: Offload) -> Table:
    columns = (
        Column("flags", "plan"),
        Column("gpu_weights", "weights"),
        Column("gpu_cache", "cache"),
        Column("workspace", "workspace"),
        Column("fullest", "fullest GPU"),
        Column("cpu_weights", "CPU weights"),
        Column("cpu_cache", "CPU cache"),
    )
    rows = tuple(
        (
            plan.flags,
            *(
                byte_size(size)
                for size in (
                    plan.gpu_weights,
                    plan.gpu_cache,
                    plan.workspace,
                    plan.fullest,
                    plan.cpu_weights,
                    plan.cpu_cache,
                )
            ),
        )
        for plan in offload.plans
    )
    title = f"GPU offload at {offload.tokens:,} tokens"
    return Table(columns, rows, title=title)


def _layers(offload: Offload) -> Table:
    columns = (
        Column("layers", "layers"),
        Column("weights", "weights of each", "int"),
        Column("experts", "experts of it", "int"),
        Column("cache", "cache of each", "int"),
    )
    rows: list[tuple[str | int | None, ...]] = [("input, on the CPU", offload.input, "", "")]
    rows += [_row(group) for group in offload.layers]
    rows.append(("output", offload.output, "", ""))
    if offload.everywhere:
        rows.append(("on each device", offload.everywhere, "", ""))
    return Table(columns, tuple(rows), title="Bytes by layer", optional=("experts",))


def _row(group: LayerBytes) -> tuple[str | int | None, ...]:
    name = f"{group.first}" if group.first == group.last else f"{group.first} to {group.last}"
    return (name, group.weights, group.experts or "", group.cache)
