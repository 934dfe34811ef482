"""What the other weight files next to the chosen ones are, judged by their headers where these are
cheap to have: the same model in another precision, a part of it, an adapter, something else."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from ..core.checkpoint import Shard
from ..core.original_names import STARTS, hub_name
from ..sources.source import FileEntry
from .choose import BY_NAME, WeightCandidate, candidates
from .filenames import FileKind, WeightName

#: Headers of other files that are read: a disk gives them in milliseconds, each costs the Hub two
#: requests.
MAX_LOCAL_FILES = 32
#: The same on the Hub.
MAX_HUB_FILES = 3

#: Kinds that a header shows; training state is known by its name.
_KINDS = frozenset({FileKind.MODEL, FileKind.WEIGHTS, FileKind.ADAPTER, FileKind.ORIGINAL})

#: The last segments of the names that low-rank adapters have, by peft, kohya and diffusers.
_LOW_RANK = re.compile(
    r"(?:^|[._])(?:lora_(?:[AB]|up|down|embedding_[AB]|mid|magnitude_vector)|lora[._]linear_layer"
    r"|hada_w[12]_[ab]|lokr_w[12]|dora_scale|oft_[rs])(?=[._]|$)"
)
_SCALAR = re.compile(r"(?:^|[._])alpha$")


class Alternative(NamedTuple):
    """Other weights next to the chosen ones, all in one format: one file or its shards."""

    format: str
    files: tuple[str, ...]


def alternatives_to(
    chosen: Sequence[str], files: Mapping[str, FileEntry], *, local: bool
) -> list[Alternative]:
    """The other weights in the folder of the chosen files that are worth a look.

    On the Hub only single safetensors files under names of their own: what a conventional name
    says (``model.fp16.safetensors``) is believed there.
    """
    chosen_paths = set(chosen)
    folder = chosen[0][: chosen[0].rfind("/") + 1] if chosen else ""
    alternatives: list[Alternative] = []
    room = MAX_LOCAL_FILES if local else MAX_HUB_FILES
    for item in candidates(files):
        paths = tuple(name.path for name in item.files)
        if not paths or item.missing or not chosen_paths.isdisjoint(paths) or len(paths) > room:
            continue
        if same_bytes(chosen, paths, files):
            continue  # its hash has shown it already
        if item.first.directory == folder and _is_worth_it(item, local=local):
            alternatives.append(Alternative(item.first.format, paths))
            room -= len(paths)
    return alternatives


def same_bytes(chosen: Sequence[str], paths: Sequence[str], files: Mapping[str, FileEntry]) -> bool:
    """Whether the list of files has the same hash for a single file as for the chosen one."""
    if len(chosen) != 1 or len(paths) != 1:
        return False
    mine, other = (files[path].sha256 if path in files else None for path in (chosen[0], paths[0]))
    return mine is not None and mine == other


def _is_worth_it(item: WeightCandidate, *, local: bool) -> bool:
    name: WeightName = item.first
    if name.kind not in _KINDS or name.format not in ("safetensors", "torch"):
        return False
    return local or (name.format == "safetensors" and name.kind is FileKind.WEIGHTS)


#: Why a file was not taken whose hash is that of the one that was.
SAME_BYTES = "the same bytes, by its hash"


def with_judgement(reason: str, judgement: str | None) -> str:
    """Why a file was not taken, with what its header has shown since, if it was read."""
    if judgement is None:
        return reason
    guess = reason.removesuffix(BY_NAME)
    is_mere_guess = guess != reason and guess.startswith(("another checkpoint", "an adapter"))
    return judgement if is_mere_guess else f"{guess}; {judgement}"


def judged(main: Iterable[Shard], other: Sequence[Shard]) -> str:
    """What ``other`` is next to the model ``main``, as a reason why it was not taken."""
    mine = _contents(main)
    theirs = _contents(other)
    if not theirs:
        return "no tensors in it, by its header"
    factors = sum(_LOW_RANK.search(name) is not None for name in theirs)
    scalars = sum(_SCALAR.search(name) is not None for name in theirs)
    if factors and factors + scalars == len(theirs):
        return f"an adapter, by its header: all {len(theirs):,} tensors are low-rank factors"
    if in_original_names(
        {name: shape for name, (_, shape) in mine.items()},
        {name: shape for name, (_, shape) in theirs.items()},
    ):
        return "the same weights twice, in the names of the original, by its header"
    shared = {
        name for name, (_, shape) in theirs.items() if name in mine and mine[name][1] == shape
    }
    if len(shared) == len(mine) == len(theirs):
        if all(mine[name][0] == theirs[name][0] for name in shared):
            return "the same tensors in the same precision, by its header"
        return f"the same tensors in {_precision(theirs)}, by its header"
    if len(shared) == len(theirs):
        return f"a part of the same tensors, by its header: {len(theirs):,} of {len(mine):,}"
    if len(shared) == len(mine):
        more = len(theirs) - len(mine)
        return f"the same tensors and {more:,} more, by its header"
    return (
        f"another checkpoint, by its header: {len(shared):,} of {len(theirs):,} tensors have a "
        "name and shape of the one read"
    )


def in_original_names(
    mine: Mapping[str, tuple[int, ...]], theirs: Mapping[str, tuple[int, ...]]
) -> bool:
    """Whether the other tensors are all of these under the names of Mistral's or Meta's code; a
    head that is stored on one side alone may be tied on the other."""
    if not any(STARTS.match(name) for name in theirs):
        return False
    renamed = {hub_name(name) or name: shape for name, shape in theirs.items()}
    renamed.pop("rope.freqs", None)
    return {**renamed, "lm_head.weight": None} == {**mine, "lm_head.weight": None}


def _contents(shards: Iterable[Shard]) -> dict[str, tuple[str, tuple[int, ...]]]:
    tensors = chain.from_iterable(shard.tensors for shard in shards)
    return {tensor.name: (tensor.dtype, tensor.shape) for tensor in tensors}


def _precision(contents: Mapping[str, tuple[str, tuple[int, ...]]]) -> str:
    """The dtypes, the one of most tensors first."""
    counts = Counter(dtype for dtype, _ in contents.values())
    return " and ".join(dtype for dtype, _ in counts.most_common(3))
