"""Where texts of a template flow: no text that it makes may name an attribute of Python's.

Every expression is given what it may be: texts that are known, texts that the template makes and
nobody knows, data of the conversation, containers, and Jinja's own objects. Variables are the union
of all that is assigned to them anywhere; macros take all arguments of all calls, loops the elements
of what they go through. A known text with two underscores at an end, or a made one, in the place of
an attribute or a subscript, is a danger. Data may be any text, and is the caller's.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from ...formats.jinja.template_syntax import Node, NotJinjaError, Parser, tokens
from ...formats.jinja.template_tags import TagReader

#: Times that a template is gone through, until no variable may be anything more.
MAX_ROUNDS: Final = 40
#: From this round on a text that is still not all is a made one.
_WIDENED_FROM: Final = 4
#: Known texts that one value may be; with more of them it is a made one.
MAX_TEXTS: Final = 64
#: Characters of a known text that is followed.
MAX_TEXT: Final = 4096

#: Objects of Jinja's own: a call of them is usual, the bare name leads to their insides.
OWN: Final = frozenset(
    {"lipsum", "cycler", "joiner", "namespace", "self", "context", "environment"}
)
#: Filters that take the name of an attribute, and how many arguments stand before it.
_BY_ATTRIBUTE: Final = {
    "attr": 0,
    "groupby": 0,
    "sort": 2,
    "sum": 0,
    "unique": 1,
    "min": 1,
    "max": 1,
}
#: Filters whose first argument is an attribute, and a test or a filter behind it.
_SELECTING: Final = frozenset({"selectattr", "rejectattr"})
#: Filters that give what they are given, or elements of it.
_PASSING: Final = frozenset(
    """first last random list reverse sort unique default d safe min max select reject
    selectattr rejectattr slice batch items dictsort""".split()
)
#: Filters that give no text, or none that names anything: numbers, and JSON with its quotes.
_HARMLESS: Final = frozenset(
    "length count int float round abs sum wordcount tojson filesizeformat".split()
)
#: Filters that leave a known text known.
_KNOWN: Final[Mapping[str, Callable[[str], str]]] = {
    "trim": str.strip,
    "string": str,
    "lower": str.lower,
    "upper": str.upper,
    "title": str.title,
    "capitalize": str.capitalize,
}
#: Methods that give parts of the text they belong to, and nothing of what they are given.
_OF_BASE: Final = frozenset(
    """split rsplit splitlines strip lstrip rstrip removeprefix removesuffix lower upper title
    capitalize startswith endswith find rfind index count isdigit isalpha partition
    rpartition""".split()
)

_DUNDER: Final = re.compile(r"(?:^|\.)_?__|__(?:$|\.)")
#: A replacement field of str.format that names an attribute or an element.
_REACHING: Final = re.compile(r"\{[^{}]*[.\[]|__")


class Value(NamedTuple):
    """What an expression may be. ``texts``: known texts; ``origin``: how a text was made that is
    not known, empty where none is; ``items``: elements of a container that the template makes;
    ``reached``: names of Jinja's own objects. Data of the conversation is the empty value."""

    texts: frozenset[str] = frozenset()
    origin: str = ""
    items: "tuple[Value, ...]" = ()
    reached: frozenset[str] = frozenset()

    @property
    def with_elements(self) -> "Value":
        """With everything that its elements may be: what taking one out may give."""
        if not self.items:
            return self
        return union([self._replace(items=()), *(item.with_elements for item in self.items)])


DATA: Final = Value()


def union(values: Iterable[Value]) -> Value:
    texts: set[str] = set()
    names: set[str] = set()
    items: list[Value] = []
    origin = ""
    for value in values:
        texts |= value.texts
        names |= value.reached
        items += [item for item in value.items if item not in items]
        origin = origin or value.origin
    if len(texts) > MAX_TEXTS:
        texts = set()
        origin = origin or "a choice among many texts"
    if len(items) > 1:
        items = [union(item.with_elements for item in items)]
    return Value(frozenset(texts), origin, tuple(items), frozenset(names))


class _DangerError(Exception):
    """The template reaches for an attribute; the text says how."""


def flow_danger(blocks: Iterable[tuple[bool, str]]) -> str | None:
    """What in a template's blocks (whether a tag, and its text) reaches for Python's insides by a
    name that it makes; None for nothing. What Jinja's grammar does not have is reported too."""
    try:
        trees = [(tag, tokens(text.strip(" \t\r\n+-"))) for tag, text in blocks]
        flow = _Flow()
        for number in range(MAX_ROUNDS):
            before = dict(flow.variables)
            flow.widens = number >= _WIDENED_FROM
            for tag, tree in trees:
                flow.block(tag, Parser(tree))
            if flow.variables == before:
                return None
    except _DangerError as danger:
        return str(danger)
    except (NotJinjaError, RecursionError) as error:
        return f"is not followed: {error or 'it is nested too deep'}"
    return "is not followed: its variables depend on one another"


