"""What two checkpoints have in common beyond their structure: equal files, equal weights."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import Final

from .json_form import JsonForm
from .records import dataclass

#: Bytes of each tensor that ``compare --sample`` reads of either model.
SAMPLE_BYTES: Final = 4096


@dataclass(frozen=True)
class EqualFile(JsonForm):
    """A file of the other model that the first one has too, byte by byte.

    Fields:
        path: in the other model
        first: its path in the first model
        size [bytes]: None if unknown
        weights: whether it is a weight file
    """

    path: str
    first: str
    size: int | None
    weights: bool


@dataclass(frozen=True)
class FileIdentity(JsonForm):
    """Files of the other model next to those of the first, by hashes that were known before.

    No file is read for it: the Hub lists the sha256 of large files and the Git object of small
    ones, the Hub's local cache is named by them.

    Fields:
        equal: files that the first model has too
        compared [files]: files of the other model with a known hash
        files [files]: all of the other model
        weights: whether all weight files equal those of the first model, whatever their names; None
            where a hash is unknown, or there are none
    """

    equal: tuple[EqualFile, ...]
    compared: int
    files: int
    weights: bool | None

    @property
    def renamed(self) -> tuple[EqualFile, ...]:
        """Equal files that have another path in the first model."""
        return tuple(one for one in self.equal if one.path != one.first)


@dataclass(frozen=True)
class ChangedTensors(JsonForm, without="is_matrix"):
    """Tensors of one name in all their layers: in how many of them the weights differ.

    Fields:
        name: of the tensors, the layer's number as ``N``
        component: embedding, attention, mlp, ...
        same [layers, from 0]: in which they are equal
        differing [layers, from 0]: in which they differ
        tensors [tensors]: that were compared
        changed [tensors]: of these, that differ
        elements [elements]: that differ; None where samples were read
        is_matrix: whether they have two dimensions or more
    """

    name: str
    component: str
    same: tuple[int, ...]
    differing: tuple[int, ...]
    tensors: int
    changed: int
    elements: int | None
    is_matrix: bool


@dataclass(frozen=True)
class ReadingCost(JsonForm):
    """What a comparison of weights will read.

    Fields:
        tensors [tensors]: compared, of each model
        nbytes [bytes]: of both models
        requests [requests]: at most, to the Hub; 0 for files on disk
    """

    tensors: int
    nbytes: int
    requests: int


#: How the weights of the other model came from those of the first, as far as what was read shows.
VERDICTS: Final = {
    "equal": "no weight differs",
    "head": "only the head or the embedding differs; all layers are frozen",
    "matrices": "only some matrices differ, in the way that a merged LoRA leaves",
    "layers": "some layers differ, the others are frozen",
    "all": "all layers differ: fully tuned, or trained by itself",
    "parts": "some tensors differ",
}


@dataclass(frozen=True)
class WeightChanges(JsonForm, after={"tensors": "verdict", "changed": "tensors"}):
    """Which weights of the other model differ from those of the first.

    Fields:
        method: ``sample`` (4,096 bytes from the middle of each tensor: equal samples do not prove
            equal tensors) or ``values`` (all bytes)
        cost: tensors, bytes and requests
        verdict: how the other model came from the first, as far as the weights show
        groups: tensors by name, over their layers
        not_compared [tensors]: reason -> how many
    """

    method: str
    cost: ReadingCost
    verdict: str
    groups: tuple[ChangedTensors, ...]
    not_compared: dict[str, int] = field(default_factory=dict, hash=False)

    @property
    def tensors(self) -> int:
        """Tensors that were compared."""
        return sum(group.tensors for group in self.groups)

    @property
    def changed(self) -> int:
        """Tensors that differ."""
        return sum(group.changed for group in self.groups)


def verdict_of(groups: Iterable[ChangedTensors]) -> str:
    """A key of ``VERDICTS``: the strongest statement that the groups allow."""
    known = list(groups)
    changed = [group for group in known if group.changed]
    if not changed:
        return "equal"
    in_layers = [group for group in known if group.same or group.differing]
    differing = {layer for group in in_layers for layer in group.differing}
    layers = {layer for group in in_layers for layer in (*group.same, *group.differing)}
    if not differing:
        ends = all(group.component in ("embedding", "head") for group in changed)
        return "head" if ends else "parts"
    untouched = any(not group.changed for group in in_layers if group.is_matrix)
    norms = any(group.changed for group in known if not group.is_matrix)
    if not norms and untouched and all(group.is_matrix for group in changed):
        return "matrices"
    if layers - differing:
        return "layers"
    return "all" if all(group.changed for group in in_layers) else "parts"
