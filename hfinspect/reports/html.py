"""HTML: a whole page in one file, and the short form that a notebook shows.

The page fetches nothing: no script, style, font or picture from elsewhere, which its own
Content-Security-Policy forbids too. Its script and style are the two files of ``page``, allowed by
their hashes. Everything can be read with scripts off; names and configs come from strangers and are
text alone, in the page and in the JSON that it holds.
"""

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any, Final

from ..core.text import byte_size, clean, clean_lines, first_of
from . import grid
from .document import (
    NOT_WHOLE,
    Block,
    Column,
    Document,
    Facts,
    Paragraph,
    Picture,
    Preformatted,
    Table,
)
from .drawings import Chapter, MemoryCurves, StackedBar, Strips, Treemap, fewer, without_chapters
from .grid import Grid
from .palette import PART, ink_of, patterns, variables
from .shortened import shortened
from .strip_paths import strip_svg
from .table import Canvas, shown
from .treemap import Tile, tiles_of
from .treemap_layout import Box

#: Characters of a name, and of a sentence.
MAX_NAME = 240
MAX_TEXT = 2000
#: Rows of a table; the rest is counted.
MAX_ROWS = 400
#: Bytes of the blocks, of what the script draws from, and of the JSON form: with script and style a
#: page stays below 300 kB whatever it is about.
MAX_BODY = 130_000
MAX_DATA = 60_000
MAX_FORM = 60_000
#: A letter of a formula, between what a formula has around it.
_LETTER = re.compile(r"(?<![A-Za-z0-9_])[A-Za-z](?:_[A-Za-z0-9]+)?(?![A-Za-z0-9_])")
_SIGNS = "·×+−/=()⁰¹²³⁴⁵⁶⁷⁸⁹"
_FORMULA = re.compile(rf"[A-Za-z0-9_ ,{_SIGNS}]*[·⁰¹²³⁴⁵⁶⁷⁸⁹][A-Za-z0-9_ ,{_SIGNS}]*")
_KEY = re.compile(r'^(\s*)"([^"\\]+)"(?=:)', re.MULTILINE)
_NUMERIC: Final = ("int", "share")


def render(document: Document, form: Mapping[str, Any] | None = None, command: str = "") -> str:
    """The document as one page. ``form`` is its JSON form, which the page then holds; ``command``
    made it."""
    page = _Page(document, has_form=bool(form))
    body = page.body(command)
    data = page.data()
    content, left = shortened(form, MAX_FORM) if form else (None, ())
    grids = any(isinstance(block, Grid) for block in page.blocks)
    style = _style()
    script = _script("grid" if grids else "page")
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    return "".join(
        (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n',
            '<meta name="viewport" content="width=device-width,initial-scale=1">\n',
            '<meta name="color-scheme" content="light dark">\n',
            '<meta name="referrer" content="no-referrer">\n',
            f"<title>{_text(document.title or 'hfinspect')}</title>\n<style>{style}</style>\n",
            f"</head>\n<body>\n{body}",
            _machine(content, left),
            f'<script type="application/json" id="data">{data}</script>\n' if data else "",
            f"<script>{script}</script>\n</body>\n</html>",
        )
    )


def _machine(text: str | None, left: Sequence[str]) -> str:
    """The JSON form, and a sentence about it."""
    if text is None:
        return "</main>\n"
    why = ""
    if left:
        names = first_of([_text(name) for name in left], 8)
        why = f" It would be too long for a page; left out of it: {names}."
    return (
        '<section id="json"><h2>JSON</h2><p>This page is the machine form too: the element '
        "<code>script#hfinspect</code> holds what <code>--format json</code> writes, "
        f"{byte_size(len(text))} of it.{why}</p>"
        '<p class="tool" hidden><button type="button" data-do="show">Show</button> '
        '<button type="button" data-do="copy">Copy</button></p><pre id="shown" hidden></pre>'
        f'</section>\n</main>\n<script type="application/json" id="hfinspect">{text}</script>\n'
    )


