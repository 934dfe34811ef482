"""``*.index.json``: which shard holds which tensor. Written by others, so nothing is believed."""

from collections.abc import Container, Mapping, Sequence
from typing import NamedTuple, cast

from ..core.checkpoint import Finding, ShardIndex
from ..core.paths import why_unsafe
from ..errors import ShardIndexError
from ..formats.strict_json import StrictJsonError, check_values, decode_pairs, plain
from .folded_index import (
    MAX_NAME_LENGTH,
    MAX_SHARDS,
    TooManyShardsError,
    named_shards,
    read_in_pieces,
)

#: The largest indexes of 2026 name 500,000 tensors in 60 MB.
MAX_INDEX_BYTES = 256 * 1024 * 1024

#: An index of more bytes, of some 200,000 names, is read piece by piece, so that it takes no more
#: memory than what it is of. A smaller one is read as a whole, in a third of the time.
PIECES_FROM = 16 << 20


def parse_index(path: str, data: bytes, *, pieces_from: int = PIECES_FROM) -> ShardIndex:
    """The index that ``data`` spells. Raises ShardIndexError.

    The names of shards are relative to the directory of the index and do not leave it.
    """
    try:
        in_pieces = read_in_pieces(data) if len(data) >= pieces_from else None
    except TooManyShardsError as error:
        problem = f"names more than {MAX_SHARDS:,} shards"
        raise ShardIndexError(path, problem, expected=f"at most {MAX_SHARDS:,}") from error
    if in_pieces is not None:
        data = in_pieces[0]
    try:
        content = decode_pairs(data)
        if not isinstance(content, tuple):
            raise ShardIndexError(path, "is not a JSON object")
        fields = dict(content)
        metadata = fields.get("metadata") or ()
        check_values(metadata)
    except StrictJsonError as error:
        raise ShardIndexError(path, str(error)) from None
    pairs = fields.get("weight_map")
    if not isinstance(pairs, tuple):
        raise ShardIndexError(path, "has no weight_map", expected="an object of tensor: shard")
    weight_map: Mapping[str, object] = dict(pairs) if in_pieces is None else in_pieces[1]
    _check_weight_map(path, weight_map, is_text=in_pieces is not None)
    findings = []
    if in_pieces is None and len(weight_map) < len(pairs):
        text = f"names {len(pairs) - len(weight_map):,} tensors more than once; the last one counts"
        findings.append(Finding("index-duplicate-key", text, path))
    if not isinstance(metadata, tuple):
        findings.append(Finding("index-metadata", "metadata is not a JSON object", path))
        metadata = ()
    known = cast("Mapping[str, object]", plain(metadata))
    return ShardIndex(path, cast("Mapping[str, str]", weight_map), known, tuple(findings))


def _check_weight_map(path: str, weight_map: Mapping[str, object], *, is_text: bool) -> None:
    """``is_text``: it is known to be of strings, none of them too long."""
    if not is_text and set(map(type, weight_map.values())) - {str}:
        raise ShardIndexError(path, "weight_map holds something else than strings")
    shards = named_shards(cast("Mapping[str, str]", weight_map))
    if len(shards) > MAX_SHARDS:
        problem = f"names {len(shards):,} shards"
        raise ShardIndexError(path, problem, expected=f"at most {MAX_SHARDS:,}")
    for shard in sorted(shards):
        reason = why_unsafe(shard)
        if reason is not None:
            raise ShardIndexError(path, f"the shard name {shard[:200]!r} {reason}")
    longest = 0 if is_text else max(map(len, weight_map), default=0)
    if longest > MAX_NAME_LENGTH:
        raise ShardIndexError(path, f"holds a tensor name of {longest:,} characters")


def shard_paths(index: ShardIndex) -> list[str]:
    """Paths of all shards that the index names, in order."""
    directory, slash, _ = index.file.rpartition("/")
    return [f"{directory}{slash}{shard}" for shard in sorted(named_shards(index.weight_map))]


class Shards(NamedTuple):
    """Paths of one copy of some weights: those that are there, those that should be, and numbered
    ones that the index does not name."""

    present: tuple[str, ...]
    missing: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()


def shards_of(
    paths: Sequence[str], missing: tuple[str, ...], index: ShardIndex | None, files: Container[str]
) -> Shards:
    """The shards among ``files``: as the index says, or failing that their names (``paths`` and
    ``missing``)."""
    if index is None:
        return Shards(tuple(path for path in paths if path in files), missing)
    indexed = dict.fromkeys(shard_paths(index))
    return Shards(
        tuple(path for path in indexed if path in files),
        tuple(path for path in indexed if path not in files),
        tuple(path for path in paths if path not in indexed),
    )
