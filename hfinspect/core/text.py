"""Text from strangers, made safe to show."""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence

#: Longest piece of foreign text shown in a message; names of real tensors stay below 200.
MAX_SHOWN = 300

#: Control, format, surrogate, private and unassigned characters, and separators of lines.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def clean(text: str, limit: int = MAX_SHOWN) -> str:
    """``text`` without control, bidirectional and other invisible characters.

    Each of them becomes U+FFFD, so that something odd stays visible; long text is cut in the
    middle of nothing: at ``limit`` characters, with an ellipsis.
    """
    if text.isascii() and text.isprintable():
        shown = text
    else:
        shown = "".join(
            "\N{REPLACEMENT CHARACTER}" if unicodedata.category(char) in _HIDDEN else char
            for char in text[: limit + 1]
        )
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def clean_lines(text: str) -> str:
    """The same for text of several lines, each of any length."""
    return "\n".join(clean(line, max(len(line), 1)) for line in text.split("\n"))


def rounded_count(number: int) -> str:
    """A count, rounded: 1.30 B, 117 M, 512. Three significant digits, never rounded up a unit
    without changing the unit (999,999 is 1.00 M)."""
    for size, unit in ((10**12, " T"), (10**9, " B"), (10**6, " M"), (10**3, " K")):
        if number * 1000 >= size * 999.5:
            value = number / size
            digits = 2 if value < 9.995 else 1 if value < 99.95 else 0
            return f"{value:.{digits}f}{unit}"
    return str(number)


def of_type(value: object) -> str:
    """``an int``, ``a list``: the type of what was given in place of something else."""
    name = type(value).__name__
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def more_are(count: int, noun: str) -> str:
    """``1 more row is``, ``12 more rows are``."""
    return f"1 more {noun} is" if count == 1 else f"{count:,} more {noun}s are"


def first_of(names: Sequence[str], most: int, more: str = "more") -> str:
    """``a, b and 3 more``: the first names, and how many others there are."""
    left = len(names) - most
    return ", ".join(names[:most]) + (f" and {left:,} {more}" if left > 0 else "")


def shape_text(shape: Iterable[int], sign: str = "x") -> str:
    """``32x64``; ``scalar`` of none."""
    return sign.join(str(int(size)) for size in shape) or "scalar"


def with_rounded(number: int) -> str:
    """A count with its rounded form, where that is another: 1,303,111,680 (1.30 B), 84."""
    return f"{number:,} ({rounded_count(number)})" if number >= 1000 else str(number)


def method_word(method: str) -> str:
    """A method of quantisation as reports spell it: one that is called by its number format in the
    letters of that format, as dtypes are (``FP8``, ``MXFP4``), any other as configs have it."""
    return method.upper() if method in ("fp8", "mxfp4", "nvfp4", "mxfp8") else method


def widths(sizes: Mapping[str, int]) -> list[str]:
    """``float32 498 MB``, ``4-bit 62.2 MB``: bits alone, as ``--width int4`` is one with scales."""
    names = {"int8": "8-bit", "int4": "4-bit"}
    return [f"{names.get(name, name)} {byte_size(size)}" for name, size in sizes.items()]


def byte_size(nbytes: int) -> str:
    """Bytes in decimal units, as the Hub and disks count: 2.61 GB."""
    for size, unit in ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if nbytes * 1000 >= size * 999.5:
            value = nbytes / size
            digits = 2 if value < 9.995 else 1 if value < 99.95 else 0
            return f"{value:.{digits}f} {unit}"
    return f"{nbytes} B"
