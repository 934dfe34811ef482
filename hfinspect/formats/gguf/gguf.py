"""GGUF files, versions 2 and 3, by their header: https://github.com/ggml-org/ggml docs/gguf.md"""

from itertools import pairwise
from typing import NamedTuple

from ...core.checkpoint import Shard
from ...core.tensor import StoredTensor
from ...errors import FormatError, LimitError, UnsupportedFormatError
from ..base import Reader
from ..finding_list import FindingList
from ..other_format import raise_if_other_format
from ..sniff import SNIFF_BYTES, magic_of, raise_if_not_weights
from ..window import Cursor
from .ggml_types import GGML_TYPES
from .key_values import MAX_KEY_BYTES, MAX_KEYS, ValueReader
from .metadata import GgufFacts, GgufMetadata, describe

__all__ = ["FORMAT", "GgufFacts", "GgufFormat", "describe"]

#: The largest headers (vocabularies of 260,000 tokens with merges) take about 15 MB.
MAX_HEADER_BYTES = 128 * 1024 * 1024
#: A thousand times as many as the largest models have there.
MAX_TENSORS = 1_000_000
#: ggml has GGML_MAX_NAME = 64 (128 in forks); anything longer cannot be loaded there.
MAX_NAME_BYTES = 4_096
#: ggml has 4 and the specification says that this may change.
MAX_DIMS = 8
#: ggml keeps sizes as int64.
MAX_ELEMENTS = 2**63 - 1
DEFAULT_ALIGNMENT = 32
#: An aligned offset inside a 32-bit word: general.alignment is a uint32.
MAX_ALIGNMENT = 2**31


class _Info(NamedTuple):
    """A tensor's entry: ``shape`` row-major, ``offset`` relative to the data."""

    name: str
    shape: tuple[int, ...]
    elements: int
    type: int
    offset: int


class GgufFormat:
    """Reads the header of a ``.gguf`` file."""

    name = "gguf"

    def matches(self, path: str) -> bool:
        return path.lower().endswith(".gguf")

    def read_header(self, reader: Reader, *, first_guess: int | None = None) -> Shard:
        """Key-values and tensors, reading forward in steps up to the end of the header.

        Shapes are row-major as in torch (GGUF stores them reversed), offsets absolute. A tensor of
        unknown type is called ``GGML_TYPE_<n>`` and sized up to the next one. Raises FormatError,
        LimitError, or UnsupportedFormatError for version 1 and versions after 3.
        """
        cursor = Cursor(reader, limit=MAX_HEADER_BYTES, rule="truncated-header", first=first_guess)
        out = FindingList(reader.path)
        version, order = _open(reader, cursor)
        read = ValueReader(reader.path, cursor, order, out)
        tensor_count = read.counted("the number of tensors", MAX_TENSORS, 24)
        key_count = read.counted("the number of keys", MAX_KEYS, 13)
        metadata = _read_metadata(read, key_count)
        infos = _read_infos(read, tensor_count)
        alignment = _alignment(reader.path, metadata)
        start = cursor.position + -cursor.position % alignment
        sizes = _sizes(infos, start, reader.size, out)
        tensors = tuple(
            StoredTensor(
                info.name, _dtype(info.type), info.shape, info.elements, nbytes, start + info.offset
            )
            for info, nbytes in zip(infos, sizes, strict=True)
        )
        _check_layout(tensors, start, alignment, reader.size, out)
        metadata["GGUF.version"] = version
        metadata["GGUF.byte_order"] = "little" if order == "<" else "big"
        return Shard(
            reader.path, self.name, tensors, reader.size, cursor.position, metadata, out.listed()
        )


FORMAT = GgufFormat()


def _open(reader: Reader, cursor: Cursor) -> tuple[int, str]:
    """(version, byte order) from magic and version; everything else than GGUF is refused."""
    try:
        cursor.fill(8)
    except FormatError:
        raise_if_not_weights(reader.path, cursor.buffer, reader.size)
        raise
    head = cursor.buffer[:SNIFF_BYTES]
    if head[:4] != b"GGUF":
        raise_if_not_weights(reader.path, head, reader.size)
        if magic_of(head) == "ggml":
            raise UnsupportedFormatError(
                reader.path,
                "a GGML file, the format before GGUF",
                hint="convert it with llama.cpp's convert_llama_ggml_to_gguf.py",
            )
        raise_if_other_format(reader.path, head, "a GGUF file")
        raise FormatError(
            reader.path, f"begins with {head[:8]!r}", rule="gguf-magic", expected="b'GGUF'"
        )
    cursor.skip(4)
    raw = cursor.take(4)
    # No version number reaches 65,536, so zeros in the low half mean the other byte order.
    order = "<" if raw[:2] != b"\0\0" else ">"
    version = int.from_bytes(raw, "little" if order == "<" else "big")
    if version not in (2, 3):
        raise UnsupportedFormatError(reader.path, f"GGUF version {version}", expected="2 or 3")
    return version, order


