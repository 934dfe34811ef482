"""Put traces in place of written families that say no more than these.

    pip install 'hfinspect[oracle]'
    python -m tests.oracle replace dinov3_vit swin          # says what a trace would lack
    python -m tests.oracle replace --write dinov3_vit swin  # and replaces where that is nothing
    python -m tests.regenerate                              # then: the index of types and classes

A family is a file of ``architectures/``.  Each class of each of its types is recorded as
``tests.oracle.trace`` does, with further roots for the recorded configs that the first refuses, and
with the labels that the written tree gives.  A trace takes the file's place only where

- it answers every recording of the class that the file answers, in every spelling;
- of ``--count`` fresh configs as users write them it gets none wrong, and refuses at most a share
  of ``--allow`` of those that the file answers;
- names, shapes, components, parts, kinds, ties and dtypes of all these are those of the file;
- no size or count is held to the values that were recorded;
- the type's base, prefix, category and first class are the same;
- of every recorded config that names the family, composites too, every command says what it said
  before (``tests/sameness``): on the screen, as JSON and by its exit code.

What is printed of a family that stays: the reason, and the configs or labels behind it, or the
questions that are answered otherwise, with the lines. What the layers of classes that generate keep
is compared first; where it is the same, the trace is marked as one that has shown it.
"""

from __future__ import annotations

import argparse
import json
import logging
import re
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from random import Random
from typing import Any, NamedTuple, cast

from hfinspect.core.components import Role
from hfinspect.core.config import ModelConfig
from hfinspect.core.tensor import TensorSpec
from hfinspect.errors import HfinspectError
from hfinspect.sizing.kv_cache import cached_layers
from hfinspect.trees import catalog
from hfinspect.trees.cache_layout import CacheItem
from hfinspect.trees.catalog import Builder, Family, builder, index
from hfinspect.trees.expand import expected_tensors
from hfinspect.trees.modules import Layers, Module
from hfinspect.trees.traced import builders

from ..oracle_folder import ORACLE
from ..sameness.questions import QUESTIONS, Question
from .deliberate import something
from .held_numbers import held_numbers, others_build
from .same_answers import differing_answers
from .trace import (
    FIXTURES,
    ROOT,
    TRACED,
    _order,
    examples,
    family_json,
    file_name,
    record_classes,
)
from .tracing.dividing import with_divisors
from .tracing.gate import PATIENCE, _known, _varied
from .tracing.library import Given, Library, Transformers, patience
from .tracing.observing import Kept, Older, Saved
from .tracing.of_diffusers import Diffusers
from .tracing.recording import Recorded
from .tracing.writing import text

FAMILIES = ROOT / "hfinspect" / "architectures"


class _Known:
    """What a written family and its recordings add to a library."""

    family: Family
    written: Mapping[str, Builder]
    recorded: Mapping[str, list[dict[str, Any]]]

    def labelled(self, library: Library, kind: str, name: str, given: Given, made: Saved) -> Saved:
        """With what the written tree says of the tensors; partial where that refuses."""
        try:
            config = ModelConfig(library.config_json(kind, name, given))
            root = self.written[name](config)
            specs = expected_tensors(root)
        except KeyError:
            return made
        except HfinspectError:
            return made._replace(partial=True)
        active = {s.name: s.active for s in specs if s.active is not None}
        labels = {s.name: (s.component.value, s.part, s.kind or None) for s in specs}
        unsaved = {s.name: _older(root, s, labels[s.name]) for s in specs if not s.saved}
        return made._replace(labels=labels, active=active, unsaved=unsaved, kept=dict(_kept(root)))

    def about(self) -> dict[str, Any]:
        one = self.family
        # What is text in a model of audio is known from the written tree.
        return {
            "category": one.category,
            "base": one.base,
            "base_prefix": one.base_prefix,
            "part": "text",
        }


class _OfFamily:
    """A library of which one written family is known; stands before the library's own class."""

    known: _Known

    def classes(self, kind: str) -> list[str]:
        return list(self.known.family.classes)

    def released(self, kind: str, class_name: str) -> list[dict[str, Any]]:
        theirs: list[dict[str, Any]] = super().released(kind, class_name)  # type: ignore[misc]
        return [*theirs, *self.known.recorded.get(class_name, [])]

    def build(self, kind: str, class_name: str, given: Given) -> Saved:
        made: Saved = super().build(kind, class_name, given)  # type: ignore[misc]
        return self.known.labelled(cast("Library", self), kind, class_name, given, made)

    def about(self, kind: str) -> dict[str, Any]:
        return self.known.about()


