"""The JSON header of a safetensors file as tensors.

``parse_header`` raises only where there is nothing to go on with. What is broken in a single entry
becomes a finding; ``spans.validate`` judges the rest. Findings of severity ``error`` are what the
``safetensors`` library (0.8, src/tensor.rs) refuses as well. What it accepts and should not have
is a warning or a note.

Nearly every header is sound, and some describe 100,000 tensors. So the entries are first proved in
bulk to be of the usual form, and only where that fails looked at one by one.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from itertools import chain
from operator import itemgetter, sub
from typing import Any, NamedTuple, TypeAlias, cast

from ...core.checkpoint import Finding
from ...core.records import dataclass
from ...core.stored_tensors import StoredTensors
from ...core.tensor import DTYPE_BITS
from ...errors import FormatError
from ..finding_list import FindingList
from ..strict_json import StrictJsonError, check_density, check_values, decode_pairs
from .compact import Compact, compact_header

#: Sizes and offsets are unsigned 64-bit integers in the library.
MAX_U64 = 2**64 - 1

#: No shape of more dimensions than this holds data unless most of them are 1.
PLAIN_DIMENSIONS = 64

METADATA_KEY = "__metadata__"
_FIELDS = ("dtype", "shape", "data_offsets")

#: Types that the library knows; the table of the core has more, from other formats.
LIBRARY_DTYPES = {
    name: DTYPE_BITS[name]
    for name in (
        """BOOL F4 F6_E2M3 F6_E3M2 U8 I8 F8_E5M2 F8_E4M3 F8_E8M0 F8_E4M3FNUZ F8_E5M2FNUZ I16 U16 F16
        BF16 I32 U32 F32 C64 F64 I64 U64""".split()
    )
}


@dataclass(frozen=True)
class Header:
    """What a header says. ``data_start`` is where tensor data begins in the file; the offsets of
    the tensors are absolute. ``findings`` came up while parsing; ``skipped`` tensors are named in
    them and are too broken to be listed."""

    file: str
    tensors: StoredTensors
    data_start: int
    metadata: Mapping[str, str] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    skipped: int = 0


#: name, dtype, shape and the two offsets; a bare tuple because there are so many.
_TensorRow: TypeAlias = tuple[str, str, Sequence[int], int, int]


class _Columns(NamedTuple):
    """The same of all tensors, column by column: that takes a loop over 100,000 off the work."""

    names: Sequence[str]
    dtypes: Sequence[str]
    shapes: Sequence[Sequence[int]]
    starts: Sequence[int]
    stops: Sequence[int]


class _EntryError(Exception):
    def __init__(self, rule: str, text: str) -> None:
        super().__init__(text)
        self.rule = rule


def parse_header(file: str, text: bytes, sink: Callable[[set[str]], None] | None = None) -> Header:
    """The header whose JSON is ``text`` (the file's bytes 8 to 8 + n). ``sink`` is called with the
    names of its tensors, if it is of the usual form and none is there twice.

    Raises FormatError with the rules ``utf8``, ``not-json``, ``nesting``, ``too-many-values``,
    ``not-object``.
    """
    try:
        check_density(text)
        compact = compact_header(text)
        if compact is not None and _is_plain(compact):
            return _compact(file, compact, 8 + len(text), sink)
        value = decode_pairs(text)
        if not isinstance(value, tuple):
            raise StrictJsonError("not-object", "is not a JSON object")
        return _header_of(file, value, 8 + len(text), text[:1])
    except StrictJsonError as problem:
        raise FormatError(file, f"the header {problem}", rule=problem.rule) from None


def header_of_mapping(file: str, mapping: Mapping[str, object]) -> Header:
    """The header that a server has already decoded; offsets are relative, as ``data_start`` is
    not known (0). Raises FormatError like ``parse_header``."""
    pairs = tuple((str(key), _as_pairs(value)) for key, value in mapping.items())
    try:
        return _header_of(file, pairs, 0, b"{")
    except StrictJsonError as problem:
        raise FormatError(file, f"the header {problem}", rule=problem.rule) from None


def _as_pairs(value: object) -> object:
    # Two levels are all that a tensor's entry has; anything below is broken in either form.
    return tuple(value.items()) if isinstance(value, Mapping) else value


def _is_plain(compact: Compact) -> bool:
    dimensions = max(len(shape) for _, shape in compact.meaning.values())
    return dimensions <= PLAIN_DIMENSIONS and METADATA_KEY not in compact.names


def _compact(
    file: str, compact: Compact, start: int, on_names: Callable[[set[str]], None] | None
) -> Header:
    findings = FindingList(file)
    metadata: Mapping[str, str] = {}
    if compact.metadata is not None:
        value = decode_pairs(compact.metadata.encode())
        metadata, _ = _split_metadata(((METADATA_KEY, value),), findings)
    names = set(compact.names)
    if len(names) < len(compact.names):
        dtypes, shapes = zip(*map(compact.meaning.__getitem__, compact.forms), strict=True)
        columns = _Columns(compact.names, dtypes, shapes, compact.starts, compact.stops)
        columns = _columns_of(_last_of_each(zip(*columns, strict=True), findings))
        return Header(file, _tensors(columns, start), start, metadata, findings.listed())
    if on_names is not None:
        on_names(names)
    sizes = map(sub, compact.stops, compact.starts)
    starts = None if compact.in_order else compact.starts
    tensors = StoredTensors.of_columns(
        compact.names, compact.forms, compact.meaning, sizes, starts, start
    )
    return Header(file, tensors, start, metadata, findings.listed())


def _header_of(
    file: str, pairs: tuple[tuple[str, object], ...], start: int, first: bytes
) -> Header:
    findings = FindingList(file)
    metadata, entries = _split_metadata(pairs, findings)
    columns = _plain_columns(entries)
    skipped = 0
    if columns is None:
        check_values(pairs)
        rows, skipped = _careful_rows(entries, findings)
        columns = _columns_of(rows)
    if len(set(columns.names)) < len(columns.names):
        columns = _columns_of(_last_of_each(zip(*columns, strict=True), findings))
    if first not in (b"{", b""):
        findings.add("header-start", "the header does not begin with {", None, "warning")
    return Header(file, _tensors(columns, start), start, metadata, findings.listed(), skipped)


def _split_metadata(
    pairs: tuple[tuple[str, object], ...], findings: FindingList
) -> tuple[Mapping[str, str], Sequence[tuple[str, object]]]:
    keys = list(map(itemgetter(0), pairs))
    count = keys.count(METADATA_KEY)
    if not count:
        return {}, pairs
    at = keys.index(METADATA_KEY)
    value = pairs[at][1]
    entries: Sequence[tuple[str, object]] = pairs[:at] + pairs[at + 1 :]
    if count > 1:
        findings.add("duplicate-key", f"{METADATA_KEY} is given {count} times")
        entries = [pair for pair in entries if pair[0] != METADATA_KEY]
    if value is None:
        return {}, entries
    if not isinstance(value, tuple):
        findings.add("metadata", f"{METADATA_KEY} is {_kind(value)}, not a mapping of strings")
        return {}, entries
    metadata: dict[str, str] = {}
    for key, item in value:
        if key in metadata:
            text = f"{METADATA_KEY} gives {shown(key)} twice; the last one counts"
            findings.add("duplicate-key", text, None, "warning")
        if isinstance(item, str):
            metadata[key] = item
        else:
            findings.add("metadata", f"{METADATA_KEY}: {shown(key)} is {_kind(item)}, not a string")
    return metadata, entries


def _plain_columns(entries: Sequence[tuple[str, object]]) -> _Columns | None:
    """Every entry, if all have the usual keys in the usual order and sane types; else None."""
    if not entries:
        return _Columns((), (), (), (), ())
    names, infos = cast("tuple[Sequence[str], Sequence[Any]]", zip(*entries, strict=True))
    if set(map(type, infos)) != {tuple} or set(map(len, infos)) != {3}:
        return None
    columns = []
    for key, pairs in zip(_FIELDS, zip(*infos, strict=True), strict=True):
        keys, values = zip(*pairs, strict=True)
        if set(keys) != {key}:
            return None
        columns.append(values)
    dtypes, shapes, spans = columns
    if set(map(type, dtypes)) != {str} or set(map(type, (*shapes, *spans))) != {list}:
        return None
    if set(map(len, spans)) != {2} or max(map(len, shapes)) > PLAIN_DIMENSIONS:
        return None
    starts, stops = zip(*spans, strict=True)
    sizes = [*chain.from_iterable(shapes), *starts, *stops]
    if set(map(type, sizes)) != {int} or min(sizes) < 0 or max(sizes) > MAX_U64:
        return None
    return _Columns(names, dtypes, shapes, starts, stops)


def _columns_of(rows: Sequence[_TensorRow]) -> _Columns:
    return _Columns(*zip(*rows, strict=True)) if rows else _Columns((), (), (), (), ())


def _careful_rows(
    entries: Iterable[tuple[str, object]], findings: FindingList
) -> tuple[list[_TensorRow], int]:
    rows: list[_TensorRow] = []
    skipped = 0
    for name, info in entries:
        try:
            rows.append(_row(name, info, findings))
        except _EntryError as broken:  # noqa: PERF203 - only of unusual headers
            skipped += 1
            findings.add(broken.rule, str(broken), name)
    return rows, skipped


def _row(name: str, info: object, findings: FindingList) -> _TensorRow:
    """One entry, read as serde reads a struct: fields in any order, others ignored, or a bare
    sequence of the three."""
    if isinstance(info, list):
        if len(info) != 3:
            raise _EntryError(
                "entry", f"is a list of {len(info)}, not dtype, shape and data_offsets"
            )
        findings.add("entry", "is written as a bare list", name, "warning")
        fields = dict(zip(_FIELDS, info, strict=True))
    elif isinstance(info, tuple):
        fields = {}
        for key, value in info:
            if key not in _FIELDS:
                findings.add("extra-key", f"has an unknown key {shown(key)}", name, "note")
            elif key in fields:
                raise _EntryError("duplicate-key", f"gives {key} twice")
            else:
                fields[key] = value
    else:
        raise _EntryError("entry", f"is {_kind(info)}, not an object")
    for key in _FIELDS:
        if key not in fields:
            raise _EntryError("entry", f"has no {key}")
    start, stop = _offsets(fields["data_offsets"])
    return name, _dtype(fields["dtype"]), _shape(fields["shape"]), start, stop


def _dtype(value: object) -> str:
    if isinstance(value, str):
        return value
    # serde's other spelling of a variant without content: {"F32": null}.
    if isinstance(value, tuple) and len(value) == 1 and value[0][1] is None:
        name = value[0][0]
        if name in LIBRARY_DTYPES:
            return str(name)
    raise _EntryError("dtype", f"dtype is {_kind(value)}, not a string")


def _shape(value: object) -> list[int]:
    if not isinstance(value, list):
        raise _EntryError("shape", f"shape is {_kind(value)}, not a list")
    for size in value:
        if not _is_u64(size):
            raise _EntryError("shape", f"shape holds {_kind(size)}, not a size")
    if element_count(value) is None:
        raise _EntryError("overflow", "shape has more elements than 64 bits can count")
    return value


def _offsets(value: object) -> tuple[int, int]:
    if not isinstance(value, list) or len(value) != 2:
        raise _EntryError("offsets", f"data_offsets is {_kind(value)}, not two numbers")
    start, stop = value
    if not _is_u64(start) or not _is_u64(stop):
        raise _EntryError("offsets", "data_offsets are not two unsigned numbers")
    return start, stop


def _is_u64(value: object) -> bool:
    return type(value) is int and 0 <= value <= MAX_U64


def element_count(shape: Sequence[int]) -> int | None:
    """The number of elements, or None where it overflows 64 bits on the way, as in the library:
    a zero saves only what comes after it."""
    count = 1
    for size in shape:
        count *= size
        if count > MAX_U64:
            return None
    return count


def _last_of_each(rows: Iterable[_TensorRow], findings: FindingList) -> list[_TensorRow]:
    """One row a name, where names came up first."""
    by_name: dict[str, _TensorRow] = {}
    for row in rows:
        if row[0] in by_name:
            text = "is described twice; the last description counts"
            findings.add("duplicate-key", text, row[0], "warning")
        by_name[row[0]] = row
    return list(by_name.values())


def _tensors(columns: _Columns, base: int) -> StoredTensors:
    names, dtypes, lists, starts, stops = columns
    forms = list(zip(dtypes, map(tuple, lists), strict=True))
    # All sizes are ints here, so that equal forms are the same.
    meaning = dict(zip(forms, forms, strict=True))
    return StoredTensors.of_columns(names, forms, meaning, map(sub, stops, starts), starts, base)


def _kind(value: object) -> str:
    """What a JSON value is, in words."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"the number {value}" if abs(value) <= 10 * MAX_U64 else "a huge number"
    if isinstance(value, float):
        return "a fraction"
    if isinstance(value, str):
        return "a string"
    return "a list" if isinstance(value, list) else "an object"


def shown(text: str, limit: int = 80) -> str:
    """Foreign text for a message: quoted, escaped, cut."""
    return repr(text if len(text) <= limit else text[:limit] + "…")
