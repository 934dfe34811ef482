"""The words that users read: phrases that were replaced do not come back."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

import hfinspect

from .cli.program import ROOT

PACKAGE = Path(hfinspect.__file__).parent
#: What they were replaced by stands next to them.
OLD = re.compile(
    r"""
      \bhead[ ]apart\b              # with an untied head
    | ^weights[ ]+float32           # memory at float32 ... (weights alone)
    | \bbits[ ]a[ ]weight\b         # per weight
    | (?<=[0-9])[ ]a[ ]layer\b      # per layer
    | ^a[ ]layer$                   # the same, as the title of a column
    | ,[ ]in[ ][0-9]+$              # in all 48 layers
    | \bpromis(e|es|ed|ing)\b       # predicts
    | \bfresh[ ]save\b              # transformers neither loads nor saves it
    | \bwants[ ]to[ ]know\b         # needs a login (401)
    | \bllama\.cpp's[ ]names\b      # GGUF architecture name
    | \bthe[ ]file[ ]says\b         # metadata
    | \bnothing[ ]that[ ]is[ ]known\b  # not recognised by name
    | \bone[ ]expert[ ]counted\b    # if each layer had one expert
    | \b(lower[ ]|upper[ ])?bounds?\b(?![ ]for[ ]everything)  # limit
    | \bin[ ]words\b                # rounded
    | \bleft[ ]out[ ]at[ ][0-9]    # 1 column hidden
    | \bbegin[ ]anew\b             # begin a new file
    | \bif[ ]it[ ]stays\b          # if it fails again; if the finding stays
    | \bnobody[ ]says[ ]it\b       # None if unknown
    | \bmay[ ]have[ ]it\b          # may use it
    | \bwas[ ]asked[ ]about\b      # was given
    | (?<!there[ ])\bis[ ]no[ ](parameter|finding|answer|model)\b
    | \bwhat[ ]layers[ ]keep\b     # KV cache by layer type
    | \bbeliev(e|es)[ ]of\b        # judges
    | \bis[ ]no[ ](JSON|TOML|UTF-8|list|number|text|table|weight|object|matrix|command|column)\b
    | \b(one|row|line|value|request)[ ]an?[ ](model|finding|page|target|layer|line|file|family)\b
    """,
    re.VERBOSE | re.MULTILINE | re.IGNORECASE,
)

#: The same without anchors, for a whole file: most files need no closer look.
ANYWHERE = re.compile(
    OLD.pattern.replace("^a[ ]layer$", "[\"']a[ ]layer[\"']").replace("^", "").replace("+$", "+"),
    OLD.flags,
)
#: Between two strings of one expression.
JOINT = re.compile(r"""["']\s+[rbfRBF]?["']""")

#: Docstrings that users read: help texts, and the rules' what, why and fix.
SHOWN = ("cli", "auditing/rules")


#: Words that a reader of English as a second language stops at, in comments and docstrings too.
HARD = re.compile(
    r"""
      \bbesides?\b                          # next to, in addition to
    | \btold\b | \btell(s|ing)?\b           # known, says, shows, reports
    | \bask(s|ed|ing)?[ ]for\b             # needed, read, requested
    """,
    re.VERBOSE | re.IGNORECASE,
)


def texts_of(path: Path) -> Iterator[tuple[int, str]]:
    """Every string of a module that is no docstring, and the docstrings that are shown."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    shown = any(path.is_relative_to(PACKAGE / folder) for folder in SHOWN)
    silent = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
        and node.body
        and isinstance(node.body[0], ast.Expr)
        and not (shown and isinstance(node, ast.FunctionDef) and not node.name.startswith("_"))
    }
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in silent
        ):
            yield node.lineno, " ".join(node.value.split(" "))


def found_in(where: object, texts: Iterator[tuple[int, str]]) -> list[str]:
    return [
        f"{where}:{line}: {match[0]!r} in {text[:100]!r}"
        for line, text in texts
        if (match := OLD.search(text))
    ]


#: Fields that options are made of, and files that name options of other programs.
OF_OTHER_PROGRAMS = ("memory_options.py", "read_fields.py", "files_there.py", "names_known.py")


def test_the_library_names_no_option_of_the_command_line() -> None:
    """But for layouts of a command's own reports, documentation that is made of rules, and the
    fields that options are made of, and the command of another program that fetches a file."""
    option = re.compile(r"(?<![\w-])--[a-z][a-z-]+|`hfinspect ")
    places = [
        f"{path.relative_to(PACKAGE)}:{line}: {text[:80]}"
        for room in (
            "analysis",
            "checkpoints",
            "core",
            "explaining",
            "formats",
            "inspecting",
            "sources",
            "auditing/facts",
        )
        for path in sorted((PACKAGE / room).rglob("*.py"))
        if path.name not in OF_OTHER_PROGRAMS
        for line, text in texts_of(path)
        if option.search(text)
    ]
    assert places == []


def test_messages_and_reports() -> None:
    places: list[str] = []
    for path in sorted(PACKAGE.rglob("*.py")):
        if ANYWHERE.search(JOINT.sub("", path.read_text(encoding="utf-8"))):
            places += found_in(path.relative_to(PACKAGE), texts_of(path))
    assert places == []


@pytest.mark.parametrize(
    "pattern", ["*.md", "docs/*.md", "hfinspect/schemas/*", "fixtures/reports/*/*"]
)
def test_documents_and_golden_files(pattern: str) -> None:
    places: list[str] = []
    for path in sorted(ROOT.glob(pattern)):
        lines = path.read_text(encoding="utf-8").splitlines()
        places += found_in(path.relative_to(ROOT), enumerate(lines, 1))
    assert places == []


@pytest.mark.parametrize("folder", ["hfinspect", "tests"])
def test_comments_and_docstrings(folder: str) -> None:
    """Names of variables may be what they are."""
    places: list[str] = []
    for path in sorted((ROOT / folder).rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if path == Path(__file__) or not HARD.search(source):
            continue
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type in (tokenize.COMMENT, tokenize.STRING):
                text = re.sub(r"\{[^{}]*\}|``\w+``|^[\"']\S*[\"']$", "", token.string)
                match = HARD.search(text)
                if match is not None:
                    line = token.start[0] + text[: match.start()].count("\n")
                    places.append(f"{path.relative_to(ROOT)}:{line}: {match[0]!r}")
    assert places == []


def test_documents_use_plain_words() -> None:
    places = [
        f"{path.relative_to(ROOT)}:{line}: {match[0]!r}"
        for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob(".github/*.md")]
        for line, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if (match := HARD.search(text))
    ]
    assert places == []
