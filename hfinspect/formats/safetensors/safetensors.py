"""safetensors: eight bytes of length, a JSON header, the data of all tensors without a gap.

https://huggingface.co/docs/safetensors/index#format
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ...core.checkpoint import Finding, Shard
from ...core.collector import collector_paused
from ...errors import FormatError
from ..base import Reader
from ..other_format import raise_if_other_format
from ..sniff import raise_if_not_weights
from .header import Header, header_of_mapping, parse_header
from .spans import refused, validate

#: The library's own limit (MAX_HEADER_SIZE in src/tensor.rs).
MAX_HEADER_BYTES = 100_000_000

#: The length that precedes the header, little-endian.
PREFIX_BYTES = 8

#: The first range where nothing is known: 97% of the headers on the Hub are shorter
#: (huggingface_hub, PR 1855).
DEFAULT_FIRST_GUESS = 100_000

#: What an entry takes in addition to its name and offsets: 46 bytes of keys and punctuation, and
#: room for a dtype and a shape of two sizes.
ENTRY_BYTES = 66

#: Room for ``__metadata__`` and padding.
METADATA_BYTES = 128


class SafetensorsFormat:
    """Reads the header of a ``.safetensors`` file."""

    name = "safetensors"

    def matches(self, path: str) -> bool:
        return path.lower().endswith(".safetensors")

    def read_header(
        self, reader: Reader, *, first_guess: int | None = None, strict: bool = False
    ) -> Shard:
        """The file's tensors, with at most two reads.

        The first read covers ``first_guess`` bytes, the second exactly what the header has beyond
        them. ``strict`` refuses dtypes that the safetensors library does not know, as it does;
        without it they are a finding. Raises FormatError.
        """
        shard, error = judge_header(reader, first_guess=first_guess, strict=strict)
        if error is not None:
            raise error
        return shard


FORMAT = SafetensorsFormat()


def read_header_bytes(reader: Reader, first_guess: int | None = None) -> bytes:
    """The bytes of the JSON header. Raises FormatError with the rules ``header-too-small``,
    ``header-too-large``, ``truncated-header``, ``other-format``, and those of ``sniff``."""
    guess = max(DEFAULT_FIRST_GUESS if first_guess is None else first_guess, PREFIX_BYTES)
    start = reader.read(0, min(guess, PREFIX_BYTES + MAX_HEADER_BYTES))
    stop = _header_stop(reader, start)
    if stop > len(start):
        start += reader.read(len(start), stop)
    if len(start) < stop:
        raise _truncated_header(reader.path, len(start), stop)
    return start[PREFIX_BYTES:stop]


def _header_stop(reader: Reader, start: bytes) -> int:
    """Where the header ends in the file, judged before anything of that size is read."""
    path = reader.path
    size = reader.size
    stop = PREFIX_BYTES + int.from_bytes(start[:PREFIX_BYTES], "little")
    if PREFIX_BYTES < stop <= PREFIX_BYTES + MAX_HEADER_BYTES and len(start) >= PREFIX_BYTES:
        if size is not None and stop > size:
            raise _truncated_header(path, size, stop)
        return stop
    head = _enough_to_tell(reader, start)
    raise_if_not_weights(path, head, size)
    raise_if_other_format(path, head, "a safetensors file")
    if len(start) < PREFIX_BYTES:
        what = f"has {len(start)} bytes, too few for the length of a header"
        raise FormatError(path, what, rule="header-too-small", hint="download the file again")
    if stop == PREFIX_BYTES:
        return stop  # no header at all, which is no JSON
    if head[PREFIX_BYTES : PREFIX_BYTES + 1] == b"{" and size is not None and stop <= size:
        raise FormatError(
            path,
            f"has a header of {stop - PREFIX_BYTES:,} bytes",
            rule="header-too-large",
            expected=f"at most {MAX_HEADER_BYTES:,}, which is the library's own limit",
            hint="split it into several files: each then has a shorter header",
        )
    raise FormatError(
        path,
        f"the header claims {stop - PREFIX_BYTES:,} bytes",
        rule="header-too-large",
        expected=f"at most {MAX_HEADER_BYTES:,}",
        hint="is it a safetensors file?",
    )


def _enough_to_tell(reader: Reader, start: bytes) -> bytes:
    # A caller who reads the bare prefix first has too little to recognise a pointer or a page.
    if len(start) == PREFIX_BYTES:
        start += reader.read(PREFIX_BYTES, 512)
    return start


def _truncated_header(path: str, size: int, stop: int) -> FormatError:
    return FormatError(
        path,
        f"ends at byte {size:,} inside the header",
        rule="truncated-header",
        expected=f"{stop:,} bytes of header and the data after it",
        hint="the file is incomplete; download it again",
    )


def judge_header(
    reader: Reader,
    *,
    first_guess: int | None = None,
    strict: bool = False,
    keep: Callable[[Header], None] | None = None,
    on_names: Callable[[set[str]], None] | None = None,
) -> tuple[Shard, FormatError | None]:
    """The shard with everything wrong with it, and the error for which ``read_header`` refuses it.
    ``keep`` is called with what was parsed, which ``judge_parsed`` judges again; ``seen`` with the
    names of a header of the usual form.

    Raises FormatError only where there is no header to speak of.
    """
    text = read_header_bytes(reader, first_guess)
    with collector_paused():
        header = parse_header(reader.path, text, on_names)
        if keep is not None:
            keep(header)
        return judge_parsed(header, reader.size, strict=strict)


def judge_parsed(
    header: Header, size: int | None, *, strict: bool = False
) -> tuple[Shard, FormatError | None]:
    """The same of a header that was parsed before, of a file of ``size`` bytes."""
    if header.data_start:
        return _judged(header, size, header.data_start, strict)
    return _without_offsets(header, size, strict)


def shard_from_header(
    file: str,
    header: bytes | Mapping[str, object],
    size: int | None,
    *,
    strict: bool = False,
    keep: Callable[[Header], None] | None = None,
) -> Shard:
    """A shard from a header that was obtained otherwise: its JSON, or the decoded JSON. ``keep`` as
    for ``judge_header``.

    From decoded JSON the offsets in the file are not known. Raises FormatError.
    """
    with collector_paused():
        if isinstance(header, bytes):
            parsed = parse_header(file, header)
        else:
            parsed = header_of_mapping(file, header)
        if keep is not None:
            keep(parsed)
        return judged_shard(parsed, size, strict=strict)


def judged_shard(header: Header, size: int | None, *, strict: bool = False) -> Shard:
    """The shard of a header that was parsed before. Raises FormatError."""
    shard, error = judge_parsed(header, size, strict=strict)
    if error is not None:
        raise error
    return shard


def _without_offsets(
    header: Header, size: int | None, strict: bool
) -> tuple[Shard, FormatError | None]:
    data = header.tensors.nbytes
    if size is not None and size < PREFIX_BYTES + data:
        raise _error(header, _missing(header, PREFIX_BYTES + data - size))
    shard, error = _judged(header, None, 0 if size is None else size - data, strict)
    return replace(shard, tensors=header.tensors.without_offsets(), size=size), error


def _missing(header: Header, count: int) -> Finding:
    text = f"the tensors take at least {count:,} bytes more than the file has"
    return Finding("truncated", text, header.file, None, "error")


def _judged(
    header: Header, size: int | None, header_bytes: int, strict: bool
) -> tuple[Shard, FormatError | None]:
    """What the header says, and the first thing for which it is refused."""
    findings = validate(header, size)
    worst = refused(findings)
    if worst is None and strict:
        worst = next((finding for finding in findings if finding.rule == "dtype"), None)
    shard = Shard(
        header.file, FORMAT.name, header.tensors, size, header_bytes, header.metadata, findings
    )
    return shard, None if worst is None else _error(header, worst)


def _error(header: Header, finding: Finding) -> FormatError:
    problem = finding.text
    if finding.tensor is not None:
        problem = f"tensor {finding.tensor[:120]!r} {problem}"
    hint = "the file is incomplete; download it again" if finding.rule == "truncated" else None
    return FormatError(header.file, problem, rule=finding.rule, hint=hint)


def name_bytes(name: str) -> int:
    """What a name takes in a header, with its quotes and what separates it from the next."""
    return len(json.dumps(name)) + 2


def names_bytes(names: Sequence[str]) -> int:
    """The same of several names together."""
    return len(json.dumps("".join(names))) - 2 + 4 * len(names)


def header_bound(count: int, names: int, size: int | None) -> int:
    """An upper bound on the bytes up to the end of a header that describes ``count`` tensors in a
    file of ``size`` bytes, if they have usual shapes: the size of the first range to read.
    ``names`` is the sum of their ``name_bytes``."""
    digits = len(str(size)) if size is not None else 12
    return PREFIX_BYTES + METADATA_BYTES + names + count * (ENTRY_BYTES + 2 * digits)
