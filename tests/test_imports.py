"""The direction of imports, and that importing costs nothing."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "hfinspect"

#: Rooms by height: a room imports only from rooms below it (and from itself).
HEIGHTS = {
    "errors": 0,
    "_version": 0,
    "core": 1,
    "sources": 2,
    "formats": 2,
    "trees": 2,
    "media": 2,
    "layers": 3,
    "architectures": 4,
    "checkpoints": 5,
    "analysis": 5,
    "sizing": 6,
    "inspecting": 7,
    "lineage": 8,
    "explaining": 7,
    "running": 7,
    "auditing": 8,
    "reports": 9,
    "api": 10,
    "pictures": 11,
    "scanning": 11,
    "web": 12,
    "cli": 13,
    "__main__": 14,
    "__init__": 14,
}
#: Imports against the direction, each with its reason; none today.
ALLOWED_SIDEWAYS: set[tuple[str, str]] = set()


#: From the word to the end of the line or of the brackets.
IMPORT = re.compile(r"^[ \t]*(?:from|import)\b(?:[^(\n]*\([^)]*\)|[^\n]*)", re.MULTILINE)
#: A line of a docstring that begins like one.
PROSE = re.compile(r"\s*(?:from\s+\S+\s+(?!import\b)|import\s+[\w.]+\s+(?!as\b))")


def room_of(path: Path) -> str:
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def statements(source: str) -> Iterator[ast.stmt]:
    """The import statements, and no other, as parsing all of the package takes a second."""
    for match in IMPORT.finditer(source):
        if not PROSE.match(match[0]):
            yield from ast.parse(match[0].strip()).body


def imports(path: Path) -> set[str]:
    """Rooms that a module imports from, anywhere in it."""
    package = ("hfinspect", *path.relative_to(PACKAGE).parts[:-1])
    rooms = set()
    for node in statements(path.read_text()):
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            full = [*base, *(node.module or "").split(".")]
            names = [full] if node.module else [[*base, alias.name] for alias in node.names]
            rooms |= {name[1] for name in names if name[0] == "hfinspect" and len(name) > 1}
        elif isinstance(node, ast.Import):
            parts = [alias.name.split(".") for alias in node.names]
            rooms |= {name[1] for name in parts if name[0] == "hfinspect" and len(name) > 1}
    return rooms


def test_imports_go_down_only() -> None:
    wrong = []
    for path in sorted(PACKAGE.rglob("*.py")):
        room = room_of(path)
        for other in imports(path) - {room}:
            if other in HEIGHTS and HEIGHTS[other] < HEIGHTS[room]:
                continue
            if (room, other) not in ALLOWED_SIDEWAYS:
                wrong.append(f"{path.relative_to(PACKAGE)} imports {other}")
    assert wrong == []


def test_only_the_hub_source_imports_the_client() -> None:
    """In whole, with two exceptions: resolving the endpoint of a URL, and the process without a
    network, which has to keep transformers from asking it."""
    users = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if "import huggingface_hub" in path.read_text()
        or "from huggingface_hub" in path.read_text()
    }
    assert {user for user in users if not user.startswith("sources/hub")} <= {
        "sources/opening.py",
        "inspecting/meta_child.py",
    }


def test_the_wire_knows_nothing_of_the_hub_around_it() -> None:
    known = modules()
    wire = "hfinspect.sources.hub.wire"
    inner = {name: path for name, path in known.items() if name.startswith(wire)}
    used = {other for name, path in inner.items() for other in imported(name, path, known)}
    assert {one for one in used - inner.keys() if one.startswith("hfinspect.sources.hub.")} == set()


def modules() -> dict[str, Path]:
    """Every module of the package by its dotted name."""
    paths = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        paths[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return paths


def imported(name: str, path: Path, known: Collection[str]) -> set[str]:
    """Modules of the package that one imports: at its head, in a function, or for types only."""
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    names = set()
    for node in statements(path.read_text()):
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            whole = ".".join([*base, *([node.module] if node.module else [])])
            inner = {f"{whole}.{alias.name}" for alias in node.names}
            names |= {one if one in known else whole for one in inner}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return names & set(known) - {name}


def test_no_import_goes_round_in_a_circle() -> None:
    """Modules are taken away as long as one imports nothing that is left; a circle remains."""
    known = modules()
    left = {name: imported(name, path, known) for name, path in known.items()}
    while free := [name for name, others in left.items() if not others & left.keys()]:
        for name in free:
            del left[name]
    while outer := [name for name in left if not any(name in one for one in left.values())]:
        for name in outer:  # imports a circle, and is in none
            del left[name]
    assert sorted(left) == []


def test_a_file_name_occurs_once() -> None:
    """But for what each room has; a file is then found by its name alone."""
    names = Counter(path.name for path in PACKAGE.rglob("*.py"))
    several = {name for name, times in names.items() if times > 1}
    assert several <= {"__init__.py", "__main__.py", "registry.py"}


def test_each_room_says_what_it_is_what_it_imports_and_how_to_add_a_thing() -> None:
    """Each folder in a room too."""
    silent = []
    for path in PACKAGE.rglob("__init__.py"):
        said = ast.get_docstring(ast.parse(path.read_text())) or ""
        if path.parent != PACKAGE and (
            len(said.splitlines()) < 4 or "mports" not in said or "new" not in said.lower()
        ):
            silent.append(path.parent.name)
    assert silent == []
