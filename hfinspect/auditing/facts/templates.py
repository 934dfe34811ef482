"""Chat templates, wherever they lie, and what in them reaches for Python's insides.

Jinja's syntax: jinja.palletsprojects.com/templates. Text outside of ``{{ }}`` and ``{% %}`` is only
printed. transformers renders templates in a sandbox that refuses these attributes; other programs
have rendered them without one (CVE-2024-34359).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from .target import Facts

#: So many characters of a template are looked through.
MAX_TEMPLATE_CHARS = 1024 * 1024
#: ``.jinja`` files of one target that are read.
MAX_TEMPLATE_FILES = 32

_COMMENT = re.compile(r"\{#.*?#\}", re.DOTALL)
_CODE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
_STRING = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
_DUNDER = re.compile(r"__[A-Za-z]\w*__", re.ASCII)
_DUNDER_TEXT = re.compile(r"(?:\w+\.)*__[A-Za-z]\w*__(?:\.\w+)*", re.ASCII)
_ESCAPED = re.compile(r"\\(?:x5f|u005f|U0000005f|137|N\{LOW LINE\})", re.IGNORECASE)
#: ``|attr(...)`` of anything but one text; texts are empty where this is searched.
_COMPUTED = re.compile(r"\|\s*attr\s*\((?!\s*''\s*\))")


def danger_in(template: str) -> str | None:
    """What in a template reaches for a dunder attribute, or hides that; None for nothing."""
    text = _COMMENT.sub("", template[:MAX_TEMPLATE_CHARS])
    for block in _CODE.findall(text):
        for string in _STRING.findall(block):
            if _ESCAPED.search(string):
                return f"spells an underscore as an escape: {string:.60}"
            if _DUNDER_TEXT.fullmatch(string[1:-1]):
                return f"names the attribute {string:.60}"
        bare = _STRING.sub("''", block)
        match = _DUNDER.search(bare)
        if match is not None:
            return f"names the attribute {match[0]:.60}"
        if _COMPUTED.search(bare):
            return "computes the name of an attribute (filter attr)"
    return None


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
