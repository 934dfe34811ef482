"""As much of C++ as llama.cpp's loaders are written in: statements and expressions as lists.

An expression is a number, a name (``["name", "hparams.n_ff"]``), a text (``["text", ...]``), a call
(``["call", name, [arguments]]``), an item (``["item", array, index]``), an operation
(``["+", a, b]``, ``["!", a]``, ``["?", condition, a, b]``) or braces (``["braces", [items]]``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\])*\"", re.S)
_TOKEN = re.compile(
    r"\s*(\"(?:\\.|[^\"\\])*\"|\d+\.?\d*(?:[eE][-+]?\d+)?[fuUlL]*|[A-Za-z_]\w*(?:::~?[A-Za-z_]\w*)*|"
    r"->|\+\+|--|\|\||&&|[=!<>+\-*/|]=|[-+*/%<>=!&|^~?:;,.()\[\]{}])"
)
_WORD = re.compile(r"[A-Za-z_]")
_LEVELS = (
    ("||",), ("&&",), ("|",), ("&",), ("==", "!="), ("<", ">", "<=", ">="), ("+", "-"),
    ("*", "/", "%"),
)  # fmt: skip
_TYPES = frozenset(
    "const auto int int32_t int64_t uint32_t uint64_t size_t bool float double void struct static"
    " ggml_tensor llama_token char unsigned long".split()
)
_CASTS = _TYPES - {"const", "auto", "static", "struct"}

Tree = Any


class CppError(Exception):
    """Something that this reader does not know."""


def without_comments(text: str) -> str:
    return _COMMENT.sub(lambda m: m[0] if m[0].startswith('"') else " ", text)


def tokens(text: str) -> list[str]:
    words = []
    at = 0
    text = re.sub(r"^\s*#.*$", "", without_comments(text), flags=re.M)
    while match := _TOKEN.match(text, at):
        words.append(match[1])
        at = match.end()
    if text[at:].strip():
        raise CppError(f"no token: {text[at : at + 40]!r}")
    return words


def functions(text: str) -> Mapping[str, tuple[list[str], str]]:
    """Name -> (parameters, text of the body) of every function at the start of a line."""
    made: dict[str, tuple[list[str], str]] = {}
    text = without_comments(text)
    for match in re.finditer(
        r"^[\w:<>*&\s]*?\b([\w:]+)\(([^;{}]*)\)(?: const)? \{\n(.*?)^\}", text, re.M | re.S
    ):
        parameters = [part.split("=")[0].split()[-1].lstrip("*&") for part in match[2].split(",")
                      if part.strip()]  # fmt: skip
        made[match[1]] = (parameters, match[3])
    return made


class Reader:
    """Statements of one body."""

    def __init__(self, words: list[str]) -> None:
        self.words = words
        self.at = 0

    def peek(self, ahead: int = 0) -> str:
        place = self.at + ahead
        return self.words[place] if place < len(self.words) else ""

    def take(self, expected: str | None = None) -> str:
        word = self.peek()
        if expected is not None and word != expected:
            raise CppError(f"{word!r} where {expected!r} was expected")
        self.at += 1
        return word

    def all(self) -> list[Tree]:
        made = []
        while self.at < len(self.words):
            made.append(self.statement())
        return made

    def block(self) -> list[Tree]:
        if self.peek() != "{":
            return [self.statement()]
        self.take("{")
        made = []
        while self.peek() != "}":
            made.append(self.statement())
        self.take("}")
        return made

    def statement(self) -> Tree:
        word = self.peek()
        if word == "{":
            return ["block", self.block()]
        if word == ";":
            self.take()
            return ["block", []]
        if word == "if":
            return self._if()
        if word == "for":
            return self._for()
        if word == "switch":
            self.take()
            self._skipped("(", ")")
            return ["switch", self._skipped("{", "}")]
        if word == "try":
            self.take()
            body = self.block()
            self.take("catch")
            self._skipped("(", ")")
            self._skipped("{", "}")
            return ["unknown", body]
        simple = self._until_semicolon()
        return _simple(simple)

    def _if(self) -> Tree:
        self.take("if")
        condition = self._skipped("(", ")")
        body = self.block()
        other = []
        if self.peek() == "else":
            self.take()
            other = self.block()
        return ["if", _condition(condition), body, other]

    def _for(self) -> Tree:
        self.take("for")
        head = self._skipped("(", ")")
        body = self.block()
        parts = _split(head, ";")
        if len(parts) != 3:
            return ["unknown", body]
        target = _simple(parts[0])
        condition = _expression(parts[1])
        if target[0] != "let" or condition[0] != "<" or condition[1] != ["name", target[1]]:
            return ["unknown", body]
        return ["for", target[1], target[2], condition[2], body]

    def _skipped(self, opening: str, closing: str) -> list[str]:
        self.take(opening)
        start = self.at
        depth = 1
        while depth:
            word = self.take()
            if not word:
                raise CppError(f"no {closing}")
            depth += (word == opening) - (word == closing)
        return self.words[start : self.at - 1]

    def _until_semicolon(self) -> list[str]:
        start = self.at
        depth = 0
        while True:
            word = self.take()
            if not word:
                raise CppError("no ;")
            if word in "([{":
                depth += 1
            elif word in ")]}":
                depth -= 1
            elif word == ";" and not depth:
                return self.words[start : self.at - 1]


def body_of(text: str) -> list[Tree]:
    return Reader(tokens(text)).all()


def _condition(words: list[str]) -> Tree:
    made = _simple(words) if "=" in words else _expression(words)
    return made[2] if made[0] in ("let", "set") else made


def _simple(words: list[str]) -> Tree:
    """A statement without braces of its own: a declaration, an assignment, or an expression."""
    if not words:
        return ["block", []]
    if words[0] in ("return", "throw", "continue", "break", "using", "typedef"):
        rest = words[1:]
        if words[0] == "return" and rest:
            return ["return", _expression(rest)]
        return [words[0]]
    place = _top_level(words, ("=", "|=", "+=", "-=", "*=", "/="))
    if place is None and words[0] == "std::string" and words[2:3] == ["("]:
        return ["let", words[1], _expression(words[3:-1])]
    if place is None:
        if words[-1] in ("++", "--") or _declares(words):
            return ["let", words[-1], 0] if _declares(words) else ["unknown", []]
        return ["do", _expression(words)]
    left = words[:place]
    right = words[place + 1 :]
    if right[:3] == ["[", "&", "]"]:
        return _lambda(left[-1], right[3:])
    value = _expression(right)
    if words[place] != "=":
        target = _expression(left)
        return ["set", target, [words[place][0], target, value]]
    if _declares(left):
        return ["let", left[-1], value]
    return ["set", _expression(left), value]


def _declares(left: list[str]) -> bool:
    if len(left) < 2 or not _WORD.match(left[-1]):
        return False
    return left[0] in _TYPES or left[0].startswith("std::") or bool(_WORD.match(left[-2]))


def _lambda(name: str, words: list[str]) -> Tree:
    reader = Reader(words)
    head = reader._skipped("(", ")")
    body = reader.block()
    parameters = [part[-1] for part in _split(head, ",") if part]
    return ["def", name, parameters, body]


def _top_level(words: list[str], wanted_words: tuple[str, ...]) -> int | None:
    depth = 0
    for place, word in enumerate(words):
        if word in ("(", "[", "{"):
            depth += 1
        elif word in (")", "]", "}"):
            depth -= 1
        elif not depth and word in wanted_words:
            return place
    return None


def _split(words: list[str], at: str) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    depth = 0
    for word in words:
        if word in ("(", "[", "{"):
            depth += 1
        elif word in (")", "]", "}"):
            depth -= 1
        if word == at and not depth:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def _expression(words: list[str]) -> Tree:
    reader = _Expressions(words)
    made = reader.choice()
    if reader.at != len(words):
        return ["unknown"]
    return made


class _Expressions:
    def __init__(self, words: list[str]) -> None:
        self.words = words
        self.at = 0

    def peek(self, ahead: int = 0) -> str:
        place = self.at + ahead
        return self.words[place] if place < len(self.words) else ""

    def take(self) -> str:
        self.at += 1
        return self.words[self.at - 1] if self.at <= len(self.words) else ""

    def choice(self) -> Tree:
        condition = self.operation(0)
        if self.peek() != "?":
            return condition
        self.take()
        first = self.choice()
        self.take()
        return ["?", condition, first, self.choice()]

    def operation(self, level: int) -> Tree:
        if level == len(_LEVELS):
            return self.unary()
        left = self.operation(level + 1)
        while self.peek() in _LEVELS[level]:
            sign = self.take()
            left = [sign, left, self.operation(level + 1)]
        return left

    def unary(self) -> Tree:
        word = self.peek()
        if word in ("!", "-", "*", "&", "+"):
            self.take()
            inner = self.unary()
            return inner if word in "*&+" else [word, inner]
        if word == "(" and self.peek(1) in _CASTS and self.peek(2) == ")":
            self.at += 3
            return self.unary()
        return self.postfix(self.primary())

    def primary(self) -> Tree:
        word = self.take()
        if word == "(":
            inner = self.choice()
            self.take()
            return inner
        if word == "{":
            return ["braces", self.arguments("}")]
        if word.startswith('"'):
            return ["text", word[1:-1]]
        if word[:1].isdigit():
            text = word.rstrip("fuUlL")
            return float(text) if "." in text or "e" in text else int(text)
        if not word or not _WORD.match(word):
            return ["unknown"]
        if word in ("true", "false"):
            return word == "true"
        if word in ("nullptr", "NULL"):
            return ["null"]
        if self.peek() == "<" and word in ("static_cast", "std::max", "std::min", "std::vector"):
            while self.take() != ">":
                pass
        return ["name", word]

    def postfix(self, made: Tree) -> Tree:
        while self.peek() in ("(", "[", ".", "->"):
            sign = self.take()
            if sign == "(":
                made = ["call", made, self.arguments(")")]
            elif sign == "[":
                index = self.choice()
                self.take()
                made = ["item", made, index]
            else:
                made = ["member", made, self.take()]
        return made

    def arguments(self, closing: str) -> list[Tree]:
        made = []
        while self.peek() != closing:
            if self.at >= len(self.words):
                return [["unknown"]]
            made.append(self.choice())
            if self.peek() == ",":
                self.take()
            elif self.peek() != closing:
                self.at += 1
        self.take()
        return made