class _Transformers(_OfFamily, Transformers):
    """transformers, with what is known of one written family."""

    def __init__(self, known: _Known) -> None:
        Transformers.__init__(self)
        self.known = known

    def starts(
        self, kind: str, class_name: str, released: Given | None = None
    ) -> Iterator[dict[str, Any]]:
        if released:
            yield dict(released)
        yield from Transformers.starts(self, kind, class_name, released)


class _Diffusers(_OfFamily, Diffusers):
    """diffusers, with what is known of one written family."""

    def __init__(self, known: _Known) -> None:
        Diffusers.__init__(self)
        self.known = known


def _kept(root: Module) -> Iterator[tuple[str, Kept]]:
    """Path of a module -> what the written tree says that it keeps, and how far a layer looks."""
    looks: dict[str, int] = {}

    def walk(module: Module, path: str) -> Iterator[tuple[str, Kept]]:
        if isinstance(module, Layers):
            if module.reused or module.passes != 1 or module.like is not None:
                raise ValueError("layers that keep what no trace says")
            if module.windows is not None:
                seen = module.windows(len(module.children))
                at = zip(module.children, seen, strict=True)
                looks.update({f"{path}{name}": int(n) for name, n in at if n is not None})
        for name, child in module.children.items():
            if isinstance(child, Module) and child.saved:
                place = f"{path}{name}"
                rows = None if child.cache is None else tuple(map(_row, child.cache))
                if rows is not None or place in looks:
                    yield place, Kept(rows, looks.get(place))
                yield from walk(child, f"{place}.")

    return walk(root, "")


def _older(root: Module, spec: TensorSpec, label: tuple[str, str, str | None]) -> Older:
    inner = root.inside(*spec.name.split(".")[:-1])
    shape = tuple(map(int, spec.shape))
    buffer = spec.role is Role.BUFFER
    return Older(shape, spec.dtype, label, buffer, inner.class_name)


def _row(keeps: CacheItem) -> tuple[tuple[str, Any], ...]:
    """The fields of what is kept that are not what they are unless said."""
    said = {field.name: getattr(keeps, field.name) for field in fields(keeps)}
    default = {field.name: field.default for field in fields(keeps)}
    return tuple(
        (name, tuple(map(int, v)) if isinstance(v, tuple) else int(v) if _counts(v) else v)
        for name, v in said.items()
        if v != default[name]
    )


