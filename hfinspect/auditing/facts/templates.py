"""Chat templates, wherever they lie, and what in them reaches for Python's insides.

Jinja's syntax: jinja.palletsprojects.com/templates. Text outside of ``{{ }}`` and ``{% %}`` is only
printed. transformers renders templates in a sandbox that refuses these attributes; other programs
have rendered them without one (CVE-2024-34359).
"""

import re
from collections.abc import Iterator

from ...analysis.template_abilities import templates_in
from ...formats.jinja.template_blocks import MAX_TEMPLATE_CHARS, blocks_in, blocks_of
from .target import TargetFacts
from .template_flow import flow_danger

#: ``.jinja`` files of one target that are read.
MAX_TEMPLATE_FILES = 32

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
    blocks = list(blocks_in(template[:MAX_TEMPLATE_CHARS]))
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


def templates(facts: TargetFacts) -> Iterator[tuple[str, str, str]]:
    """(file, name, template) of every chat template."""
    yield from ((path, "the template", text) for path, text in facts.templates.items())
    for fact in facts.json.values():
        for name, text in templates_in(fact.mapping or {}):
            yield fact.path, f"chat_template {name}".rstrip(), text
    for weight in facts.weights.values():
        for key, value in (weight.shard.metadata if weight.shard is not None else {}).items():
            if key.startswith("tokenizer.chat_template") and isinstance(value, str):
                yield weight.path, key, value
