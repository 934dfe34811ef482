"""Run again what was recorded by running models of transformers, and record what differs.

    python -m tests.oracle run-again --all                # every recording: minutes
    python -m tests.oracle run-again --all --dry          # compare, write nothing
    python -m tests.oracle run-again "caches llama" "workspace t5"
    python -m tests.oracle run-again                      # of packages whose code changed

These are what models keep between tokens (``caches NAME``: a case file or traced-TYPE), what
autograd keeps (``activations TYPE``), and what ``generate()`` takes (``workspace TYPE``).  The
release runs it: with the types whose own code or whose sections' code differs from
fixtures/oracle/sources.json, ``forward`` and all, and with every type where the code that all of
them run through differs.  Stopped and run again, it does only what is left: what is done is in
the file run-again-VERSION.done, until nothing is left.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.sizing import record_transformers_workspace as record_workspace

from . import record_activations, record_caches, sources
from .activation_models import KINDS
from .cache_inputs import LIBRARY
from .in_processes import Outcome, prepare, work_through
from .record import FIXTURES
from .record_config_keys import config_classes
from .trace import TRACED, file_name, know_files
from .tracing.library import Transformers, transformers


def kinds_by_package() -> dict[str, list[str]]:
    """Package of transformers/models -> the model types whose config class is in it."""
    kinds: dict[str, list[str]] = {}
    for kind, cls in config_classes().items():
        kinds.setdefault(cls.__module__.split(".")[2], []).append(kind)
    return kinds


def parts(library: Transformers, kind: str) -> set[str]:
    """The types of its sections; none where the default config cannot be made."""
    try:
        return set(library.sections(kind, "").values())
    except Exception:
        return set()


# ---- what there is to run


def everything() -> dict[str, set[str]]:
    """Each recording that is run again -> the model types that it is of."""
    kinds = {
        f"caches {path.stem}": _kinds_of_cases(path.stem)
        for path in sorted(record_caches.FOLDER.glob("*.json"))
    }
    kinds |= {
        f"activations {name}": {KINDS[name].kind or name}
        for name in sorted(
            {case["rule"].split()[0] for case in record_activations.recorded_cases()}
        )
    }
    words = {name.partition(" ")[0] for name in record_workspace.MODELS}
    return kinds | {f"workspace {kind}": {kind} for kind in sorted(words)}


def _kinds_of_cases(name: str) -> set[str]:
    """The types of a case file or trace, and of sections that its configs name."""
    if name == "library":
        return set(LIBRARY)
    if name.startswith("traced-"):
        return set(_types_in(record_caches.read(name)))
    return set(_types_in(json.loads((FIXTURES / "cases" / f"{name}.json").read_text())))


def _types_in(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        if isinstance(kind := value.get("model_type"), str):
            yield kind
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _types_in(item)


def first_time(kinds: set[str]) -> list[str]:
    """The caches of types that no recording has: traces and case files that came with a release."""
    there = {path.stem for path in record_caches.FOLDER.glob("*.json")}
    traced = [
        f"traced-{stem}"
        for stem in sorted(file_name(kind) for kind in kinds)
        if (TRACED / f"{stem}.json").exists()
    ]
    written = [n for n in record_caches.families() if _kinds_of_cases(n) & kinds]
    return [f"caches {name}" for name in (*traced, *written) if name not in there]


def of_changed_code(
    library: Transformers, past: Mapping[str, Any], now: Mapping[str, Any]
) -> list[str]:
    """What a release may have changed: see the top of this file."""
    by_package = kinds_by_package()

    def kinds_of(packages: Iterable[str]) -> set[str]:
        return {kind for package in packages for kind in by_package.get(package, ())}

    before = past["running"]
    changed = kinds_of(n for n, digest in now["running"].items() if before.get(n) != digest)
    chosen = first_time(kinds_of(now["packages"].keys() - past["packages"].keys()))
    for name, kinds in everything().items():
        subject = name.split()[0]
        whole = {*kinds, *(part for kind in kinds for part in parts(library, kind))}
        if past["shared"].get(subject) != now["shared"][subject] or whole & changed:
            chosen.append(name)
    return chosen


# ---- one piece of it, in a process of its own


def outcome(name: str, *, dry: bool) -> Outcome:
    prepare()
    know_files()  # of types that this release added
    subject, _, rest = name.partition(" ")
    return {"caches": _caches, "activations": _activations, "workspace": _workspace}[subject](
        rest, dry
    )


def _caches(name: str, dry: bool) -> Outcome:
    from tests.sizing.test_caches import layers_in, unlike

    record_caches.prepare()
    before = record_caches.read(name)
    now = record_caches.current(name)
    done = Outcome(changed=list(record_caches.differing(before, now)))
    others = {line.partition(":")[0] for line in done.changed}
    done.equal = sum("architecture" in row for label, row in now.items() if label not in others)
    if done.changed and not dry:
        record_caches.take(name, before, now)
        done.taken.append("recorded anew")
    path = record_caches.FOLDER / f"{name}.json"
    done.by_hand += [
        *_lost_caches(before, now),
        *(unlike(path, layers_in(path)) if path.exists() else ()),
    ]
    return done


def _lost_caches(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """The recordings of models that run no more, or fill no StaticCache any more, although the
    catalog says what they keep."""
    from hfinspect.sizing.engines.registry import ENGINES
    from hfinspect.sizing.kv_cache import unknown_layouts
    from tests.sizing.test_caches import layers_of

    static = f"static {record_caches.STATIC}"
    for label, row in before.items():
        new = now.get(label, {})
        went = {
            "transformers": "architecture" in row and "architecture" not in new,
            "transformers-static": static in row and "not static" in new,
        }
        for engine in (name for name, gone in went.items() if gone):
            if not unknown_layouts(layers_of(row), ENGINES[engine]):
                yield f"{label} runs no more ({engine})"


def _activations(kind: str, dry: bool) -> Outcome:
    cases = record_activations.recorded_cases([kind])
    done = Outcome(changed=[line for _, line in record_activations.differing(cases)])
    done.equal = len(cases) - len(done.changed)
    if done.changed and not dry:
        record_activations.record_kind(kind)
        done.taken.append("its rules are recorded anew")
    return done


def _workspace(kind: str, dry: bool) -> Outcome:
    """Most bytes of calls, next to which the catalog's limits have to hold."""
    from tests.sizing.test_transformers_workspace import LIMIT, WIDER, ratio

    held = json.loads(record_workspace.RECORD.read_text())
    done = Outcome()
    for name in (n for n in record_workspace.MODELS if n.partition(" ")[0] == kind):
        before = [row for row in held["rows"] if row[0] == name]
        now = record_workspace.measured(name)
        others = [row for row in now if row not in before]
        done.equal += len(now) - len(others)
        done.changed += [f"{row[:-2]}: {row[-2]:,} bytes, {row[-1]:,} of cache" for row in others]
        if len(now) < len(before):
            done.by_hand.append(f"{name}: {len(before) - len(now)} calls run no more")
        for row in now:  # those that a run before recorded too
            over = ratio(dict(zip(held["columns"], row, strict=True)))
            if not 1 <= over <= WIDER.get(name, LIMIT):
                done.by_hand.append(f"{row[:-2]}: the limit is {over:.2f} of what was taken")
        if others and not dry:
            record_workspace.write({name: now})
            done.taken.append(f"{name} is recorded anew")
    return done


