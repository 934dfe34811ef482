"""A terminal too narrow for a table: names are cut in the middle, texts broken at spaces. Numbers
are whole."""

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest

#: A name keeps at least so many characters.
_LEAST = 10
_COLOR = re.compile(r"\033\[[\d;]*m")
#: What may be cut: a long word with a letter in it, a name or a path.
_NAME = re.compile(r"(?=\S*[^\W\d_])\S{13,}")


def shortened(text: str, width: int) -> str:
    """``text`` in at most ``width`` characters: both ends of it, an ellipsis between them. Two
    thirds are the end, which distinguishes names of tensors and files."""
    if len(text) <= width:
        return text
    last = max((width - 1) * 2 // 3, 0)
    return f"{text[: max(width - 1 - last, 0)]}…{text[len(text) - last :]}"


def fitted(
    headers: Sequence[str],
    rows: Sequence[Sequence[str]],
    fixed: Sequence[bool],
    room: int,
    padding: int = 2,
) -> tuple[list[str], list[list[str]]]:
    """Headers and rows that fit into ``room`` characters, as far as that goes: texts are broken
    into lines only where cutting names is not enough. ``fixed``: columns of numbers. A header has
    ``padding`` characters around it."""
    columns = list(zip(*[[header + " " * padding for header in headers], *rows], strict=True))
    widths = [max(map(seen_length, column)) for column in columns]
    if sum(widths) <= room:
        return list(headers), [list(row) for row in rows]
    for width_of in (_cut, _broken):
        least = [
            width if is_fixed else min(width, max(_cut(header) + padding, *map(width_of, cells), 0))
            for width, is_fixed, header, (_, *cells) in zip(
                widths, fixed, headers, columns, strict=True
            )
        ]
        _narrowed(widths, least, room)
    cut = [
        shortened(header, max(width - padding, 1))
        for header, width in zip(headers, widths, strict=True)
    ]
    return cut, [line for row in rows for line in _lines(row, widths)]


def _narrowed(widths: list[int], least: Sequence[int], room: int) -> None:
    """Take from the widest columns until all fit or none can be narrower."""
    while sum(widths) > room:
        slack = [i for i, width in enumerate(widths) if width > least[i]]
        if not slack:
            return
        widths[max(slack, key=lambda i: widths[i])] -= 1


def seen(text: str) -> str:
    """What is seen of a text: colours are not."""
    return _COLOR.sub("", text) if "\033" in text else text


def seen_length(text: str) -> int:
    """Characters that are seen."""
    return len(seen(text))


def _cut(cell: str) -> int:
    """How narrow a cell can be if its longest name is cut."""
    name = max(_NAME.findall(cell), key=len, default="")
    return len(cell) - len(name) + min(len(name), _LEAST)


def _broken(cell: str) -> int:
    """How narrow it can be if it is broken at its spaces and after the factors of a product."""
    indent = len(cell) - len(cell.lstrip())
    return indent + max(map(_cut, _factors(cell).split()), default=0)


def _factors(cell: str) -> str:
    """With a space after each sign of multiplication, where a line may end."""
    return cell.replace("·", "· ")


def _lines(row: Sequence[str], widths: Sequence[int]) -> Iterator[list[str]]:
    cells = [_wrapped(cell, width) for cell, width in zip(row, widths, strict=True)]
    return (list(line) for line in zip_longest(*cells, fillvalue=""))


def _wrapped(cell: str, width: int) -> list[str]:
    if seen_length(cell) <= width:
        return [cell]
    name = max(_NAME.findall(cell), key=len, default="")
    if name and _cut(cell) <= width:
        return [cell.replace(name, shortened(name, width - len(cell) + len(name)))]
    indent = cell[: len(cell) - len(cell.lstrip())]
    words = [
        shortened(word, width - len(indent)) if _NAME.fullmatch(word) else word
        for word in _factors(cell).split()
    ]
    import textwrap

    lines = textwrap.wrap(
        " ".join(words),
        width,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace("· ", "·") for line in lines]
