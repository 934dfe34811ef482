"""Predictions next to the library at other lengths of lists and odd sizes: what fuzz rarely tries.

    pip install 'hfinspect[oracle]'
    python -m tests.oracle stress                              # every trace and written family
    python -m tests.oracle stress --seed 7 swin glpn           # some, by the names of their files
    python -m tests.oracle stress --of written                 # or --of traced; all by default
    python -m tests.oracle stress --library diffusers          # or timm; transformers by default
    python -m tests.oracle stress --from m --chunk 500         # on from a file, for 500 seconds
    python -m tests.oracle stress --keep glpn                  # and keep what differs as a case

What was recorded is taken with its lists cut or repeated together, and with other numbers in them
and elsewhere, divisible by nothing in particular (resizing.py).  Each is built on the meta device;
what the library refuses is no comparison.  A difference is cut down to the changed keys that it
needs.  The exit status is 1 where names or shapes of a prediction differ, 3 where time ran out.

A difference that is kept is what the library saves of that config, in fixtures/oracle/mended.json:
the catalog has to say the same ever after, or to refuse; a trace that is recorded again as well.
"""

from __future__ import annotations

import argparse
import copy
import json
import logging
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import chain
from random import Random
from typing import Any, NamedTuple

from hfinspect.errors import HfinspectError
from hfinspect.trees.prediction import predict

from ..oracle_folder import ORACLE
from . import saved
from .deliberate import MODULE_NAMES, passed_over, something
from .record import shapes_digest
from .resizing import KEPT_OUT, Config, of_timm, resized
from .trace import MENDED
from .tracing.library import Library, patience, transformers
from .tracing.observing import flat

#: Folders of recordings, by what is compared with them.
FOLDERS = {"traced": "traced", "written": "recorded"}
LIBRARIES = ("transformers", "diffusers", "timm")
#: Seconds for one build; a config that needs more is passed over.
PATIENCE = 10.0
#: Differences of one file that are cut down; further ones are counted only.
CUT = 12


class Outcome(NamedTuple):
    """``kind``: equal, refused (by hfinspect), passed (refused by the library), differing or
    crashed, and of the last two an example."""

    kind: str
    example: str = ""


def built(record: Config, config: Config) -> saved.Shapes:
    """What the library would save. Raises what it raises."""
    name = record["architecture"]
    if record["library"] == "timm":
        from .tracing.of_timm import timm

        return flat(timm().build(config))
    if record["library"] == "diffusers":
        from .tracing.of_diffusers import diffusers

        return diffusers().saved_names(name, name, copy.deepcopy(config))
    values = copy.deepcopy(named(record, config))
    cls = saved.model_class(name, record["model_type"])
    plain = record["model_type"] in MODULE_NAMES
    return saved.shapes(cls, saved.config_for(cls, values), module_names=plain)


def named(record: Config, config: Config) -> Config:
    """A config as config.json has it."""
    name = record["architecture"]
    if record["library"] == "timm":
        return config
    if record["library"] == "diffusers":
        return {**config, "_class_name": name}
    return {**config, "model_type": record["model_type"], "architectures": [name]}


def outcome(record: Config, config: Config) -> Outcome:
    """How one comparison comes out."""
    values = named(record, config)
    if passed_over(str(record.get("model_type")), is_part(record), values):
        return Outcome("passed")
    try:
        with patience(PATIENCE):
            theirs = something(built(record, config))
    except ImportError as error:
        return Outcome("not installed", str(error).strip()[:200])
    except Exception:
        return Outcome("passed")
    try:
        specs = predict(values).tensors
    except HfinspectError as error:
        return Outcome("refused", str(error)[:200])
    except Exception as error:
        return Outcome("crashed", f"{type(error).__name__}: {error}")
    ours = something({spec.name: tuple(map(int, spec.shape)) for spec in specs})
    if ours == theirs:
        return Outcome("equal")
    names = sorted(n for n in {*ours, *theirs} if ours.get(n) != theirs.get(n))
    some = "; ".join(f"{n}: {ours.get(n)} for {theirs.get(n)}" for n in names[:3])
    return Outcome("differing", f"{len(names)} tensors, {some}")


