"""Which of the files is the model, decided by their paths and sizes alone, and why."""

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import NamedTuple

from ..core.records import dataclass
from ..core.text import byte_size
from ..errors import EntryNotFoundError, UnsupportedFormatError, UsageError
from ..formats.registry import MODULES
from ..sources.source import FileEntry
from .filenames import MODEL_STEMS, FileKind, WeightName, weight_name

#: More shards than any model has; a count in a name can claim anything.
MAX_SHARDS = 10_000

#: Ends a reason that nothing but a file's name gave.
BY_NAME = ", by its name"

_FORMAT_ORDER = {name: rank for rank, name in enumerate(MODULES)}
_KIND_ORDER = {FileKind.MODEL: 0, FileKind.WEIGHTS: 1, FileKind.ORIGINAL: 2, FileKind.ADAPTER: 3}
_FORMAT_WORDS = {"safetensors": "safetensors", "torch": "PyTorch", "gguf": "GGUF"}


class OtherFile(NamedTuple):
    """A weight file that was not taken, and why."""

    path: str
    reason: str
    size: int | None = None

    @property
    def sized(self) -> str:
        """The size as the end of a phrase; empty if it is not known."""
        return "" if self.size is None else f", {byte_size(self.size)}"


@dataclass(frozen=True)
class WeightChoice:
    """The weight files taken for the model.

    ``files`` are those known to belong to it; ``missing`` are numbered shards that should be there
    and are not. Where ``index`` is set and ``complete`` is False, only the index knows the files.
    ``picked`` says that the user named one of them.
    """

    format: str
    files: tuple[str, ...]
    because: str
    index: str | None = None
    missing: tuple[str, ...] = ()
    complete: bool = True
    others: tuple[OtherFile, ...] = ()
    picked: bool = False


@dataclass()
class WeightCandidate:
    """The files of one copy of some weights: one file, or the shards of one numbering."""

    first: WeightName
    files: list[WeightName] = field(default_factory=list)
    index: str | None = None
    size: int = 0

    @property
    def missing(self) -> tuple[str, ...]:
        return _missing_numbers(self.files)

    @property
    def complete(self) -> bool:
        """Whether the list of files alone shows that all are there."""
        return bool(self.files) and not self.missing


def choose(files: Mapping[str, FileEntry], pick: str | None = None) -> WeightChoice | None:
    """The model among ``files``, or None if there are no weights of a format that is read.

    ``pick`` names a weight file or an index to take instead, or a folder to choose in. Raises
    EntryNotFoundError or UnsupportedFormatError for a pick that is not there or not readable.
    """
    if pick is not None:
        return _picked(files, pick)
    candidates_here = candidates(files)
    eligible = [item for item in candidates_here if item.first.kind in _KIND_ORDER]
    if not eligible:
        return None
    eligible.sort(key=_preference)
    best = eligible[0]
    rest = [item for item in candidates_here if item is not best]
    return WeightChoice(
        best.first.format,
        tuple(name.path for name in best.files),
        _because(best, eligible[1:]),
        best.index,
        best.missing,
        best.complete,
        tuple(_others(best, rest, files)),
    )


def unsupported(files: Mapping[str, FileEntry]) -> list[OtherFile]:
    """Files of formats that are recognised and not read, each with the format's name."""
    names = (weight_name(path) for path in files)
    return [
        OtherFile(name.path, name.format, files[name.path].size)
        for name in names
        if name and name.kind is FileKind.FOREIGN
    ]


def _picked(files: Mapping[str, FileEntry], pick: str) -> WeightChoice | None:
    if pick not in files:
        return _picked_folder(files, pick)
    name = weight_name(pick)
    names = [item for item in map(weight_name, files) if item is not None]
    if name is None:
        known = ", ".join(sorted({item.path for item in names})[:5])
        raise UsageError(pick, "is not a weight file", hint=f"there are {known}" if known else None)
    if name.kind is FileKind.FOREIGN:
        raise UnsupportedFormatError(pick, f"is a file of {name.format}, which is not read")
    why = "another file was named"
    others = [OtherFile(item.path, why, files[item.path].size) for item in names]
    because = f"{pick} was named"
    if not name.is_index:
        rest = tuple(item for item in others if item.path != pick)
        return WeightChoice(name.format, (pick,), because, others=rest, picked=True)
    siblings = [item for item in candidates(files) if item.index == pick]
    shards = tuple(item.path for item in siblings[0].files) if siblings else ()
    rest = tuple(item for item in others if item.path not in (pick, *shards))
    missing = siblings[0].missing if siblings else ()
    return WeightChoice(name.format, shards, because, pick, missing, False, rest, picked=True)


def _picked_folder(files: Mapping[str, FileEntry], pick: str) -> WeightChoice | None:
    folder = pick.rstrip("/") + "/"
    choice = choose({path: entry for path, entry in files.items() if path.startswith(folder)})
    if choice is None and f"{folder}config.json" not in files:
        raise EntryNotFoundError(pick, "no such file", hint=_nearest(pick, files))
    return choice


def _nearest(pick: str, files: Iterable[str]) -> str | None:
    from difflib import get_close_matches

    weights = [path for path in files if weight_name(path) is not None]
    close = get_close_matches(pick, weights, n=3, cutoff=0.4) or weights[:3]
    return f"there is {', '.join(close)}" if close else None


