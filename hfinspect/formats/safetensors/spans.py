"""What must hold between the tensors of a safetensors header, and between header and file."""

from collections.abc import Iterable, Sequence
from operator import add

from ...core.checkpoint import Finding
from ...core.stored_tensors import StoredKind, StoredTensors
from ...core.tensor import StoredTensor
from ..finding_list import FindingList
from .header import LIBRARY_DTYPES, MAX_U64, Header, element_count

#: Tensor data should start at a multiple of this, so that every dtype can be mapped in place.
ALIGNMENT = 8


def validate(header: Header, size: int | None) -> tuple[Finding, ...]:
    """Everything wrong with a parsed header, those found while parsing first.

    ``size`` is that of the file in bytes, None if unknown: then the end of the data is not judged.
    Severity ``error`` is what the safetensors library refuses; the rule ``dtype`` with severity
    ``warning`` marks a dtype that it refuses too, but whose size is known from the offsets.
    """
    findings = FindingList(header.file)
    tensors = header.tensors
    if not _all_spans_fit(tensors.kinds):
        for tensor in tensors:
            _check_tensor(tensor, findings)
    end = header.data_start
    if not header.skipped:
        end = _check_layout(header, findings)
    if size is not None and not header.skipped:
        _check_end(end, size, findings)
    _check_names(tensors, findings)
    if header.data_start % ALIGNMENT:
        text = f"tensor data starts at byte {header.data_start:,}, no multiple of {ALIGNMENT}"
        findings.add("misaligned", text, None, "note")
    return header.findings + findings.listed()


def refused(findings: Sequence[Finding]) -> Finding | None:
    """The first finding for which a file cannot be read on."""
    return next((finding for finding in findings if finding.severity == "error"), None)


def _all_spans_fit(kinds: Iterable[StoredKind]) -> bool:
    """Whether every tensor has a known dtype, a span of the right size and a plain shape."""
    return all(
        kind.dtype in LIBRARY_DTYPES
        and kind.elements >= 1
        and kind.nbytes <= MAX_U64 // 8
        and kind.elements * LIBRARY_DTYPES[kind.dtype] == kind.nbytes * 8
        for kind in kinds
    )


def _check_tensor(tensor: StoredTensor, findings: FindingList) -> None:
    name, dtype, shape, elements, nbytes = tensor[:5]
    if nbytes < 0:
        findings.add("offsets", "ends before it begins", name)
        return
    bits = LIBRARY_DTYPES.get(dtype)
    if element_count(shape) is None or (bits is not None and elements * bits > MAX_U64):
        findings.add("overflow", "shape and dtype make a size beyond 64 bits", name)
    elif bits is None:
        text = f"has the unknown dtype {dtype[:40]!r}; its offsets span {nbytes:,} bytes"
        findings.add("dtype", text, name, "warning")
    elif elements * bits % 8:
        text = f"{elements:,} values of {dtype} do not fill whole bytes"
        findings.add("span", text, name)
    elif elements * bits != nbytes * 8:
        size = "×".join(map(str, shape[:16])) or "a scalar"
        text = f"spans {nbytes:,} bytes, but {size} of {dtype} takes {elements * bits // 8:,}"
        findings.add("span", text, name)


def _check_layout(header: Header, findings: FindingList) -> int:
    """Holes and overlaps between the spans; returns where the last one ends."""
    end = header.data_start
    tensors = header.tensors
    if tensors.in_order:
        return end + tensors.nbytes
    starts = list(map(end.__add__, tensors.starts()))
    stops = map(add, starts, tensors.sizes())
    names = tensors.names()
    previous = ""
    for start, stop, name in sorted(zip(starts, stops, names, strict=True)):
        if stop < start:
            continue  # reported as "offsets"
        if start > end:
            text = f"leaves a hole of {start - end:,} bytes before it"
            findings.add("hole", text, name)
        elif start < end:
            text = f"begins {end - start:,} bytes before {previous[:80]!r} ends"
            findings.add("overlap", text, name)
        if stop >= end:
            end = stop
            previous = name
    return end


def _check_end(end: int, size: int, findings: FindingList) -> None:
    if end > size:
        text = f"the last {end - size:,} of {end:,} bytes are missing"
        findings.add("truncated", text)
    elif end < size:
        findings.add("trailing-bytes", f"{size - end:,} bytes after the last tensor belong to none")


def _check_names(tensors: StoredTensors, findings: FindingList) -> None:
    patterns = {kind.pattern for kind in tensors.kinds}
    if "" in patterns:
        findings.add("name", "a tensor has an empty name", "", "warning")
    if "".join(patterns).isprintable():
        return
    for name in tensors.names():
        if not name.isprintable():
            findings.add("name", "the name holds control characters", name, "warning")