@cache
def _style() -> str:
    light = variables("light")
    dark = variables("dark")
    text = (files(__package__) / "page" / "page.css").read_text(encoding="utf-8")
    head = f":root{{{light}}}@media(prefers-color-scheme:dark){{:root{{{dark}}}}}"
    return f"{head}\n{text}"


@cache
def _script(name: str = "page") -> str:
    """What all scripts share, and that of a page or of a ``grid``."""
    parts = [
        (files(__package__) / "page" / f"{part}.js").read_text(encoding="utf-8")
        for part in ("dom", name)
    ]
    return "'use strict';\n(() => {\n" + "\n".join(parts) + "})();\n"


def page_hashes() -> tuple[str, str]:
    """Those of the style and of the script that every page has, for whoever shows pages."""
    return _hash(_style()), _hash(_script())


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _text(text: str, limit: int = MAX_NAME) -> str:
    """Foreign text that stays text."""
    return escape(clean(text, limit), quote=True)


class _Page:
    """The parts of one page; what was left out for want of room is said where it would be."""

    def __init__(self, document: Document, *, has_form: bool) -> None:
        self.document = document
        self.has_form = has_form
        self.blocks = list(without_chapters(document.blocks))
        tables = [block for block in self.blocks if isinstance(block, Table)]
        symbols = [t for t in tables if t.columns and t.columns[0].name == "letter"]
        self.letters = {str(row[0]) for table in symbols for row in table.rows}
        self.keys = {str(row[-1]) for t in symbols for row in t.rows if t.columns[-1].name == "key"}
        self.room = MAX_BODY

    def body(self, command: str) -> str:
        document = self.document
        used = dict.fromkeys(ink_of(name) for name in _components(self.blocks))
        chapters = [block for block in document.blocks if isinstance(block, Chapter)]
        names = [(c.name, c.title) for c in chapters]
        names += [("json", "JSON")] if self.has_form else []
        links = "".join(f'<li><a href="#{n}">{_text(t)}</a></li>' for n, t in names)
        title = _text(document.title) or "hfinspect"
        head = [
            '<svg class="defs" aria-hidden="true" width="0" height="0"><defs>'
            f"{patterns(used)}</defs></svg>"
            if used
            else "",
            '<a class="skip" href="#main">Skip to content</a>\n',
            f"<header>\n<h1>{title}</h1>\n",
            f'<p class="sum">{_text(document.summary)}</p>\n' if document.summary else "",
        ]
        before = True
        parts: list[str] = []
        for block in document.blocks:
            if before and not isinstance(block, Facts):
                head.append(_made_by(command))
                several = len(names) > 1
                nav = f'<nav aria-label="Chapters"><ul>{links}</ul></nav>\n' if several else ""
                head.append(f"</header>\n{nav}")
                before = False
            (head if before else parts).append(self.block(block))
        if before:
            head += [_made_by(command), "</header>\n"]
        return "".join([*head, '<main id="main">\n', *parts])

    def block(self, block: Block) -> str:
        """One block, or where there is no room a line that says so."""
        if isinstance(block, Chapter):
            return self._chapter(block)
        text = self._drawn(block)
        size = len(text.encode())
        if size > self.room:
            return '<p class="note">left out here, as it is too long for a page</p>\n'
        self.room -= size
        return text

    def _chapter(self, chapter: Chapter) -> str:
        inner = "".join(self.block(block) for block in chapter.blocks)
        name = chapter.name
        title = _text(chapter.title)
        if chapter.folded:
            return (
                f'<section id="{name}"><details><summary><h2>{title}</h2></summary>\n{inner}'
                "</details></section>\n"
            )
        return f'<section id="{name}"><h2>{title}</h2>\n{inner}</section>\n'

    def _drawn(self, block: Block) -> str:
        if isinstance(block, Facts):
            return self._facts(block)
        if isinstance(block, Table):
            return self._table(block)
        if isinstance(block, Paragraph):
            severity = "error" if block.severity == NOT_WHOLE else block.severity
            kind = f' class="{severity}"' if severity else ""
            label = f"<b>{_text(block.severity)}:</b> " if block.severity else ""
            return f"<p{kind}>{label}{_text(block.text, MAX_TEXT)}</p>\n"
        if isinstance(block, Preformatted):
            return self._preformatted(block)
        if isinstance(block, StackedBar):
            return _stacked(block)
        if isinstance(block, Treemap):
            return _treemap(block)
        if isinstance(block, Strips):
            return "".join(self._strips(block))
        if isinstance(block, MemoryCurves):
            return _MEMORY
        if isinstance(block, Grid):
            return "".join(grid.drawn(block, self._table))
        assert isinstance(block, Picture)
        return "".join(self._drawn(inner) for inner in block.in_text())

    # ---- text

    def _facts(self, block: Facts) -> str:
        items = "".join(
            f"<div><dt>{_text(label)}</dt><dd>{self._marked(text)}</dd></div>"
            for label, text in block.items
        )
        return f"<dl>{items}</dl>\n"

    def _marked(self, text: str) -> str:
        """A sentence, the letters of formulas in it marked."""
        shown_text = clean(text.replace("\N{NO-BREAK SPACE}", " "), MAX_TEXT)
        if not self.letters:
            return escape(shown_text, quote=True)
        parts = []
        at = 0
        for match in _FORMULA.finditer(shown_text):
            parts.append(escape(shown_text[at : match.start()], quote=True))
            parts.append(self._formula(match[0]))
            at = match.end()
        return "".join(parts) + escape(shown_text[at:], quote=True)

    def _formula(self, text: str) -> str:
        """Letters that the table of symbols explains, as elements that the script finds."""

        def letter(match: re.Match[str]) -> str:
            return f"<var>{match[0]}</var>" if match[0] in self.letters else match[0]

        # Escaping makes entities with letters in them; a formula has nothing to escape.
        plain = escape(text, quote=True)
        return _LETTER.sub(letter, text) if plain == text else plain

    def _preformatted(self, block: Preformatted) -> str:
        text = escape(clean_lines(block.text), quote=False)
        if block.language == "json" and self.keys:
            keys = {key.rpartition(".")[2] for key in self.keys}

            def mark(match: re.Match[str]) -> str:
                space, key = match.groups()
                return f'{space}<b data-k="{key}">"{key}"</b>' if key in keys else match[0]

            text = _KEY.sub(mark, text)
        return f'<pre tabindex="0">{text}</pre>\n'

    # ---- tables

    def _table(self, table: Table) -> str:
        # Ends of cells and rows, which HTML lets one leave out, are a twentieth of a page.
        idle = table.idle
        shown = [i for i, column in enumerate(table.columns) if column.name not in idle]
        columns = [table.columns[i] for i in shown]
        head = "".join(
            f"<th{_class(column)} scope=col>{self._heading(column)}" for column in columns
        )
        cut = len(table.rows) > MAX_ROWS
        rows = (*table.rows[:MAX_ROWS], *(table.rows[-1:] if cut and table.total else ()))
        body = "".join(
            f"<tr{' class=total' if table.total and row is table.rows[-1] else ''}>"
            + "".join(self._cell(row[i], table.columns[i]) for i in shown)
            + "\n"
            for row in rows
        )
        left = len(table.rows) - len(rows)
        more = f'<p class="note">{left:,} more rows: --format csv has all</p>\n' if left else ""
        name = _text(table.title)
        # Of titles those have letters that say of how many layers one is shown.
        marked = self._formula(clean(table.title)) if " = " in table.title else name
        caption = f"<caption>{marked}</caption>" if name else ""
        tools = " data-tools" if table.tools else ""
        label = name or "table"
        return (
            f'<div class=scroll role=group aria-label="{label}" tabindex=0><table{tools}>'
            f"{caption}<thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>\n{more}"
        )

    def _heading(self, column: Column) -> str:
        title = column.title or {"letter": "symbol", "bar": "share as a bar"}.get(column.name, "")
        text = _text(title)
        return text if column.title else f'<span class="hide">{text or "value"}</span>'

    def _cell(self, cell: Any, column: Column) -> str:
        if column.kind == "bar":
            return f"<td>{_bar(cell)}"
        text = shown(cell, column, Canvas())
        if column.kind == "component" and text:
            known = ink_of(text)
            swatch = _swatch(known) if text != "total" else ""
            return f"<td>{swatch}{_text(text)}"
        if column.name == "letter":
            return f"<td class=m><button type=button class=letter>{_text(text)}</button>"
        if column.kind == "math":
            return f"<td class=m>{self._formula(clean(text, MAX_TEXT))}"
        if column.name in ("key", "config key"):
            return f'<td><code data-k="{_text(text.rpartition(".")[2])}">{_text(text)}</code>'
        if column.name == "severity":
            return f'<td><b class="{_text(text)}">{_text(text)}</b>'
        return f"<td{_class(column)}>{_text(text, MAX_TEXT if ' ' in text else MAX_NAME)}"

    def _strips(self, block: Strips) -> Iterator[str]:
        for name, stretches in block.stacks:
            yield strip_svg(_text(name), stretches, block.unit)
        for table in block.in_text():
            yield self._drawn(table)

    # ---- what the script draws from

    def data(self) -> str:
        """JSON of treemap and curves; of a treemap whose names are too long fewer tiles."""
        values: dict[str, Any] = {}
        for block in self.blocks:
            if isinstance(block, MemoryCurves):
                values["memory"] = _curves(block)
            elif isinstance(block, Grid):
                values["grid"] = grid.data(block)
            elif isinstance(block, Treemap):
                most = len(block.leaves)
                while len(embedded(data := _tiles(block))) > MAX_DATA - 12_000 and most > 8:
                    most //= 2
                    block = fewer(block, most)
                values["treemap"] = data
        return embedded(values) if values else ""