# ---- all of it


def done_file(version: str) -> Path:
    return Path(f"run-again-{version}.done")


def outcomes(names: Sequence[str], version: str, *, dry: bool) -> Iterator[tuple[str, Outcome]]:
    """What came of each. Where nothing is left, what is done is forgotten."""
    place = done_file(version)
    left = False
    for name, done in work_through(names, "run_again", place, dry=dry):
        left = left or not done.holds
        yield name, done
    if not left:
        place.unlink(missing_ok=True)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="such as 'caches llama'")
    parser.add_argument("--all", action="store_true", help="every recording")
    parser.add_argument("--dry", action="store_true", help="compare, write nothing")
    options = parser.parse_args(arguments)
    library = transformers()
    if unknown := [name for name in options.names if name.partition(" ")[0] not in sources.SHARED]:
        parser.error(f"{unknown[0]!r}: expected one of {', '.join(sources.SHARED)}, and a name")
    names = options.names or (
        list(everything())
        if options.all
        else of_changed_code(library, sources.recorded(), sources.installed())
    )
    differing = 0
    for name, done in outcomes(names, library.version, dry=options.dry):
        for line in (*done.changed, *done.by_hand):
            print(f"{name}: {line}", flush=True)
        differing += not done.holds or bool(done.changed)
    print(f"transformers {library.version}: {differing} of {len(names)} differ", file=sys.stderr)
    return bool(differing)


if __name__ == "__main__":
    sys.exit(main())
