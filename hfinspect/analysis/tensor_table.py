"""The tensors of a checkpoint, as those see them who decode, label, compare and count.

They look at the tensors of ``TensorTable.shards`` and ask the table for every sum and every list of
names. So they need not know that one of these tensors may stand for thousands that are alike:
``folding.py`` makes such tables.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from typing import Final

from ..core.checkpoint import Shard
from ..core.tensor import StoredTensor, TensorInfo


class NotAlikeError(Exception):
    """Tensors that were taken for alike have to be looked at one by one."""


class TensorTable:
    """The tensors of some shards, each in a group of its own.

    A subclass has groups of several tensors, of which only the first is in ``shards``; its answers
    are about all of them.
    """

    def __init__(self, shards: Sequence[Shard]) -> None:
        self._files = tuple(shards)

    def __len__(self) -> int:
        """How many tensors the files have."""
        return sum(len(shard.tensors) for shard in self._files)

    @property
    def shards(self) -> tuple[Shard, ...]:
        """The files, with one tensor of each group."""
        return self._files

    def groups(self, shard: Shard) -> Iterable[tuple[StoredTensor, int]]:
        """The tensors of one of ``shards``, each with the number of tensors in its group."""
        return zip(shard.tensors, repeat(1))

    def total(self, _name: str, amount: int = 1) -> int:
        """The sum of an ``amount`` over all tensors in the group of the tensor of this name."""
        return amount

    def is_alone(self, _name: str) -> bool:
        """Whether the tensor of this name is the only one of its group."""
        return True

    def first_name(self, name: str) -> str:
        """The name of the group's tensor that comes first in the files."""
        return name

    def names(self, names: Iterable[str]) -> Iterable[tuple[str, str]]:
        """The names of all tensors in the groups of the tensors of these names, in the order of the
        files, each with the name that is wanted."""
        return [(name, name) for name in names]

    def renamed(self, pairs: Sequence[tuple[str, str]]) -> Iterator[str]:
        """What another naming calls all tensors in some groups. ``pairs`` are the name of a group's
        tensor and what the other naming calls that tensor.

        Raises NotAlikeError where the names of the group do not follow from that.
        """
        return (other for _, other in pairs)

    def look_at_each(self) -> None:
        """Say that an answer depends on single tensors. Raises NotAlikeError if a group may have
        several."""

    def labelled(self, infos: Sequence[TensorInfo]) -> Sequence[TensorInfo]:
        """All tensors with their labels. ``infos`` are those of ``shards``, in their order.

        Raises NotAlikeError where the labels of a group do not follow from those of its tensor.
        """
        return infos


#: The table of whoever knows no tensors but those that it looks at.
EACH_ALONE: Final = TensorTable(())
