"""Jinja's templates as trees: a lexer and a parser for what stands in ``{{ }}`` and ``{% %}``.

Syntax: jinja.palletsprojects.com/templates, and the tags that transformers adds (generation) or
switches on (break, continue, do). Nothing is evaluated. A node is a tuple whose first item is its
kind: ``("name", text)``, ``("const", value)``, ``("attr", of, name)``, ``("item", of, key)``,
``("slice", parts)``, ``("call", of, args, keywords)``, ``("filter", of, name, args, keywords)``,
``("test", of, name, args)``, ``("concat", items)``, ``("op", sign, items)``, ``("if", items)``,
``("list", items)``, ``("dict", keys, values)``.
"""

import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple, TypeAlias

#: A node; its items are nodes, texts and tuples of nodes.
Node: TypeAlias = tuple[Any, ...]
#: Brackets and operators in one another.
MAX_DEPTH: Final = 60
#: Tokens of one template; the longest known have some thousands.
MAX_TOKENS: Final = 200_000

_TOKEN: Final = re.compile(
    r"\s*(?:(?P<name>[^\W\d]\w*)|(?P<number>\d[\d_]*(?:\.\d[\d_]*)?(?:[eE][+-]?\d+)?)"
    r"|(?P<text>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")"
    r"|(?P<sign>\*\*|//|==|!=|<=|>=|[-+*/%~<>=.,:|()\[\]{};]))",
    re.DOTALL,
)
_CONSTANTS: Final = {
    "true": True,
    "True": True,
    "false": False,
    "False": False,
    "none": None,
    "None": None,
}
_COMPARISONS: Final = ("==", "!=", "<", ">", "<=", ">=")


#: Words that end a test.
_WORDS: Final = ("else", "or", "and", "if", "is", "in", "not")


class NotJinjaError(Exception):
    """A block that Jinja's grammar does not have, or that is too deep."""


class Token(NamedTuple):
    """``kind`` is name, number, text or sign; ``text`` of a text is what it spells."""

    kind: str
    text: str


def tokens(block: str) -> list[Token]:
    """The tokens of one block. Raises NotJinjaError."""
    tokens_read: list[Token] = []
    at = 0
    end = len(block.rstrip())
    while at < end:
        match = _TOKEN.match(block, at)
        if match is None:
            raise NotJinjaError(f"{block[at : at + 20].strip()!a} is not a token")
        at = match.end()
        kind = match.lastgroup or ""
        text = match[kind]
        tokens_read.append(Token(kind, _decoded_text(text[1:-1]) if kind == "text" else text))
        if len(tokens_read) > MAX_TOKENS:
            raise NotJinjaError(f"more than {MAX_TOKENS:,} tokens")
    return tokens_read


_ESCAPE: Final = re.compile(
    r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{1,3})|(.))", re.DOTALL
)
_SIMPLE: Final = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "v": "\v",
    "\n": "",
    "\\": "\\",
    "'": "'",
    '"': '"',
}


def _decoded_text(text: str) -> str:
    """What a text spells; Jinja decodes escapes as Python does."""
    return _ESCAPE.sub(_unescaped, text) if "\\" in text else text


def _unescaped(match: re.Match[str]) -> str:
    *digits, octal, simple = match.groups()
    number = next((part for part in digits if part), None)
    if number is not None and int(number, 16) < 0x110000:
        return chr(int(number, 16))
    if octal is not None:
        return chr(int(octal, 8))
    if simple is None or simple in "xuUN":
        raise NotJinjaError("a text has a broken escape, or one by name")
    return str(_SIMPLE.get(simple, match[0]))


