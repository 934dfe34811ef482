"""A block for a model card: Markdown between two comments, which a later run replaces in place."""

import re
from typing import Final

from .._version import __version__
from ..core.results import Inspection
from ..errors import UsageError
from .document import Block, Document, Facts, Paragraph
from .markdown import escaped
from .markdown import render as as_markdown

#: The name of the picture next to a card.
PICTURE: Final = "hfinspect.svg"
BEGIN: Final = (
    "<!-- hfinspect: begin. `hfinspect MODEL --update README.md` replaces this block. -->"
)
END: Final = "<!-- hfinspect: end -->"

_BEGIN = re.compile(r"<!-- hfinspect: begin\b[^\n]*-->\s*")
_END = re.compile(re.escape(END) + r"\s*")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")

#: What says where on this machine or when it was read: not a property of the model.
_LEFT_OUT: Final = frozenset({"path", "files", "chosen", "location", "on the Hub"})


def render(inspection: Inspection, document: Document) -> str:
    """The block. ``document`` is the inspection's own layout; without what concerns this machine
    and without remarks, which are for the one who writes the card."""
    blocks = [before for block in document.blocks if (before := _for_card(block)) is not None]
    picture = f"![Where the parameters are: {escaped(document.summary)}]({PICTURE})"
    body = as_markdown(Document("", tuple(blocks), None, document.summary))
    return "\n\n".join((BEGIN, "## What is inside", picture, body, _source(inspection), END))


def _for_card(block: Block) -> Block | None:
    if isinstance(block, Paragraph):
        return None
    if isinstance(block, Facts):
        items = tuple(item for item in block.items if item[0] not in _LEFT_OUT)
        return Facts(items) if items else None
    return block


def _source(inspection: Inspection) -> str:
    read = "config.json" if inspection.source == "config" else "the headers of the weight files"
    origin = inspection.origin
    at = f" at commit `{origin.commit[:12]}`" if origin.commit else ""
    return f"Counted by hfinspect {__version__} from {read}{at}; no weight was loaded."


def replaced(text: str, block: str, name: str) -> str:
    """A card with the block in place of the one that it has, or at its end. Comments inside code
    are text. Doing it twice changes nothing; line ends stay as they are.

    Raises UsageError where the comments of ``name`` are not one pair, and where its code does not
    end.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = text.splitlines(keepends=True)
    begins, ends, opened = _marks(lines)
    if opened:
        raise UsageError(
            name, f"ends inside the code that begins in line {opened}", expected="a closing fence"
        )
    new = block.replace("\n", newline)
    if not begins and not ends:
        gap = "" if not text else newline if text.endswith("\n") else 2 * newline
        return f"{text}{gap}{new}{newline}"
    if len(begins) != 1 or len(ends) != 1 or ends[0] < begins[0]:
        raise UsageError(
            name,
            f"has {len(begins)} comments that begin a block of hfinspect and {len(ends)} "
            "that end one",
            expected="one of each, in this order",
            hint="remove them all; the block then goes to the end",
        )
    before = "".join(lines[: begins[0]])
    after = "".join(lines[ends[0] + 1 :])
    last = lines[ends[0]]
    return before + new + last[len(last.rstrip("\r\n")) :] + after


def _marks(lines: list[str]) -> tuple[list[int], list[int], int]:
    """The lines that begin and that end a block, outside of code between fences; and the number of
    the line whose fence is never closed, 0 for none."""
    begins = []
    ends = []
    fence = ""
    opened = 0
    for at, line in enumerate(lines):
        match = _FENCE.match(line)
        if match and not fence:
            fence = match[1]
            opened = at + 1
        elif match and match[1].startswith(fence) and not line[match.end() :].strip():
            fence = ""
            opened = 0
        elif not fence and _BEGIN.fullmatch(line):
            begins.append(at)
        elif not fence and _END.fullmatch(line):
            ends.append(at)
    return begins, ends, opened
