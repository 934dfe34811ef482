"""A template's blocks in their order: which expressions they evaluate, which names they assign."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Final

from .template_syntax import Node, NotJinjaError, Parser

#: Tags that end a block, or stand in one.
_PASSED: Final = frozenset("else break continue debug generation raw trans pluralize".split())
#: Tags that hold expressions, some with a name and a sign in front.
_PLAIN: Final = frozenset(
    "if elif do include import from extends block with autoescape filter".split()
)
#: Words of theirs that are no expressions.
_BETWEEN: Final = tuple(", ignore missing with without context import as scoped required".split())


class TagReader(ABC):
    """Goes through blocks; what it comes upon is for the class below to heed."""

    @abstractmethod
    def evaluated(self, node: Node) -> None:
        """An expression whose value is printed, or decides."""

    @abstractmethod
    def assigned(self, targets: Sequence[str], node: Node | None, *, loop: bool = False) -> None:
        """An expression is assigned to names; None is the text of a block that follows. In a
        ``loop`` each of its elements is. A name that begins with a dot is an attribute of any
        namespace: they are one for all."""

    @abstractmethod
    def macro(self, name: str, parameters: tuple[str, ...]) -> None:
        """A macro begins; ``caller`` is the one that a call block makes."""

    def block(self, tag: bool, parser: Parser) -> None:
        """One block. Raises NotJinjaError."""
        if parser.at_end():
            return
        if not tag:
            while not parser.at_end():
                self.evaluated(parser.tuple_())
                parser.take(",")
            return
        name = parser.name()
        if name.startswith("end") or name in _PASSED:
            return
        handler: Callable[[Parser], None] | None = getattr(self, f"_tag_{name}", None)
        if handler is None and name not in _PLAIN:
            raise NotJinjaError(f"the tag {name[:20]!a} is unknown")
        (handler or self._plain_tag)(parser)

    def _plain_tag(self, parser: Parser) -> None:
        while not parser.at_end():
            if parser.peek().kind == "name" and parser.peek(1).text == "=":
                name = parser.name()
                parser.need("=")
                self.assigned([name], parser.expression())
            elif not parser.take(*_BETWEEN):
                self.evaluated(parser.expression())

    def _tag_set(self, parser: Parser) -> None:
        targets = self._targets(parser)
        self.assigned(targets, parser.tuple_() if parser.take("=") else None)

    def _targets(self, parser: Parser) -> list[str]:
        targets = [self._target(parser)]
        while parser.take(","):
            targets.append(self._target(parser))
        return targets

    def _target(self, parser: Parser) -> str:
        if parser.take("("):
            return self._target(parser)
        name = parser.name()
        while parser.take("."):
            name = f".{parser.name()}"
        parser.take(")")
        return name

    def _tag_for(self, parser: Parser) -> None:
        targets = self._targets(parser)
        parser.need("in")
        self.assigned(targets, parser.tuple_(), loop=True)
        if parser.take("if"):
            self.evaluated(parser.expression())

    def _tag_macro(self, parser: Parser) -> None:
        name = parser.name()
        self.macro(name, self._parameters(parser))

    def _tag_call(self, parser: Parser) -> None:
        if parser.peek().text == "(":
            self.macro("caller", self._parameters(parser))
        self.evaluated(parser.expression())

    def _parameters(self, parser: Parser) -> tuple[str, ...]:
        names: list[str] = []
        parser.need("(")
        while not parser.take(")"):
            name = parser.name()
            names.append(name)
            if parser.take("="):
                self.assigned([name], parser.expression())
            parser.take(",")
        return tuple(names)
