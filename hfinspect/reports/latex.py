"""LaTeX: an article that compiles with pdflatex, formulas set as formulas.

Uses amsmath, booktabs and longtable, which every TeX distribution carries.
"""

import re

from ..core.text import clean
from .document import Cell, Column, Document, Facts, Preformatted, Table, TextBlock
from .table import Canvas, shown

_PREAMBLE = r"""\documentclass{article}
\usepackage[utf8]{inputenc}
\usepackage[T1]{fontenc}
\usepackage[margin=2cm]{geometry}
\usepackage{amsmath,booktabs,longtable}
\setlength{\parindent}{0pt}
\begin{document}"""

_ESCAPES = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "·": r"$\cdot$",
    "×": r"$\times$",
    "−": "$-$",
    "\N{NO-BREAK SPACE}": "~",
    "…": r"\dots{}",
    "–": "--",
    "±": r"$\pm$",
    "\N{REPLACEMENT CHARACTER}": "?",
}
_DIGITS = "⁰¹²³⁴⁵⁶⁷⁸⁹"
_SUPERSCRIPTS = str.maketrans(_DIGITS, "0123456789")
#: A letter of a formula with its subscript, and an exponent.
_SUBSCRIPT = re.compile(r"([A-Za-z])_([a-z0-9]+)")
_EXPONENT = re.compile(f"[{_DIGITS}]+")
_OPERATORS = str.maketrans({"·": r" \cdot ", "×": r" \times ", "−": "-", "\N{NO-BREAK SPACE}": "~"})
_FORMULA = re.compile(rf"[A-Za-z0-9_ ,·×−+/()={_DIGITS}]*")


def render(document: Document) -> str:
    """The document as a whole LaTeX file."""
    parts = [_PREAMBLE]
    if document.title:
        parts.append(rf"\section*{{{escaped(document.title)}}}")
    if document.summary:
        parts.append(escaped(document.summary))
    parts += [_block(block) for block in document.in_text]
    return "\n\n".join([*parts, r"\end{document}"])


def escaped(text: str) -> str:
    """Foreign text that stays text, in characters that every TeX engine has."""
    return "".join(_character(char) for char in clean(text, 2000))


def _character(char: str) -> str:
    if char in _DIGITS:
        return rf"\textsuperscript{{{char.translate(_SUPERSCRIPTS)}}}"
    escape = _ESCAPES.get(char)
    if escape is not None:
        return escape
    return char if char.isascii() else "?"


def math(text: str) -> str:
    """A formula of ours, ``4·H² + d_k``, as ``$4 \\cdot H^{2} + d_{k}$``."""
    if not text:
        return ""
    if not _FORMULA.fullmatch(text):
        return escaped(text)
    body = _SUBSCRIPT.sub(r"\1_{\\mathrm{\2}}", text)
    body = _EXPONENT.sub(lambda match: f"^{{{match[0].translate(_SUPERSCRIPTS)}}}", body)
    return f"${body.translate(_OPERATORS)}$"


def _block(block: TextBlock) -> str:
    if isinstance(block, Facts):
        items = "\n".join(
            rf"\item[{{{escaped(label)}}}] {escaped(text)}" for label, text in block.items
        )
        return f"\\begin{{description}}\n{items}\n\\end{{description}}"
    if isinstance(block, Table):
        return _table(block)
    if isinstance(block, Preformatted):
        lines = (escaped(line).replace(" ", "~") for line in block.text.splitlines())
        return "\\begin{flushleft}\\ttfamily\n" + "\\\\\n".join(lines) + "\n\\end{flushleft}"
    label = rf"\textbf{{{escaped(block.severity)}:}} " if block.severity else ""
    return label + escaped(block.text)


def _table(table: Table) -> str:
    shown = [i for i, column in enumerate(table.columns) if column.kind != "bar"]
    columns = [table.columns[i] for i in shown]
    head = " & ".join(escaped(column.title) for column in columns)
    lines = [
        rf"\begin{{longtable}}[l]{{{''.join(_alignment(column) for column in columns)}}}",
        r"\toprule",
        rf"{head} \\",
        r"\midrule",
        r"\endhead",
    ]
    for number, row in enumerate(table.rows):
        if table.total and number == len(table.rows) - 1:
            lines.append(r"\midrule")
        lines.append(" & ".join(_cell(row[i], table.columns[i]) for i in shown) + r" \\")
    lines += [r"\bottomrule", r"\end{longtable}"]
    title = [rf"\subsection*{{{escaped(table.title)}}}"] if table.title else []
    return "\n".join([*title, *lines])


def _cell(cell: Cell, column: Column) -> str:
    text = shown(cell, column, Canvas())
    return math(text) if column.kind == "math" else escaped(text)


def _alignment(column: Column) -> str:
    return "r" if column.kind in ("int", "share") else "l"