def is_part(record: Config) -> bool:
    """Whether the class is that of a section of its composite."""
    if record["library"] != "transformers":
        return False
    own = saved.model_class(record["architecture"], record["model_type"]).config_class
    return own.model_type != record["model_type"] and saved._is_part(own, record["model_type"])


def is_installed(record: Config) -> bool:
    """Whether what a class needs next to its library is there."""
    try:
        is_part(record)
    except ImportError as error:
        print(f"  {record['architecture']}: {' '.join(str(error).split())[:80]}", file=sys.stderr)
        return False
    return True


def recordings(folder: str, file: str, library: str) -> list[Config]:
    """The recordings of a file that have a config to begin with."""
    path = ORACLE / FOLDERS[folder] / f"{file}.json"
    content = json.loads(path.read_text())
    records = content["recordings"] if folder == "traced" else content
    return [r for r in records.values() if r["library"] == library and "given" in r]


def trials(
    records: list[Config], rng: Random, spellings: Callable[[Config], list[Config]]
) -> Iterator[tuple[Config, Config, Config]]:
    """A recording, its config in one of its spellings, and another made from it, without end."""
    spelled: dict[int, list[Config]] = {}
    while records:
        number = rng.randrange(len(records))
        record = records[number]
        if record["library"] == "timm":
            yield record, {}, of_timm(record["architecture"], rng)
            continue
        if number not in spelled:
            spelled[number] = [
                {k: v for k, v in values.items() if k not in KEPT_OUT and k != "_class_name"}
                for values in spellings(record)
            ]
        base = rng.choice(spelled[number])
        yield record, base, resized(base, rng)


def with_unlisted(
    records: list[Config], keys: Callable[[Config], Mapping[str, list[Any]]]
) -> Iterator[tuple[Config, Config, Config]]:
    """One recording of each class with every key that its models read and no config class lists."""
    for record in {record["architecture"]: record for record in records}.values():
        base = record["given"]
        for key, (value, *_) in keys(record).items():
            yield record, base, put(base, {tuple(key.split(".")): value})


def unlisted(record: Config) -> Mapping[str, list[Any]]:
    """Such keys of a class of transformers, and values."""
    if record["library"] != "transformers":
        return {}
    return transformers().unlisted(record["model_type"], record["architecture"])


def spellings(record: Config) -> list[Config]:
    """The config as given, as saved, and in full."""
    kind = record["model_type"]
    name = record["architecture"]
    given = record["given"]
    # Of a section that was built alone, what is saved is a config of its own.
    same = record.get("saved", {}).get("model_type", kind) == kind
    configs = [record["saved"]] if "saved" in record and same else []
    library: Library = transformers()
    if record["library"] == "diffusers":
        from .tracing.of_diffusers import diffusers

        library = diffusers()
        kind = name
    try:
        configs.append(library.full(kind, name, given))
    except Exception as error:  # a section whose type only its composite has
        print(f"  {name}: {type(error).__name__} of its config in full", file=sys.stderr)
    # The library finds a part's section by the model_type that a saved config states.
    return configs if configs and is_part(record) else [given, *configs]


def cut_down(base: Config, config: Config, differs: Callable[[Config], bool]) -> Config:
    """The changes of a config that it needs in order to differ: dotted key -> value."""
    changes = dict(_changes(base, config))
    for path in sorted(changes, key=len, reverse=True):
        fewer = {other: value for other, value in changes.items() if other != path}
        if differs(put(base, fewer)):
            changes = fewer
    return {".".join(path): value for path, value in changes.items()}


def _changes(
    base: Config, config: Config, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Any]]:
    for key, value in config.items():
        if isinstance(value, dict):
            yield from _changes(base.get(key, {}), value, (*path, key))
        elif key not in base or value != base[key] or type(value) is not type(base[key]):
            yield (*path, key), value


