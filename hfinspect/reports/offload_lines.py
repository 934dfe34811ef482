"""The layout of what llama.cpp puts on the GPU, as part of ``memory``'s answer."""

from ..core.offload_plan import LayerBytes, Offload
from ..core.text import byte_size
from .document import Block, Paragraph, Table, columns_of


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
    columns = columns_of(
        "flags = plan; gpu_weights = weights; gpu_cache = cache; workspace; fullest = fullest GPU; "
        "cpu_weights = CPU weights; cpu_cache = CPU cache"
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
    columns = columns_of(
        "layers; weights:int = weights of each; experts:int = experts of it; "
        "cache:int = cache of each"
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
