"""Which types a release of the library may have changed: digests of the code that decides shapes.

    python -m tests.oracle sources          # what differs from fixtures/oracle/sources.json
    python -m tests.oracle sources --write  # record the installed release as the past

Most of what changes between two releases is ``forward``, types of arguments and documentation.
What a save writes is decided by constructors, by what these call in the same file, by the config
class, and by the rules for names.  So a package of ``transformers/models`` has the digest of this
code alone: ``__init__`` of every class and, again and again, the functions, methods and constants
of the file whose names occur in what was taken; and the config file without plans of parallelism.
Another version of Python may write code otherwise; then more is built again than has to be.

What was recorded by running models depends on ``forward`` too.  So each package has a second digest
of all code of its modeling files and of those that they import, and each kind of such recordings
one of the files that all models run through (``SHARED``).
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import re
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
_ATTENTION = (
    "masking_utils.py",
    "modeling_layers.py",
    "modeling_rope_utils.py",
    "pytorch_utils.py",
    "activations.py",
    "integrations/sdpa_attention.py",
    "integrations/moe.py",
)
#: What all models run through, by what is recorded of them: what changes a cache may change
#: neither what autograd keeps (of calls without a cache) nor the other way round.
SHARED: Mapping[str, tuple[str, ...]] = {
    "caches": ("cache_utils.py",),
    "activations": (*_ATTENTION, "loss/loss_utils.py"),
    "workspace": (*_ATTENTION, "cache_utils.py", "generation/utils.py"),
}
#: A package of models that a file imports from, next to its own or by its whole name.
_IMPORTED = re.compile(
    r"^\s*from (?:\.\.|\.\.\.models\.|transformers\.models\.)(\w+)", re.MULTILINE
)


class _Plain(ast.NodeTransformer):
    """Without annotations, docstrings, decorators other than properties, and log lines."""

    decorators = False

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        node.returns = None
        if not self.decorators:
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


class _Running(_Plain):
    """With the decorators, which may give arguments or take outputs."""

    decorators = True


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
    names = {item.id for item in ast.walk(node) if isinstance(item, ast.Name)}
    return names | {item.attr for item in ast.walk(node) if isinstance(item, ast.Attribute)}


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
    return _short("\n".join(parts))


def digests(models: Path) -> dict[str, str]:
    """Package -> digest, of the folder ``transformers/models``."""
    by_name = {}
    for folder in sorted(path for path in models.iterdir() if path.is_dir()):
        files = [*folder.glob("modeling_*.py"), *folder.glob("configuration_*.py")]
        if files and folder.name != "auto":
            by_name[folder.name] = digest_of({file.name: file.read_text() for file in files})
    return by_name


def running_code(text: str) -> str:
    """A file without imports, annotations and documentation."""
    plain = _Running().visit(ast.parse(text)).body
    passed = (ast.Import, ast.ImportFrom, ast.Pass)
    return "\n".join(ast.unparse(node) for node in plain if not isinstance(node, passed))


def running(models: Path) -> dict[str, str]:
    """Package -> digest of what its models run: its modeling files and those it imports from."""
    texts: dict[str, str] = {}
    imports: dict[str, set[str]] = {}
    for folder in sorted(path for path in models.iterdir() if path.is_dir()):
        files = [file.read_text() for file in sorted(folder.glob("modeling_*.py"))]
        if files and folder.name != "auto":
            texts[folder.name] = "\n".join(map(running_code, files))
            imports[folder.name] = {name for text in files for name in _IMPORTED.findall(text)}

    def reached(name: str, seen: set[str]) -> set[str]:
        if name in texts and name not in seen:
            seen.add(name)
            for other in imports[name]:
                reached(other, seen)
        return seen

    return {
        name: _short("\n".join(texts[one] for one in sorted(reached(name, set()))))
        for name in texts
    }


def shared(package: Path) -> dict[str, str]:
    """What is recorded by running -> digest of the files that all models run through."""
    return {
        subject: _short(
            "\n".join(
                running_code((package / name).read_text())
                for name in names
                if (package / name).exists()
            )
        )
        for subject, names in SHARED.items()
    }


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def installed() -> dict[str, Any]:
    """What ``recorded`` gives, of the installed library."""
    import transformers

    package = Path(transformers.__file__).parent
    return {
        "version": transformers.__version__,
        "packages": digests(package / "models"),
        "running": running(package / "models"),
        "shared": shared(package),
    }


def recorded() -> dict[str, Any]:
    """``{"version": ..., "packages": {...}, "running": {...}, "shared": {...}}``; of no version
    where nothing is recorded."""
    document = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    return {"version": "", "packages": {}, "running": {}, "shared": {}, **document}


def write(record: Mapping[str, Any]) -> None:
    RECORD.write_text(json.dumps(record, indent=1) + "\n")


def changed(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Packages that are in both and differ."""
    return sorted(name for name in before.keys() & now.keys() if before[name] != now[name])


def main(arguments: Iterable[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", action="store_true", help="record the installed release")
    options = parser.parse_args(None if arguments is None else list(arguments))
    now = installed()
    past = recorded()
    for name in changed(past["packages"], now["packages"]):
        print(name)
    if options.write:
        write(now)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