def _read_metadata(read: ValueReader, count: int) -> GgufMetadata:
    metadata = GgufMetadata()
    for _ in range(count):
        key = read.text("a key", MAX_KEY_BYTES)
        if key in metadata:
            raise read.malformed(f"the key {key!a:.200} is there twice", "duplicate-key")
        metadata[key] = read.value(key)
    return metadata


def _read_infos(read: ValueReader, count: int) -> list[_Info]:
    infos = []
    names: set[str] = set()
    for _ in range(count):
        name = read.text("a tensor's name", MAX_NAME_BYTES)
        if name in names:
            raise read.malformed(f"tensor {name!a:.200} is there twice", "duplicate-name")
        names.add(name)
        dims = read.u32()
        if dims > MAX_DIMS:
            raise LimitError(
                read.path,
                f"tensor {name!a:.200} has {dims:,} dimensions",
                expected=f"at most {MAX_DIMS}",
            )
        shape = tuple(read.u64() for _ in range(dims))[::-1]
        elements = 1
        for size in shape:
            elements *= size
        if elements > MAX_ELEMENTS:
            raise read.malformed(f"tensor {name!a:.200} has a shape of no sense", "shape")
        infos.append(_Info(name, shape, elements, read.u32(), read.u64()))
    return infos


def _alignment(path: str, metadata: dict[str, object]) -> int:
    value = metadata.get("general.alignment", DEFAULT_ALIGNMENT)
    if type(value) is not int or not 0 < value <= MAX_ALIGNMENT or value & (value - 1):
        raise FormatError(
            path,
            f"general.alignment is {value!r:.80}",
            rule="gguf-alignment",
            expected="a power of two",
        )
    return value


def _dtype(number: int) -> str:
    known = GGML_TYPES.get(number)
    return known.name if known else f"GGML_TYPE_{number}"


def _sizes(infos: list[_Info], start: int, size: int | None, out: FindingList) -> list[int]:
    """Bytes of each tensor: from the table, or, for an unknown type, up to the next tensor."""
    offsets = sorted({info.offset for info in infos})
    following = dict(pairwise(offsets))
    sizes = []
    for info in infos:
        known = GGML_TYPES.get(info.type)
        if known is not None:
            if info.shape and info.shape[-1] % known.block:
                text = (
                    f"has rows of {info.shape[-1]:,}, no multiple of {known.name}'s {known.block}"
                )
                out.add("block-shape", text, info.name)
            sizes.append(known.stored_bytes(info.shape))
            continue
        end = following.get(info.offset, info.offset if size is None else size - start)
        text = f"is of the unknown type {info.type}; its size is that up to the next tensor"
        out.add("unknown-dtype", text, info.name, "warning")
        sizes.append(max(0, end - info.offset))
    return sizes


def _check_layout(
    tensors: tuple[StoredTensor, ...],
    start: int,
    alignment: int,
    size: int | None,
    out: FindingList,
) -> None:
    """Tensors against each other and the file: llama.cpp wants them aligned and without a gap.

    Rules: misaligned, overlap, hole, out-of-range, truncated, trailing.
    """
    reach = start
    last = "the header"
    for tensor in sorted(tensors, key=lambda tensor: tensor.offset or 0):
        begin = tensor.offset or 0
        end = begin + tensor.nbytes
        if (begin - start) % alignment:
            text = (
                f"begins at byte {begin:,}, not at a multiple of {alignment} from the data's start"
            )
            out.add("misaligned", text, tensor.name)
        if begin < reach and tensor.nbytes:
            out.add("overlap", f"shares bytes with {last!a:.200}", tensor.name)
        elif begin >= reach + alignment:
            out.add("hole", f"{begin - reach:,} bytes lie unused before it", tensor.name)
        if size is not None and end > size:
            text = f"ends at byte {end:,} of a file of {size:,}"
            out.add("out-of-range", text, tensor.name)
        if end > reach:
            reach = end
            last = tensor.name
    if size is None:
        return
    if reach > size:
        out.add("truncated", f"has {size:,} bytes, expected {reach:,}")
    elif size >= reach + alignment and tensors:
        out.add("trailing", f"{size - reach:,} bytes follow the last tensor", None, "warning")
