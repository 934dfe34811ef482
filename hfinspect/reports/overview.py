"""The layout of an inspection: what was read, where parameters sit, what they need."""

from collections.abc import Mapping, Sequence

from ..analysis.count import component_shares
from ..core.checkpoint import Finding
from ..core.components import Component
from ..core.lazy_sequence import counted
from ..core.overrides import titled
from ..core.results import Inspection, Totals
from ..core.text import byte_size, first_of, more_are, rounded_count, widths, with_rounded
from . import media_lines
from .cache_lines import first_screen
from .document import Block, Cell, Column, Document, Facts, Paragraph, Table
from .headline import build, hub_line, summary
from .judgement import judgement, remarks
from .layouts import adapter, builds, contents, members, quantized, roles, variants

#: Findings shown on the one screen; the rest is counted (all of them are in the JSON form).
MAX_FINDINGS = 5
#: Reasons why files were left aside; the rest is counted.
MAX_REASONS = 4
#: Digits of a commit that are shown, as git and the Hub abbreviate it; the JSON form has all.
_COMMIT = 12

_KINDS = {
    "hub": "Hugging Face Hub",
    "cache": "Hugging Face cache on this machine",
    "directory": "local directory",
    "file": "local file",
    "mapping": "a config, without files",
}


def lay_out(
    inspection: Inspection,
    *,
    by: str = "component",
    groups: Mapping[str, Totals] | None = None,
    layers: Mapping[str, tuple[int, int]] | None = None,
) -> Document:
    """``groups`` are totals by ``by``; ``layers`` the range of one layer by component."""
    shown = groups or inspection.components
    table = _groups(inspection, by, shown, layers or {}, exact=False)
    main = _groups(inspection, by, shown, layers or {}, exact=True)
    blocks: list[Block] = [*judgement(inspection.problems), _build(inspection)]
    if by == "component" and inspection.members:
        main = members(inspection, exact=True)
        blocks += [members(inspection), builds(inspection)]
    blocks += [table, _totals(inspection)]
    if by == "component" and len(inspection.parts) > 1 and not inspection.members:
        blocks.append(_groups(inspection, "part", inspection.parts, {}, exact=False))
    if len(inspection.variants) > 1:
        blocks.append(variants(inspection))
    blocks.append(_what_was_read(inspection))
    blocks = [*_joined(blocks), *_remarks(inspection)]
    title = titled(inspection.origin.name, inspection.overrides)
    return Document(title, tuple(blocks), main, summary(inspection))


def _joined(blocks: Sequence[Block]) -> list[Block]:
    """Facts that follow each other have one column of labels."""
    joined: list[Block] = []
    for block in blocks:
        before = joined[-1] if joined else None
        if isinstance(block, Facts) and isinstance(before, Facts):
            joined[-1] = Facts((*before.items, *block.items))
        else:
            joined.append(block)
    return joined


def _build(inspection: Inspection) -> Facts:
    """The class and how it is built, or what else the model is; and what was changed."""
    items = [(_class(inspection), _described(inspection))]
    if inspection.adapter is not None:
        items = list(adapter(inspection.adapter, inspection.parameters))
    items += [("changed", str(one)) for one in inspection.overrides]
    return Facts(tuple(items))


def _class(inspection: Inspection) -> str:
    if inspection.architecture:
        return inspection.architecture
    return inspection.model_type or ("layout" if inspection.members else "unknown architecture")


def _described(inspection: Inspection) -> str:
    facts = build(inspection.facts)
    if inspection.members:
        count = len(inspection.members)
        return f"{inspection.layout} of {count} part{'' if count == 1 else 's'}"
    if inspection.format == "gguf" and not inspection.architecture:
        return ", ".join(filter(None, ("GGUF architecture name", facts)))
    if inspection.catalogued:
        return facts or f"model_type {inspection.model_type or 'unknown'}"
    if not inspection.architecture and not inspection.model_type:
        return "no config names a class"
    known = f"model_type {inspection.model_type or 'unknown'}, not in the catalog"
    return ", ".join(filter(None, (facts, known)))


