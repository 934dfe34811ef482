"""The terminal's table: widths, bars, colours, characters."""

from __future__ import annotations

import csv as csv_reader
import io
import re
from dataclasses import replace
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hfinspect.reports import csv, markdown
from hfinspect.reports.document import (
    Column,
    Document,
    Facts,
    Paragraph,
    Preformatted,
    Table,
)
from hfinspect.reports.registry import FORMATS, render
from hfinspect.reports.table import Canvas, bar, drawn_lines
from hfinspect.reports.table import render as drawn

COLOURS = re.compile(r"\033\[\d+m")
TABLE = Table(
    (Column("a", "a"), Column("n", "count", "int"), Column("b", "", "bar"), Column("c", "c")),
    (("x", 1000, 0.5, "long enough"), ("total", 2000, 1.0, "y" * 30)),
    total=True,
    optional=("b", "c"),
)
DOCUMENT = Document(
    "title",
    (Facts((("k", "v"),)), TABLE, Paragraph("careful", "warning"), Preformatted("  a\n b")),
)


TEXTS = st.text(st.sampled_from("aZ09 .,·█▏…é-β²"), max_size=9) | st.sampled_from(
    ["\033[31mred\033[0m", "  deep", "宽字", "e\u0301", "-"]
)


@given(
    st.integers(1, 4).flatmap(lambda n: st.lists(st.tuples(*[TEXTS] * n), min_size=1, max_size=4))
)
def test_lines_are_those_of_tabulate(rows: list[tuple[str, ...]]) -> None:
    """Whoever draws them: with narrow characters it is not even imported."""
    from tabulate import tabulate

    kinds: tuple[Literal["int", "text"], ...] = ("text", "int", "text", "int")
    columns = [Column(f"c{i}", f"h{i}" * i, kinds[i]) for i in range(len(rows[0]))]
    headers = [column.title for column in columns]
    text = tabulate(
        rows,
        headers,
        "simple",
        disable_numparse=True,
        preserve_whitespace=True,
        colalign=["right" if column.kind == "int" else "left" for column in columns],
    )
    assert drawn_lines(headers, rows, columns) == [line.rstrip() for line in text.split("\n")]


@pytest.mark.parametrize(
    ("width", "columns"), [(70, "a count c"), (45, "a count"), (10, "a count")]
)
def test_columns_are_left_out_from_the_right(width: int, columns: str) -> None:
    """The last optional one first; those that are not optional stay, however narrow it is."""
    head = drawn(Document("", (TABLE,)), Canvas(width)).splitlines()[0]
    assert head.split() == columns.split()
    bars = drawn(Document("", (TABLE,)), Canvas(width))
    assert ("█" in bars) is (width > 10)


def test_what_is_left_out_is_named() -> None:
    """In the last line; a bar is named nowhere, for its numbers stand next to it."""
    csv_has_all = Document("", (TABLE, Paragraph("p")), TABLE)
    text = drawn(csv_has_all, Canvas(45))
    assert text.splitlines()[-1] == "1 column hidden (c); -f csv shows it"
    assert "hidden" not in drawn(csv_has_all, Canvas(70))
    other = Table((Column("z", "z"),), ((1,),))
    assert "; pipe to cat to see it" in drawn(Document("", (other, TABLE), other), Canvas(45))


def test_a_pipe_has_no_width() -> None:
    """Only text is broken into lines there."""
    document = Document("", (TABLE, Paragraph("word " * 40)))
    text = drawn(document, Canvas(10, unlimited=True))
    assert "y" * 30 in text
    assert "hidden" not in text
    assert text.count("\n") > 20


def test_columns_that_are_not_optional_stay() -> None:
    asked = replace(TABLE, optional=())
    assert "y" * 30 in drawn(Document("", (asked,)), Canvas(10))


def test_one_colour_for_each_component() -> None:
    """The same in a table's cells and in the pieces of a bar, and none of a warning's."""
    from hfinspect.core.components import Component

    columns = (Column("component", "component", "component"), Column("bar", "", "bar"))
    colours = {}
    for name in map(str, Component):
        table = Table(columns, ((name, ((name, 1.0),)),))
        text = drawn(Document("", (table,)), Canvas(80, color=True))
        codes = set(re.findall(r"\033\[([\d;]+)m(?:\w+|█)", text)) - {"1", "0"}
        assert len(codes) == 1, name
        colours[name] = codes.pop()
    assert len(set(colours.values())) == len(colours)
    assert not set(colours.values()) & {"31", "33"}


