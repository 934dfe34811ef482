"""The layout of an inspection: what was read, where parameters sit, what they need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..core.components import Component
from ..core.overrides import titled
from ..core.results import Inspection, Totals
from ..core.text import byte_size, spelled
from .document import Block, Column, Document, Facts, Paragraph, Table
from .layouts import adapter, contents, members, quantized, roles, variants

#: Findings shown on the one screen; the rest is counted (all of them are in the JSON form).
MAX_FINDINGS = 5
#: Reasons why files were left aside; the rest is counted.
MAX_REASONS = 4

_KINDS = {
    "hub": "Hugging Face Hub",
    "cache": "Hugging Face cache on this machine",
    "directory": "local directory",
    "file": "local file",
    "mapping": "config given in Python",
}


def lay_out(
    inspection: Inspection,
    *,
    by: str = "component",
    groups: Mapping[str, Totals] | None = None,
    layers: Mapping[str, tuple[int, int]] | None = None,
) -> Document:
    """``groups`` are totals by ``by``; ``layers`` the range of one layer by component."""
    table = _groups(inspection, by, groups or inspection.components, layers or {})
    blocks: list[Block] = [_what_was_read(inspection), table, _totals(inspection)]
    main = table
    if by == "component" and inspection.members:
        main = members(inspection)
        blocks.insert(1, main)
    elif by == "component" and len(inspection.parts) > 1:
        blocks.append(_groups(inspection, "part", inspection.parts, {}))
    if len(inspection.variants) > 1:
        blocks.append(variants(inspection))
    blocks += _remarks(inspection)
    return Document(titled(inspection.origin.name, inspection.overrides), tuple(blocks), main)


def _what_was_read(inspection: Inspection) -> Facts:
    origin = inspection.origin
    items = [("changed", str(one)) for one in inspection.overrides]
    items.append(("read from", _KINDS.get(origin.kind, origin.kind)))
    if origin.kind in ("hub", "cache"):
        asked = origin.revision or "main"
        items.append(("revision", f"{asked}, commit {origin.commit or 'unknown'}"))
    elif origin.path:
        items.append(("path", origin.path))
    items.append(("files", _files(inspection)))
    if inspection.other_files and inspection.chosen_because and not inspection.members:
        items.append(("chosen", inspection.chosen_because))
    model = inspection.architecture or "unknown architecture"
    known = "" if inspection.catalogued else ", not in the catalog"
    if inspection.members:
        items.append(("model", f"{model} ({inspection.layout})"))
    elif inspection.adapter is not None:
        items += adapter(inspection.adapter, inspection.parameters)
    elif inspection.format == "gguf" and not inspection.architecture:
        items.append(("model", f"{inspection.model_type or 'unknown'}, by llama.cpp's names"))
    else:
        items.append(("model", f"{model} (model_type {inspection.model_type or 'unknown'}{known})"))
    items += contents(inspection)
    found = inspection.quantization
    if found is not None:
        items.append(("quantised", quantized(found)))
    return Facts(tuple(items))


def _files(inspection: Inspection) -> str:
    if inspection.source == "config":
        return "config.json alone; no weight file was read"
    files = inspection.files
    several = "files" if inspection.members else "shards"
    count = f"{len(files)} {several}" if len(files) > 1 else files[0].path if files else "none"
    kind = "" if count.endswith(f".{inspection.format}") else f", {inspection.format}"
    sizes = [file.size for file in files if file.size is not None]
    size = f", {byte_size(sum(sizes))}" if len(sizes) == len(files) and files else ""
    missing = inspection.missing_files
    gone = f"; {len(missing)} missing" if missing else ""
    return f"{count}{kind}{size}{gone}"


def _groups(
    inspection: Inspection,
    by: str,
    groups: Mapping[str, Totals],
    layers: Mapping[str, tuple[int, int]],
) -> Table:
    whole = inspection.parameters
    wants_layers = by == "component" and bool(layers)
    columns = [
        Column(by, by),
        Column("parameters", "parameters", "int"),
        Column("share", "share", "share"),
        Column("bar", "", "bar"),
        *([Column("per_layer", "per layer", "int")] if wants_layers else []),
        *([] if by == "component" else [Column("tensors", "tensors", "int")]),
    ]
    # The csv carries the bytes too; on a terminal they only widen the table.
    columns.append(Column("nbytes", "bytes", "int"))
    rows = []
    for name, totals in groups.items():
        share = _share(totals.parameters, whole)
        per_layer = [_per_layer(layers.get(name))] if wants_layers else []
        tensors = [] if by == "component" else [totals.tensors]
        rows.append((name, totals.parameters, share, share, *per_layer, *tensors, totals.nbytes))
    last = [] if by == "component" else [sum(totals.tensors for totals in groups.values())]
    sizes = [totals.nbytes for totals in groups.values() if totals.nbytes is not None]
    nbytes = sum(sizes) if len(sizes) == len(groups) else None
    rows.append(
        ("total", whole, _share(whole, whole), None, *([""] if wants_layers else []), *last, nbytes)
    )
    return Table(
        tuple(columns), tuple(rows), total=True, optional=("bar", "per_layer", "tensors", "nbytes")
    )


def _share(part: int | None, whole: int | None) -> float | None:
    return None if part is None or not whole else part / whole


def _per_layer(found: tuple[int, int] | None) -> int | str:
    if found is None:
        return ""
    least, most = found
    return least if least == most else f"{spelled(least)} - {spelled(most)}"


def _totals(inspection: Inspection) -> Facts:
    total = inspection.parameters
    items = [("total", "unknown" if total is None else f"{total:,} ({spelled(total)}) parameters")]
    if inspection.tied:
        items.append(("tied", _tied(inspection.tied)))
    if inspection.parameters_with_head is not None:
        apart = inspection.parameters_with_head
        items.append(
            ("head apart", f"{apart:,} ({spelled(apart)}) with the head counted separately")
        )
    if inspection.active_parameters is not None:
        active = inspection.active_parameters
        items.append(("active", f"{active:,} ({spelled(active)}) serve one token"))
    items += [("beyond", group.text) for group in inspection.beyond]
    if inspection.logical is not None and inspection.stored not in (None, inspection.logical):
        items.append(("stored", _stored(inspection)))
    if inspection.source == "checkpoint" or inspection.nbytes is not None:
        items.append(("dtypes", _dtypes(inspection.dtypes)))
    found = inspection.quantization
    if found is not None and len(found.roles) > 1:
        items.append(("packed", roles(found)))
    if inspection.parameters is not None:
        items.append(("weights", _memory(inspection)))
    return Facts(tuple(items))


def _tied(tied: Mapping[str, str]) -> str:
    shown = [f"{name} = {kept}" for name, kept in list(tied.items())[:3]]
    more = f" and {len(tied) - 3} more" if len(tied) > 3 else ""
    return ", ".join(shown) + more


def _stored(inspection: Inspection) -> str:
    reasons = []
    views = sum(tensor.view_of is not None for tensor in inspection.tensors)
    if views:
        reasons.append(f"{views} {'tensor is a view' if views == 1 else 'tensors are views'}")
    if inspection.buffers:
        reasons.append(f"{inspection.buffers:,} in buffers")
    if inspection.bookkeeping:
        reasons.append(f"{inspection.bookkeeping:,} in quantisation bookkeeping")
    if inspection.quantization is not None:
        reasons.append("packed weights")
    why = f" ({', '.join(reasons)})" if reasons else ""
    return f"{inspection.stored:,} elements{why}"


def _dtypes(dtypes: Mapping[str, Totals]) -> str:
    def size(totals: Totals) -> str:
        return "" if totals.nbytes is None else f" {byte_size(totals.nbytes)}"

    return ", ".join(f"{name}{size(totals)}" for name, totals in dtypes.items())


def _memory(inspection: Inspection) -> str:
    pairs = (f"{name} {byte_size(size)}" for name, size in inspection.memory.items())
    # A line may end between two pairs, not inside one.
    return "   ".join(pair.replace(" ", "\N{NO-BREAK SPACE}") for pair in pairs)


def _left_aside(others: Mapping[str, str]) -> str:
    """Files by the reason why they were not taken, the first of each."""
    by_reason: dict[str, list[str]] = {}
    for path, reason in others.items():
        by_reason.setdefault(reason, []).append(path)
    shown = []
    for reason, paths in list(by_reason.items())[:MAX_REASONS]:
        more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        shown.append(f"{paths[0]}{more} ({reason})")
    rest = len(by_reason) - MAX_REASONS
    if rest > 0:
        shown.append(f"others for {rest} more reasons are in --format json")
    return "; ".join(shown)


def _broken_promise(inspection: Inspection) -> list[Block]:
    """What config.json promises otherwise, with the first tensors; GGUF has a finding for it."""
    found = inspection.expectation
    agrees = found is None or inspection.parameters in (None, found.parameters)
    if found is None or agrees or inspection.format == "gguf":
        return []
    groups = {
        "missing": found.missing,
        "unexpected": found.unexpected,
        "of another shape": tuple(found.reshaped),
        "stored although the class ties them or does not save them": found.unsaved,
    }
    counts = ", ".join(
        f"{len(names)} {'tensor is' if len(names) == 1 else 'tensors are'} {what}{_first(names)}"
        for what, names in groups.items()
        if names
    )
    text = f"config.json promises {found.parameters:,} parameters: {counts}"
    return [Paragraph(text, "note")]


def _first(names: Sequence[str]) -> str:
    if not names:
        return ""
    return f" ({names[0]}{', ...' if len(names) > 1 else ''})"


def _remarks(inspection: Inspection) -> list[Block]:
    blocks: list[Block] = []
    if inspection.missing_files:
        names = ", ".join(inspection.missing_files[:3])
        more = ", ..." if len(inspection.missing_files) > 3 else ""
        text = f"weight files are missing, so that all totals are lower bounds: {names}{more}"
        blocks.append(Paragraph(text, "warning"))
    blocks += _broken_promise(inspection)
    other = inspection.components.get(Component.OTHER.value)
    if other is not None and other.parameters and inspection.catalogued is False:
        blocks.append(Paragraph("other: tensors whose names say nothing that is known", "note"))
    findings = [f for f in inspection.findings if f.file not in inspection.missing_files]
    blocks.extend(
        Paragraph(f"{f.file}: {f.text}" if f.file and f.file not in f.text else f.text, f.severity)
        for f in findings[:MAX_FINDINGS]
    )
    rest = len(findings) - MAX_FINDINGS
    if rest > 0:
        blocks.append(Paragraph(f"{rest} more findings are in --format json", "note"))
    if inspection.other_files:
        blocks.append(Paragraph(f"not read: {_left_aside(inspection.other_files)}", "note"))
    return blocks