def _what_was_read(inspection: Inspection) -> Facts:
    """Where the answer is from; it stands last."""
    items = list(contents(inspection))
    if inspection.model_type and inspection.catalogued and not inspection.members:
        items.append(("model_type", inspection.model_type))
    about = hub_line(inspection)
    if about:
        items.append(("on the Hub", about))
    items.append(("files", _files(inspection)))
    if inspection.other_files and inspection.chosen_because and not inspection.members:
        items.append(("chosen", inspection.chosen_because))
    origin = inspection.origin
    place = _KINDS.get(origin.kind, origin.kind)
    if origin.kind in ("hub", "cache"):
        commit = (origin.commit or "unknown")[:_COMMIT]
        items.append(("location", f"{place}, {origin.revision or 'main'}, commit {commit}"))
    else:
        items.append(("location", place))
        if origin.path:
            items.append(("path", origin.path))
    return Facts(tuple(items))


def _files(inspection: Inspection) -> str:
    if inspection.source == "config":
        return "only config.json; no weight file read"
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
    *,
    exact: bool,
) -> Table:
    """Totals by group. ``exact`` is the form for csv: plain numbers, every group; on a screen
    sizes and ranges are rounded, and groups of nothing are left out."""
    total = inspection.parameters
    by_component = by == "component"
    shares = {} if by_component or exact else component_shares(inspection.tensors, by)
    columns = [
        Column(by, by, "component" if by_component else "text"),
        Column("parameters", "parameters", "int"),
        Column("share", "share", "share"),
        Column("bar", "", "bar"),
        *(_per_layer_columns(exact) if by_component and layers else ()),
        *([] if by_component else [Column("tensors", "tensors", "int")]),
        Column("nbytes", "bytes" if exact else "size", "int"),
    ]
    rows: list[tuple[Cell, ...]] = []
    for name, totals in groups.items():
        if not exact and not totals.parameters and not totals.nbytes and total is not None:
            continue
        share = _share(totals.parameters, total)
        bar = ((name, share or 0.0),) if by_component else shares.get(name, share)
        rows.append(
            (
                name,
                totals.parameters,
                share,
                bar,
                *(_per_layer(layers.get(name), exact) if by_component and layers else ()),
                *([] if by_component else [totals.tensors]),
                totals.nbytes if exact else _size(totals.nbytes),
            )
        )
    sizes = [totals.nbytes for totals in groups.values() if totals.nbytes is not None]
    is_in_part = bool(inspection.members) and inspection.nbytes is None  # a part is not there
    nbytes = sum(sizes) if len(sizes) == len(groups) and not is_in_part else None
    rows.append(
        (
            "total",
            total,
            _share(total, total),
            None,
            *(_per_layer(None, exact) if by_component and layers else ()),
            *([] if by_component else [sum(totals.tensors for totals in groups.values())]),
            nbytes if exact else _size(nbytes),
        )
    )
    optional = ("bar", "per_layer", "tensors", "nbytes")
    return Table(tuple(columns), tuple(rows), total=True, optional=optional)


def _size(nbytes: int | None) -> str:
    return "" if nbytes is None else byte_size(nbytes)


def _share(part: int | None, total: int | None) -> float | None:
    return None if part is None or not total else part / total


def _per_layer_columns(exact: bool) -> tuple[Column, ...]:
    least = Column("per_layer", "per layer", "int")
    return (least, Column("per_layer_most", "per layer, most", "int")) if exact else (least,)


def _per_layer(layers: tuple[int, int] | None, exact: bool) -> tuple[Cell, ...]:
    """The least and the most that a layer has, on a screen in one cell."""
    if layers is None:
        return ("", "") if exact else ("",)
    least, most = layers
    if exact:
        return layers
    return (least if least == most else f"{rounded_count(least)} - {rounded_count(most)}",)