class Parser:
    """Reads the tokens of one block."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0

    def at_end(self) -> bool:
        return self._at >= len(self._tokens)

    def peek(self, ahead: int = 0) -> Token:
        at = self._at + ahead
        return self._tokens[at] if at < len(self._tokens) else Token("end", "")

    def take(self, *texts: str) -> bool:
        """Pass over a sign or a word that is one of these; False where it is none."""
        token = self.peek()
        if token.kind in ("sign", "name") and token.text in texts:
            self._at += 1
            return True
        return False

    def need(self, text: str) -> None:
        if not self.take(text):
            raise NotJinjaError(f"{self.peek().text[:20]!a} where {text} is expected")

    def name(self) -> str:
        token = self.peek()
        if token.kind != "name":
            raise NotJinjaError(f"{token.text[:20]!a} is not a name")
        self._at += 1
        return token.text

    # ---- expressions, the loosest first

    def expression(self) -> Node:
        """With an inline condition."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise NotJinjaError(f"nested more than {MAX_DEPTH} deep")
        value = self._either("or", ("and",))
        while self.take("if"):
            condition = self._either("or", ("and",))
            other = self.expression() if self.take("else") else ("const", "")
            value = ("if", (value, other, condition))
        self._depth -= 1
        return value

    def tuple_(self) -> Node:
        """One expression, or several with commas, which make a list."""
        first = self.expression()
        if self.peek() != Token("sign", ","):
            return first
        items = [first]
        while self.take(","):
            if self.at_end() or self.peek().text in (")", "]", "}", "="):
                break
            items.append(self.expression())
        return ("list", tuple(items))

    def _either(self, word: str, tighter: tuple[str, ...]) -> Node:
        value = self._either(tighter[0], ()) if tighter else self._not()
        while self.take(word):
            value = ("if", (value, self._either(tighter[0], ()) if tighter else self._not()))
        return value

    def _not(self) -> Node:
        if self.take("not"):
            return ("op", "not", (self._not(),))
        return self._compared()

    def _compared(self) -> Node:
        items = [self._sum()]
        signs: list[str] = []
        while True:
            inverted = self.peek().text == "not" and self.peek(1) == Token("name", "in")
            if inverted:
                self._at += 1
            signs.append("not in" if inverted else self.peek().text)
            if not self.take(*_COMPARISONS, "in"):
                break
            items.append(self._sum())
        return ("op", signs[0], tuple(items)) if len(items) > 1 else items[0]

    def _sum(self) -> Node:
        value = self._joined()
        while (sign := self.peek().text) in ("+", "-") and self.take("+", "-"):
            other = self._joined()
            value = ("concat", (value, other)) if sign == "+" else ("op", sign, (value, other))
        return value

    def _joined(self) -> Node:
        items = [self._product()]
        while self.take("~"):
            items.append(self._product())
        return ("concat", tuple(items)) if len(items) > 1 else items[0]

    def _product(self) -> Node:
        value = self._signed()
        while (sign := self.peek().text) in ("*", "/", "//", "%") and self.take(sign):
            value = ("op", sign, (value, self._signed()))
        return value

    def _signed(self) -> Node:
        if self.take("-", "+"):
            return self._behind(("op", "-", (self._signed(),)), filters=True)
        value = self._behind(self._primary(), filters=True)
        while self.take("**"):
            value = ("op", "**", (value, self._signed()))
        return value

    def _primary(self) -> Node:
        token = self.peek()
        self._at += 1
        if token.kind == "name":
            if token.text in _CONSTANTS:
                return ("const", _CONSTANTS[token.text])
            return ("name", token.text)
        if token.kind == "number":
            return ("const", 0)
        if token.kind == "text":
            text = token.text
            while self.peek().kind == "text":  # texts next to each other are one
                text += self.peek().text
                self._at += 1
            return ("const", text)
        if token.text == "(":
            value = ("list", ()) if self.peek().text == ")" else self.tuple_()
            self.need(")")
            return value
        if token.text == "[":
            return ("list", self._items("]"))
        if token.text == "{":
            return self._dict()
        raise NotJinjaError(f"{token.text[:20]!a} begins no expression")

    def _items(self, end: str) -> tuple[Node, ...]:
        items: list[Node] = []
        while not self.take(end):
            items.append(self.expression())
            if not self.take(","):
                self.need(end)
                break
        return tuple(items)

    def _dict(self) -> Node:
        keys: list[Node] = []
        values: list[Node] = []
        while not self.take("}"):
            keys.append(self.expression())
            self.need(":")
            values.append(self.expression())
            if not self.take(","):
                self.need("}")
                break
        return ("dict", tuple(keys), tuple(values))

    def _behind(self, value: Node, *, filters: bool) -> Node:
        """Attributes, subscripts, calls, filters and tests behind a value."""
        while True:
            if self.take("."):
                token = self.peek()
                self._at += 1
                if token.kind not in ("name", "number"):
                    raise NotJinjaError(f"{token.text[:20]!a} is not an attribute")
                value = ("attr", value, token.text)
            elif self.take("["):
                value = ("item", value, self._subscript())
            elif self.take("("):
                value = ("call", value, *self._arguments())
            elif filters and self.take("|"):
                value = ("filter", value, self._dotted(), *self._optional_arguments())
            elif filters and self.take("is"):
                self.take("not")
                value = self._test(value)
            else:
                return value

    def _dotted(self) -> str:
        name = self.name()
        while self.take("."):
            name += f".{self.name()}"
        return name

    def _test(self, value: Node) -> Node:
        name = self._dotted()
        args: tuple[Node, ...] = ()
        token = self.peek()
        if self.take("("):
            args = self._arguments()[0]
        elif (
            token.kind in ("text", "number")
            or (token.kind == "name" and token.text not in _WORDS)
            or token.text in ("[", "{")
        ):
            args = (self._behind(self._primary(), filters=False),)
        return ("test", value, name, args)

    def _optional_arguments(self) -> tuple[tuple[Node, ...], tuple[tuple[str, Node], ...]]:
        return self._arguments() if self.take("(") else ((), ())

    def _arguments(self) -> tuple[tuple[Node, ...], tuple[tuple[str, Node], ...]]:
        """Behind the opening bracket: values, and values by name (``**`` for all of a dict)."""
        args: list[Node] = []
        keywords: list[tuple[str, Node]] = []
        while not self.take(")"):
            if self.take("**"):
                keywords.append(("**", self.expression()))
            elif self.take("*"):
                args.append(("item", self.expression(), ("const", 0)))
            elif self.peek().kind == "name" and self.peek(1) == Token("sign", "="):
                name = self.name()
                self.need("=")
                keywords.append((name, self.expression()))
            else:
                args.append(self.expression())
            if not self.take(","):
                self.need(")")
                break
        return tuple(args), tuple(keywords)

    def _subscript(self) -> Node:
        parts: list[Node] = []
        is_slice = False
        while not self.take("]"):
            if self.take(":"):
                is_slice = True
            elif self.take(","):
                continue
            else:
                parts.append(self.expression())
        if is_slice:
            return ("slice", tuple(parts))
        return parts[0] if len(parts) == 1 else ("list", tuple(parts))
