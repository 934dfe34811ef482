"""The details of ``memory``: weights, what each token costs, the sum at each context, and the
derivation of each number."""

from __future__ import annotations

from collections.abc import Iterator

from ..core.cache_size import CacheGroup
from ..core.footprint import AtContext, Memory
from ..core.text import byte_size
from ..sizing.devices import NOMINAL
from ..sizing.engines.registry import ENGINES
from .cache_lines import cost
from .document import Block, Column, Facts, Paragraph, Table
from .offload_lines import lay_out_offload
from .training_lines import lay_out_flops, lay_out_reading


def details(found: Memory) -> Iterator[Block]:
    """The sums, then where each number comes from."""
    yield _facts(found)
    if found.at:
        yield _sums(found)
        if found.cache is not None and found.cache.layers:
            yield _layers(found)
        yield _formulas(found)
    if found.stages:
        yield _stages(found)
    if found.offload is not None:
        yield from lay_out_offload(found.offload, found.device is not None)
    if found.flops is not None:
        yield lay_out_flops(found.flops)
    if found.reading is not None:
        yield lay_out_reading(found.reading)
    remarks = () if found.cache is None else found.cache.notes
    yield from (Paragraph(note, "note") for note in remarks)


def bar(found: Memory) -> Iterator[Block]:
    from .drawings import StackedBar

    main, weights = found.main, found.weights.per_device
    if main is None or weights is None or not main.total:
        return
    sizes = {
        "weights": main.total - main.cache.nbytes - main.workspace.nbytes,
        "cache": main.cache.nbytes,
        "workspace": main.workspace.nbytes,
    }
    pieces = ((name, size / main.total, byte_size(size)) for name, size in sizes.items() if size)
    yield StackedBar(f"total at {main.context:,} tokens", tuple(pieces))


def _device(found: Memory) -> str:
    name, nbytes, count = found.device or ("", 0, 1)
    nominal = NOMINAL.get(name)
    size = ""
    if nominal is not None:
        size = f" ({nbytes // 1024**2:,} MiB usable; {nominal} GB by the datasheet)"
    return f"{count} × {name}{size}" if count > 1 else f"{name}{size}"


def _facts(found: Memory) -> Facts:
    items = [(found.architecture or found.model_type or "unknown architecture", _engine(found))]
    weights = found.weights
    if weights.nbytes is None:
        widths = ", ".join(f"{name} {byte_size(size)}" for name, size in weights.widths.items())
        items.append(("weights", f"unknown: {weights.unknown}" + (f"; {widths}" if widths else "")))
    else:
        items.append(("weights", f"{_weights(found)}{_apart(found)}"))
    if found.cache_unknown:
        items.append(("cache", found.cache_unknown))
    if found.cache is not None:
        items.append(("cache", cost(found.cache)))
    if found.offload_unknown:
        items.append(("by layer", f"unknown: {found.offload_unknown}"))
    if found.device is not None:
        items.append(("on", _device(found)))
    if found.max_context:
        more = " (the model's own; the device would hold more)" if found.holds_more else ""
        items.append(("longest", f"{found.max_context:,} tokens at batch {found.batch}{more}"))
    if found.max_batch and found.main is not None:
        items.append(("largest", f"batch {found.max_batch:,} at {found.main.context:,} tokens"))
    if found.device is None and found.main is not None and found.main.total is not None:
        card = found.smallest_card or "none of the known cards"
        items.append(("fits on", f"{card}, at {found.main.context:,} tokens"))
    return Facts(tuple(items))


def _weights(found: Memory) -> str:
    nbytes = found.weights.nbytes or 0
    return f"{byte_size(nbytes)}, {nbytes:,} bytes"


def _apart(found: Memory) -> str:
    """What of the weights one device has."""
    apart = found.weights.per_device
    if apart is None or apart == found.weights.nbytes:
        return ""
    if found.offload is None:
        return f", {byte_size(apart)} ({apart:,} bytes) on the fullest device"
    return f", {byte_size(apart)} of it on the GPU with all layers there"


def _engine(found: Memory) -> str:
    version = f" {found.version}" if found.version else ""
    ways = (
        ("tensor", found.tensor_parallel),
        ("pipeline", found.pipeline_parallel),
        ("expert", found.expert_parallel),
    )
    parallel = "".join(f", {name} parallel {count}" for name, count in ways if count > 1)
    return f"engine {found.engine}{version}, batch {found.batch}{parallel}"


def _sums(found: Memory) -> Table:
    columns = (
        Column("context", "context", "int"),
        Column("weights", "weights"),
        Column("cache", "cache"),
        Column("workspace", "workspace, at most"),
        Column("total", "total"),
        Column("fits", "fits"),
    )
    rows = tuple(_row(entry) for entry in found.at)
    return Table(columns, rows, optional=("fits",))


def _row(entry: AtContext) -> tuple[int | str | None, ...]:
    weights = entry.weights
    fits = {None: "", True: "yes", False: "no"}[entry.fits]
    return (
        entry.context,
        "unknown" if weights is None else byte_size(weights),
        byte_size(entry.cache.nbytes),
        byte_size(entry.workspace.nbytes),
        "unknown" if entry.total is None else byte_size(entry.total),
        fits,
    )


def plain_sums(found: Memory) -> Table:
    """The sums as plain numbers, one row a context; without a cache one row of weights."""
    names = (
        "context",
        "batch",
        "weights_nbytes",
        "kv_bytes",
        "state_bytes",
        "cache_nbytes",
        "workspace_nbytes",
        "total_nbytes",
        "fits",
    )
    weights = found.weights.per_device
    rows: list[tuple[int | str | bool | None, ...]] = [
        (
            entry.context,
            found.batch,
            entry.weights,
            entry.cache.kv_bytes,
            entry.cache.state_bytes,
            entry.cache.nbytes,
            entry.workspace.nbytes,
            entry.total,
            entry.fits,
        )
        for entry in found.at
    ]
    rows = rows or [(None, found.batch, weights, *[None] * 4, weights, None)]
    return Table(tuple(Column(name, name) for name in names), tuple(rows))


def _layers(found: Memory) -> Table:
    columns = (
        Column("layers", "layers", "int"),
        Column("keeps", "keeps"),
        Column("window", "window", "int"),
        Column("elements", "elements", "int"),
        Column("nbytes", "bytes", "int"),
        Column("formula", "formula", "math"),
    )
    assert found.cache is not None
    rows = tuple(_group(group) for group in found.cache.layers)
    title = f"KV cache by layer type at {found.cache.tokens:,} tokens"
    return Table(columns, rows, title=title, optional=("window", "formula"))


def _group(group: CacheGroup) -> tuple[int | str | None, ...]:
    per = "per token" if group.grows else "in all"
    label = f"{group.label} ({group.dtype}, {per})"
    return (group.layers, label, group.window or "", group.elements, group.nbytes, group.formula)


def _stages(found: Memory) -> Table:
    columns = (
        Column("layers", "layers"),
        Column("with", "with"),
        Column("weights", "weights", "int"),
        Column("cache", "cache", "int"),
    )
    rows = tuple(
        (f"{stage.first} to {stage.last}", ", ".join(stage.holds), stage.weights, stage.cache)
        for stage in found.stages
    )
    return Table(columns, rows, title="Bytes on one device of each stage")


def _formulas(memory: Memory) -> Facts:
    assert memory.workspace is not None
    parts = ENGINES[memory.engine].workspace_parts
    return Facts((("workspace", f"at most {parts} = {memory.workspace.formula}"),))