def candidates(files: Mapping[str, FileEntry]) -> list[WeightCandidate]:
    """All weights among ``files``, shards of one numbering put together, each with its index."""
    names = [name for name in map(weight_name, files) if name is not None]
    groups: dict[tuple[object, ...], WeightCandidate] = {}
    for name in names:
        if name.is_index:
            continue
        alone = name.path if name.shards is None else None
        key = (name.directory, name.format, name.stem, name.variant, name.shards, alone)
        group = groups.setdefault(key, WeightCandidate(name))
        group.files.append(name)
        group.size += files[name.path].size or 0
    for group in groups.values():
        group.files.sort(key=lambda name: name.number or 0)
    ordered = list(groups.values())
    for name in names:
        if name.is_index:
            _attach_index(name, ordered)
    return ordered


def _attach_index(index: WeightName, candidates: list[WeightCandidate]) -> None:
    """Give the index to the numbered shards of its name; failing these, it stands for files of
    other names, if there are any that it could mean."""
    siblings = [item for item in candidates if _place(item.first) == _place(index)]
    numbered = [item for item in siblings if item.first.shards is not None]
    if numbered:
        # Several numberings under one name are leftovers of another save: the index will say.
        max(numbered, key=lambda item: (item.complete, item.size)).index = index.path
        return
    others = [
        item
        for item in candidates
        if item.first.directory == index.directory and item.first.format == index.format
    ]
    if [item for item in others if item not in siblings] or not others:
        candidates.append(WeightCandidate(index, index=index.path))


def _place(name: WeightName) -> tuple[str, str, str, str]:
    return name.directory, name.format, name.stem, name.variant


def _preference(item: WeightCandidate) -> tuple[object, ...]:
    """Smaller is better."""
    name = item.first
    stem = name.stem.lower()
    return (
        name.directory.count("/"),
        _KIND_ORDER[name.kind],
        bool(item.missing),
        _FORMAT_ORDER[name.format],
        # Several of these in one directory are different things, or quantisations of one: the
        # largest says most. Elsewhere the conventional names decide.
        -item.size if _is_unnamed(name) else 0,
        MODEL_STEMS.index(stem) if stem in MODEL_STEMS else len(MODEL_STEMS),
        bool(name.variant),
        item.index is None,
        name.shards is None,
        name.directory,
        name.path,
    )


def _is_unnamed(name: WeightName) -> bool:
    return name.stem.lower() not in MODEL_STEMS


def _missing_numbers(files: list[WeightName]) -> tuple[str, ...]:
    """Paths of shards whose numbers are absent; numbering starts at 1, or at 0 where one does."""
    if not files or files[0].shards is None:
        return ()
    first = files[0]
    count = files[0].shards
    numbers = {name.number for name in files}
    start = 0 if 0 in numbers else 1
    absent = [
        number for number in range(start, start + min(count, MAX_SHARDS)) if number not in numbers
    ]
    assert first.number is not None
    return tuple(_renumbered(first, number) for number in absent)


def _renumbered(name: WeightName, number: int) -> str:
    """The path of another shard of the same numbering."""
    file = name.path[len(name.directory) :]
    before, mark, after = file.rpartition("-of-")
    digits = len(before) - len(before.rstrip("0123456789"))
    return f"{name.directory}{before[: len(before) - digits]}{number:0{digits}d}{mark}{after}"


def _because(best: WeightCandidate, losers: list[WeightCandidate]) -> str:
    what = _FORMAT_WORDS[best.first.format]
    if best.index is not None:
        return f"the {what} shards of {best.index}"
    shards = "shards without an index" if best.first.shards is not None else "file"
    if not losers:
        return f"the only {what} {shards}" if best.first.shards is None else f"{what} {shards}"
    if _is_unnamed(best.first) and all(_is_alternative(best, item) for item in losers[:1]):
        count = 1 + sum(_is_alternative(best, item) for item in losers)
        return f"the largest of {count} {what} checkpoints"
    return f"{what} {shards}, preferred over {len(losers)} other copies or parts"


def _is_alternative(best: WeightCandidate, other: WeightCandidate) -> bool:
    return (best.first.directory, best.first.format, best.first.kind) == (
        other.first.directory,
        other.first.format,
        other.first.kind,
    )


def _others(
    best: WeightCandidate, rest: list[WeightCandidate], files: Mapping[str, FileEntry]
) -> Iterable[OtherFile]:
    for item in rest:
        reason = _reason(best, item)
        for name in item.files:
            yield OtherFile(name.path, reason, files[name.path].size)


def _reason(best: WeightCandidate, other: WeightCandidate) -> str:
    chosen = best.first
    name = other.first
    if name.kind is FileKind.FOREIGN:
        return f"{name.format}, not read"
    if name.kind is FileKind.TRAINING:
        return "training state, not a model"
    if name.kind is not chosen.kind and name.kind is FileKind.ADAPTER:
        return f"an adapter or a part{BY_NAME}"
    if name.kind is not chosen.kind and name.kind is FileKind.ORIGINAL:
        return "the original before conversion"
    if name.directory != chosen.directory:
        return "in another folder"
    if other.missing and not best.missing:
        return f"incomplete, {len(other.missing)} shards are missing"
    if name.format != chosen.format:
        return f"another copy for {_FORMAT_WORDS[name.format]}{BY_NAME}"
    if name.stem != chosen.stem:
        return f"another checkpoint{BY_NAME}"
    if name.variant != chosen.variant:
        variant = f"the variant {name.variant}" if name.variant else "the plain variant"
        return f"{variant}{BY_NAME}"
    if name.shards is None:
        return "a single file next to the shards; some loaders take it first"
    return "another set of shards"