def embedded(value: object) -> str:
    """JSON that no reader of HTML takes for an element: ASCII alone, ``<`` escaped."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False, default=str)
    return text.replace("<", "\\u003c")


def _components(blocks: Iterable[Block]) -> Iterator[str]:
    """Names that something is drawn for, in a colour."""
    for block in blocks:
        if isinstance(block, Table):
            for i, column in enumerate(block.columns):
                if column.kind == "component":
                    yield from (str(row[i]) for row in block.rows if row[i] != "total")
                elif column.kind == "bar":
                    cells = (row[i] for row in block.rows)
                    yield from (n for c in cells if isinstance(c, tuple) for n, _ in c)
        elif isinstance(block, StackedBar):
            yield from (name for name, _, _ in block.shares)
        elif isinstance(block, Treemap):
            yield from (leaf.component for leaf in block.leaves)
        elif isinstance(block, Strips):
            yield from (n for _, stack in block.stacks for s in stack for n in s.components)


def _made_by(command: str) -> str:
    if not command:
        return ""
    return f'<p class="made">made by <code>{_text(command, 500)}</code></p>\n'


def _class(column: Column) -> str:
    return " class=n" if column.kind in _NUMERIC else ""


def _swatch(ink: str) -> str:
    return f'<i class="k c-{ink}"></i>'


def _bar(cell: Any) -> str:
    """A bar of at most 120 pixels, in pieces or in one."""
    shares = cell if isinstance(cell, tuple) else (("other", cell),) if cell else ()
    rects = []
    left = 0.0
    for name, share in shares:
        width = 120 * min(max(share, 0.0), 1.0)
        if width >= 0.1:
            rects.append(
                f'<rect x="{left:.3g}" width="{width:.3g}" height="11" '
                f'fill="url(#p-{ink_of(name)})"/>'
            )
        left += width
    if not rects:
        return ""
    return f'<svg width="120" height="11" aria-hidden="true">{"".join(rects)}</svg>'


def _stacked(block: StackedBar) -> str:
    rects = []
    legend = []
    left = 0.0
    for name, share, text in block.shares:
        rects.append(
            f'<rect x="{100 * left:.4g}%" width="{100 * share:.4g}%" height="34" '
            f'fill="url(#p-{ink_of(name)})"/>'
        )
        legend.append(
            f"<li>{_swatch(ink_of(name))}{_text(name)} <b>{_text(text)}</b> {100 * share:.1f}%</li>"
        )
        left += share
    return (
        f'<svg class="stack" width="100%" height="34" aria-hidden="true">{"".join(rects)}</svg>'
        f'<ul class="legend">{"".join(legend)}</ul>\n'
    )


def _treemap(block: Treemap) -> str:
    """A picture for who has no scripts, in whose place the script draws one that can be used."""
    width = 1000
    height = 420
    tiles = "".join(map(_tile, tiles_of(block, Box(0, 0, width, height))))
    rest = f'<p class="note">{_text(block.rest)}</p>' if block.rest else ""
    return (
        f'<div id="treemap" hidden></div><noscript><svg class="tiles" viewBox="0 0 {width} '
        f'{height}" role="img" aria-label="Areas by {_text(block.measures[0].title)}; the tables '
        f'have the numbers">{tiles}</svg></noscript>{rest}\n'
    )


def _tile(tile: Tile) -> str:
    x, y, w, h = (round(side, 1) for side in tile.box)
    fill = f"url(#p-{ink_of(tile.node.component)})" if tile.filled else "none"
    if tile.node.kind == "part":
        fill = PART
    rect = f'<rect x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" fill="{fill}"/>'
    room = int((w - 6) / 7)
    if h < 15 or room < 4:
        return rect
    return f'{rect}<text x="{x + 4:g}" y="{y + 12:g}">{_text(tile.node.label, room)}</text>'


def _tiles(block: Treemap) -> dict[str, Any]:
    """Leaves with their names as numbers of a list: most names stand there many times."""
    names: dict[str, int] = {}

    def number(text: str) -> int:
        return names.setdefault(clean(text, 160), len(names))

    leaves = [[*(number(step) for step in leaf[:4]), *_exact(leaf.sizes)] for leaf in block.leaves]
    measures = [[m.name, m.title, m.unit, *_exact((m.total,)), m.note] for m in block.measures]
    return {"measures": measures, "names": list(names), "leaves": leaves}


def _exact(sizes: Iterable[int | None]) -> list[int | str | None]:
    """Numbers as JSON readers keep them: as text where they are too large for a float."""
    return [n if n is None or n < 2**53 else str(n) for n in sizes]


def _curves(block: MemoryCurves) -> dict[str, Any]:
    """Corners of curves, equal ones once: a curve is the numbers of its lines, by batch."""
    inputs = block.curves
    lines: dict[Any, int] = {}

    def number(points: Sequence[tuple[int, int]]) -> int:
        return lines.setdefault(tuple(points), len(lines))

    curves = [
        [
            c.engine,
            c.dtype,
            [number(p) for p in c.cache],
            [number(p) for p in c.workspace],
            *_exact((c.weights,)),
        ]
        for c in inputs.curves
    ]
    flat = [[n for point in points for n in _exact(point)] for points in lines]
    return {
        "contexts": inputs.contexts,
        "batches": inputs.batches,
        "curves": curves,
        "lines": flat,
        "cards": inputs.cards,
        "context": block.context,
        "engine": block.engine,
        "dtype": block.dtype,
        "batch": block.batch,
        "card": block.card,
    }


_MEMORY = (
    '<div id="sliders" hidden></div>'
    "<noscript><p class=note>With scripts on, sliders choose context, batch, dtype of the cache "
    "and engine.</p></noscript>\n"
)
