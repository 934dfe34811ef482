"""Record families as data from the library's own constructors: ``architectures/traced/``.

    pip install 'hfinspect[oracle]'
    python -m tests.oracle trace pvt hiera            # the classes that the catalog lacks
    python -m tests.oracle trace --again pvt          # a recorded family anew
    python -m tests.oracle trace --judge bert t5      # compare with what is written, write nothing
    python -m tests.oracle trace --refused            # the types that are refused by name
    python -m tests.oracle trace --check pvt          # the gate over what is recorded, again
    python -m tests.oracle trace --divisors pvt       # which keys have to divide which
    python -m tests.oracle trace --diffusers AutoencoderKLWan    # a class of diffusers
    python -m tests.regenerate                        # then: the index of types and classes

Each class is built on the meta device from a small config, then from the same config with one key
changed after the other, then with several keys changed at once.  Numbers that remember how they
were computed (``tracing/symbols.py``) propose expressions; ``tracing/fitting.py`` keeps those which
explain every build; the reader of the package then has to say of thirty further random builds what
the library would save.  What it gets wrong becomes an experiment, and the fit is made again; a key
of which no explanation is found is guarded: the trace refuses any other value of it.  At last the
gate (``tracing/gate.py``): at least sixty configs as users write them, which the fit has not seen.
One silent difference, and the fit is made again; a class for which that fails is not written.
Nor is a trace that says less, or something wrong, of a config in fixtures/oracle/mended.json: so a
trace that was mended by hand is not written over unseen.

A type of transformers gets its recordings of caches and of what stays float32 at once.
The same command makes the same files. ``PYTHONHASHSEED=1`` in front of it makes the experiments in
another order: a class that is refused with "counterexamples without end" may pass so.

Another library needs one class with the methods of ``tracing/library.py``'s ``Library``; give it to
``record_family``.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import logging
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from hfinspect.core.config import ModelConfig
from hfinspect.errors import HfinspectError
from hfinspect.trees import catalog
from hfinspect.trees.catalog import builder, find_class, index, traced_family
from hfinspect.trees.expand import expected_tensors
from hfinspect.trees.prediction import is_saved
from hfinspect.trees.traced import builders

from .deliberate import something
from .record import digest, shapes_digest
from .tracing.building import Failed
from .tracing.dividing import with_divisors
from .tracing.gate import gate, predicted
from .tracing.library import Library, transformers
from .tracing.observing import Leaf, Node, Part, flat, tree
from .tracing.of_diffusers import diffusers
from .tracing.recording import Recorded, Recording
from .tracing.writing import Table, chosen, merged, text

ROOT = Path(__file__).resolve().parents[2]
TRACED = ROOT / "hfinspect" / "architectures" / "traced"
FIXTURES = ROOT / "fixtures" / "oracle" / "traced"
#: Types and classes that stay out, and why.
LEFT_OUT = ROOT / "fixtures" / "oracle" / "left_out.json"
#: Configs of which a prediction was wrong once, and what the library saves of them.
MENDED = ROOT / "fixtures" / "oracle" / "mended.json"
#: Seconds of processor time for a class.
SECONDS = 60.0


def _levels(library: Library, released: bool, level: int) -> range:
    """How narrow the roots are that are tried: those of released configs after the first are."""
    if library.name != "diffusers":
        return range(level, level + 1)
    return range(max(level, int(released)), 3)


def file_name(kind: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in kind)


def record_classes(
    library: Library, kind: str, names: Iterable[str], seconds: float = SECONDS, level: int = 0
) -> tuple[dict[str, list[Recorded]], dict[str, str]]:
    """Class -> what was recorded, a root each, and class -> why it was not."""
    recordings: dict[str, list[Recorded]] = {}
    failed: dict[str, str] = {}
    for name in sorted(names, key=_order):
        started = time.process_time()
        roots, why = record_class(library, kind, name, seconds, level)
        if roots:
            recordings[name] = roots
            _make_known(family_json(library, kind, recordings))
            outcome = "; ".join(
                f"{one.checked} builds, guards {len(one.guards)}, gate: {one.gated}"
                for one in roots
            )
        else:
            outcome = failed[name] = why
        print(f"{kind} {name}: {outcome} ({time.process_time() - started:.0f} s)", flush=True)
    return recordings, failed


def _order(name: str) -> tuple[bool, int, str]:
    """What others are made of first."""
    return not name.endswith(("Model", "Encoder", "Backbone")), len(name), name


def _make_known(trace: dict[str, Any]) -> None:
    """Classes of this trace, instead of what the index has, may be parts of what follows."""
    family = traced_family(trace)
    for name in family.classes:
        index().classes.pop(name, None)  # type: ignore[attr-defined]
        catalog._BY_CLASS[name] = family


def record_class(
    library: Library, kind: str, name: str, seconds: float, level: int = 0
) -> tuple[list[Recorded], str]:
    """A root for the default config and one for each released config that the roots before it
    refuse; and why there is none."""
    roots: list[Recorded] = []
    reason = ""
    for released in ({}, *library.released(kind, name)):
        if roots and _answers(library, kind, name, roots, released):
            continue
        for narrow in _levels(library, bool(released and roots), level):
            spent = seconds / 2 if narrow > level else seconds
            try:
                roots.append(Recording(library, kind, name, spent, released, narrow).solve())
                break
            except Failed as error:
                why = str(error)
            except Exception as error:
                why = f"{type(error).__name__}: {error}"
            reason = reason or why
            print(f"   {name} {str(released)[:60]} {narrow}: {why[:160]}", flush=True)
            if why.startswith("no config"):
                break
    return roots, reason


def _answers(
    library: Library, kind: str, name: str, roots: list[Recorded], given: Mapping[str, Any]
) -> bool:
    """Whether the roots say of a released config what is saved. Raises AssertionError where they
    say something else."""
    trace = family_json(library, kind, {name: roots})
    try:
        shapes = predicted(library, kind, name, trace, given)
    except HfinspectError:
        return False
    assert shapes == library.saved_names(kind, name, given), (name, given)
    return True


#: What a family's tensors are for, where nothing says otherwise.
_PARTS = {"vision": "vision", "audio": "audio", "diffusion": "vision"}


def family_json(
    library: Library, kind: str, recordings: Mapping[str, list[Recorded]]
) -> dict[str, Any]:
    """The trace of a family."""
    about = library.about(kind)
    part = about.pop("part", None) or _PARTS.get(about["category"], "text")
    table = Table()
    rules: list[dict[str, Any]] = []
    defaults: dict[str, Any] = {}
    classes: dict[str, Any] = {}
    absent: dict[str, Any] = {}
    for name in sorted(recordings, key=_rank):
        entries: list[dict[str, Any]] = []
        for one in recordings[name]:
            absent.update(one.absent)
            table.keys = set(one.guards)
            root = table.root(one.tree, part)
            if one.guards not in rules:
                rules.append(one.guards)
            own = chosen(one.defaults, table.keys)
            entry: dict[str, Any] = {
                "root": root,
                "guards": rules.index(one.guards),
                "checked": one.checked + one.gated.equal + one.gated.refused,
            }
            differing = {k: v for k, v in own.items() if k in defaults and defaults[k] != v}
            if differing:
                entry["defaults"] = differing
            defaults.update({k: v for k, v in own.items() if k not in defaults})
            entries.append(entry)
        classes[name] = {**entries[0], "or": entries[1:]} if entries[1:] else entries[0]
    return {
        "format": 1,
        "library": library.name,
        "version": library.version,
        "model_type": library.model_type(kind),
        "category": about["category"],
        "base": about["base"] if about["base"] in classes else None,
        "base_prefix": about["base_prefix"],
        "classes": classes,
        "guards": rules,
        **({"absent": absent} if absent else {}),
        "defaults": dict(sorted(defaults.items())),
        "nodes": table.nodes,
    }


#: Of a type whose config names no class, the first of these is taken.
_FIRST = (
    "ForConditionalGeneration",
    "ForCausalLM",
    "ForMaskedLM",
    "ForImageClassification",
    "ForObjectDetection",
    "ForUniversalSegmentation",
    "ForSemanticSegmentation",
    "ForDepthEstimation",
    "ForPreTraining",
    "ForPrediction",
    "ForCTC",
    "Model",
    "Encoder",
)


def _rank(name: str) -> tuple[int, str]:
    return next((n for n, end in enumerate(_FIRST) if name.endswith(end)), len(_FIRST)), name


def examples(
    library: Library, kind: str, recordings: Mapping[str, list[Recorded]]
) -> dict[str, Any]:
    """Recordings of a few builds of each class: a count and a digest of what would be saved."""
    records: dict[str, Any] = {}
    for name, roots in recordings.items():
        some = [(seen.given, seen.root) for one in roots for seen in one.examples[:3]][:5]
        for number, released in enumerate(library.released(kind, name)):
            if _answers(library, kind, name, roots, released):
                label = f"{name}-released-{number}"
                seen = tree(library.build(kind, name, released))
                records[label] = _example(library, kind, name, released, seen)
        for number, (given, root) in enumerate(some):
            records[f"{name}-{number}"] = _example(library, kind, name, given, root)
    return records


def _example(
    library: Library, kind: str, name: str, given: Mapping[str, Any], root: Node
) -> dict[str, Any]:
    shapes = flat(root)
    return {
        "library": library.name,
        "version": library.version,
        "model_type": library.model_type(kind),
        "architecture": name,
        "given": given,
        "parameters": _parameters(root),
        "count": len(shapes),
        "digest": shapes_digest(shapes),
    }


def _parameters(node: Node | Leaf | Part) -> int:
    if isinstance(node, Part):
        return _parameters(node.whole)
    if isinstance(node, Node):
        return sum(map(_parameters, node.children.values()))
    size = 1
    for n in node.shape:
        size *= n
    return size if node.saved and not (node.buffer or node.tied) else 0


def record_family(
    library: Library, kind: str, names: list[str], seconds: float = SECONDS, level: int = 0
) -> bool:
    """Record these classes of a type and write its trace; other classes that it has stay."""
    records, failed = record_classes(library, kind, names, seconds, level)
    _leave_out(library.name, kind, names, failed)
    if not records:
        return False
    TRACED.mkdir(exist_ok=True)
    FIXTURES.mkdir(exist_ok=True)
    places = TRACED / f"{file_name(kind)}.json", FIXTURES / f"{file_name(kind)}.json"
    trace = with_divisors(library, kind, family_json(library, kind, records))
    recordings = examples(library, kind, records)
    recordings = _in_reach(library, trace, recordings)
    if refused := unanswered(library, trace, recordings):
        print(
            f"{kind}: not written, it refuses its own recordings", *refused, sep="\n   ", flush=True
        )
        return False
    if places[0].exists():
        old = json.loads(places[0].read_text())
        entries = json.loads(MENDED.read_text())
        if lost := list(unmended(library, kind, old, trace, entries)):
            print(f"{kind}: not written, it was mended by hand", *lost, sep="\n   ", flush=True)
            return False
        if not set(old["classes"]) & set(records):
            base = old["base"] or trace["base"]
            trace = merged(old, trace)
            ordered = {n: trace["classes"][n] for n in sorted(trace["classes"], key=_rank)}
            trace |= {"base": base, "classes": ordered}
            recordings = {**json.loads(places[1].read_text())["recordings"], **recordings}
    places[0].write_text(text(trace))
    places[1].write_text(text({"recordings": recordings}))
    return True


def _in_reach(
    library: Library, trace: Mapping[str, Any], recordings: Mapping[str, dict[str, Any]]
) -> dict[str, dict[str, Any]]:
    """Without the builds that a part of the class refuses, whose guards may be narrower than those
    of the class; all of them where a class would have none left."""
    kind = trace["model_type"]
    records = dict(recordings)
    for name in trace["classes"]:
        own = {label: row for label, row in recordings.items() if row["architecture"] == name}
        says = {n: _says(library, kind or name, trace, row) for n, row in own.items()}
        if "equal" in says.values():
            for label in (label for label, answer in says.items() if answer == "refused"):
                del records[label]
    return records


def unanswered(
    library: Library, trace: Mapping[str, Any], recordings: Mapping[str, Mapping[str, Any]]
) -> list[str]:
    """The recordings that a trace refuses, or answers otherwise than the library built them."""
    kind = trace["model_type"]
    return [
        label
        for label, row in recordings.items()
        if row["architecture"] not in trace["classes"]
        or _says(library, kind or row["architecture"], trace, row) != "equal"
    ]


def unmended(
    library: Library,
    kind: str,
    old: Mapping[str, Any],
    trace: Mapping[str, Any],
    entries: Iterable[Mapping[str, Any]],
) -> Iterator[str]:
    """The configs of mended.json of which a new trace is wrong, or refuses what the old answers."""
    for entry in entries:
        name = entry["architecture"]
        kinds = (library.name, library.model_type(kind))
        if name not in trace["classes"] or (entry["library"], entry["model_type"]) != kinds:
            continue
        before = name in old["classes"] and _says(library, kind, old, entry)
        now = _says(library, kind, trace, entry)
        if now != "equal" and (now == "wrong" or before == "equal"):
            yield f"{name} {json.dumps(entry['given'])}: {now}"


def _says(library: Library, kind: str, trace: Mapping[str, Any], entry: Mapping[str, Any]) -> str:
    """Whether a trace's answer is equal to what is kept, wrong, or refused."""
    given = dict(entry["given"])
    if library.name == "transformers" and "version" in entry:
        given["transformers_version"] = entry["version"]
    try:
        shapes = predicted(library, kind, entry["architecture"], trace, given)
    except HfinspectError:
        return "refused"
    return "equal" if shapes_digest(something(shapes)) == entry["digest"] else "wrong"