def _totals(inspection: Inspection) -> Facts:
    total = inspection.parameters
    items = [("total", "unknown" if total is None else f"{total:,} parameters")]
    if inspection.tied:
        items.append(("tied", _tied(inspection.tied)))
    if (apart := inspection.parameters_with_head) is not None:
        items.append(("untied", f"{with_rounded(apart)} with an untied head"))
    if (active := inspection.active_parameters) is not None:
        items.append(("active", f"{with_rounded(active)} used per token"))
    items += [
        ("not loaded", group.text_of(inspection.architecture)) for group in inspection.extra_tensors
    ]
    if inspection.logical is not None and inspection.stored not in (None, inspection.logical):
        items.append(("stored", _stored(inspection)))
    quantization = inspection.quantization
    if quantization is not None:
        items.append(("quantised", quantized(quantization)))
    if len(inspection.dtypes) > 1:
        items.append(("dtypes", _dtypes(inspection.dtypes)))
    if quantization is not None and len(quantization.roles) > 1:
        items.append(("packed", roles(quantization)))
    if inspection.parameters is not None:
        items.append(("memory", _memory(inspection)))
    items += first_screen(inspection.cache, inspection.cache_unknown)
    items += media_lines.first_screen(inspection.media)
    return Facts(tuple(items))


def _tied(tied: Mapping[str, str]) -> str:
    return first_of([f"{name} = {copies}" for name, copies in tied.items()], 3)


def _stored(inspection: Inspection) -> str:
    reasons = []
    views = 0
    if inspection.source == "checkpoint":  # a config has none
        counts = counted(inspection.tensors)
        views = sum(count for tensor, count in counts if tensor.view_of is not None)
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
    """Bytes as they are stored, and at four widths."""
    pairs = widths(inspection.memory)
    pairs[0] = f"at {pairs[0]}"
    # A line may end between two pairs, not inside one.
    shown = ", ".join(pair.replace(" ", "\N{NO-BREAK SPACE}") for pair in pairs)
    stored = "" if inspection.nbytes is None else f"as stored {byte_size(inspection.nbytes)}; "
    return f"{stored}{shown} (weights alone, no scales)"


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
        shown.append(f"others for {more_are(rest, 'reason')} in --format json")
    return "; ".join(shown)


def _not_as_predicted(inspection: Inspection) -> list[Block]:
    """What config.json predicts otherwise, with the first tensors; GGUF has a finding for it."""
    expectation = inspection.expectation
    agrees = expectation is None or inspection.parameters in (None, expectation.parameters)
    if expectation is None or agrees or inspection.format == "gguf":
        return []
    groups = {
        "missing": expectation.missing,
        "unexpected": expectation.unexpected,
        "of another shape": tuple(expectation.reshaped),
        "stored although the class ties them or does not save them": expectation.unsaved,
    }
    counts = ", ".join(
        f"{len(names)} {'tensor is' if len(names) == 1 else 'tensors are'} {what}{_first(names)}"
        for what, names in groups.items()
        if names
    )
    text = f"config.json predicts {expectation.parameters:,} parameters: {counts}"
    return [Paragraph(text, "note")]


def _first(names: Sequence[str]) -> str:
    if not names:
        return ""
    return f" ({names[0]}{', ...' if len(names) > 1 else ''})"


def _finding_text(finding: Finding) -> str:
    """The text after the file and the tensor that it is about, unless it names them."""
    subject = [name for name in (finding.file, finding.tensor) if name and name not in finding.text]
    return ": ".join([*subject, finding.text])


def _remarks(inspection: Inspection) -> list[Block]:
    blocks: list[Block] = [*remarks(inspection.problems)]
    if inspection.missing_files:
        names = ", ".join(inspection.missing_files[:3])
        more = ", ..." if len(inspection.missing_files) > 3 else ""
        text = f"weight files are missing; the totals cover the others: {names}{more}"
        blocks.append(Paragraph(text, "warning"))
    blocks += _not_as_predicted(inspection)
    other = inspection.components.get(Component.OTHER.value)
    if other is not None and other.parameters and inspection.catalogued is False:
        blocks.append(Paragraph("other: tensors that are not recognised by name", "note"))
    findings = [f for f in inspection.findings if f.file not in inspection.missing_files]
    blocks.extend(
        Paragraph(_finding_text(finding), finding.severity) for finding in findings[:MAX_FINDINGS]
    )
    rest = len(findings) - MAX_FINDINGS
    if rest > 0:
        blocks.append(Paragraph(f"{more_are(rest, 'finding')} in --format json", "note"))
    if inspection.other_files:
        blocks.append(Paragraph(f"not read: {_left_aside(inspection.other_files)}", "note"))
    return blocks
