"""What of a template Jinja acts on: the blocks, cut out as Jinja's own lexer does.

Syntax: jinja.palletsprojects.com/templates. Text outside of ``{{ }}`` and ``{% %}`` is only
printed.
"""

import re
from collections.abc import Iterable, Iterator

#: So many characters of a template are looked through.
MAX_TEMPLATE_CHARS = 512 * 1024

_BEGIN = re.compile(r"\{[{%#]")
#: What the end of a block is looked for among: texts, brackets, and the end itself.
_PIECE = re.compile(
    r"'(?:[^'\\]|\\.)*(?:'|\Z)|\"(?:[^\"\\]|\\.)*(?:\"|\Z)|[-+]?%\}|[-+]?\}\}|[()\[\]{}]", re.DOTALL
)
_RAW = re.compile(r"\{%[-+]?\s*raw\s*[-+]?%\}")
_END_OF_RAW = re.compile(r"\{%[-+]?\s*endraw\s*[-+]?%\}")


def blocks_in(text: str) -> Iterator[str]:
    """What stands in ``{{ }}`` and ``{% %}``, each with its end."""
    return (part for is_block, part in parts_in(text) if is_block)


def parts_in(text: str) -> Iterator[tuple[bool, str]]:
    """Blocks (True) and what is printed as it stands (False), found as Jinja's own lexer does: an
    end in a text or inside of brackets is none, what is raw is printed, a comment is passed over.
    """
    at = 0
    while (begin := _BEGIN.search(text, at)) is not None:
        yield False, text[at : begin.start()]
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
            yield False, text[raw.end() : end.start()]
            at = end.end()
            continue
        stop = _end_of(text, at, begin[0])
        yield True, text[at:stop]
        at = stop
    yield False, text[at:]


def _end_of(text: str, at: int, begin: str) -> int:
    """Where a block ends; the end of the text for one that never does."""
    end = ("}}", "%}")[begin == "{%"]
    depth = 0
    while (piece := _PIECE.search(text, at)) is not None:
        at = piece.end()
        mark = piece[0]
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


def blocks_of(chunks: Iterable[str]) -> Iterator[tuple[bool, str]]:
    """Blocks as the lexer cuts them out, with their ends: whether a tag, and what is in it."""
    for piece in chunks:
        tag = piece.endswith("%}")
        text = piece[:-2] if piece.endswith(("%}", "}}")) else piece
        yield tag, text
