"""Sizes and conditions of llama.cpp's loaders, worked out from one file's key-values.

``llama_cpp_contract.json`` has them as nodes: an operation, then numbers of other nodes. Whatever
cannot be known is None, and so is what depends on it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from .key_numbers import MAX_LAYERS

KeyNode: TypeAlias = Sequence[Any]
KeyValue: TypeAlias = int | float | str | None
Bindings: TypeAlias = Mapping[str, int]

#: Depth of expressions; the deepest recorded has a fraction of it.
_MAX_DEPTH: Final = 200

_TWO: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "max": max,
    "min": min,
}
_TOKENS: Final = "tokenizer.ggml.tokens"
_MODEL: Final = "tokenizer.ggml.model"


#: Operations whose first part is a word.
_OF_KEYS: Final = ("key", "keys", "count", "haskey")
_OF_WORDS: Final = (*_OF_KEYS, "has", "map")
_ALONE: Final = ("value", "text", "var", "unknown", "vocab")


def _parts(node: KeyNode) -> Sequence[int]:
    """The numbers of the nodes that a node is made of."""
    if node[0] in _ALONE:
        return ()
    return node[2:] if node[0] in _OF_WORDS else node[1:]


class KeyExpressions:
    """The nodes of the table, over one file.

    ``shapes`` are row-major, by tensor. ``uneven`` are the keys read so far that list another
    number of layers than there are, which no loader takes.
    """

    def __init__(
        self,
        nodes: Sequence[KeyNode],
        architecture: str,
        metadata: Mapping[str, object],
        shapes: Mapping[str, Sequence[int]],
    ) -> None:
        self._nodes = nodes
        self._prefix = architecture
        self._metadata = metadata
        self._shapes = shapes
        self._fixed: dict[int, KeyValue] = {}
        self._turns: dict[tuple[int, ...], KeyValue] = {}
        self._depends: dict[int, bool] = {}
        self._read: dict[int, frozenset[str]] = {}
        self._depth = 0
        self.uneven: dict[str, int] = {}
        self.layers = self.number(".block_count") or 0

    def full(self, key: str) -> str:
        """The key with the architecture that it begins with."""
        return f"{self._prefix}{key}" if key.startswith(".") else key

    def value(self, number: int, bound: Bindings) -> KeyValue:
        """A number, a truth or a text; None where it is not known."""
        if number in self._fixed:
            return self._fixed[number]
        turn = (number, *bound.values())
        if turn in self._turns:
            return self._turns[turn]
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            self._depth -= 1
            return None
        try:
            result = self._made(self._nodes[number], bound)
        finally:
            self._depth -= 1
        if bound and self._varies(number):
            self._turns[turn] = result
        else:
            self._fixed[number] = result
        return result

    def _varies(self, number: int) -> bool:
        """Whether an expression depends on the turn of a loop."""
        known = self._depends.get(number)
        if known is None:
            node = self._nodes[number]
            known = node[0] == "var" or any(self._varies(part) for part in _parts(node))
            self._depends[number] = known
        return known

    def truth(self, number: int, bound: Bindings) -> bool | None:
        result = self.value(number, bound)
        return None if result is None else bool(result)

    def keys_of(self, number: int) -> frozenset[str]:
        """The keys of the file that an expression reads, in full."""
        known = self._read.get(number)
        if known is None:
            known = self._keys_of(self._nodes[number])
            self._read[number] = known
        return known

    def _keys_of(self, node: KeyNode) -> frozenset[str]:
        if node[0] == "vocab":
            return frozenset({_TOKENS})
        if node[0] in _OF_KEYS and self.full(node[1]) in self._metadata:
            return frozenset({self.full(node[1])})
        keys: frozenset[str] = frozenset()
        for part in _parts(node):
            keys |= self.keys_of(part)
        return keys

    # ---- values

    def _made(self, node: KeyNode, bound: Bindings) -> KeyValue:
        name = node[0]
        if name in ("value", "text"):
            constant: KeyValue = node[1]
            return constant
        if name == "var":
            return bound.get(node[1])
        if name in _TWO:
            return self._operation(_TWO[name], node, bound)
        special = _SPECIAL.get(name)
        return None if special is None else special(self, node, bound)

    def _operation(self, do: Callable[[Any, Any], Any], node: KeyNode, bound: Bindings) -> KeyValue:
        first = self.value(node[1], bound)
        second = self.value(node[2], bound)
        if first is None or second is None:
            return None
        if isinstance(first, str) != isinstance(second, str) and do is not operator.eq:
            return None
        result: KeyValue = do(first, second)
        return result

    def _and(self, node: KeyNode, bound: Bindings) -> KeyValue:
        first = self.truth(node[1], bound)
        if first is False:
            return False
        second = self.truth(node[2], bound)
        if second is False:
            return False
        return None if first is None or second is None else True

    def _or(self, node: KeyNode, bound: Bindings) -> KeyValue:
        first = self.truth(node[1], bound)
        if first:
            return True
        second = self.truth(node[2], bound)
        if second:
            return True
        return None if first is None or second is None else False

    def _not(self, node: KeyNode, bound: Bindings) -> KeyValue:
        inner = self.truth(node[1], bound)
        return None if inner is None else not inner

    def _choice(self, node: KeyNode, bound: Bindings) -> KeyValue:
        condition = self.truth(node[1], bound)
        if condition is None:
            first = self.value(node[2], bound)
            return first if first == self.value(node[3], bound) else None
        return self.value(node[2] if condition else node[3], bound)

    def _bits(self, node: KeyNode, bound: Bindings) -> KeyValue:
        first = self.value(node[1], bound)
        second = self.value(node[2], bound)
        if isinstance(first, int) and isinstance(second, int):
            return first | second
        return None

    def _quotient(self, node: KeyNode, bound: Bindings) -> KeyValue:
        first = self.value(node[1], bound)
        second = self.value(node[2], bound)
        if isinstance(first, int) and isinstance(second, int) and second:
            return first // second
        return None

    def _rest(self, node: KeyNode, bound: Bindings) -> KeyValue:
        first = self.value(node[1], bound)
        second = self.value(node[2], bound)
        if isinstance(first, int) and isinstance(second, int) and second:
            return first % second
        return None

    # ---- keys

    def number(self, key: str) -> int | None:
        """A key's whole number; None where it is missing or something else."""
        value = self._metadata.get(self.full(key))
        return value if type(value) is int else None

    def _key(self, node: KeyNode, bound: Bindings) -> KeyValue:
        full = self.full(node[1])
        if full not in self._metadata:
            return self.value(node[2], bound)
        value = self._metadata[full]
        return value if isinstance(value, (int, float, str)) else None

    def _has_key(self, node: KeyNode, _: Bindings) -> KeyValue:
        return self.full(node[1]) in self._metadata

    def _count(self, node: KeyNode, bound: Bindings) -> KeyValue:
        full = self.full(node[1])
        if full not in self._metadata:
            return self.value(node[2], bound)
        return length_of(self._metadata[full])

    def _vocabulary(self, _: KeyNode, __: Bindings) -> KeyValue:
        if self._metadata.get(_MODEL) in ("no_vocab", "none"):
            return self.number(".vocab_size") or 0
        return length_of(self._metadata.get(_TOKENS))

    # ---- tensors

    def name(self, pattern: str, index: Sequence[int], bound: Bindings) -> str | None:
        """A tensor's name: ``blk.%d.attn_q.weight`` with its numbers."""
        numbers = [self.value(one, bound) for one in index]
        parts = pattern.split("%d")
        if len(parts) - 1 != len(numbers) or not all(isinstance(one, int) for one in numbers):
            return None
        words = [part + str(one) for part, one in zip(parts, numbers, strict=False)]
        return "".join(words) + parts[-1]

    def _has(self, node: KeyNode, bound: Bindings) -> KeyValue:
        name = self.name(node[1], node[2:], bound)
        return None if name is None else name in self._shapes

    def _size(self, node: KeyNode, bound: Bindings) -> KeyValue:
        tensor = self._nodes[node[1]]
        name = self.name(tensor[1], tensor[2:], bound)
        place = self.value(node[2], bound)
        shape = self._shapes.get(name or "")
        if shape is None or not isinstance(place, int):
            return None
        reverse = tuple(reversed(shape))
        return reverse[place] if place < len(reverse) else 1

    # ---- lists with an item for each layer

    def _item(self, node: KeyNode, bound: Bindings) -> KeyValue:
        place = self.value(node[2], bound)
        if not isinstance(place, int) or not 0 <= place < MAX_LAYERS:
            return None
        return self._at(node[1], place, bound)

    def _highest(self, node: KeyNode, bound: Bindings) -> KeyValue:
        count = self.value(node[2], bound)
        if not isinstance(count, int):
            return None
        items = [self._at(node[1], place, bound) for place in range(min(count, MAX_LAYERS))]
        numbers = [item for item in items if isinstance(item, (int, float))]
        return max(numbers, default=0) if len(numbers) == len(items) else None

    def _at(self, number: int, place: int, bound: Bindings) -> KeyValue:
        """Item ``place`` of a list."""
        node = self._nodes[number]
        name = node[0]
        if name == "keys":
            return self._listed(node, place, bound)
        if name == "fill":
            return self.value(node[1], bound)
        if name == "map":
            return self._mapped(node, place, bound)
        if name == "?":
            condition = self.truth(node[1], bound)
            if condition is None:
                return None
            return self._at(node[2] if condition else node[3], place, bound)
        if name == "swa":
            key = self.full(".attention.sliding_window_pattern")
            listed = self._metadata.get(key)
            if isinstance(listed, (list, Mapping)):
                return _of_list(listed, place)
            every = listed if isinstance(listed, int) else self.value(node[1], bound)
            return self._repeated(every, self.truth(node[2], bound), place)
        if name == "pattern":
            return self._repeated(self.value(node[1], bound), self.truth(node[2], bound), place)
        return None

    def _listed(self, node: KeyNode, place: int, bound: Bindings) -> KeyValue:
        key = self.full(node[1])
        if key not in self._metadata:
            return self._at(node[3], place, bound)
        value = self._metadata[key]
        if isinstance(value, (list, Mapping)):
            length = length_of(value)
            count = self.value(node[2], bound)
            if length is not None and count is not None and length != count:
                self.uneven[key] = length
            return _of_list(value, place)
        return value if isinstance(value, (int, float)) else None

    def _mapped(self, node: KeyNode, place: int, bound: Bindings) -> KeyValue:
        _, var, start, end, expression, old = node
        first = self.value(start, bound)
        last = self.value(end, bound)
        if not isinstance(first, int) or not isinstance(last, int):
            return None
        if first <= place < last:
            return self.value(expression, {**bound, var: place})
        return self._at(old, place, bound)

    def _repeated(self, every: KeyValue, dense_first: bool | None, place: int) -> KeyValue:
        """``set_swa_pattern``: each so many-th layer differs, and so do those after the last."""
        predicting = self.number(".nextn_predict_layers") or 0
        if not isinstance(every, int) or dense_first is None:
            return None
        if place >= self.layers - predicting:
            return False
        if every == 0:
            return True
        return place % every != 0 if dense_first else place % every < every - 1


_SPECIAL: Final[Mapping[str, Callable[[KeyExpressions, KeyNode, Bindings], KeyValue]]] = {
    "and": KeyExpressions._and,
    "or": KeyExpressions._or,
    "not": KeyExpressions._not,
    "?": KeyExpressions._choice,
    "|": KeyExpressions._bits,
    "//": KeyExpressions._quotient,
    "%": KeyExpressions._rest,
    "key": KeyExpressions._key,
    "haskey": KeyExpressions._has_key,
    "count": KeyExpressions._count,
    "has": KeyExpressions._has,
    "size": KeyExpressions._size,
    "vocab": KeyExpressions._vocabulary,
    "item": KeyExpressions._item,
    "highest": KeyExpressions._highest,
}


def _of_list(value: object, place: int) -> KeyValue:
    if not isinstance(value, list):
        return None
    item = value[place] if place < len(value) else 0
    return item if isinstance(item, (int, float)) else None


def length_of(value: object) -> int | None:
    """Items of an array, kept in full or in part; None of what is none."""
    if isinstance(value, list):
        return len(value)
    length = value.get("length") if isinstance(value, Mapping) else None
    return length if type(length) is int else None