def put(base: Config, changes: dict[tuple[str, ...], Any]) -> Config:
    """``base`` with values put under paths of keys."""
    config = copy.deepcopy(base)
    for (*path, last), value in changes.items():
        place = config
        for key in path:
            place = place.setdefault(key, {})
        place[last] = value
    return config


def compare(folder: str, file: str, options: argparse.Namespace) -> Counter[str]:
    """The comparisons of one file, each difference printed under the keys that it needs."""
    rng = Random(f"{options.seed} {file}")
    until = float("inf")
    counts: Counter[str] = Counter()
    causes: Counter[str] = Counter()
    records = list(filter(is_installed, recordings(folder, file, options.library)))
    for record, base, config in chain(
        with_unlisted(records, unlisted), trials(records, rng, spellings)
    ):
        kind, example = outcome(record, config)
        if not counts:  # which imports what the class needs
            until = time.process_time() + options.seconds
        counts[kind] += 1
        if kind in ("differing", "crashed") and len(causes) < CUT:
            needed = cut_down(base, config, partial(_comes_out, record, kind))
            cause = f"{record['architecture']} {kind} {sorted(needed)}"
            causes[cause] += 1
            if causes[cause] == 1:
                print(f"  {cause} {json.dumps(needed)}\n    of {json.dumps(base)}\n    {example}")
                if options.keep:
                    keep(record, smallest(record, base, needed, kind))
        if counts.total() >= options.count or time.process_time() > until:
            break
    if counts:
        print(f"{file}: {dict(counts)}", flush=True)
    return counts


def smallest(record: Config, base: Config, needed: Config, kind: str) -> Config:
    """The changed keys, and what of the rest it takes that the outcome stays."""
    config = put(base, {tuple(path.split(".")): value for path, value in needed.items()})
    for key in list(config):
        fewer = {other: value for other, value in config.items() if other != key}
        if outcome(record, fewer).kind == kind:
            config = fewer
    return config


def keep(record: Config, config: Config) -> None:
    """Note a config and what the library saves of it."""
    shapes = something(built(record, config))
    kept = json.loads(MENDED.read_text())
    entry = {
        "library": record["library"],
        "model_type": record.get("model_type"),
        "architecture": record["architecture"],
        "given": config,
        "count": len(shapes),
        "digest": shapes_digest(shapes),
    }
    if entry not in kept:
        kept = sorted([*kept, entry], key=lambda one: (one["architecture"], json.dumps(one)))
        MENDED.write_text("[\n" + ",\n".join(map(json.dumps, kept)) + "\n]\n")


def _comes_out(record: Config, kind: str, config: Config) -> bool:
    return outcome(record, config).kind == kind


def files(options: argparse.Namespace) -> Iterator[tuple[str, str]]:
    """Folder and name of what is compared."""
    for folder, place in FOLDERS.items():
        for path in sorted((ORACLE / place).glob("*.json")):
            wanted = not options.files or path.stem in options.files
            if wanted and options.of in (None, folder) and path.stem >= options.first:
                yield folder, path.stem


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="*", help="files of fixtures/oracle; all if none")
    parser.add_argument("--of", choices=sorted(FOLDERS), help="only traces, or written families")
    parser.add_argument("--library", default="transformers", choices=LIBRARIES)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=300, help="comparisons of each file")
    parser.add_argument("--seconds", type=float, default=5, help="of each file")
    parser.add_argument("--keep", action="store_true", help="differences become cases")
    parser.add_argument("--from", dest="first", default="", metavar="FILE", help="to begin with")
    parser.add_argument("--chunk", type=float, default=1e9, help="seconds of all together")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    transformers()
    total: Counter[str] = Counter()
    until = time.monotonic() + options.chunk
    for folder, file in files(options):
        if time.monotonic() > until:
            print(f"on with --of {folder} --from {file}")
            return 3
        total += compare(folder, file, options)
    print(f"all: {dict(total)}")
    return 1 if total["differing"] + total["crashed"] else 0


if __name__ == "__main__":
    sys.exit(main())
