"""Which types a release of the library may have changed: digests of the code that decides shapes.

    python -m tests.oracle sources          # what differs from fixtures/oracle/sources.json
    python -m tests.oracle sources --write  # record the installed release as the past

Most of what changes between two releases is ``forward``, types of arguments and documentation.
What a save writes is decided by constructors, by what these call in the same file, by the config
class, and by the rules for names.  So a package of ``transformers/models`` has the digest of this
code alone: ``__init__`` of every class and, again and again, the functions, methods and constants
of the file whose names occur in what was taken; and the config file without plans of parallelism.
Another version of Python may write code otherwise; then more is built again than has to be.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from .record import FIXTURES

#: The digests of the release that the catalog was recorded from: package -> digest.
RECORD = FIXTURES / "sources.json"
#: What a class says outside its constructor that changes names or dtypes of a save.
_ATTRIBUTES = {
    "_tied_weights_keys",
    "_keys_to_ignore_on_save",
    "_keep_in_fp32_modules",
    "_keep_in_fp32_modules_strict",
    "base_model_prefix",
    "config_class",
    "main_input_name",
}
_CONSTRUCTORS = {"__init__", "__post_init__", "post_init"}
#: Called or named everywhere; none of them decides a shape.
_PASSED_OVER = {"forward", "config", "_init_weights"}
#: Attributes of a config class that say how a model is run.
_OF_RUNNING = ("base_model_tp_plan", "base_model_pp_plan", "base_model_ep_plan")
_IGNORED = "keys_to_ignore_at_inference"


class _Plain(ast.NodeTransformer):
    """Without annotations, docstrings, decorators other than properties, and log lines."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        node.returns = None
        node.decorator_list = [d for d in node.decorator_list if "property" in ast.unparse(d)]
        for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
            argument.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        self.generic_visit(node)
        node.annotation = ast.Name("any")
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        said = isinstance(node.value, ast.Constant)
        logged = isinstance(node.value, ast.Call) and ast.unparse(node.value.func).startswith("log")
        return ast.Pass() if said or logged else node


def _target(node: ast.Assign | ast.AnnAssign) -> str:
    return ast.unparse(node.targets[0] if isinstance(node, ast.Assign) else node.target)


def modeling_code(text: str) -> str:
    """What a modeling file's constructors reach."""
    named: dict[str, list[tuple[str, ast.AST]]] = {}
    waiting: list[tuple[str, ast.AST]] = []
    for node in _Plain().visit(ast.parse(text)).body:
        if isinstance(node, ast.ClassDef):
            for name, label, member in _members(node):
                if name in _CONSTRUCTORS or name in _ATTRIBUTES:
                    waiting.append((label, member))
                else:
                    named.setdefault(name, []).append((label, member))
        elif isinstance(node, ast.FunctionDef):
            named.setdefault(node.name, []).append((node.name, node))
        elif isinstance(node, ast.Assign):
            named.setdefault(_target(node), []).append((_target(node), node))
    reached: dict[str, str] = {}
    while waiting:
        label, node = waiting.pop()
        if label not in reached:
            reached[label] = ast.unparse(node)
            for name in _names(node) - _PASSED_OVER:
                waiting += named.get(name, ())
    return "\n".join(f"{label}\n{code}" for label, code in sorted(reached.items()))


def _members(node: ast.ClassDef) -> Iterator[tuple[str, str, ast.AST]]:
    """Name, label and code of what a class defines: methods and attributes. No outputs."""
    bases = ", ".join(ast.unparse(base) for base in node.bases)
    if "Output" in bases or "TypedDict" in bases:
        return
    for member in node.body:
        if isinstance(member, ast.FunctionDef):
            yield member.name, f"{node.name}({bases}).{member.name}", member
        elif isinstance(member, (ast.Assign, ast.AnnAssign)):
            yield _target(member), f"{node.name}.{_target(member)}", member


def _names(node: ast.AST) -> set[str]:
    found = {item.id for item in ast.walk(node) if isinstance(item, ast.Name)}
    return found | {item.attr for item in ast.walk(node) if isinstance(item, ast.Attribute)}


def config_code(text: str) -> str:
    """A config file without imports, plans and documentation."""
    lines = []
    for node in _Plain().visit(ast.parse(text)).body:
        if isinstance(node, ast.ClassDef):
            for _, label, member in _members(node):
                if label.rpartition(".")[2] not in (*_OF_RUNNING, _IGNORED):
                    lines.append(f"{label}\n{ast.unparse(member)}")
        elif not isinstance(node, (ast.Import, ast.ImportFrom, ast.Pass)):
            lines.append(ast.unparse(node))
    return "\n".join(lines)


def digest_of(texts: Mapping[str, str]) -> str:
    """Of a package's files by their names, modeling and configuration; others have no part."""
    parts = []
    for name, text in sorted(texts.items()):
        if name.startswith("modeling_"):
            parts.append(modeling_code(text))
        elif name.startswith("configuration_"):
            parts.append(config_code(text))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def digests(models: Path) -> dict[str, str]:
    """Package -> digest, of the folder ``transformers/models``."""
    found = {}
    for folder in sorted(path for path in models.iterdir() if path.is_dir()):
        files = [*folder.glob("modeling_*.py"), *folder.glob("configuration_*.py")]
        if files and folder.name != "auto":
            found[folder.name] = digest_of({file.name: file.read_text() for file in files})
    return found


def installed() -> tuple[str, dict[str, str]]:
    """The version of the installed library and its digests."""
    import transformers

    return transformers.__version__, digests(Path(transformers.__file__).parent / "models")


def recorded() -> dict[str, Any]:
    """``{"version": ..., "packages": {...}}``; of no version where nothing is recorded."""
    if not RECORD.exists():
        return {"version": "", "packages": {}}
    found: dict[str, Any] = json.loads(RECORD.read_text())
    return found


def write(version: str, packages: Mapping[str, str]) -> None:
    RECORD.write_text(
        json.dumps({"version": version, "packages": dict(sorted(packages.items()))}, indent=1)
        + "\n"
    )


def changed(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Packages that are in both and differ."""
    return sorted(name for name in before.keys() & now.keys() if before[name] != now[name])


def main(arguments: Iterable[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", action="store_true", help="record the installed release")
    options = parser.parse_args(None if arguments is None else list(arguments))
    version, now = installed()
    past = recorded()
    for name in changed(past["packages"], now):
        print(name)
    if options.write:
        write(version, now)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
