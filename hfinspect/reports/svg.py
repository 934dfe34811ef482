"""SVG: a treemap of 800 × 400 for a model card, with a bar and a legend, and nothing from outside.

Light and dark follow the reader's scheme. Text is in the system's own font; there is no script.
"""

from collections.abc import Iterable, Iterator
from html import escape

from ..core.text import clean
from .document import Document, Facts
from .drawings import StackedBar, Treemap, sized, without_chapters
from .palette import PART, ink_of, patterns, variables
from .treemap import HEAD, Tile, tiles_of
from .treemap_layout import Box

WIDTH = 800
HEIGHT = 400
#: Where the tiles are; above them title and bar, below them the legend.
_AREA = Box(12, 78, 776, 282)
#: Height of a line of the legend, and the least share of a component that it names.
_LINE = 17
_LEAST = 0.0005
#: Width of a character of 12 pixels, a little more than that of most.
_CHAR = 6.7
#: Tiles that are drawn: more are too small to see, and the picture stays below 15 kB.
MAX_TILES = 56

_STYLE = (
    "text{{font:12px system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;"
    "fill:#fff}}.t{{font-size:17px;font-weight:600}}.t,.s{{fill:var(--ink)}}.b{{font-weight:600}}"
    ".l{{stroke:#000;stroke-opacity:.24;fill:none}}.e{{fill:none;stroke:#fff;stroke-opacity:.55}}"
    ":root{{--ink:#1b1f24;--paper:#fff;{light}}}"
    "@media(prefers-color-scheme:dark){{:root{{--ink:#e8eaed;--paper:#14161a;{dark}}}}}"
)


def render(document: Document) -> str:
    """The first treemap of a document as an SVG file. Where there is nothing to draw, the picture
    says so."""
    blocks = list(without_chapters(document.blocks))
    treemap = next((block for block in blocks if isinstance(block, Treemap)), None)
    bar = next((block for block in blocks if isinstance(block, StackedBar)), None)
    shares = () if bar is None else tuple(sorted(bar.shares, key=lambda piece: -piece[1]))
    legend = _legend_lines(shares)
    area = _AREA._replace(h=_AREA.h - _LINE * max(len(legend) - 1, 0))
    tiles = [] if treemap is None else _chosen(tiles_of(treemap, area))
    used = dict.fromkeys(
        ink_of(name) for name in (*(p[0] for p in shares), *(t.node.component for t in tiles))
    )
    style = _STYLE.format(light=variables("light", used), dark=variables("dark", used))
    title = _text(document.title, 90)
    summary = _text(document.summary, 110)
    about = _text(_described(document, shares), 900)
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-labelledby="t d">',
        f'<title id="t">{title}</title><desc id="d">{about}</desc>',
        f"<style>{style}</style><defs>{patterns(used)}</defs>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="8" fill="var(--paper)"/>',
        f'<text class="t" x="12" y="26">{_fitting(title, 776, 9.2)}</text>',
        f'<text class="s" x="12" y="45">{summary}</text>',
        *_bar(shares),
    ]
    if treemap is None:
        parts.append('<text class="s" x="12" y="200">nothing to draw: no size is known</text>')
    else:
        measure = treemap.measures[0]
        parts += [_tile(tile, measure.total, measure.unit) for tile in tiles]
    parts += _legend(legend, area)
    return "".join([*parts, "</svg>"])


def _text(text: str, limit: int) -> str:
    return escape(clean(text, limit), quote=True)


def _described(document: Document, shares: tuple[tuple[str, float, str], ...]) -> str:
    """What the picture shows, for who does not see it."""
    parts = ", ".join(f"{name} {share * 100:.1f}% ({text})" for name, share, text in shares)
    facts = next((b for b in document.blocks if isinstance(b, Facts)), Facts(()))
    build = ". ".join(f"{label}: {text}" for label, text in facts.items[:1])
    return f"{document.summary}. {build}. Parameters by component: {parts}."


def _bar(shares: tuple[tuple[str, float, str], ...]) -> Iterator[str]:
    left = 12.0
    for name, share, _ in shares:
        width = 776 * share
        if width >= 0.3:
            yield (
                f'<rect x="{left:.4g}" y="54" width="{width:.4g}" height="16" '
                f'fill="url(#p-{ink_of(name)})"/>'
            )
        left += width


def _chosen(tiles: Iterable[Tile]) -> list[Tile]:
    """The largest tiles, outer ones before what lies in them."""
    every = list(tiles)
    if len(every) <= MAX_TILES:
        return every
    least = sorted((t.box.w * t.box.h for t in every), reverse=True)[MAX_TILES - 1]
    return [tile for tile in every if tile.box.w * tile.box.h >= least]


def _tile(tile: Tile, total: int, unit: str) -> str:
    x, y, w, h = tile.box
    fill = f'fill="url(#p-{ink_of(tile.node.component)})"' if tile.filled else ""
    if tile.node.kind == "part":
        fill = f'fill="{PART}"'
    rect = f'<rect class="e" x="{x:.4g}" y="{y:.4g}" width="{w:.4g}" height="{h:.4g}"/>'
    if fill:
        rect = rect.replace('class="e"', fill) + rect
    share = f"{tile.node.size / total * 100:.1f}%" if total else ""
    size = sized(tile.node.size, unit)
    lines = []
    if h >= HEAD and w >= 34:
        label = f"{tile.node.label} {share}" if tile.inner else tile.node.label
        shown = _fitting(_text(label, 90), w - 8, _CHAR + 0.7 * (tile.depth == 0))
        bold = ' class="b"' if tile.depth == 0 else ""
        lines.append(f'<text{bold} x="{x + 4:.4g}" y="{y + 12:.4g}">{shown}</text>')
    if not tile.inner and h >= 2 * HEAD + 2 and w >= 60:
        shown = _fitting(f"{size}, {share}", w - 8, _CHAR)
        lines.append(f'<text x="{x + 4:.4g}" y="{y + 27:.4g}">{shown}</text>')
    return rect + "".join(lines)


def _fitting(text: str, width: float, char: float) -> str:
    """Text that was escaped already, cut where the room ends."""
    room = int(width / char)
    if len(text) <= room or "&" in text:  # an entity is not to be cut
        return text if len(text) <= room else ""
    return text[: max(room - 1, 0)] + "…" if room > 2 else ""


def _legend_lines(shares: tuple[tuple[str, float, str], ...]) -> list[list[tuple[float, str, str]]]:
    """(left, component, label) line by line: every component of at least ``_LEAST``."""
    lines: list[list[tuple[float, str, str]]] = []
    left = float(WIDTH)
    for name, share, text in shares:
        if share < _LEAST:
            continue
        label = f"{name} {text} ({share * 100:.1f}%)"
        width = 16 + len(label) * (_CHAR + 0.2) + 12
        if left + width > WIDTH:
            lines.append([])
            left = 12.0
        lines[-1].append((left, name, label))
        left += width
    return lines


def _legend(lines: list[list[tuple[float, str, str]]], area: Box) -> Iterator[str]:
    for at, line in enumerate(lines):
        top = area.y + area.h + 13 + at * _LINE
        for left, name, label in line:
            yield (
                f'<rect x="{left:.4g}" y="{top:.4g}" width="11" height="11" '
                f'fill="url(#p-{ink_of(name)})"/>'
                f'<text class="s" x="{left + 16:.4g}" y="{top + 10:.4g}">{_text(label, 60)}</text>'
            )
