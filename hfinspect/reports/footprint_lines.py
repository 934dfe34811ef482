"""The details of ``memory``: weights, what each token costs, the sum at each context, and the
derivation of each number."""

from collections.abc import Iterator

from ..core.cache_size import CacheGroup
from ..core.footprint import AtContext, Memory
from ..core.text import byte_size, widths
from ..sizing.devices import NOMINAL
from ..sizing.engines.registry import ENGINES
from .cache_lines import cost
from .document import Block, Column, Facts, Paragraph, Table
from .offload_lines import lay_out_offload
from .training_lines import lay_out_flops, lay_out_reading


def details(memory: Memory) -> Iterator[Block]:
    """The sums, then where each number comes from."""
    yield _facts(memory)
    if memory.at:
        yield _sums(memory)
        if memory.cache is not None and memory.cache.layers:
            yield _layers(memory)
        yield _formulas(memory)
    if memory.stages:
        yield _stages(memory)
    if memory.offload is not None:
        yield from lay_out_offload(memory.offload, memory.device is not None)
    if memory.flops is not None:
        yield lay_out_flops(memory.flops)
    if memory.reading is not None:
        yield lay_out_reading(memory.reading)
    remarks = () if memory.cache is None else memory.cache.notes
    yield from (Paragraph(note, "note") for note in remarks)


def bar(memory: Memory) -> Iterator[Block]:
    from .drawings import StackedBar

    main = memory.main
    weights = memory.weights.per_device
    if main is None or weights is None or not main.total or main.workspace is None:
        return
    sizes = {
        "weights": main.total - main.cache.nbytes - main.workspace.nbytes,
        "cache": main.cache.nbytes,
        "workspace": main.workspace.nbytes,
    }
    shares = ((name, size / main.total, byte_size(size)) for name, size in sizes.items() if size)
    yield StackedBar(f"total at {main.context:,} tokens", tuple(shares))


def _device(memory: Memory) -> str:
    name, nbytes, count = memory.device or ("", 0, 1)
    nominal = NOMINAL.get(name)
    size = ""
    if nominal is not None:
        size = f" ({nbytes // 1024**2:,} MiB usable; {nominal} GB by the datasheet)"
    return f"{count} × {name}{size}" if count > 1 else f"{name}{size}"


def _facts(memory: Memory) -> Facts:
    items = [(memory.architecture or memory.model_type or "unknown architecture", _engine(memory))]
    weights = memory.weights
    if weights.nbytes is None:
        sizes = ", ".join(widths(weights.widths))
        items.append(("weights", f"unknown: {weights.unknown}" + (f"; {sizes}" if sizes else "")))
    else:
        items.append(("weights", f"{_weights(memory)}{_apart(memory)}"))
    if memory.cache_unknown:
        items.append(("cache", memory.cache_unknown))
    if memory.cache is not None:
        items.append(("cache", cost(memory.cache)))
    if memory.offload_unknown:
        items.append(("by layer", f"unknown: {memory.offload_unknown}"))
    if memory.device is not None:
        items.append(("on", _device(memory)))
    if memory.max_context:
        more = " (the model's own; the device would hold more)" if memory.holds_more else ""
        items.append(("longest", f"{memory.max_context:,} tokens at batch {memory.batch}{more}"))
    if memory.max_batch and memory.main is not None:
        items.append(("largest", f"batch {memory.max_batch:,} at {memory.main.context:,} tokens"))
    if memory.device is None and memory.main is not None and memory.main.total is not None:
        card = memory.smallest_card or "none of the known cards"
        items.append(("fits on", f"{card}, at {memory.main.context:,} tokens"))
    return Facts(tuple(items))


def _weights(memory: Memory) -> str:
    nbytes = memory.weights.nbytes or 0
    return f"{byte_size(nbytes)}, {nbytes:,} bytes"


