"""One file of a model read: its value, or the error that says why there is none.

The only reader of the files that describe a model. Inspecting is strict (``Read.strict`` raises the
error); auditing goes on, and makes the error a finding.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Generic, TypeVar, cast

from ..core.checkpoint import Shard, ShardIndex
from ..core.nesting import loads
from ..core.paths import why_unsafe
from ..core.records import dataclass
from ..errors import ConfigError, HfinspectError
from ..sources.source import Source
from .json_files import MAX_CONFIG_BYTES, parse_json

# What a config alone does not need is imported by what reads the rest: it is half of a start.
if TYPE_CHECKING:
    from ..formats.base import Reader
    from ..formats.safetensors.cached_header import CachedHeader
    from ..formats.safetensors.header import Header
    from .file_bytes import FirstGuess, SourceReader

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True)
class Read(Generic[T_co]):
    """What reading one file gave.

    Fields:
        path: below the model's root
        size [bytes]: of the file; None if unknown
        value: None where there is none, and for ``null`` in JSON
        error: the first thing for which the file is refused; as far as it could be understood there
            is a value all the same: the tensors of a header that breaks a rule
        text: the bytes of a small file, as far as they could be read
    """

    path: str
    size: int | None
    value: T_co | None = None
    error: HfinspectError | None = None
    text: bytes = b""

    def strict(self) -> T_co:
        """The value of a file that is not refused. Raises the error."""
        if self.error is not None:
            raise self.error
        return cast("T_co", self.value)

    @property
    def mapping(self) -> Mapping[str, object] | None:
        """The value if it is a JSON object."""
        return self.value if isinstance(self.value, dict) else None


@dataclass(frozen=True)
class IndexRead(Read[ShardIndex]):
    """An index. ``unsafe`` are the names of shards that leave the directory, each with the reason;
    the value has the entries of the others."""

    unsafe: tuple[tuple[str, str], ...] = ()


def gathered(source: Source, tasks: Sequence[Callable[[], T]]) -> list[T]:
    """Results of tasks that read at once, in their order. Raises the first error of a task."""
    return [good(result) for result in source.gather(tasks)]


def good(result: T | HfinspectError) -> T:
    """A task's result. Raises it where it is an error."""
    if isinstance(result, HfinspectError):
        raise result
    return result


def read_json(source: Source, path: str) -> Read[object]:
    """Any JSON value of a small file. Errors: ConfigError, LimitError, AccessErrors."""
    try:
        data = source.read_all(path, MAX_CONFIG_BYTES)
    except HfinspectError as error:
        entry = source.list_files().get(path)
        return Read(path, (entry.size if entry else None) or 0, error=error)
    try:
        return Read(path, len(data), parse_json(path, data), text=data)
    except HfinspectError as error:
        return Read(path, len(data), error=error, text=data)


def read_config(source: Source, path: str = "config.json") -> Mapping[str, object] | None:
    """The JSON object at ``path``, or None if there is no such file.

    Raises ConfigError, LimitError, or the source's AccessErrors.
    """
    if path not in source.list_files():
        return None
    read = read_json(source, path)
    if not isinstance(read.strict(), dict):
        raise ConfigError(path, "is not a JSON object")
    return read.mapping


def read_index(source: Source, path: str) -> IndexRead:
    """An index. Errors: ShardIndexError, LimitError, AccessErrors."""
    from .folded_index import TooManyShardsError
    from .weight_map import MAX_INDEX_BYTES, parse_index

    try:
        data = source.read_all(path, MAX_INDEX_BYTES)
    except HfinspectError as error:
        return IndexRead(path, None, error=error)
    try:
        return IndexRead(path, len(data), parse_index(path, data))
    except HfinspectError as error:
        if isinstance(error.__cause__, TooManyShardsError):
            return IndexRead(path, len(data), None, error)  # its names are not looked at
        unsafe = _unsafe_shards(data)
        rest = None
        if unsafe:
            try:
                rest = parse_index(path, _without(data, dict(unsafe)))
            except HfinspectError:
                rest = None
        return IndexRead(path, len(data), rest, error, unsafe=unsafe)


def _unsafe_shards(data: bytes) -> tuple[tuple[str, str], ...]:
    from ..formats.strict_json import StrictJsonError, decode_pairs

    try:
        content = decode_pairs(data)
    except StrictJsonError:
        return ()
    weight_map = dict(content).get("weight_map") if isinstance(content, tuple) else None
    pairs = weight_map if isinstance(weight_map, tuple) else ()
    shards = {shard for _, shard in pairs if isinstance(shard, str)}
    reasons = ((shard, why_unsafe(shard)) for shard in sorted(shards))
    return tuple((shard, reason) for shard, reason in reasons if reason is not None)


def _without(data: bytes, unsafe: Mapping[str, str]) -> bytes:
    content = loads(data)
    content["weight_map"] = {
        name: shard
        for name, shard in content["weight_map"].items()
        if not (isinstance(shard, str) and shard in unsafe)
    }
    return json.dumps(content).encode()


def read_shard(
    source: Source,
    format_name: str,
    path: str,
    guess: FirstGuess,
    collect: Callable[[CachedHeader], None] | None = None,
) -> Read[Shard]:
    """The header of one weight file. Errors: FormatError, LimitError, AccessErrors.

    Of safetensors it is taken from what the source keeps, and kept; or read and given to
    ``collect``, which keeps it with others."""
    from .file_bytes import SourceReader

    parsed_cache = source.parsed_cache if format_name == "safetensors" else None
    if parsed_cache is None:
        return _read_now(SourceReader(source, path), format_name, guess, None)
    from .cached_shards import cached_shard, collecting, keeping

    known = None if collect else cached_shard(source, parsed_cache, path)
    if known is not None:
        guess.learn(known.shard)
        return Read(path, known.size, known.shard, known.error)
    reader = SourceReader(source, path)
    keep = collecting(collect, reader) if collect else keeping(parsed_cache, reader)
    return _read_now(reader, format_name, guess, keep)


def _read_now(
    reader: SourceReader, format_name: str, guess: FirstGuess, keep: Callable[[Header], None] | None
) -> Read[Shard]:
    """The same; the file is looked for while the index is on its way that says how much to read."""
    nbytes = guess.fallback_bytes
    at_hand = 0
    if nbytes is not None:
        try:
            at_hand = reader.locate(nbytes)
        except HfinspectError as error:
            return Read(reader.path, reader.size, error=error)
    return read_header(reader, format_name, guess, keep, at_hand)


def read_header(
    reader: Reader,
    format_name: str,
    guess: FirstGuess,
    keep: Callable[[Header], None] | None = None,
    at_hand: int = 0,
) -> Read[Shard]:
    """The same of a file that is open already, of which some bytes are ``at_hand``; ``keep`` is
    called with the header of safetensors as it was parsed."""
    from ..formats.registry import get_format
    from ..formats.safetensors.safetensors import judge_header

    error: HfinspectError | None = None
    try:
        first = guess.bytes_for(format_name, reader.path, reader.size)
        first = at_hand or first
        if format_name == "safetensors":
            compare = partial(guess.compare, reader.path)
            shard, error = judge_header(reader, first_guess=first, keep=keep, on_names=compare)
        else:
            shard = get_format(format_name).read_header(reader, first_guess=first)
    except HfinspectError as refused:
        return Read(reader.path, reader.size, error=refused)
    guess.learn(shard)
    return Read(reader.path, reader.size, shard, error)