@given(st.lists(st.tuples(st.sampled_from(["mlp", "norm", "x"]), st.floats(0, 1)), max_size=5))
def test_pieces_make_the_bar_of_their_sum(pieces: list[tuple[str, float]]) -> None:
    whole = bar(sum(share for _, share in pieces), Canvas())
    assert bar(tuple(pieces), Canvas()) == whole
    assert re.sub(r"\033\[[\d;]*m", "", bar(tuple(pieces), Canvas(color=True))) == whole


def test_colour_adds_colours_and_nothing_else() -> None:
    plain = drawn(DOCUMENT, Canvas(80))
    coloured = drawn(DOCUMENT, Canvas(80, color=True))
    assert "\033" not in plain
    assert coloured != plain == COLOURS.sub("", coloured)


@pytest.mark.parametrize(
    ("share", "unicode", "expected"),
    [
        (0.0, True, ""),
        (0.0001, True, ""),
        (0.0125, True, "▏"),
        (0.05, True, "▌"),
        (0.1, True, "█"),
        (0.55, True, "█████▌"),
        (1.0, True, "█" * 10),
        (1.7, True, "█" * 10),
        (-1.0, True, ""),
        (0.55, False, "######"),
        (1.0, False, "#" * 10),
        (0.0, False, ""),
        (1e30, False, "#" * 10),
        (-1.0, False, ""),
    ],
)
def test_bars(share: float, unicode: bool, expected: str) -> None:
    assert bar(share, Canvas(unicode=unicode)) == expected


def test_every_format_renders_only_what_it_needs() -> None:
    def never() -> Document:
        raise AssertionError

    assert render("json", never, lambda: {"a": "é"}) == '{\n  "a": "\\u00e9"\n}'
    for name in FORMATS.keys() - {"json"}:
        assert render(name, lambda: DOCUMENT, dict, Canvas(60))


def test_without_a_table_csv_is_empty() -> None:
    assert csv.render(Document("t", (Paragraph("x"),))) == ""
    assert csv.render(Document("t", (TABLE,), Table((Column("z", "Z"),), ((True,),)))) == "z\ntrue"


ANY = st.text(max_size=30)
CELLS = st.one_of(ANY, st.integers(), st.none(), st.booleans(), st.floats(0, 1))


@st.composite
def documents(draw: st.DrawFn) -> Document:
    count = draw(st.integers(1, 4))
    kinds: st.SearchStrategy[Literal["text", "int", "share", "bar"]]
    kinds = st.sampled_from(["text", "int", "share", "bar"])
    columns = tuple(Column(f"c{i}", draw(ANY), draw(kinds)) for i in range(count))
    rows = st.lists(st.tuples(*[CELLS] * count), max_size=4).map(tuple)
    table = Table(columns, draw(rows), draw(ANY), draw(st.booleans()), ("c0", "c2"))
    facts = Facts(tuple(draw(st.lists(st.tuples(ANY, ANY), max_size=3))))
    severity = draw(st.sampled_from(["", "note", "warning", "error", "odd"]))
    return Document(
        draw(ANY), (facts, table, Paragraph(draw(ANY), severity), Preformatted(draw(ANY)))
    )


@given(documents(), st.integers(1, 130), st.booleans())
def test_anything_can_be_shown(document: Document, width: int, unicode: bool) -> None:
    """No error, no control characters, and a row of csv or Markdown for each row."""
    table = document.blocks[1]
    assert isinstance(table, Table)
    text = drawn(document, Canvas(width, unicode=unicode))
    marked = markdown.render(document)
    plain = csv.render(document)
    for shown in (text, marked, plain):
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e]", shown)
    if all(column.kind != "bar" for column in table.columns):
        rows = list(csv_reader.reader(io.StringIO(plain)))
        assert [len(row) for row in rows] == [len(table.columns)] * (1 + len(table.rows))


@given(st.text(max_size=40))
def test_foreign_text_stays_text_in_markdown(text: str) -> None:
    """Every mark of an inline construct is escaped, so a cell is one cell."""
    cell = markdown.escaped(text)
    assert re.fullmatch(r"(?:\\[\\|*_`<>\[\]~&$]|[^\\|*_`<>\[\]~&$\n])*", cell)