def _apart(memory: Memory) -> str:
    """What of the weights one device has."""
    apart = memory.weights.per_device
    if apart is None or apart == memory.weights.nbytes:
        return ""
    if memory.offload is None:
        return f", {byte_size(apart)} ({apart:,} bytes) on the fullest device"
    return f", {byte_size(apart)} of it on the GPU with all layers there"


def _engine(memory: Memory) -> str:
    version = f" {memory.version}" if memory.version else ""
    sizes = (
        ("tensor", memory.tensor_parallel),
        ("pipeline", memory.pipeline_parallel),
        ("expert", memory.expert_parallel),
    )
    parallel = "".join(f", {name} parallel {count}" for name, count in sizes if count > 1)
    return f"engine {memory.engine}{version}, batch {memory.batch}{parallel}"


def _sums(memory: Memory) -> Table:
    columns = (
        Column("context", "context", "int"),
        Column("weights", "weights"),
        Column("cache", "cache"),
        Column("workspace", "workspace, at most"),
        Column("total", "total"),
        Column("fits", "fits"),
    )
    rows = tuple(_row(entry) for entry in memory.at)
    return Table(columns, rows, optional=("fits",))


def _row(entry: AtContext) -> tuple[int | str | None, ...]:
    weights = entry.weights
    fits = {None: "", True: "yes", False: "no"}[entry.fits]
    return (
        entry.context,
        "unknown" if weights is None else byte_size(weights),
        byte_size(entry.cache.nbytes),
        "unknown" if entry.workspace is None else byte_size(entry.workspace.nbytes),
        "unknown" if entry.total is None else byte_size(entry.total),
        fits,
    )


def plain_sums(memory: Memory) -> Table:
    """The sums as plain numbers, one row a context; without a cache one row of weights."""
    names = tuple(
        "context batch weights_nbytes kv_bytes state_bytes cache_nbytes workspace_nbytes "
        "total_nbytes fits".split()
    )
    weights = memory.weights.per_device
    rows: list[tuple[int | str | bool | None, ...]] = [
        (
            entry.context,
            memory.batch,
            entry.weights,
            entry.cache.kv_bytes,
            entry.cache.state_bytes,
            entry.cache.nbytes,
            None if entry.workspace is None else entry.workspace.nbytes,
            entry.total,
            entry.fits,
        )
        for entry in memory.at
    ]
    rows = rows or [(None, memory.batch, weights, *[None] * 4, weights, None)]
    return Table(tuple(Column(name, name) for name in names), tuple(rows))


def _layers(memory: Memory) -> Table:
    columns = (
        Column("layers", "layers", "int"),
        Column("keeps", "keeps"),
        Column("window", "window", "int"),
        Column("elements", "elements", "int"),
        Column("nbytes", "bytes", "int"),
        Column("formula", "formula", "math"),
    )
    assert memory.cache is not None
    rows = tuple(_group(group) for group in memory.cache.layers)
    title = f"KV cache by layer type at {memory.cache.tokens:,} tokens"
    return Table(columns, rows, title=title, optional=("window", "formula"))


def _group(group: CacheGroup) -> tuple[int | str | None, ...]:
    per = "per token" if group.grows else "in all"
    label = f"{group.label} ({group.dtype}, {per})"
    return (group.layers, label, group.window or "", group.elements, group.nbytes, group.formula)


def _stages(memory: Memory) -> Table:
    columns = (
        Column("layers", "layers"),
        Column("with", "with"),
        Column("weights", "weights", "int"),
        Column("cache", "cache", "int"),
    )
    rows = tuple(
        (f"{stage.first} to {stage.last}", ", ".join(stage.holds), stage.weights, stage.cache)
        for stage in memory.stages
    )
    return Table(columns, rows, title="Bytes on one device of each stage")


def _formulas(memory: Memory) -> Facts:
    if memory.workspace is None:
        return Facts((("workspace", memory.workspace_unknown),))
    parts = ENGINES[memory.engine].workspace_parts
    return Facts((("workspace", f"at most {parts} = {memory.workspace.formula}"),))
