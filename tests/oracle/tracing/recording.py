"""Experiments on one class: which keys change what, the tree that explains it, and its check."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from random import Random
from typing import Any, NamedTuple

from hfinspect.core.config import ModelConfig
from hfinspect.errors import HfinspectError
from hfinspect.trees.arithmetic import Written
from hfinspect.trees.catalog import builder, find_class
from hfinspect.trees.expand import expected_tensors
from hfinspect.trees.prediction import is_held
from hfinspect.trees.traced import builders

from . import symbols
from .changing import IDLE, alternatives, at_random, flattened, nested, without
from .fitting import Build, EnvValues, Fitter, NoFit, evaluated, proposed
from .gate import LEAST, Gated, comparisons, gate
from .library import Library, patience
from .observing import Node, Part, Saved, flat, paths, put, tree
from .writing import Trace, keys_of

#: Random builds that a class must pass.
CHECKED = 30
#: Fits that are made, seconds of the gate, and answers that a trace has to give there.
ROUNDS, GATE_SECONDS, FEW = 12, 40.0, 6
#: Builds beyond which no more are made, and seconds for one build.
MOST, PATIENCE = 700, 20.0
_BATCH = 14


class Failed(Exception):  # noqa: N818
    """The class cannot be recorded; says why."""


class Seen(NamedTuple):
    """A build and how it came about. ``changes``: dotted key -> value put over the base."""

    changes: Mapping[str, Any]
    given: Mapping[str, Any]
    env: dict[str, Any]
    written: frozenset[str]
    root: Node


class Recorded(NamedTuple):
    """What came out for a class."""

    tree: Any
    guards: dict[str, dict[str, Any]]
    defaults: dict[str, Any]
    checked: int
    effective: int
    idle: int
    examples: list[Seen]
    gated: Gated
    absent: dict[str, dict[str, Any]]


class Recording:
    """One class of one type."""

    def __init__(self, library: Library, kind: str, name: str, seconds: float = 60) -> None:
        self.library, self.kind, self.name = library, kind, name
        self.until = time.process_time() + seconds
        self.rng = Random(f"{kind} {name}")
        self.cache: dict[str, Seen | str] = {}
        self.seen: list[Seen] = []
        self.working: dict[str, list[Any]] = {}
        self.failing: dict[str, list[Any]] = {}
        self.sections: dict[str, str] = {}
        self.base_given: dict[str, Any] = {}
        self.known: dict[Any, dict[str, Any]] = {}
        self.says: list[str] = []
        self.zeros: set[str] = set()
        #: Keys that change nothing alone.
        self.conditional: set[str] = set()
        self.refused = ""
        self.rebased = False
        self.without: set[str] = set()
        self.parts: dict[str, str] | None = None
        self.absent: dict[str, dict[str, Any]] = {}

    # ---- builds

    def attempt(self, given: Mapping[str, Any], changes: Mapping[str, Any]) -> Seen | str:
        """A build, or why there is none."""
        key = json.dumps(given, sort_keys=True, default=repr)
        if key not in self.cache:
            if len(self.cache) > MOST or time.process_time() > self.until:
                return "no time left"
            try:
                with patience(PATIENCE):
                    found = self._tree(self.library.build(self.kind, self.name, given), given)
                    full = self.library.full(self.kind, self.name, given)
            except Exception as error:
                self.cache[key] = f"{type(error).__name__}: {str(error).strip()[:200]}"
                return self.cache[key]
            env = flattened(full, self.sections)
            plain = flattened(self._filled(given), self.sections)
            env.update({k: v for k, v in plain.items() if v is not None})
            written = {k for k, v in plain.items() if v is not None}
            written |= self._own_names(self._filled(given))
            if "id2label" in written:
                written.add("num_labels")  # which they count
            written |= {k.rpartition(".")[0] for k in plain if "." in k}
            self.cache[key] = Seen(dict(changes), dict(given), env, frozenset(written), found)
        return self.cache[key]

    def _tree(self, saved: Saved, given: Mapping[str, Any]) -> Node:
        """The modules; those that the catalog has as classes of sections are parts."""
        found = tree(saved)
        if self.parts is None:
            self.parts = self._parts(found, saved, given)
        there = {path for path, _ in paths(found)}
        for own, path in self.parts.items():
            if own in saved.parts and path in there:
                node = next(node for place, node in paths(found) if place == path)
                put(found, path, Part(*saved.parts[own], node))
        return found

    def _parts(self, root: Node, saved: Saved, given: Mapping[str, Any]) -> dict[str, str]:
        """Of the first build: own path -> saved path of what the catalog builds of a section."""
        found: dict[str, str] = {}
        config = ModelConfig(self.library.config_json(self.kind, self.name, self._filled(given)))
        for own, (key, name) in saved.parts.items():
            family = find_class(name)
            if name == self.name or family is None or any(own.startswith(f"{p}.") for p in found):
                continue
            section = config
            for step in key.split(".") if key else ():
                section = section.section(step)
            try:
                specs = expected_tensors(family.classes[name](section))
            except HfinspectError:
                continue
            wanted = {s.name: tuple(map(int, s.shape)) for s in specs if is_held(s)}
            places = [path for path, node in paths(root) if wanted and flat(node) == wanted]
            if own in places or len(places) == 1:
                found[own] = own if own in places else places[0]
        return found

    def _filled(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """With the sections that the class makes of absent ones."""
        absent = {k: v for k, v in self.absent.items() if "." not in k and k not in given}
        return {**given, **absent} if absent else given

    def _absent(self) -> dict[str, dict[str, Any]]:
        """Sections that the class makes otherwise than their own class does."""
        found: dict[str, dict[str, Any]] = {}
        try:
            whole = self.library.full(self.kind, self.name, {})
            for key, kind in self.sections.items():
                if "." in key or not isinstance(whole.get(key), dict):
                    continue
                own = self.library.full(self.kind, self.name, {key: {"model_type": kind}})[key]
                if own != whole[key]:
                    found[key] = {
                        k: v for k, v in whole[key].items() if k == "model_type" or own.get(k) != v
                    }
        except Exception:
            return {}
        return found

    def _own_names(self, given: Mapping[str, Any]) -> set[str]:
        """Keys that are written down under an alias."""
        found: set[str] = set()

        def enter(config: ModelConfig) -> None:
            own = config.values.keys() - config.given.keys()
            found.update(config.path + key for key in own if config.has(key))
            for key in config.given:
                if config.path + key in self.sections and isinstance(config.given[key], dict):
                    enter(config.section(key))

        enter(ModelConfig(self.library.config_json(self.kind, self.name, given)))
        return found

    def changed(self, changes: Mapping[str, Any]) -> Seen | str:
        return self.attempt(nested(self.base_given, changes), changes)

    def _begin(self) -> Seen:
        reasons = []
        for given in self.library.starts(self.kind, self.name):
            try:
                self.sections = self.library.sections(self.kind, self.name)
                self.absent = self._absent()
            except Exception as error:
                reasons.append(f"{type(error).__name__}: {error}")
                continue
            given = self._explicit(without(given, self.without))
            self.parts = None
            found = self.attempt(given, {})
            if isinstance(found, Seen):
                self.base_given = dict(given)
                return found
            reasons.append(found)
        raise Failed(f"no config to begin with builds: {reasons[0] if reasons else '?'}")

    def _explicit(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """With sections that need their type written down: a part of one would be another's."""
        found = dict(given)
        try:
            full = self.library.full(self.kind, self.name, given)
        except Exception:
            return found
        for key in self.sections:
            if "backbone" in key and "." not in key and isinstance(full.get(key), dict):
                found[key] = {
                    k: v for k, v in full[key].items() if k == "model_type" or not IDLE.search(k)
                }
        return found

    # ---- what the constructor looks at

    def _noted(self, base: Seen) -> None:
        """Runs with numbers that remember: all keys, and those that are fields of their own."""
        self.expressions: dict[str, Written] = {}
        self.sizes: dict[str, Written] = {}
        self.compared: dict[str, Written] = {}
        self.words: dict[str, set[str]] = {}
        plain = {k: v for k, v in base.env.items() if not IDLE.search(k)}
        derived = {k for k, v in plain.items() if k not in base.written and self._is_derived(k)}
        for left_out in ((), derived) if derived else ((),):
            marked = {k: _marked(k, v) for k, v in plain.items() if k not in left_out}
            marked = {k: v for k, v in marked.items() if v is not None}
            try:
                with symbols.noting(self.library.packages) as noted, patience(PATIENCE):
                    self.library.run(self.kind, self.name, nested(self.base_given, marked))
            except Exception:  # what was noted until then still proposes
                pass
            self.expressions.update(noted.computed)
            self.sizes.update(noted.sizes)
            self.compared.update(noted.compared)
            for key, words in noted.words.items():
                self.words.setdefault(key, set()).update(words)

    def _is_derived(self, key: str) -> bool:
        declared = self.annotations.get(key, "")
        return not declared or "None" in declared

    # ---- experiments

    def experiment(self) -> Seen:
        """Singles: every key, as many at once as change nothing."""
        base = self._begin()
        self.base = base
        self.seen.append(base)
        try:
            self.annotations = self.library.optional(self.kind, self.name)
        except Exception:
            self.annotations = {}
        self._noted(base)
        try:
            self.looked, self.missing = self._looked(base)
        except Exception:
            self.looked, self.missing = set(base.env), set()
        limits = _limits(self.compared.values())
        options = {
            key: alternatives(
                key, value, self.annotations.get(key, ""), self.words.get(key, set()),
                limits.get(key, set()),
            )
            for key, value in base.env.items()
            if not IDLE.search(key)
        }  # fmt: skip
        self.options = options
        suspects = [k for k in options if options[k] and k not in self._likely()]
        likely = [k for k in options if options[k] and k in self._likely()]
        for key in [*likely, *self._not_idle(suspects)]:
            self._single(key)
        self._conditional()
        full = self.attempt(self._spelled_in_full(base), {})
        if isinstance(full, Seen):
            self.seen.append(full)
        return base

    def _likely(self) -> set[str]:
        """Keys that stand in an expression of a size."""
        if not hasattr(self, "_sized"):
            inner = self.inner
            self._sized = {
                key for written in self.sizes.values() for key in keys_of(written)
                if not any(key.startswith(path) for path in inner)
            }  # fmt: skip
        return self._sized

    @property
    def inner(self) -> set[str]:
        """Prefixes of the keys that parts read for themselves; empty where one has the config."""
        found = {part.key for part in _all_parts(self.base.root)}
        return {f"{key}." if key else "" for key in found}

    def _not_idle(self, keys: list[str]) -> Iterator[str]:
        """Those of the keys that change something, or cannot be changed, by halves."""
        for start in range(0, len(keys), _BATCH):
            yield from self._halved(keys[start : start + _BATCH])

    def _halved(self, keys: list[str]) -> list[str]:
        if len(keys) == 1:
            return keys
        found = self.changed({key: self.options[key][0] for key in keys})
        if isinstance(found, Seen) and found.root.signature == self.base.root.signature:
            for key in keys:
                self.working[key] = [self.options[key][0]]
            return []
        half = len(keys) // 2
        return [*self._halved(keys[:half]), *self._halved(keys[half:])]

    def _single(self, key: str) -> None:
        wanted = 3 if isinstance(self.base.env[key], int) else 8
        if any(key.startswith(path) for path in self.inner):
            wanted = 1  # unless it matters outside the part as well
        for value in self.options[key]:
            if len(self.working.get(key, ())) >= wanted:
                break
            if value == 0 and not isinstance(value, bool):
                continue
            found = self.changed({key: value})
            if isinstance(found, Seen):
                self.working.setdefault(key, []).append(value)
                if found.root.signature != self.base.root.signature:
                    self.seen.append(found)
                    wanted = max(wanted, 3)
            else:
                self.failing.setdefault(key, []).append(value)

    def _conditional(self) -> None:
        """Keys that matter only where another one, a flag, a text or what is null, is turned."""
        for key in self.effective():
            if not isinstance(self.base.env[key], (bool, str, type(None))):
                continue
            for value in self.working[key][:2]:
                turned = self.changed({key: value})
                if isinstance(turned, Seen) and turned.root.signature != self.base.root.signature:
                    idle = [k for k in self.working if k not in self.effective()]
                    for start in range(0, len(idle), _BATCH):
                        self._turned(turned, idle[start : start + _BATCH])

    def _turned(self, turned: Seen, keys: list[str]) -> None:
        """Finds by halves which of the idle keys matter at a change of another."""
        over = {k: self.working[k][0] for k in keys if self.working[k]}
        found = self.changed({**turned.changes, **over})
        if not over or (isinstance(found, Seen) and found.root.signature == turned.root.signature):
            return
        if len(keys) > 1:
            half = len(keys) // 2
            self._turned(turned, keys[:half])
            self._turned(turned, keys[half:])
            return
        self._single(keys[0])  # more values than the one that showed nothing alone
        for value in self.working[keys[0]][:3]:
            found = self.changed({**turned.changes, keys[0]: value})
            if isinstance(found, Seen) and found.root.signature != turned.root.signature:
                self.conditional.add(keys[0])
                self.seen.append(found)

    def _looked(self, base: Seen) -> tuple[set[str], set[str]]:
        found = self.library.looked_at(self.kind, self.name, base.given)
        known = {key.rpartition(".")[2] for key in base.env}
        return {k for k in base.env if k.rpartition(".")[2] in found}, {
            name for name in found if name.startswith("?") and name[1:] not in known
        }

    def _spelled_in_full(self, one: Seen) -> dict[str, Any]:
        values = self.library.full(self.kind, self.name, one.given)
        values.pop("num_labels", None)
        return values

    def effective(self) -> list[str]:
        """Keys of which a change alone or with others changes the tree."""
        base = self.base.root.signature
        found = [
            k for s in self.seen if s.root.signature != base and len(s.changes) == 1
            for k in s.changes
        ]  # fmt: skip
        return list(dict.fromkeys([*found, *sorted(self.conditional)]))

    def random(self, count: int, allowed: Mapping[str, list[Any]]) -> list[Seen]:
        """So many builds with several keys changed at once, guarded keys within their guard."""
        found: list[Seen] = []
        # Keys of an expression count too: alone they may change nothing.
        known = dict.fromkeys([*self.effective(), *sorted(self._likely())])
        effective = [k for k in known if k not in allowed and self.working.get(k)]
        idle = [k for k in self.working if k not in effective and k not in allowed]
        for _ in range(count * 4):
            if len(found) >= count or time.process_time() > self.until:
                break
            keys = set(self.rng.sample(effective, min(len(effective), self.rng.randint(1, 6))))
            keys |= set(self.rng.sample(idle, min(len(idle), self.rng.randint(0, 4))))
            changes = {k: at_random(self.rng, self.base.env[k], self.working[k]) for k in keys}
            for key, values in allowed.items():
                if len(values) > 1 and self.rng.random() < 0.3:
                    value = self.rng.choice(values)
                    if value is not None:
                        changes[key] = value
            one = self.attempt(nested(self._less(changes), changes), changes)
            if isinstance(one, str):  # halve the changes until it builds
                kept = self.rng.sample(sorted(changes), (len(changes) + 1) // 2)
                one = self.changed({k: changes[k] for k in kept})
            if isinstance(one, Seen) and one not in found:
                found.append(one)
        return found

    def _less(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        """The base less some of what it writes down: what is absent may be computed."""
        there = [k for k in flattened(self.base_given, self.sections) if k not in changes]
        absent = {k for k in there if not k.endswith("model_type") and self.rng.random() < 0.2}
        return without(self.base_given, absent)

    # ---- the fit

    def fit(self, seen: list[Seen], guarded: Iterable[str]) -> Trace:
        """The trace that explains these builds. Raises NoFit."""
        effective = [k for k in self.effective() if k not in set(guarded)]
        needed = {k for w in self.sizes.values() for k in keys_of(w)} | set(effective)
        envs, defaults = self._defaults(seen, needed)
        more = sorted(k for k in needed - set(effective) if _counts(self.base.env.get(k)))
        expressions = proposed(
            self.expressions.values(), self.sizes.values(), self.base.env, [*effective, *more]
        )
        builds = [Build(env, s.written, s.root) for env, s in zip(envs, seen, strict=True)]
        lists = [k for k in effective if isinstance(self.base.env.get(k), list)]
        lists += [k for k in effective if any(isinstance(e.get(k), list) for e in envs)]
        fitter = Fitter(
            builds, expressions, self._conditions(effective, seen), list(dict.fromkeys(lists)),
            [k for k in effective if not isinstance(self.base.env.get(k), list)], self.known,
        )  # fmt: skip
        found = fitter.root(range(len(builds)))
        return Trace(found, defaults, self.absent)

    def _defaults(
        self, seen: list[Seen], needed: set[str]
    ) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """Environments, and of each key what stands for it where it is not written down."""
        envs = [dict(s.env) for s in seen]
        defaults: dict[str, Any] = {}
        derived = []
        # All builds count: what is computed may change where no tensor does.
        built = [s for s in self.cache.values() if isinstance(s, Seen)]
        for key in sorted({k for env in envs for k in env}):
            found = [s.env.get(key) for s in built if key not in s.written]
            if not found:
                defaults[key] = self.unwritten.get(key)
            elif all(v == found[0] for v in found):
                defaults[key] = found[0]
            else:
                derived.append(key)
        keys = [k for k in needed if k not in derived]
        expressions = proposed(self.expressions.values(), self.sizes.values(), self.base.env, keys)
        for key in derived:
            defaults[key] = self._computed(key, built, expressions, set(derived))
            if defaults[key] is None:
                for env, s in zip(envs, seen, strict=True):
                    if key not in s.written:
                        env[key] = None
        return envs, defaults

    @property
    def unwritten(self) -> dict[str, Any]:
        """What the class itself gives each key."""
        if not hasattr(self, "_unwritten"):
            try:
                full = self.library.full(self.kind, self.name, {})
            except Exception:
                full = {}
            self._unwritten = flattened(full, self.sections)
        return self._unwritten

    def _computed(
        self, key: str, built: list[Seen], expressions: list[Written], derived: set[str]
    ) -> Any:
        where = [(EnvValues(s.env), s.env.get(key)) for s in built if key not in s.written]
        if not all(isinstance(v, (int, float)) and not isinstance(v, bool) for _, v in where):
            return None
        for written in expressions:
            if not derived.isdisjoint(keys_of(written)):
                continue
            if all(evaluated(written, values) == wanted for values, wanted in where):
                return {"of": written}
        return None

    def _conditions(self, effective: list[str], seen: list[Seen]) -> list[Written]:
        found: list[Written] = []
        for key in effective:
            values = {json.dumps(s.env.get(key), default=repr): s.env.get(key) for s in seen}
            kinds = {type(v) for v in values.values()}
            if bool in kinds:
                found.append(["true", key])
            if type(None) in kinds and len(kinds) > 1:
                found.append(["null", key])
            if str in kinds:
                found += [["is", key, v] for v in values.values() if isinstance(v, str)]
        for key in effective:
            if isinstance(self.base.env.get(key), (int, float)) or self.base.env.get(key) is None:
                found += [["==", key, 0], ["==", key, 1], ["<", 1, key], ["<", 0, key]]
        for written in self.compared.values():
            if not set(effective).isdisjoint(keys_of(written)):
                found.append(written)
        for a in effective:
            found += [["given", a]]
        return found

    def solve(self) -> Recorded:
        """Experiments, the fit, counterexamples until none is found, the gate."""
        base = self.experiment()
        self.seen += self.random(16, {})
        guards: dict[str, list[Any]] = {}
        held = self._stages()
        for number in range(ROUNDS):
            trace, guards = self._widest(held)
            self.zeros = set()
            whole = self._trace(trace, guards)
            wrong, answered = self._tried(whole, guards)
            if not wrong:
                self._zeros(whole, guards)
                whole = self._trace(trace, guards)
                gated, wrong = self._gated(whole, number)
                if not wrong:
                    break
            if time.process_time() > self.until:
                raise Failed("no time left")
            new = [s for s in wrong if s not in self.seen]
            self.says.append(
                f"{len(wrong)} wrong, guards {sorted(guards)}, "
                f"{[dict(s.changes) for s in wrong[:2]]} {self.differs}"
            )
            for one in new[:8]:
                self._learn(whole, one)
            if not new:
                held |= self._blamed(whole, wrong[0])
        else:
            raise Failed("counterexamples without end")
        checked = len(answered)
        if checked < CHECKED:
            checked = self._few(whole, guards, checked)
        for one in (base, *answered[:2]):
            if flat(one.root) != self.library.saved_names(self.kind, self.name, one.given):
                raise Failed("a build differs from what is saved")
        default = self.attempt({}, {})
        if isinstance(default, Seen) and not self.agrees(whole, default):
            raise Failed("the default config differs")
        if isinstance(default, Seen) and self.refused and not self.rebased:
            return self._rebased(guards)
        if gated.equal < FEW:
            raise Failed(f"refuses nearly everything: {gated.equal} of {gated.refused}")
        idle = len([k for k in self.working if k not in self.effective()])
        return Recorded(
            trace.tree, self._guards(guards), whole["defaults"], checked,
            len(self.effective()), idle, [base, *answered][:8], gated, self.absent,
        )  # fmt: skip

    def _tried(
        self, whole: Mapping[str, Any], guards: Mapping[str, list[Any]]
    ) -> tuple[list[Seen], list[Seen]]:
        """Fresh random builds: those that the trace gets wrong, and those that it answers."""
        fresh = self.random(CHECKED, guards)
        fresh += self._in_full(fresh[:4])
        wrong, answered = [], []
        for one in fresh:
            if not self.agrees(whole, one):
                wrong.append(one)
            elif not self.refused:
                answered.append(one)
        return wrong, answered

    def _gated(self, whole: Mapping[str, Any], number: int) -> tuple[Gated, list[Seen]]:
        """The gate, each time with other configs; and the builds of those that differ."""
        started = time.process_time()
        gated = gate(
            self.library, self.kind, self.name, whole, self.base_given, f"gate {number}",
            started + GATE_SECONDS, comparisons(len(self.effective())),
        )  # fmt: skip
        self.until += time.process_time() - started  # which is not for experiments
        if not gated.wrong and gated.equal + gated.refused < LEAST and not self._is_small():
            raise Failed(f"too few comparisons: {gated}")
        found = []
        for given, differs in gated.wrong:
            one = self.attempt(given, {})
            if isinstance(one, str):
                raise Failed(f"differs where it is loaded: {one} {differs}")
            one = one._replace(changes=self._changes(one))
            if self.agrees(whole, one):
                raise Failed(f"is loaded otherwise than built: {differs}")
            found.append(one)
        return gated, found

    def _is_small(self) -> bool:
        """Whether hardly anything of the class can be changed."""
        return len(self.effective()) < FEW

    def _changes(self, one: Seen) -> dict[str, Any]:
        """What a config changes of the base."""
        return {
            k: v for k, v in one.env.items()
            if not IDLE.search(k) and k in self.base.env and v != self.base.env[k]
        }  # fmt: skip

    def _learn(self, whole: Mapping[str, Any], wrong: Seen) -> None:
        """A counterexample, and the smallest part of it that is one, to be explained."""
        changes = self._least(whole, wrong)
        small = self.changed(changes)
        for one in (wrong, small):
            if isinstance(one, Seen) and one not in self.seen:
                self.seen.append(one)
        for key, value in changes.items():
            self.conditional.add(key)
            if value not in self.working.setdefault(key, []) and isinstance(small, Seen):
                self.working[key].append(value)

    def _rebased(self, guards: Mapping[str, list[Any]]) -> Recorded:
        """The same from a config that has the default of every key which is guarded."""
        again = Recording(self.library, self.kind, self.name)
        again.rebased = True
        again.without = {k for k in guards if self.unwritten.get(k) != self.base.env[k]}
        if not again.without:
            raise Failed(f"the default config is refused: {self.refused}")
        return again.solve()

    def _stages(self) -> set[str]:
        """Counts of what lists have an entry each for: widths of the n-th stage are no formula."""
        return {
            key for key in self.effective()
            if isinstance(self.base.env[key], int)
            and re.search(r"(stage|block|level|layer)s?$", key)
            and any(
                isinstance(v, list) and len(v) == self.base.env[key]
                and other.rpartition(".")[0] == key.rpartition(".")[0]
                for other, v in self.base.env.items()
            )
        }  # fmt: skip

    def _zeros(self, whole: Any, guards: Mapping[str, Any]) -> None:
        """Which keys may be 0: where that builds and the trace agrees."""
        for key in self.effective():
            if key in guards or type(self.base.env[key]) is not int or key in self.conditional:
                continue
            found = self.changed({key: 0})
            if isinstance(found, Seen) and self.agrees(whole, found) and not self.refused:
                self.zeros.add(key)

    def _few(self, whole: Any, guards: Any, checked: int) -> int:
        """Classes with hardly a key: fewer builds exist than are wanted."""
        if time.process_time() > self.until:
            raise Failed("no time left")
        for one in self.cache.values():
            if isinstance(one, Seen) and self._within(one, guards):
                if not self.agrees(whole, one):
                    raise Failed("a build differs from the fit")
                checked += not self.refused
        return checked

    def _in_full(self, some: list[Seen]) -> list[Seen]:
        forms = [self._spelled_in_full(s) for s in some]
        forms += [self.library.as_saved(self.kind, self.name, s.given) for s in some]
        found = (self.attempt(form, {}) for form in forms)
        return [one for one in found if isinstance(one, Seen)]

    def _within(self, one: Seen, guards: Mapping[str, list[Any]]) -> bool:
        return all(one.env.get(k, self.base.env.get(k)) in allowed for k, allowed in guards.items())

    def _widest(self, held: set[str]) -> tuple[Trace, dict[str, list[Any]]]:
        """The fit with as few guarded keys as possible."""
        keys = [k for k in self.effective() if k not in held]

        def attempt(free: list[str]) -> Trace | None:
            guarded = [k for k in self.effective() if k not in free]
            allowed = {k: [self.base.env[k]] for k in guarded}
            within = [s for s in self.seen if self._within(s, allowed)]
            try:
                return self.fit(within, guarded)
            except NoFit as error:
                self.why = str(error)
                return None

        def extend(free: list[str], more: list[str]) -> list[str]:
            if time.process_time() > self.until:
                raise Failed(f"no time left; nothing fits {self.why}")
            if not more or attempt([*free, *more]) is not None:
                return [*free, *more]
            if len(more) == 1:
                return free
            half = len(more) // 2
            return extend(extend(free, more[:half]), more[half:])

        self.why = ""
        free = extend([], keys)
        trace = attempt(free)
        if trace is None:
            raise Failed(f"nothing fits {self.why}")
        guards = {k: [self.base.env[k]] for k in self.effective() if k not in free}
        return self._by_value(free, guards, trace)

    def _by_value(
        self, free: list[str], guards: dict[str, list[Any]], trace: Trace
    ) -> tuple[Trace, dict[str, list[Any]]]:
        """Guarded texts and flags: the values other than that of the base which fit after all."""
        for key in list(guards):
            if not isinstance(self.base.env[key], (str, bool)):
                continue
            for value in self.working.get(key, ()):
                wider = {**guards, key: [*guards[key], value]}
                within = [s for s in self.seen if self._within(s, wider)]
                try:
                    trace = self.fit(within, [k for k in guards if k != key])
                except NoFit:
                    continue
                guards = wider
        return trace, guards

    def _least(self, whole: Mapping[str, Any], wrong: Seen) -> dict[str, Any]:
        """The smallest part of a change that the trace gets wrong."""
        changes = dict(wrong.changes)
        for key in list(changes):
            less = {k: v for k, v in changes.items() if k != key}
            one = self.changed(less)
            if less and isinstance(one, Seen) and not self.agrees(whole, one):
                changes = less
        return changes

    def _blamed(self, whole: Mapping[str, Any], wrong: Seen) -> set[str]:
        """The keys of a small change that the trace gets wrong: the last of them is guarded."""
        changes = self._least(whole, wrong)
        order = sorted(changes, key=lambda k: _counts(self.base.env.get(k)))
        return set(order[:1])

    # ---- guards and the check

    def _guards(self, guards: Mapping[str, list[Any]]) -> dict[str, dict[str, Any]]:
        """All that a config must keep to."""
        found: dict[str, dict[str, Any]] = {k: {"is": v} for k, v in guards.items()}
        effective = set(self.effective())
        inner = self.inner - {""}
        for key, kind in self.sections.items():
            if not any(key.startswith(path) for path in inner):
                found[f"{key}.model_type"] = {"is": [kind, None]}
        for key, value in self.base.env.items():
            if key in found or IDLE.search(key):
                continue
            if key in effective:
                guard = self._of_effective(key, value)
                if guard:
                    found[key] = guard
            elif isinstance(value, dict) and key not in self.annotations:
                continue  # the class sets it itself, from keys that are tried
            elif key not in self.working and (key in self.looked or key in self._likely()):
                # could not be changed at all; a mapping has no default in a trace
                if isinstance(value, dict) and any(key.startswith(path) for path in inner):
                    continue  # the part's own matter
                found[key] = {"is": [value, None] if isinstance(value, dict) else [value]}
            elif isinstance(value, str) and any(key.startswith(path) for path in inner):
                continue
            elif isinstance(value, str) and key in self.looked and "act" not in key:
                found[key] = {"is": [value, *self.working.get(key, ())]}
        for name in sorted(self.missing):
            found[name[1:]] = {"absent": True}
        return found

    def _of_effective(self, key: str, value: Any) -> dict[str, Any] | None:
        if isinstance(value, list):
            lengths = {len(v) for v in (value, *self.working.get(key, ()))}
            guard: dict[str, Any] = {"length": len(value)} if len(lengths) == 1 else {}
            tried = [value, *self.working.get(key, ())]
            if any(isinstance(item, (str, bool)) for item in value):
                guard["of"] = list(dict.fromkeys(item for v in tried for item in v))
            elif len(lengths) > 1 and not self._any_length(key):
                guard["length"] = len(value)
            return guard or None
        if isinstance(value, bool):
            return None
        if isinstance(value, str):
            return {"is": [value, *self.working.get(key, ())]}
        if isinstance(value, int):
            return None if key in self.zeros or value == 0 else {"least": 1}
        if value is None:
            kinds = {type(v) for v in self.working.get(key, ())}
            return {"is": [None, True, False]} if kinds == {bool} else None
        return None

    def _any_length(self, key: str) -> bool:
        lengths = [len(v) for v in self.working.get(key, ()) if isinstance(v, list)]
        return len(set(lengths)) > 2

    def _trace(self, trace: Trace, guards: Mapping[str, list[Any]]) -> dict[str, Any]:
        return trace.as_json(self.kind, {self.name: self._guards(guards)})

    def agrees(self, whole: Mapping[str, Any], one: Seen) -> bool:
        """Whether the reader says of the config what was built."""
        config = self.library.config_json(self.kind, self.name, one.given)
        try:
            root = builders(whole, builder)[self.name](ModelConfig(config))
            specs = expected_tensors(root)
        except HfinspectError as error:
            self.refused = str(error)
            return True
        self.refused = ""
        mine = {spec.name: spec.shape for spec in specs if is_held(spec)}
        real = flat(one.root)
        if mine != real:
            self.differs = sorted(set(mine.items()) ^ set(real.items()))[:4]
        return mine == real


def _all_parts(node: Node) -> Iterator[Part]:
    for child in node.children.values():
        if isinstance(child, Part):
            yield child
        elif isinstance(child, Node):
            yield from _all_parts(child)


def _counts(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _marked(key: str, value: Any) -> Any:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return symbols.Int(value, key)
    if isinstance(value, float):
        return symbols.Float(value, key)
    if isinstance(value, str):
        return symbols.text(value, key)
    if isinstance(value, list) and value and all(_counts(v) for v in value):
        return [
            (symbols.Float if isinstance(v, float) else symbols.Int)(v, ["[]", key, i])
            for i, v in enumerate(value)
        ]
    return None


def _limits(compared: Iterable[Written]) -> dict[str, set[int]]:
    """Key -> the small numbers that it is compared with."""
    found: dict[str, set[int]] = {}
    for op, *sides in compared:
        for a, b in (sides, sides[::-1]):
            if isinstance(a, str) and isinstance(b, int) and op != "in" and 0 < b < 2048:
                found.setdefault(a, set()).add(b)
    return {key: set(sorted(numbers)[:4]) for key, numbers in found.items()}