class _Flow(TagReader):
    """One round over a template with what variables may be so far."""

    def __init__(self) -> None:
        self.variables: dict[str, Value] = {}
        self._macros: dict[str, tuple[str, ...]] = {}
        self.widens = False

    # ---- tags

    def evaluated(self, node: Node) -> None:
        self._value(node)

    def assigned(self, targets: Sequence[str], node: Node | None, *, loop: bool = False) -> None:
        value = Value(origin="a block of the template") if node is None else self._value(node)
        value = _elements(value) if loop else value
        for target in targets:
            self._assign(target, value if len(targets) == 1 else value.with_elements)

    def macro(self, name: str, parameters: tuple[str, ...]) -> None:
        self._macros[name] = parameters

    def _assign(self, name: str, value: Value) -> None:
        before = self.variables.get(name, DATA)
        after = union([before, value])
        if self.widens and after != before:
            after = Value(
                origin=after.with_elements.origin or "a text that grows",
                reached=after.with_elements.reached,
            )
        if before.origin and not before.texts and not before.items:
            after = before._replace(reached=before.reached | after.with_elements.reached)
        self.variables[name] = after

    # ---- expressions

    def _value(self, node: Node) -> Value:
        value: Value = getattr(self, f"_of_{node[0]}")(*node[1:])
        return value

    def _of_name(self, name: str) -> Value:
        if name in OWN and name not in self.variables:
            return Value(reached=frozenset({name}))
        return self.variables.get(name, DATA)

    def _of_const(self, value: object) -> Value:
        return Value(texts=frozenset({value[:MAX_TEXT]})) if isinstance(value, str) else DATA

    def _of_attr(self, of: Node, name: str) -> Value:
        if name.startswith("__"):
            raise _DangerError(f"names the attribute {name[:60]}")
        base = self._value(of)
        if base.reached:
            raise _DangerError(f"reaches into {min(base.reached)}")
        return union([_member(base), self.variables.get(f".{name}", DATA)])

    def _of_item(self, of: Node, key: Node) -> Value:
        base = self._value(of)
        if key[0] == "slice":
            for part in key[1]:
                self._value(part)
            return _changed(base, "a part of a text")
        self._check(self._value(key), "a subscript")
        if base.reached:
            raise _DangerError(f"reaches into {min(base.reached)}")
        return _elements(base)

    def _of_slice(self, parts: tuple[Node, ...]) -> Value:
        return union(map(self._value, parts))

    def _of_call(
        self, of: Node, args: tuple[Node, ...], keywords: tuple[tuple[str, Node], ...]
    ) -> Value:
        values = [self._value(arg) for arg in args]
        keyword_values = [(name, self._value(arg)) for name, arg in keywords]
        every = [*values, *(value for _, value in keyword_values)]
        self._check_own(every)
        if of[0] == "name":
            return self._called(of[1], values, keyword_values, every)
        base = self._value(of)
        if of[0] == "attr":
            base = self._value(of[1])
            if of[2] in ("get", "pop", "setdefault"):
                self._check(union(values[:1]), f".{of[2]}()")
                return union([_elements(base), *values[1:]])
            if of[2] in ("format", "format_map") and (
                base.origin or any(_REACHING.search(text) for text in base.texts)
            ):
                raise _DangerError("reaches into what .format() is given")
            if of[2] in ("items", "keys", "values", "copy"):
                return base
            if of[2] in _OF_BASE:
                return _changed(base, "a part of a text")
            if of[2] in ("append", "extend", "insert", "update", "add"):
                self._into(of[1], union(every))
        return _changed(union([base, *every]), "a method of a text")

    def _into(self, container: Node, value: Value) -> None:
        if container[0] == "name":
            self._assign(container[1], Value(items=(value.with_elements,)))
        elif container[0] == "attr":
            self._assign(f".{container[2]}", Value(items=(value.with_elements,)))

    def _called(
        self, name: str, values: list[Value], keywords: list[tuple[str, Value]], every: list[Value]
    ) -> Value:
        parameters = self._macros.get(name)
        if parameters is not None:
            for parameter, value in zip(parameters, values, strict=False):
                self._assign(parameter, value)
            for parameter, value in keywords:
                if parameter in parameters:
                    self._assign(parameter, value)
            rest = union([*values[len(parameters) :], *(value for _, value in keywords)])
            self._assign("varargs", rest)
            self._assign("kwargs", rest)
            return Value(origin="what a macro prints") if any(_is_text(v) for v in every) else DATA
        if name == "namespace":
            for key, value in keywords:
                self._assign(f".{key}", value)
            return union(values)
        if name in ("dict", "list", "cycler", "zip"):
            return Value(items=(union(value.with_elements for value in every),))
        if name in OWN or name in ("range", "raise_exception", "strftime_now"):
            return Value(origin=name) if name in ("lipsum", "joiner") else DATA
        return _changed(union([self._of_name(name), *every]), "a function's text")

    def _of_filter(
        self, of: Node, name: str, args: tuple[Node, ...], keywords: tuple[tuple[str, Node], ...]
    ) -> Value:
        base = self._value(of)
        values = [self._value(arg) for arg in args]
        options = {key: self._value(arg) for key, arg in keywords}
        self._check_own([base, *values, *options.values()])
        if name == "map":
            return self._mapped(base, values, options)
        for key in ("attribute", "by" if name == "groupby" else "attribute"):
            if key in options:
                self._check(options[key], f"the filter {name}")
        place = _BY_ATTRIBUTE.get(name)
        if place is not None and len(values) > place:
            self._check(values[place], f"the filter {name}")
        if name in _SELECTING:
            self._check(union(values[:1]), f"the filter {name}")
        if name == "attr":
            if not union(values[:1]).texts:
                raise _DangerError("computes the name of an attribute (filter attr)")
            return _member(base)
        if name in _HARMLESS:
            return DATA
        if name in _PASSING:
            more = [*values, *options.values()] if name in ("default", "d") else []
            return union([_elements(base) if name in ("first", "last", "random") else base, *more])
        known = _KNOWN.get(name)
        if known is not None and not base.origin and not base.items:
            return base._replace(texts=frozenset(known(text) for text in base.texts))
        return _changed(union([base, *values, *options.values()]), f"the filter {name}")

    def _mapped(self, base: Value, values: list[Value], options: dict[str, Value]) -> Value:
        if "attribute" in options:
            self._check(options["attribute"], "map(attribute=)")
            return union([_elements(base), options.get("default", DATA)])
        filters = union(values[:1]).texts
        if "attr" in filters or not filters:
            self._check(union(values[1:2]), "map('attr')")
        if filters & {"format", "replace", "join"} or not filters:
            return _changed(union([base, *values]), "map()")
        return base

    def _of_test(self, of: Node, name: str, args: tuple[Node, ...]) -> Value:
        for arg in (of, *args):
            if not (arg[0] == "name" and arg[1] in OWN and name in ("defined", "undefined")):
                self._value(arg)
        return DATA

    def _of_concat(self, items: tuple[Node, ...]) -> Value:
        return _concatenated([self._value(item) for item in items])

    def _of_op(self, sign: str, items: tuple[Node, ...]) -> Value:
        values = [self._value(item) for item in items]
        self._check_own(values)
        if sign in ("%", "*"):
            return _changed(union(values), f"the operator {sign}")
        return DATA

    def _of_if(self, items: tuple[Node, ...]) -> Value:
        values = [self._value(item) for item in items]
        return union(values[:2])

    def _of_list(self, items: tuple[Node, ...]) -> Value:
        values = [self._value(item) for item in items]
        self._check_own(values)
        return Value(items=tuple(dict.fromkeys(values))) if values else DATA

    def _of_dict(self, keys: tuple[Node, ...], values: tuple[Node, ...]) -> Value:
        every = [self._value(item) for item in (*keys, *values)]
        self._check_own(every)
        return Value(items=tuple(dict.fromkeys(every))) if every else DATA

    # ---- what is a danger

    def _check(self, key: Value, where: str) -> None:
        """A text that names an attribute or a key."""
        key = key.with_elements
        for text in key.texts:
            if _DUNDER.search(text):
                raise _DangerError(f"names the attribute {text[:60]!a} by {where}")
        if key.origin:
            raise _DangerError(f"makes the name of an attribute ({key.origin}) for {where}")
        self._check_own([key])

    def _check_own(self, values: Iterable[Value]) -> None:
        for value in values:
            if value.with_elements.reached:
                raise _DangerError(f"hands on {min(value.with_elements.reached)}")


