"""Several inspections as one: totals over the parts of a pipeline."""

from collections.abc import Iterable, Mapping, Sequence

from ..analysis.count import by_component, by_dtype, by_part, sums, tally
from ..analysis.extra_tensors import extra_tensors_of
from ..core.cache_size import SEVERAL
from ..core.checkpoint import Finding
from ..core.overrides import Override
from ..core.refs import Origin
from ..core.results import Inspection, Member, Quantization
from ..core.tensor import TensorInfo
from .judging.parts_declared import PartsEvidence
from .judging.parts_there import judged_parts


def combined(
    target: str,
    origin: Origin,
    layout: str,
    parts: Sequence[tuple[Member, Inspection]],
    findings: Sequence[Finding] = (),
    *,
    architecture: str | None = None,
    other_files: Mapping[str, str] = {},
    overrides: tuple[Override, ...] = (),
    all_known: bool = True,
    evidence: PartsEvidence | None = None,
) -> Inspection:
    """The parts' tensors under the names of their parts, and sums over them.

    ``other_files`` are those of no part; unless ``all_known``, a part is missing from the sums, and
    those of the whole are unknown. ``evidence`` is what the repo declares.
    Ties hold within a part; they are shown as ``part/tensor``.
    """
    tensors: list[TensorInfo] = []
    tied: dict[str, str] = {}
    for member, one in parts:
        tensors += [_of_part(tensor, member.name) for tensor in one.tensors]
        tied |= {
            f"{member.name}/{key}": f"{member.name}/{keeper}" for key, keeper in one.tied.items()
        }
    cells = tally(tensors)
    total = sums(cells)
    formats = {one.format for _, one in parts}
    return Inspection(
        target=target,
        origin=origin,
        source=parts[0][1].source,
        tensors=tuple(tensors),
        parameters=total.parameters if all_known else None,
        logical=total.logical if all_known else None,
        stored=total.stored,
        buffers=total.buffers,
        bookkeeping=total.bookkeeping,
        nbytes=total.nbytes if all_known else None,
        components=by_component(cells),
        parts=by_part(cells),
        dtypes=by_dtype(cells),
        extra_tensors=extra_tensors_of(tensors)
        or tuple(group for _, one in parts for group in one.extra_tensors),
        catalogued=all(one.catalogued for _, one in parts),
        format=formats.pop() if len(formats) == 1 else "mixed",
        files=tuple(file for _, one in parts for file in one.files),
        other_files=_merged([*(one.other_files for _, one in parts), other_files]),
        missing_files=tuple(path for _, one in parts for path in one.missing_files),
        **judged_parts(parts, evidence),
        chosen_because=f"{layout}: every part that has weights",
        tied=tied,
        active_parameters=None if total.active == total.parameters else total.active,
        quantization=_quantization([member.quantization for member, _ in parts]),
        findings=(*findings, *(finding for _, one in parts for finding in one.findings)),
        layout=layout,
        architecture=architecture,
        overrides=overrides,
        members=tuple(member for member, _ in parts),
        cache_unknown=SEVERAL,
    )


def _of_part(tensor: TensorInfo, part: str) -> TensorInfo:
    """Two text encoders have equal names: their layers are distinguished by the part."""
    stack = None if tensor.stack is None else f"{part}/{tensor.stack}"
    return tensor._replace(part=part, stack=stack)


def _merged(mappings: Iterable[Mapping[str, str]]) -> dict[str, str]:
    result: dict[str, str] = {}
    for mapping in mappings:
        result |= mapping
    return result


def _quantization(quantizations: Sequence[Quantization | None]) -> Quantization | None:
    """The parts' quantisations added up, if they are of one method; else only its parts have it."""
    present = [one for one in quantizations if one is not None]
    if len({one.method for one in present}) != 1:
        return None
    roles: dict[str, int] = {}
    widths: dict[str, int] = {}
    for one in present:
        for role, nbytes in one.roles.items():
            roles[role] = roles.get(role, 0) + nbytes
        for bits, parameters in one.widths.items():
            widths[bits] = widths.get(bits, 0) + parameters
    counts = [one.packed_parameters for one in present]
    known = [count for count in counts if count is not None]
    single = {one.bits for one in present}
    packed = [one.packed_bytes for one in present]
    return Quantization(
        method=present[0].method,
        bits=single.pop() if len(single) == 1 else None,
        packed_parameters=sum(known) if len(known) == len(counts) else None,
        packed_bytes=None if None in packed else sum(filter(None, packed)),
        roles=roles,
        scheme=", ".join(sorted({one.scheme for one in present if one.scheme})),
        widths=widths,
    )
