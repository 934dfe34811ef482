"""Chat templates, wherever they lie, and what in them reaches for Python's insides.

Jinja's syntax: jinja.palletsprojects.com/templates. Text outside of ``{{ }}`` and ``{% %}`` is only
printed. transformers renders templates in a sandbox that refuses these attributes; other programs
have rendered them without one (CVE-2024-34359).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from .target import Facts

#: So many characters of a template are looked through.
MAX_TEMPLATE_CHARS = 512 * 1024
#: ``.jinja`` files of one target that are read.
MAX_TEMPLATE_FILES = 32

_BEGIN = re.compile(r"\{[{%#]")
#: What the end of a block is looked for among: texts, brackets, and the end itself.
_PIECE = re.compile(
    r"'(?:[^'\\]|\\.)*(?:'|\Z)|\"(?:[^\"\\]|\\.)*(?:\"|\Z)|[-+]?%\}|[-+]?\}\}|[()\[\]{}]", re.DOTALL
)
_RAW = re.compile(r"\{%[-+]?\s*raw\s*[-+]?%\}")
_END_OF_RAW = re.compile(r"\{%[-+]?\s*endraw\s*[-+]?%\}")
#: One that never ends goes to the end: Jinja refuses such a template.
_STRING = re.compile(r"'(?:[^'\\]|\\.)*(?:'|\Z)|\"(?:[^\"\\]|\\.)*(?:\"|\Z)", re.DOTALL)
_DUNDER = re.compile(r"__[A-Za-z]\w*__", re.ASCII)
_DUNDER_TEXT = re.compile(r"(?:\w+\.)*__[A-Za-z]\w*__(?:\.\w+)*", re.ASCII)
_ESCAPED = re.compile(r"\\(?:x5f|u005f|U0000005f|137|N\{LOW LINE\})", re.IGNORECASE)
#: One half of such a name, as ``'__in' ~ 'it__'`` has it; a token such as ``__`` alone is none.
_HALF = re.compile(r"__[A-Za-z]\w{0,30}|\w{0,30}[A-Za-z]__", re.ASCII)
#: ``|attr(...)`` of anything but one text; texts are empty where this is searched.
_COMPUTED = re.compile(r"\|\s*attr\s*\((?!\s*''\s*\))")
#: Attributes that lead out of a template, inside of a longer text.
_WAYS_OUT = re.compile(
    r"__(?:class|globals|builtins|import|subclasses|mro|bases?|getattribute|code|closure)__"
)
#: Objects of Jinja's own whose attributes no conversation needs.
_GLOBALS = re.compile(r"\b(?:lipsum|cycler|joiner)\s*[.\[|]")
#: What begins like this is no attribute of that kind, whatever follows: ``x['role_' ~ y]``.
_PLAIN_BEGINNING = re.compile(r"\[\s*(?:'[A-Za-z0-9][^'\\]*'|\"[A-Za-z0-9][^\"\\]*\")(?=\s*[~+])")
_TOKEN = re.compile(r"''|[()\[\]{}~+*%|]|[^\s()\[\]{}~+*%|']+")


def danger_in(template: str) -> str | None:
    """What in a template reaches for a dunder attribute, or hides that; None for nothing."""
    for block in _blocks(template[:MAX_TEMPLATE_CHARS]):
        for string in _STRING.findall(block):
            if _ESCAPED.search(string):
                return f"spells an underscore as an escape: {string:.60}"
            if _DUNDER_TEXT.fullmatch(string[1:-1]):
                return f"names the attribute {string:.60}"
            if _HALF.fullmatch(string[1:-1]):
                return f"names half of an attribute, {string:.60}"
            if match := _WAYS_OUT.search(string):
                return f"names the attribute {match[0]} in a text"
        bare = _STRING.sub("''", block)
        match = _DUNDER.search(bare)
        if match is not None:
            return f"names the attribute {match[0]:.60}"
        if _COMPUTED.search(bare):
            return "computes the name of an attribute (filter attr)"
        if match := _GLOBALS.search(bare):
            return f"reaches into {match[0]:.60}"
        if _is_built(_STRING.sub("''", _PLAIN_BEGINNING.sub("[0", block))):
            return "puts the name of an attribute together"
    return None


def _blocks(text: str) -> Iterator[str]:
    """What stands in ``{{ }}`` and ``{% %}``, found as Jinja's own lexer does: an end in a text or
    inside of brackets is none, what is raw or a comment is passed over."""
    at = 0
    while (begin := _BEGIN.search(text, at)) is not None:
        at = begin.end()
        if begin[0] == "{#":
            stop = text.find("#}", at)
            if stop < 0:
                return
            at = stop + 2
            continue
        if (raw := _RAW.match(text, begin.start())) is not None:
            end = _END_OF_RAW.search(text, raw.end())
            if end is None:
                return
            at = end.end()
            continue
        stop = _end_of(text, at, begin[0])
        yield text[at:stop]
        at = stop


def _end_of(text: str, at: int, begin: str) -> int:
    """Where a block ends; the end of the text for one that never does."""
    end, depth = ("}}", "%}")[begin == "{%"], 0
    while (piece := _PIECE.search(text, at)) is not None:
        at, found = piece.end(), piece[0]
        if found[0] in "'\"":
            continue
        if not depth and found.endswith(end):
            return at
        if found.endswith("}}"):
            at -= 1  # the first of two brackets
        if found in ("(", "[", "{"):
            depth += 1
        elif found[-1] in ")]}":
            depth = max(depth - 1, 0)
    return len(text)


class _Bracket(NamedTuple):
    """An open bracket: whether it is a subscript, and whether a text and an operator were seen."""

    subscript: bool
    text: bool = False
    changed: bool = False


def _has_parts(before: str) -> bool:
    """Whether ``[`` behind this is a subscript, and not a list."""
    return (
        bool(before)
        and (before[-1].isalnum() or before[-1] in "_)]'")
        and (before not in ("in", "not", "and", "or", "if", "else", "is", "set", "do", "elif"))
    )


def _is_built(bare: str) -> bool:
    """Whether a subscript is a text that is put together or changed: ``x['a' ~ b]``,
    ``x['ba'[::-1]]``, ``x[(a, 'b')|join]``. Texts are empty in ``bare``."""
    brackets = [_Bracket(False)]
    before = ""
    for piece in _TOKEN.findall(bare):
        here = brackets[-1]
        if piece == "[" and before == "''":
            brackets[-1] = here._replace(changed=True)
        if piece in ("(", "[", "{"):
            brackets.append(_Bracket(piece == "[" and _has_parts(before)))
        elif piece in (")", "]", "}"):
            if here.subscript and here.text and here.changed:
                return True
            if len(brackets) > 1:
                brackets.pop()
                if not here.subscript:
                    outer = brackets[-1]
                    brackets[-1] = outer._replace(
                        text=outer.text or here.text, changed=outer.changed or here.changed
                    )
        elif piece == "''":
            brackets[-1] = here._replace(text=True)
        elif piece in "~+*%|":
            brackets[-1] = here._replace(changed=True)
        before = piece
    return False


def templates(facts: Facts) -> Iterator[tuple[str, str, str]]:
    """(file, name, template) of every chat template."""
    yield from ((path, "the template", text) for path, text in facts.templates.items())
    for fact in facts.json.values():
        yield from ((fact.path, name, text) for name, text in _in_config(fact.mapping or {}))
    for weight in facts.weights.values():
        for key, value in (weight.shard.metadata if weight.shard is not None else {}).items():
            if key.startswith("tokenizer.chat_template") and isinstance(value, str):
                yield weight.path, key, value


def _in_config(config: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    found = config.get("chat_template")
    if isinstance(found, str):
        yield "chat_template", found
    pairs: list[tuple[object, object]] = []
    if isinstance(found, Mapping):
        pairs = list(found.items())
    elif isinstance(found, list):
        pairs = [(i.get("name"), i.get("template")) for i in found if isinstance(i, Mapping)]
    for name, text in pairs:
        if isinstance(text, str):
            yield f"chat_template {name}", text