def _is_text(value: Value) -> bool:
    entire = value.with_elements
    return bool(entire.origin or any(entire.texts))


def _member(base: Value) -> Value:
    """An attribute of a value: elements of containers, data of data."""
    return (
        base.with_elements._replace(texts=frozenset()) if base.items else Value(origin=base.origin)
    )


def _elements(base: Value) -> Value:
    """An element of a value; of a known text a character, which is a part of it."""
    values = [item.with_elements for item in base.items]
    if base.texts:
        characters = frozenset(character for text in base.texts for character in text)
        values.append(Value(texts=characters))
    return union([*values, Value(origin=base.origin, reached=base.reached)])


def _changed(value: Value, how: str) -> Value:
    """A value after an operation that nobody follows: data stays data."""
    return Value(origin=value.with_elements.origin or how) if _is_text(value) else DATA


def _concatenated(values: list[Value]) -> Value:
    """Texts one behind the other; data in between may be empty, and containers stay containers."""
    if any(value.items for value in values):
        return union(values)
    if all(not _is_text(value) for value in values):
        return DATA
    origin = next((value.origin for value in values if value.origin), "")
    joined = {""}
    has_data = False
    for value in values:
        has_data |= not _is_text(value)
        texts = value.texts or {""}
        joined = {(before + text)[:MAX_TEXT] for before in joined for text in texts}
        if len(joined) > MAX_TEXTS:
            return Value(origin="a choice among many texts")
    first = values[0]
    if origin:  # what begins with a letter is no attribute of Python's own, whatever follows
        plain = first.texts and not first.origin and all(t[:1].isalnum() for t in first.texts)
        return Value(texts=frozenset(first.texts)) if plain else Value(origin=origin)
    return Value(texts=frozenset(joined))
