"""Compare the installed libraries with the catalog: what is new, what changed, what went.

    pip install 'hfinspect[oracle]'
    python -m tests.oracle survey              # classes and types: some seconds
    python -m tests.oracle survey --tensors    # recorded default configs are built again: minutes;
                                               # stopped and run again, it goes on where it was

The worst comes first: classes that the library has no more, classes whose default config saves
other tensors than were recorded, types that the catalog refuses, classes that it refuses.  A new
type is recorded with ``python -m tests.oracle trace TYPE``, or written.  What
fixtures/oracle/left_out.json names stays out for the reason there and is no news.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from hfinspect.trees.catalog import families, find_class, find_type, index

from . import saved
from .deliberate import MODULE_NAMES
from .in_processes import Outcome, prepare, work_through
from .record import record_default
from .trace import LEFT_OUT, know_files, refused
from .tracing.library import Transformers, transformers


class Change(NamedTuple):
    """``what`` is one of ``ORDER``."""

    what: str
    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.what}: {self.kind} {self.name}".rstrip()

    @classmethod
    def read(cls, line: str) -> Change:
        what, _, rest = line.partition(": ")
        return cls(what, *rest.partition(" ")[::2])


#: The worst first.
ORDER = (
    "class went",
    "tensors changed",
    "not built",
    "new type",
    "new type of known classes",
    "new class",
)


def survey(library: Transformers, *, tensors: bool) -> list[Change]:
    """Every difference, the worst first."""
    changed = _changed(library.version) if tensors else ()
    rows = [*_gone(), *changed, *_new(library), *_borrowing(library)]
    return sorted(rows, key=lambda change: (ORDER.index(change.what), change))


def _gone() -> Iterator[Change]:
    """Classes of families whose source is transformers, under the names it has today."""
    for family in families():
        if family.source != "transformers" or not family.model_types:
            continue
        for name in family.classes:
            hidden = any(name in saved._in_own_file(kind) for kind in family.model_types)
            if not _is_there(name) and not hidden and _is_current(name):
                yield Change("class went", family.model_types[0], name)


def _is_there(name: str) -> bool:
    """Whether the library has a class, also one that needs a library which is not here."""
    import transformers

    try:
        return hasattr(transformers, name)
    except ImportError:
        return True


def _is_current(name: str) -> bool:
    """Not one of the older names that the catalog keeps for files on the Hub."""
    from tests.architectures import recordings

    return any(record["architecture"] == name for _, _, record in recordings.everything())


def _changed(version: str) -> Iterator[Change]:
    """Family by family, in processes of their own: default configs are of the library's sizes."""
    from tests.architectures import recordings

    done = Path(f"survey-{version}.done")
    for family, result in work_through(recordings.FAMILIES, "survey", done):
        yield from (Change.read(line) for line in result.changed)
        yield from (Change("not built", family, line) for line in result.by_hand)
    done.unlink(missing_ok=True)


def outcome(family: str) -> Outcome:
    """What a family's recorded default configs save that was not recorded."""
    from tests.architectures import recordings

    prepare()
    done = Outcome()
    for label, record in recordings.of(family).items():
        of_now = recordings.is_default(record) and "@" not in label  # others are of the past
        if not of_now or record["library"] != "transformers":
            continue
        place = record["model_type"], record["architecture"]
        names = {"names": "module"} if place[0] in MODULE_NAMES else {}
        try:
            built = record_default({**record, **names}, record["architecture"])
        except Exception as error:
            why = " ".join(str(error).split())[:160]
            change = Change("not built", place[0], f"{place[1]}: {type(error).__name__} {why}")
            done.changed.append(str(change))
            continue
        if built["digest"] != record["digest"]:
            done.changed.append(str(Change("tensors changed", *place)))
        else:
            done.equal += 1
    return done


def left_out(library: str) -> set[tuple[str, str]]:
    """The types and classes that stay out, as ``trace`` and people noted them."""
    reasons = json.loads(LEFT_OUT.read_text()).get(library, {})
    return {(kind, name) for kind, _, name in (key.partition(" ") for key in reasons)}


def _new(library: Transformers) -> Iterator[Change]:
    out = left_out(library.name)
    for kind, refused_names in refused(library):
        names = [name for name in refused_names if (kind, name) not in out]
        if not names:
            continue
        if kind in index().types:
            yield from (Change("new class", kind, name) for name in names)
        else:
            yield Change("new type", kind, " ".join(names))


def _borrowing(library: Transformers) -> Iterator[Change]:
    """Types that auto classes build as the classes of another: ``sarvam_moe`` as GLM-4-MoE. Only
    their defaults and second names are new, so there is nothing to trace; a file says them."""
    for kind in library.types():
        if find_type(kind) is None:
            names = [n for n in saved._auto_classes(kind) if not n.endswith("Config")]
            if names and all(find_class(name) for name in names):
                yield Change("new type of known classes", kind, " ".join(sorted(names)))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tensors", action="store_true", help="build recorded defaults again")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    library: Any = transformers()
    know_files()
    rows = survey(library, tensors=options.tensors)
    for change in rows:
        print(change)
    print(f"transformers {library.version}: {len(rows)} differences", file=sys.stderr)
    return 1 if any(change.what in ORDER[:3] for change in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
