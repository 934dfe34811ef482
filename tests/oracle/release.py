"""Take a new release of transformers: what is new, what changed, and a report of it.

    pip install transformers==VERSION              # in an environment of its own, with '.[oracle]'
    python -m tests.oracle release VERSION         # takes it and writes release-VERSION.md
    python -m tests.oracle release VERSION --dry   # only writes what it would take

The release that the catalog was recorded from is the past: fixtures/oracle/sources.json has a
digest of each package's code for shapes, and the recordings have what that release saved.  A new
release

1. is surveyed: new types and classes are traced, parts before what holds them;
2. is compared package by package: only types of packages that differ are built again, each as
   often as it was recorded, and every answer has to be what was recorded;
3. has its config classes compared: a key that a recorded type did not have is named, and a trace
   of such a type is recorded anew.  The new trace takes the old one's place only where it answers
   every recording of the past;
4. runs models again whose code changed, ``forward`` and all (``run-again``): caches, what autograd
   keeps, and the peaks of ``generate()``.  What differs is recorded anew; where a model does not
   run any more, or the catalog answers otherwise, that is left to do, and the release of these
   recordings stays the past one;
5. gives config keys, the classes that engines run by it, the constants for its number, and tables.

What changed and could not be taken stays as it was, is listed under "By hand", and keeps the digest
of the past, so that the next run lists it again.  A run that was stopped is run again: what is
recorded stays, and of the models it runs those that are left.  It ends with 1 where something is
left to do by hand.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hfinspect.core import library_versions

from . import record, run_again, sources, survey
from .in_processes import mib, prepare
from .record_config_keys import FIELDS, fields
from .trace import FIXTURES as TRACE_FIXTURES
from .trace import (
    LEFT_OUT,
    ROOT,
    TRACED,
    file_name,
    know_files,
    recorded_classes,
    unanswered,
)
from .tracing.library import Transformers, transformers
from .tracing.observing import flat, tree

CONSTANT = Path(library_versions.__file__)
MEMORY = ROOT / "docs" / "memory.md"
PEAKS = record.FIXTURES / "transformers_workspace.json"
#: Seconds that a trace of one type may take, all its classes together.
PATIENCE = 1200
#: Classes that are refused for this reason often pass with experiments in another order.
ENDLESS = "counterexamples without end"
SEEDS = (1, 2)


@dataclass
class Report:
    """What a run found and did, section by section, and how long each step took."""

    past: str
    now: str
    sections: dict[str, list[str]] = field(default_factory=dict)
    #: Of wall time, and of processor time.
    minutes: dict[str, tuple[float, float]] = field(default_factory=dict)

    def add(self, section: str, line: str) -> None:
        self.sections.setdefault(section, []).append(line)
        print(f"{section}: {line}", flush=True)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        started = time.monotonic()
        worked = _processor_seconds()
        print(f"{name} ...", file=sys.stderr, flush=True)
        try:
            yield
        finally:
            wall = time.monotonic() - started
            work = _processor_seconds() - worked
            self.minutes[name] = (wall / 60, work / 60)
            print(f"{name}: {wall / 60:.1f} minutes", file=sys.stderr, flush=True)

    def text(self) -> str:
        lines = [f"# transformers {self.now}, taken after {self.past}", ""]
        order = (BY_HAND, TAKEN, REFUSED, CHANGED, EQUAL)
        for section in (*order, *(s for s in self.sections if s not in order)):
            if section in self.sections:
                rows = self.sections[section]
                lines += [f"## {section} ({len(rows)})", "", *(f"- {row}" for row in rows), ""]
        wall, work = map(sum, zip(*self.minutes.values(), strict=True))
        all_steps = {**self.minutes, "together": (wall, work)}
        lines += ["## Minutes (of processor time)", ""]
        lines += [f"- {name}: {a:.1f} ({b:.1f})" for name, (a, b) in all_steps.items()]
        return "\n".join([*lines, f"- largest process: {_largest_mib():,} MiB", ""])


def _processor_seconds() -> float:
    """Of this process and of those that it started and that ended."""
    both = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(used.ru_utime + used.ru_stime for used in both)


def _largest_mib() -> int:
    both = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return mib(max(used.ru_maxrss for used in both))


BY_HAND = "By hand"
TAKEN = "Taken"
REFUSED = "Not taken, and why"
CHANGED = "Saves something else than the past did"
EQUAL = "Code changed, answers did not"


def changed_answers(library: Transformers, kinds: set[str]) -> Iterator[tuple[str, str]]:
    """Type, and what it says of a recording of these types that is another now, or cannot be
    built; ``""`` where it is equal."""
    for path in sorted((record.FIXTURES / "recorded").glob("*.json")):
        recordings = json.loads(path.read_text())
        if not any(row["model_type"] in kinds for row in recordings.values()):
            continue
        for entry in record.entries(record.FIXTURES / "cases" / path.name):
            if entry["model_type"] in kinds:
                for label, job in record.jobs(entry):
                    if label in recordings:
                        yield entry["model_type"], _difference(label, recordings[label], job)
    for path in sorted(TRACE_FIXTURES.glob("*.json")):
        for label, row in json.loads(path.read_text())["recordings"].items():
            now = "@" not in label  # the others are what an earlier release saved
            if now and row["library"] == library.name and row["model_type"] in kinds:
                yield row["model_type"], _traced_difference(library, label, row)


def _difference(label: str, before: Mapping[str, Any], job: Any) -> str:
    try:
        now = record.plain(job())
    except Exception as error:
        return f"{label}: {type(error).__name__} {str(error)[:120]}"
    if record.same(dict(before), now):
        return ""
    differing = set(before.get("tensors", ())) ^ set(now.get("tensors", ()))
    counts = f"{before['parameters']:,} parameters, now {now['parameters']:,}"
    return f"{label}: {counts}; {', '.join(sorted(differing)[:4])}"


def _traced_difference(library: Transformers, label: str, row: Mapping[str, Any]) -> str:
    kind = row["model_type"]
    name = row["architecture"]
    try:
        built = flat(tree(library.build(kind, name, row["given"])))
    except Exception as error:
        return f"{label}: {type(error).__name__} {str(error)[:120]}"
    same = record.shapes_digest(built) == row["digest"]
    return "" if same else f"{label}: {len(built)} tensors, {row['count']} in the past"


def new_keys(kinds: Iterable[str]) -> dict[str, list[str]]:
    """Type -> keys that its config class has now and had not when it was recorded."""
    past = json.loads(FIELDS.read_text())
    now = fields()
    common = set(past["common"].split())
    keys = {}
    for kind in sorted(kinds):
        before = {*common, *past["fields"].get(kind, "").split()}
        added = set(now["fields"].get(kind, "").split()) - before
        if kind in past["fields"] and added:
            keys[kind] = sorted(added)
    return keys


def in_order(library: Transformers, kinds: Iterable[str]) -> list[str]:
    """Types so that parts come before what holds them."""
    waiting = sorted(kinds)
    holds = {kind: run_again.parts(library, kind) & set(waiting) - {kind} for kind in waiting}
    done: list[str] = []
    while waiting:
        ready = [kind for kind in waiting if holds[kind] <= set(done)] or waiting[:1]
        done += ready
        waiting = [kind for kind in waiting if kind not in ready]
    return done


def trace(kind: str, *options: str, seed: int = 0) -> str:
    """Record a type in a process of its own: what that printed. Another seed tries experiments in
    another order."""
    environment = {**os.environ, "PYTHONHASHSEED": str(seed)}
    command = [sys.executable, "-m", "tests.oracle", "trace", "--alone", *options, kind]
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=environment,
            timeout=PATIENCE,
            capture_output=True,
            text=True,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"took longer than {PATIENCE} s"
    return (done.stdout + done.stderr).strip()


def take_new(library: Transformers, report: Report, *, dry: bool) -> None:
    """Trace the types and classes that the catalog lacks."""
    news: dict[str, list[str]] = {}
    for change in survey.survey(library, tensors=False):
        if change.what in ("new type", "new class"):
            news.setdefault(change.kind, []).extend(change.name.split())
        else:
            report.add(BY_HAND, str(change))
    for kind in in_order(library, news):
        if dry:
            report.add(BY_HAND, f"{kind} is new: {', '.join(news[kind])}")
            continue
        printed = trace(kind)
        for seed in SEEDS:
            if ENDLESS in printed:
                printed = trace(kind, seed=seed)
        there = recorded_classes(kind)
        for name in news[kind]:
            if name in there:
                report.add(TAKEN, f"{kind} {name}")
            else:
                reasons = json.loads(LEFT_OUT.read_text())[library.name]
                why = reasons.get(f"{kind} {name}") or _last_words(printed)
                report.add(REFUSED, f"{kind} {name}: {why}")


def earlier_refusals(library: Transformers, kinds: set[str], report: Report) -> None:
    """The classes of these types that a run before this one left out."""
    told = {line.partition(":")[0] for line in report.sections.get(REFUSED, ())}
    for name, why in json.loads(LEFT_OUT.read_text())[library.name].items():
        if name.partition(" ")[0] in kinds and name not in told:
            report.add(REFUSED, f"{name}: {why}")


def _last_words(printed: str) -> str:
    """Why a recorder wrote nothing."""
    lines = printed.splitlines() or ["it printed nothing"]
    return next((line for line in lines if "not written" in line), lines[-1]).strip()


def retake(library: Transformers, kind: str) -> str:
    """Record a trace anew where it answers all recordings of the past; else it stays: why."""
    places = [room / f"{file_name(kind)}.json" for room in (TRACED, TRACE_FIXTURES)]
    past = [place.read_text() for place in places]
    trace(kind, "--again")
    now = [place.read_text() for place in places]
    if now == past:
        return "the recorder wrote no other trace"
    new = json.loads(now[0])
    lost = unanswered(library, new, json.loads(past[1])["recordings"])
    if not lost:
        return ""
    for place, text in zip(places, past, strict=True):
        place.write_text(text)
    return f"a new trace does not answer what the past saved: {', '.join(lost[:4])}"


def compare(library: Transformers, packages: list[str], report: Report, *, dry: bool) -> set[str]:
    """Build the types of these packages again. Returns the packages with something left to do."""
    by_package = run_again.kinds_by_package()
    package_of = {kind: package for package in packages for kind in by_package.get(package, ())}
    wrong: dict[str, list[str]] = {}
    counts: dict[str, int] = {}
    for kind, difference in changed_answers(library, set(package_of)):
        counts[kind] = counts.get(kind, 0) + 1
        if difference:
            wrong.setdefault(kind, []).append(difference)
    left: set[str] = set()
    for kind, keys in new_keys(package_of).items():
        named = f"{kind} has new keys: {', '.join(keys)}"
        traced = (TRACED / f"{file_name(kind)}.json").exists()
        why = "" if dry or not traced else retake(library, kind)
        if traced and not dry and not why:
            report.add(TAKEN, f"{named}; its trace is recorded anew")
        else:
            report.add(BY_HAND, f"{named}; {why or 'its file in architectures/ has to read them'}")
            left.add(package_of[kind])
    for kind, differences in wrong.items():
        left.add(package_of[kind])
        for difference in differences:
            report.add(CHANGED, f"{kind} {difference}")
        report.add(BY_HAND, f"{kind}: {len(differences)} of {counts[kind]} recordings changed")
    for kind in sorted(counts.keys() - wrong.keys()):
        report.add(EQUAL, f"{kind}: {counts[kind]} recordings")
    return left


def run_models(names: list[str], version: str, report: Report, *, dry: bool) -> bool:
    """Run what was recorded by running models; whether all of it holds for this release."""
    equal = Counter[str]()
    holds = True
    for name, done in run_again.outcomes(names, version, dry=dry):
        equal[name.split()[0]] += done.equal
        for section, lines in (
            (CHANGED, done.changed),
            (TAKEN, done.taken),
            (BY_HAND, done.by_hand),
        ):
            for line in lines:
                report.add(section, f"{name}: {line}")
        holds = holds and done.holds
    for subject, count in equal.items():
        report.add(EQUAL, f"{subject}: {count} recordings")
    return holds


def write_constant(version: str, name: str = "TRANSFORMERS") -> None:
    """The release in a constant: of names and shapes, or ``TRANSFORMERS_RUN``."""
    pattern = rf'({name}: Final = )"[^"]+"'
    CONSTANT.write_text(re.sub(pattern, rf'\1"{version}"', CONSTANT.read_text()))


def write_run(version: str) -> None:
    """The release of what was recorded by running models, in its constant, in the document of
    memory, and next to the peaks of ``generate()``."""
    write_constant(version, "TRANSFORMERS_RUN")
    series = ".".join(version.split(".")[:2])
    named = r"(transformers(?:-static)?`? )\d+\.\d+(?:\.\d+)?\b"
    MEMORY.write_text(re.sub(named, rf"\g<1>{series}", MEMORY.read_text()))
    held = json.loads(PEAKS.read_text())
    PEAKS.write_text(json.dumps({**held, "transformers": version}) + "\n")


def write_rest(version: str, kinds: Iterable[str], report: Report) -> None:
    """Config keys, classes that engines run and that generate, what these types keep in float32,
    the constant, and everything that is generated."""
    write_constant(version)
    wide = " ".join(kinds)
    for command in (
        *([f"tests.oracle record float32 {wide}"] if wide else ()),
        "tests.oracle record config-keys",
        "tests.oracle record engine-classes --through",
        "tests.oracle record caches --generating",
        "tests.regenerate",
    ):
        print(f"python -m {command[:80]}", file=sys.stderr, flush=True)
        if subprocess.run([sys.executable, "-m", *command.split()], cwd=ROOT).returncode:
            report.add(BY_HAND, f"python -m {command} fails; run it again")


def release(wanted: str, report: Report, *, dry: bool, whole: bool) -> None:
    """Take the installed release; ``whole``: every type is built and run again, not those that
    changed."""
    prepare()
    library = transformers()
    past = sources.recorded()
    by_package = run_again.kinds_by_package()
    know_files()
    with report.step("comparing sources"):
        now = sources.installed()
        before = past["packages"]
        after = now["packages"]
        packages = sorted(after) if whole else sources.changed(before, after)
        for package in sorted(before.keys() - after.keys()):
            report.add(BY_HAND, f"transformers/models/{package} went")
    with report.step("tracing what is new"):
        take_new(library, report, dry=dry)
        came = {k for p in after.keys() - before.keys() for k in by_package.get(p, ())}
        earlier_refusals(library, came, report)
    with report.step(f"building what changed, {len(packages)} packages"):
        left = compare(library, packages, report, dry=dry)
    holds = wanted == library_versions.TRANSFORMERS_RUN and not whole
    if not holds:
        with report.step("running models again"):
            names = run_again.of_changed_code(library, past, now)
            names = [*dict.fromkeys([*names, *(run_again.everything() if whole else ())])]
            holds = run_models(names, wanted, report, dry=dry)
            if holds and not dry:
                write_run(wanted)
    if not dry:
        with report.step("keys, classes of engines, tables"):
            of_past = {name: before.get(name, after[name]) for name in left}
            run = now if holds else past
            sources.write(
                {
                    "version": wanted,
                    "packages": {**after, **of_past},
                    "running": run["running"],
                    "shared": run["shared"],
                }
            )
            differing = {*packages, *(after.keys() - before.keys())}
            write_rest(wanted, sorted(k for p in differing for k in by_package.get(p, ())), report)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("version", help="of transformers, as it is installed")
    parser.add_argument("--dry", action="store_true", help="take nothing, only report")
    parser.add_argument("--all", action="store_true", help="build and run every type again")
    parser.add_argument("--report", type=Path, help="where to; release-VERSION.md if not given")
    options = parser.parse_args(arguments)
    if (there := transformers().version) != options.version:
        sys.exit(
            f"transformers {there} is installed, the command names {options.version}: "
            f"pip install transformers=={options.version}"
        )
    for stop in (signal.SIGINT, signal.SIGTERM):  # in the background too
        signal.signal(stop, signal.default_int_handler)
    report = Report(sources.recorded()["version"], options.version)
    place = options.report or Path(f"release-{options.version}.md")
    try:
        release(options.version, report, dry=options.dry, whole=options.all)
    except KeyboardInterrupt:
        report.add(BY_HAND, f"stopped; the rest: python -m tests.oracle release {options.version}")
    finally:
        place.write_text(report.text())
        print(f"wrote {place}", file=sys.stderr)
    return 1 if BY_HAND in report.sections else 0


if __name__ == "__main__":
    sys.exit(main())