def _leave_out(library: str, kind: str, names: list[str], failed: Mapping[str, str]) -> None:
    """Note which classes stay out and why; several recorders may run at once."""
    LEFT_OUT.touch()
    with LEFT_OUT.open("r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        reasons = json.loads(file.read() or "{}")
        mine = {k: v for k, v in reasons.get(library, {}).items() if k.partition(" ")[0] != kind}
        old = reasons.get(library, {})
        mine |= {k: v for k, v in old.items() if k.partition(" ")[2] not in names}
        mine |= {f"{kind} {name}": why for name, why in failed.items()}
        file.seek(0)
        file.truncate()
        file.write(json.dumps({**reasons, library: dict(sorted(mine.items()))}, indent=1) + "\n")


def lacking(library: Library, kind: str) -> list[str]:
    """The classes of a type that no written family has."""
    known = index().classes
    return [n for n in library.classes(kind) if n not in known or known[n][0].startswith("traced/")]


def recorded_classes(kind: str) -> set[str]:
    """The classes that the trace of a type has: the file says it, whatever the index does."""
    place = TRACED / f"{file_name(kind)}.json"
    return set(json.loads(place.read_text())["classes"]) if place.exists() else set()


def know_files() -> None:
    """Put the traces that no index has yet into this process's index: a composite is recorded
    right after its parts."""
    files = set(index().types.values()) | {file for file, _ in index().classes.values()}
    for place in sorted(TRACED.glob("*.json")):
        file = f"traced/{place.stem}"
        if file in files:
            continue
        trace = json.loads(place.read_text())
        kind = trace["model_type"] or ""
        if kind:
            index().types.setdefault(kind, file)  # type: ignore[attr-defined]
        for name in trace["classes"]:
            index().classes.setdefault(name, (file, kind))  # type: ignore[attr-defined]


def judge(library: Library, kind: str, seconds: float) -> Iterator[str]:
    """How a trace of a written family answers its recordings: answered, refused, wrong."""
    from tests.architectures import recordings

    key = "architecture" if library.name == "diffusers" else "model_type"
    wanted = {
        label: record
        for family, label, record in recordings.everything()
        if record[key] == kind and (family == file_name(kind) or key == "architecture")
    }
    names = sorted({r["architecture"] for r in wanted.values()} & set(library.classes(kind)))
    records, failed = record_classes(library, kind, names, seconds)
    trace = family_json(library, kind, records) if records else None
    counts = {"answered": 0, "refused": 0, "wrong": 0}
    for label, record in wanted.items():
        if record["architecture"] in failed or record["architecture"] not in names:
            counts["refused"] += record["architecture"] in failed
            continue
        for spelling, config in recordings.spellings(record).items():
            outcome, why = _judged(trace, record, config)
            counts[outcome] += 1
            if outcome != "answered":
                yield f"   {label} {spelling}: {outcome} {why}"
    yield f"{kind}: {json.dumps(counts)}"


def _judged(trace: Any, record: Any, config: Any) -> tuple[str, str]:
    try:
        root = builders(trace, builder)[record["architecture"]](ModelConfig(config))
    except HfinspectError as error:
        return "refused", str(error)[:160]
    mine = {s.name: s.shape for s in expected_tensors(root) if is_saved(s)}
    lines = [f"{n} {'x'.join(map(str, s)) or 'scalar'}" for n, s in mine.items()]
    if "digest" in record:
        same = digest(lines) == record["digest"]
        return ("answered", "") if same else ("wrong", "digest")
    real = {" ".join(line.split(" ")[:2]) for line in record["tensors"]}
    differing = sorted(set(lines) ^ real)
    return ("answered", "") if not differing else ("wrong", str(differing[:4]))


def check(library: Library, kind: str, seed: str, count: int) -> Iterator[str]:
    """The gate over the recorded trace of a type, with other configs than it was recorded with."""
    trace = json.loads((TRACED / f"{file_name(kind)}.json").read_text())
    for name in trace["classes"]:
        start = next(iter(library.starts(kind, name)))
        until = time.process_time() + 300
        gated = gate(library, kind, name, trace, start, seed, until, count)
        yield f"{kind} {name}: {gated}"
        for given, differs in gated.wrong:
            yield f"   WRONG {json.dumps(given)} {differs}"


def divide(library: Library, kind: str) -> dict[str, list[str]]:
    """Write into the trace of a type which keys have to divide which: divisor -> these."""
    place = TRACED / f"{file_name(kind)}.json"
    trace = json.loads(place.read_text())
    guarded = with_divisors(library, kind, trace)
    if guarded != trace:
        place.write_text(text(guarded))
    return {
        key: guard["divides"]
        for rule in guarded["guards"]
        for key, guard in rule.items()
        if "divides" in guard
    }


def refused(library: Any) -> Iterator[tuple[str, list[str]]]:
    """Types with classes that the catalog lacks, and these classes. A section whose config class
    has no model_type is none: no config.json can name it."""
    from .record_config_keys import config_classes

    kinds = set(library.types())
    if library.name == "transformers":
        kinds |= {kind for kind, cls in config_classes().items() if cls.model_type}
    for kind in sorted(kinds):
        try:
            names = [n for n in library.classes(kind) if find_class(n) is None]
        except Exception as error:
            print(f"{kind}: {type(error).__name__} {error}", file=sys.stderr)
            continue
        if names:
            yield kind, names


def _with_hash_seed() -> None:
    """Start anew with one order of sets: the same experiments come in the same order each time."""
    if "PYTHONHASHSEED" not in os.environ:
        command = [sys.executable, "-m", "tests.oracle", "trace", *sys.argv[1:]]
        os.execve(sys.executable, command, {**os.environ, "PYTHONHASHSEED": "0"})


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("types", nargs="*", help="model types")
    parser.add_argument("--again", action="store_true", help="record what is recorded anew")
    parser.add_argument("--judge", action="store_true", help="compare with written families")
    parser.add_argument("--refused", action="store_true", help="list what the catalog lacks")
    parser.add_argument("--check", action="store_true", help="the gate over recorded traces")
    parser.add_argument("--divisors", action="store_true", help="find what has to divide what")
    parser.add_argument("--seed", default="again", help="of the gate with --check")
    parser.add_argument("--count", type=int, default=60, help="comparisons with --check")
    parser.add_argument("--diffusers", action="store_true", help="the types are its classes")
    parser.add_argument("--alone", action="store_true", help="no caches, nothing of float32")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for each class")
    parser.add_argument(
        "--level",
        type=int,
        default=0,
        choices=(0, 1, 2),
        help="guard from the start: nothing, all but numbers, all but numbers of layers",
    )
    options = parser.parse_args()
    _with_hash_seed()
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    library = diffusers() if options.diffusers else transformers()
    know_files()
    if options.refused:
        for kind, names in refused(library):
            print(kind, *names)
        return 0
    for kind in options.types:
        if options.check:
            for line in check(library, kind, options.seed, options.count):
                print(line, flush=True)
            continue
        if options.divisors:
            print(f"{kind}: {json.dumps(divide(library, kind))}", flush=True)
            continue
        if options.judge:
            for line in judge(library, kind, options.seconds):
                print(line, flush=True)
            continue
        there = set() if options.again else recorded_classes(kind)
        names = [name for name in lacking(library, kind) if name not in there]
        if not names:
            print(f"{kind}: is recorded")
            continue
        done = record_family(library, kind, names, options.seconds, options.level)
        if done and library.name == "transformers" and not options.alone:
            _record_rest(kind)
    return 0


def _record_rest(kind: str) -> None:
    """What is recorded by running the type's models: caches, with their marks in the trace, and
    what stays float32."""
    for words in (f"caches --traced {file_name(kind)}", f"float32 {kind}"):
        command = [sys.executable, "-m", "tests.oracle", "record", *words.split()]
        subprocess.run(command, cwd=ROOT, check=True)


if __name__ == "__main__":
    sys.exit(main())
