"""Files and modules that our comments, docstrings and documents name are there.

Other projects' files are named too: those lie in no folder of ours, or their library is named next
to them.
"""

from __future__ import annotations

import ast
import importlib
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "hfinspect"
CODE = sorted([*PACKAGE.rglob("*.py"), *(ROOT / "tests").rglob("*.py")])
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("*/**/README.md")])
#: A file with its folders, or alone.
FILE = re.compile(r"(?<![\w./*<{-])((?:[\w.-]+/)*[\w-]+\.(?:py|json|csv|md))\b(?![\w/*]|\.\w)")
#: A module of ours, and perhaps a name in it.
MODULE = re.compile(
    r"(?<![\w./\\-])((?:hfinspect|tests)\.(?!(?:bin|html|svg|sarif)\b)[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)\b(?!\()"
)
#: Other projects, whose files have names of their own.
FOREIGN = re.compile(
    r"transformers|diffusers|timm|peft|vllm|sglang|mlx|llama\.cpp|torch|joblib|keras|Janus|remote "
    r"code|trust_remote|gguf|hqq|AQLM|custom code|released|CPython|Megatron|DeepSpeed",
    re.IGNORECASE,
)
#: The folders at the top, and the rooms: where a path begins that means one of ours.
FOLDERS = {path.name for path in (*ROOT.iterdir(), *PACKAGE.iterdir()) if path.is_dir()}
#: Of the examples of docs/adding-a-model.md, which a reader writes; pages of ggml and TensorRT-LLM.
ELSEWHERE = re.compile(
    r"^zero_to_fp32\.py$|(kestrel|heron|egret|TYPE)\.(py|json)$|^docs/gguf\.md$|^docs/source/"
)
#: Files of a checkpoint, and of other projects, that are named alone everywhere.
ALONE = re.compile(r"^(modeling|configuration|conversion|convert|tokenization|model|tokenizer)_?")


@cache
def ours() -> frozenset[str]:
    """Every file and each of its endings: ``core/refs.py``, ``refs.py``."""
    tops = ("hfinspect", "tests", "docs", "fixtures", "skills", ".github")
    paths = [path for top in tops for path in (ROOT / top).rglob("*") if path.is_file()]
    parts = [path.relative_to(ROOT).parts for path in (*paths, *ROOT.glob("*.*"))]
    return frozenset("/".join(one[at:]) for one in parts for at in range(len(one)))


def prose(path: Path) -> Iterator[str]:
    """Comments, run together where they are of one block, and docstrings; or the page."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        yield text
        return
    block = ""
    last = -2
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            if token.start[0] != last + 1:
                yield block
                block = ""
            block = f"{block} {token.string}"
            last = token.start[0]
    yield block
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            yield ast.get_docstring(node, clean=False) or ""


def gone(path: Path) -> Iterator[str]:
    """Files of ours that a file names and that are not there."""
    if not any(_unknown(path, FILE.finditer(path.read_text(encoding="utf-8")))):
        return  # parsing all of them takes half a minute
    for text in prose(path):
        for name in _unknown(path, FILE.finditer(text)):
            remote = FOREIGN.search(text) or "architectures" in path.parts
            if "/" in name or not remote:
                yield name


def _unknown(path: Path, matches: Iterator[re.Match[str]]) -> Iterator[str]:
    """Those that may be meant as files of ours and are none."""
    for match in matches:
        name = match[1].removeprefix("../").removeprefix("./")
        if name in ours() or f"{path.parent.name}/{name}" in ours() or ELSEWHERE.search(name):
            continue
        alone = path.suffix == name[-3:] == ".py" and not ALONE.match(name)
        if name.partition("/")[0] in FOLDERS if "/" in name else alone:
            yield name


def test_named_files_are_there() -> None:
    files = (*CODE, *PAGES)
    missing = [f"{path.relative_to(ROOT)}: {name}" for path in files for name in gone(path)]
    assert missing == []


def test_named_modules_are_there() -> None:
    missing = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in (*CODE, *PAGES)
        if any(_modules_gone(path.read_text(encoding="utf-8")))
        for text in prose(path)
        for name in _modules_gone(text)
    ]
    assert missing == []


def _modules_gone(text: str) -> Iterator[str]:
    return (match[1] for match in MODULE.finditer(text) if not _is_there(match[1]))


@cache
def _is_there(name: str) -> bool:
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        path = ROOT.joinpath(*parts[:count])
        if path.is_dir() or path.with_suffix(".py").is_file():
            module = ".".join(parts[:count])
            return count == len(parts) or hasattr(importlib.import_module(module), parts[count])
    return False


def test_a_file_that_went_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.py"
    page.write_text('"""As ``core/gone_now.py`` does, and core/refs.py."""\n# see went.py\n')
    assert list(gone(page)) == ["went.py", "core/gone_now.py"]
    assert not _is_there("hfinspect.core.gone_now")
    assert _is_there("hfinspect.core.refs.ModelRef")
