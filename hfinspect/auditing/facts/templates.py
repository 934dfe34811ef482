"""Chat templates, wherever they lie, and what in them reaches for Python's insides.

Jinja's syntax: jinja.palletsprojects.com/templates. Text outside of ``{{ }}`` and ``{% %}`` is only
printed. transformers renders templates in a sandbox that refuses these attributes; other programs
have rendered them without one (CVE-2024-34359).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from .target import TargetFacts
from .template_flow import blocks_of, flow_danger

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
#: Attributes that lead out of a template, inside of a longer text.
_WAYS_OUT = re.compile(
    r"__(?:class|globals|builtins|import|subclasses|mro|bases?|getattribute|code|closure)__"
)


def danger_in(template: str) -> str | None:
    """What in a template reaches for a dunder attribute, or hides that; None for nothing."""
    blocks = list(_blocks(template[:MAX_TEMPLATE_CHARS]))
    for block in blocks:
        for string in _STRING.findall(block):
            if _ESCAPED.search(string):
                return f"spells an underscore as an escape: {string:.60}"
            if _DUNDER_TEXT.fullmatch(string[1:-1]):
                return f"names the attribute {string:.60}"
            if match := _WAYS_OUT.search(string):
                return f"names the attribute {match[0]} in a text"
        match = _DUNDER.search(_STRING.sub("''", block))
        if match is not None:
            return f"names the attribute {match[0]:.60}"
    return flow_danger(blocks_of(blocks))


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
        at, mark = piece.end(), piece[0]
        if mark[0] in "'\"":
            continue
        if not depth and mark.endswith(end):
            return at
        if mark.endswith("}}"):
            at -= 1  # the first of two brackets
        if mark in ("(", "[", "{"):
            depth += 1
        elif mark[-1] in ")]}":
            depth = max(depth - 1, 0)
    return len(text)


def templates(facts: TargetFacts) -> Iterator[tuple[str, str, str]]:
    """(file, name, template) of every chat template."""
    yield from ((path, "the template", text) for path, text in facts.templates.items())
    for fact in facts.json.values():
        yield from ((fact.path, name, text) for name, text in _in_config(fact.mapping or {}))
    for weight in facts.weights.values():
        for key, value in (weight.shard.metadata if weight.shard is not None else {}).items():
            if key.startswith("tokenizer.chat_template") and isinstance(value, str):
                yield weight.path, key, value


def _in_config(config: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    template = config.get("chat_template")
    if isinstance(template, str):
        yield "chat_template", template
    pairs: list[tuple[object, object]] = []
    if isinstance(template, Mapping):
        pairs = list(template.items())
    elif isinstance(template, list):
        pairs = [(i.get("name"), i.get("template")) for i in template if isinstance(i, Mapping)]
    for name, text in pairs:
        if isinstance(text, str):
            yield f"chat_template {name}", text
