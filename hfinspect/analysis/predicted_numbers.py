"""What a config predicts below the numbers of names: which layers it says are alike."""

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Protocol, TypeAlias

from ..core.stored_tensors import split_at_number
from ..core.tensor import TensorSpec
from ..core.tensor_copies import Place
from ..trees.prediction import Prediction
from .labels.lookup import other_spellings

#: A tensor without its name: its stack and its layer first.
_NumberRow: TypeAlias = tuple[Any, ...]
_STACK, _LAYER = map(TensorSpec._fields.index, ("stack", "layer"))


class Numbers(Protocol):
    """The numbers of names that begin alike."""

    def below(self, head: str, number: int, /) -> Hashable:
        """What is predicted below a number that comes after ``head``: equal for two numbers where
        the same is."""
        ...

    def inside(self, head: str, number: int, /) -> "Numbers":
        """The numbers that come after this one."""
        ...


def numbers_predicted(prediction: Prediction | None) -> Numbers | None:
    """The numbers in the names of all tensors; None where files may spell a name with others."""
    if prediction is None:
        return _Nothing()
    family = prediction.family
    aliases = dict(family.aliases) if family else {}
    spellings = (*aliases, *aliases.values(), family.base_prefix if family else "")
    if any(split_at_number(f"{text}.") for text in spellings):
        return None
    return prediction.memoized("numbers", None, lambda: _NumberTree(prediction))


class _Nothing:
    """Where nothing is predicted."""

    def below(self, _head: str, _number: int) -> Hashable:
        return None

    def inside(self, _head: str, _number: int) -> Numbers:
        return self


class _Apart:
    """Where each number is looked at by itself."""

    def below(self, _head: str, number: int) -> Hashable:
        return number

    def inside(self, _head: str, _number: int) -> Numbers:
        return self


class _NumberTable:
    """Tensors by the first number of their names and what comes before it."""

    def __init__(self, rows: Iterable[tuple[str, _NumberRow]]) -> None:
        self._rows: dict[tuple[str, int], list[tuple[str, _NumberRow]]] = {}
        for text, row in rows:
            self.add(text, row)

    def add(self, text: str, row: _NumberRow) -> None:
        """A tensor whose name is, or ends with, ``text``."""
        split = split_at_number(text)
        if split is not None:
            head, number, rest = split
            entry = rest, _seen_from(row, head, number)
            self._rows.setdefault((head, number), []).append(entry)

    def get(self, head: str, number: int) -> Sequence[tuple[str, _NumberRow]]:
        return self._rows.get((head, number), ())


def _seen_from(row: _NumberRow, head: str, number: int) -> _NumberRow:
    """The row with stack and layer as they are seen from a number of its name."""
    stack, layer, *rest = row
    if stack is None:
        return row
    if layer == number and head.endswith(f"{stack}."):
        return ("", "", *rest)
    place = f"{head}{number}"
    return (stack.removeprefix(place), layer, *rest) if stack.startswith(place) else row


class _Inner:
    """Below a number of the tree, in each of the spellings that a file may have for it."""

    def __init__(self, tables: Iterable[_NumberTable]) -> None:
        self._tables = tuple(tables)

    def below(self, head: str, number: int) -> Hashable:
        return tuple(tuple(table.get(head, number)) for table in self._tables)

    def inside(self, head: str, number: int) -> Numbers:
        return _Inner(_NumberTable(table.get(head, number)) for table in self._tables)


class _NumberTree:
    """The first numbers of all names: mostly those of layers, of which a template says all."""

    def __init__(self, prediction: Prediction) -> None:
        family = prediction.family
        self._prefix = f"{family.base_prefix}." if family and family.base_prefix else ""
        self._aliases = tuple(family.aliases.items()) if family else ()
        self._rows = _NumberTable(())
        self._places: dict[tuple[str, int], list[tuple[str, Place[TensorSpec]]]] = {}
        for place in prediction.specs.places():
            first = split_at_number(place.head)
            if first is None:
                for spec in place.rows():
                    self._rows.add(spec.name, _row(spec))
            else:
                head, number, rest = first
                self._places.setdefault((head, number), []).append((rest, place))
        ties = (*prediction.tied, *prediction.tied.values())
        split = [first for name in ties if (first := split_at_number(name)) is not None]
        self._tied = {(head, number) for head, number, _ in split}

    def _spellings(self, head: str) -> list[str]:
        """How the tree may spell what begins so in a file."""
        return [head, *other_spellings(head, self._prefix, self._aliases)]

    def below(self, head: str, number: int) -> Hashable:
        return tuple(self._below(spellings, number) for spellings in self._spellings(head))

    def _below(self, head: str, number: int) -> Hashable:
        if (head, number) in self._tied:
            return number
        places = tuple(
            (rest, id(place.template), _seen_from((place.stack, place.layer), head, number))
            for rest, place in self._places.get((head, number), ())
        )
        return places, tuple(self._rows.get(head, number))

    def inside(self, head: str, number: int) -> Numbers:
        spellings = self._spellings(head)
        if any((one, number) in self._tied for one in spellings):
            return _Apart()
        return _Inner(self._inside(one, number) for one in spellings)

    def _inside(self, head: str, number: int) -> _NumberTable:
        table = _NumberTable(self._rows.get(head, number))
        for rest, place in self._places.get((head, number), ()):
            for spec in place.template.rows:
                table.add(f"{rest}{spec.name}", _row(spec))
        return table


def _row(spec: TensorSpec) -> _NumberRow:
    return (spec[_STACK], spec[_LAYER], *spec[1:_STACK], *spec[_LAYER + 1 :])