def _counts(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


class Compared(NamedTuple):
    """Where a trace stands next to the file. ``lacks``: reason -> an example each."""

    answered: int
    refused: int
    lacks: dict[str, str]


def _recordings(family: Family, names: set[str]) -> dict[str, dict[str, Any]]:
    from tests.architectures import recordings

    return {
        f"{file} {label}": record
        for file, label, record in recordings.everything()
        if record["architecture"] in names
        and (not family.model_types or record["model_type"] in family.model_types)
    }


def _tensors(build: Builder, config: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    """Name -> all that a tree says of a tensor that a save or an older file holds; what is tied has
    the shape of the other."""
    return {
        s.name: (
            None if s.tied_to else tuple(map(int, s.shape)),
            s.component.value,
            s.role.value,
            s.part,
            s.kind or "",
            s.dtype,
            s.tied_to,
            s.active,
            s.layer,
            s.saved,
        )
        for s in expected_tensors(build(ModelConfig(config)))
        if all(s.shape)
    }


def compare(
    library: Any, kind: str, trace: Mapping[str, Any], count: int, allow: float
) -> Iterator[tuple[str, Compared]]:
    """Each class of the trace next to the file's."""
    from tests.architectures import recordings

    known: _Known = library.known
    wanted = _recordings(known.family, set(trace["classes"]))
    # What layers keep is compared before it is shown by the library.
    marked = {name: {**entry, "cache": {}} for name, entry in trace["classes"].items()}
    made = builders({**trace, "classes": marked}, builder)
    generating = _generating()
    for name in trace["classes"]:
        lacks: dict[str, str] = {}
        answered = refused = 0
        for label, record in wanted.items():
            if record["architecture"] != name:
                continue
            for spelling, config in recordings.spellings(record).items():
                why = _differing(made[name], known.written[name], config, name in generating)
                if why:
                    lacks.setdefault(why[0], f"{label} {spelling}: {why[1]}")
        reasons: Counter[str] = Counter()
        for given in _fresh(library, kind, name, trace, count):
            config = library.config_json(kind, name, given)
            why = _differing(made[name], known.written[name], config, name in generating)
            if why is None:
                answered += 1
            elif why[0] == "refuses":
                refused += 1
                reasons[re.sub(r" = .*", "", why[1])] += 1
            else:
                lacks.setdefault(why[0], f"{json.dumps(given)[:200]}: {why[1]}")
        if refused > allow * (answered + refused):
            lacks["refuses fresh configs"] = f"{refused} of {answered + refused}: {dict(reasons)}"
        yield name, Compared(answered, refused, lacks)


def _generating() -> set[str]:
    """The classes that generate."""
    return set(json.loads((ORACLE / "generating.json").read_text()))


def _fresh(
    library: Any, kind: str, name: str, trace: Mapping[str, Any], count: int
) -> Iterator[dict[str, Any]]:
    """Configs that the library can build."""
    rng = Random(f"replace {kind} {name}")
    start = next(iter(library.starts(kind, name)))
    number = 0
    until = time.process_time() + 60
    known = _known(trace, library.released(kind, name))
    for given in _varied(library, kind, name, start, known, rng, 5 * count):
        if number >= count or time.process_time() > until:
            break
        try:
            with patience(PATIENCE):
                something(library.loaded_names(kind, name, given))
        except ImportError:
            raise
        except Exception:
            continue
        number += 1
        yield given


def _differing(
    trace: Builder, written: Builder, config: Mapping[str, Any], generates: bool
) -> tuple[str, str] | None:
    """What a trace lacks of what the file says of a config, and an example."""
    try:
        theirs = _tensors(written, config)
    except HfinspectError:
        return None
    try:
        mine = _tensors(trace, config)
    except HfinspectError as error:
        return "refuses", str(error)[:160]
    # What a trace knows of older files may be more, but not less.
    mine = {name: values for name, values in mine.items() if values[-1] or name in theirs}
    if mine == theirs:
        return _kept_otherwise(trace, written, config) if generates else None
    if {n: v[0] for n, v in mine.items()} != {n: v[0] for n, v in theirs.items()}:
        other = sorted(set(mine.items()) ^ set(theirs.items()), key=repr)
        return "says other tensors", str(other[:3])
    fields = "shape component role part kind dtype tied_to active layer saved".split()
    for name, values in theirs.items():
        for number, field in enumerate(fields):
            if mine[name][number] != values[number]:
                return f"says another {field}", f"{name}: {mine[name][number]} for {values[number]}"
    return None


def _kept_otherwise(
    trace: Builder, written: Builder, config: Mapping[str, Any]
) -> tuple[str, str] | None:
    """Where the layers keep something else, or look back otherwise."""
    mine, theirs = (cached_layers(build(ModelConfig(config))) for build in (trace, written))
    for i, (one, other) in enumerate(zip(mine, theirs, strict=False)):
        if (one.cache, one.window) != (other.cache, other.window):
            return "keeps something else", f"layer {i}: {one} for {other}"
    if len(mine) != len(theirs):
        return "keeps something else", f"{len(mine)} layers for {len(theirs)}"
    return None


def replaced(
    file: str, seconds: float, count: int, allow: float
) -> dict[str, dict[str, Any]] | None:
    """The traces of a file's families by kind, or None where one lacks something."""
    if not (FAMILIES / f"{file}.py").exists():
        print(f"{file}: is no written family", flush=True)
        return None
    catalog._load(file)
    families = {
        id(f): f
        for f in (*catalog._BY_TYPE.values(), *catalog._BY_CLASS.values())
        if f.file == file
    }
    traces: dict[str, dict[str, Any]] = {}
    whole = True
    for family in families.values():
        for why in _stays(family):
            print(f"{file}: {why}", flush=True)
            whole = False
        if not _stays(family):
            for kind, library in _seams(family):
                trace = _one(file, library, kind, family, seconds, count, allow)
                whole = whole and trace is not None
                if trace is not None:
                    traces[kind] = trace
    if not whole or answers_otherwise(file, list(families.values()), traces):
        return None
    return traces


def answers_otherwise(
    file: str,
    families: Sequence[Family],
    traces: Mapping[str, Mapping[str, Any]],
    questions: Sequence[Question] = QUESTIONS,
) -> bool:
    """Whether a command says something else of a recorded config with these traces; says what."""
    names = {name for family in families for name in (*family.model_types, *family.classes)}
    named = {file_name(kind): both["trace"] for kind, both in traces.items()}
    differing = list(differing_answers(file, named, names, questions))
    for difference in differing:
        print(f"{file}: ANSWERS OTHERWISE {difference}", flush=True)
    return bool(differing)


def _stays(family: Family) -> list[str]:
    """Why a family is no trace, before anything is recorded."""
    reasons = []
    if family.category != "diffusion":
        from transformers import CONFIG_MAPPING

        from .record_config_keys import config_classes

        missing = [t for t in family.model_types if t not in {*CONFIG_MAPPING, *config_classes()}]
        if missing:
            reasons.append(f"the library has no type {missing[0]}")
    return reasons


def _seams(family: Family) -> Iterator[tuple[str, Any]]:
    known = _Known()
    known.family = family
    known.written = dict(family.classes)
    given: dict[str, list[dict[str, Any]]] = {}
    for record in _recordings(family, set(family.classes)).values():
        one = {k: v for k, v in record.get("given", {}).items() if k != "model_type"}
        if one and one not in given.setdefault(record["architecture"], []):
            given[record["architecture"]].append(one)
    known.recorded = given
    if family.category == "diffusion":
        for name in family.classes:
            yield name, _Diffusers(known)
    else:
        yield family.model_types[0], _Transformers(known)


def _one(
    file: str, library: Any, kind: str, family: Family, seconds: float, count: int, allow: float
) -> dict[str, Any] | None:
    names = [kind] if library.name == "diffusers" else list(family.classes)
    recordings: dict[str, list[Recorded]] = {}
    for name in sorted(names, key=_order):  # the first that fails says enough
        some, failed = record_classes(library, kind, [name], seconds)
        if failed:
            print(f"{file}: {name} cannot be recorded: {failed[name][:200]}")
            return None
        recordings |= some
    trace = with_divisors(library, kind, family_json(library, kind, recordings))
    # The first class is taken where a config names none.
    trace["classes"] = {name: trace["classes"][name] for name in names}
    if family.model_types[1:]:
        trace["also"] = list(family.model_types[1:])
    if family.aliases:
        trace["aliases"] = dict(family.aliases)
    for field in ("base", "base_prefix", "category"):
        if trace[field] != getattr(family, field):
            print(f"{file}: {field} {trace[field]!r} for {getattr(family, field)!r}")
            return None
    for name in names:
        for key, held in held_numbers(trace, name).items():
            if not others_build(library, kind, name, key, held):
                continue
            print(f"{kind} {name}: LACKS other values of {key}", flush=True)
            return None
    for name, compared in compare(library, kind, trace, count, allow):
        verdict = "; ".join(f"{why}: {what}" for why, what in compared.lacks.items())
        print(
            f"{kind} {name}: {compared.answered} as written, {compared.refused} refused"
            + (f", LACKS {verdict}" if verdict else ""),
            flush=True,
        )
        if compared.lacks:
            return None
    if _generating().intersection(names):  # what layers keep was compared
        for entry in trace["classes"].values():
            entry["cache"] = {}
    return {"trace": trace, "examples": {"recordings": examples(library, kind, recordings)}}


def write(file: str, traces: Mapping[str, Mapping[str, Any]]) -> None:
    """The traces in place of the file."""
    users = [
        path.stem
        for path in sorted(FAMILIES.glob("*.py"))
        if re.search(rf"^from \.{file} import|^from \. import .*\b{file}\b", path.read_text(), re.M)
    ]
    for kind, trace in traces.items():
        (TRACED / f"{file_name(kind)}.json").write_text(text(trace["trace"]))
        (FIXTURES / f"{file_name(kind)}.json").write_text(text(trace["examples"]))
    if users:
        print(f"{file}: take it out of {' '.join(users)}, then delete it")
    else:
        (FAMILIES / f"{file}.py").unlink()


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("families", nargs="+", help="files of architectures/, without .py")
    parser.add_argument("--write", action="store_true", help="put the traces in place")
    parser.add_argument("--count", type=int, default=60, help="fresh configs of each class")
    parser.add_argument("--allow", type=float, default=0.05, help="share of them it may refuse")
    parser.add_argument("--seconds", type=float, default=60.0, help="for each class")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    index()
    for file in options.families:
        started = time.process_time()
        traces = replaced(file, options.seconds, options.count, options.allow)
        outcome = "stays" if traces is None else "is a trace" if options.write else "may go"
        if traces is not None and options.write:
            write(file, traces)
        print(f"== {file} {outcome} ({time.process_time() - started:.0f} s)", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
