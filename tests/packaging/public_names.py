"""The parts of ``hfinspect/__init__.py`` that follow from its ``_HOMES``.

``python -m tests.packaging.public_names`` writes them: the imports that type checkers read, and
``__all__``. A new public name is one word of ``_HOMES``.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path

import hfinspect

FILE = Path(hfinspect.__file__)
#: Characters of a line.
WIDTH = 100
#: Public, and in no module of ours.
OWN = ("__version__", "errors")


def homes() -> Mapping[str, tuple[str, ...]]:
    """Module -> its public names."""
    return hfinspect._HOMES


def imports() -> str:
    """The block below ``if TYPE_CHECKING:``."""
    lines = ["if TYPE_CHECKING:"]
    lines += ["    from . import errors as errors"]
    for module, names in sorted(homes().items(), key=lambda one: one[0].split(".")):
        lines += _import(module, sorted(names, key=_as_sorted))
    return "\n".join(lines) + "\n"


def _import(module: str, names: list[str]) -> Iterator[str]:
    line = f"    from .{module} import {', '.join(names)}"
    if len(line) <= WIDTH:
        yield line
        return
    yield f"    from .{module} import ("
    yield from (f"        {name}," for name in names)
    yield "    )"


def _as_sorted(name: str) -> tuple[int, str]:
    """Constants, classes, functions: the order of the linter."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)


def exports() -> str:
    """``__all__``, many names a line: nobody reads or edits it."""
    names = [name for names in homes().values() for name in names]
    listed = sorted([*names, *OWN], key=_as_sorted)
    filled = textwrap.fill(", ".join(f'"{name}"' for name in listed), WIDTH - 4)
    return f"__all__ = [\n{textwrap.indent(filled, '    ')},\n]  # fmt: skip\n"


def written(text: str) -> str:
    """The file with both parts as they follow."""
    text = re.sub(r"^if TYPE_CHECKING:\n(?:    .*\n)+", lambda _: imports(), text, flags=re.M)
    return re.sub(r"^__all__ = \[\n(?:    .*\n)+\].*\n", lambda _: exports(), text, flags=re.M)


if __name__ == "__main__":
    FILE.write_text(written(FILE.read_text(encoding="utf-8")), encoding="utf-8")
