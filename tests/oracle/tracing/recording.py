"""One class: the tree that explains the experiments, its guards and its checks."""

from __future__ import annotations

import itertools
import json
import re
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from hfinspect.core.config import ModelConfig
from hfinspect.errors import HfinspectError
from hfinspect.trees.arithmetic import Written
from hfinspect.trees.catalog import builder
from hfinspect.trees.expand import expected_tensors
from hfinspect.trees.prediction import is_held
from hfinspect.trees.traced import builders

from .building import Failed, Seen
from .challenging import challenges
from .changing import IDLE
from .evaluating import HANDED, EnvValues, evaluated
from .experimenting import Experiments, counts
from .fitting import Build, Fitter, NoFit, Staged
from .gate import LEAST, Gated, comparisons, gate
from .listing import Listing, gives
from .observing import flat, served
from .proposing import proposed
from .staging import of_the_last, staged
from .writing import Trace, keys_of

#: Random builds that a class must pass.
CHECKED = 30
#: Fits that are made, seconds of the gate, and answers that a trace has to give there.
ROUNDS, GATE_SECONDS, FEW = 12, 40.0, 6


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


class Recording(Experiments):
    """One class of one type."""

    # ---- the fit

    def fit(self, seen: list[Seen], guarded: Iterable[str]) -> Trace:
        """The trace that explains these builds. Raises NoFit."""
        effective = [k for k in self.effective() if k not in set(guarded)]
        needed = {k for w in self.sizes.values() for k in keys_of(w)} | set(effective)
        envs, defaults = self._defaults(seen, needed)
        more = sorted(k for k in needed - set(effective) if counts(self.base.env.get(k)))
        expressions = proposed(
            self.expressions.values(), self.sizes.values(), self.base.env, [*effective, *more]
        )
        noted = {**self.sizes, **self.expressions}.values()
        expressions += of_the_last(noted, self.base.env, self.groups)
        builds = [Build(env, s.written, s.root) for env, s in zip(envs, seen, strict=True)]
        lists = [k for k in effective if isinstance(self.base.env.get(k), list)]
        # Of two sides no member of a list is chosen.
        lists += [
            k for k in effective
            if any(isinstance(e.get(k), list) for e in envs) and not counts(self.base.env.get(k))
        ]  # fmt: skip
        fitter = Fitter(
            builds, expressions, self._conditions(effective, seen), list(dict.fromkeys(lists)),
            [k for k in effective if not isinstance(self.base.env.get(k), list)], self.known,
            self._staged([*effective, *more]),
        )  # fmt: skip
        found = fitter.root(range(len(builds)))
        return Trace(found, defaults, self.absent)

    def _staged(self, effective: list[str]) -> Staged | None:
        """What may be said of a stage, where other numbers of stages build."""
        if not self.groups:
            return None
        return staged(
            self.expressions.values(), self.sizes.values(), self.compared.values(),
            self.base.env, effective, self.groups,
        )  # fmt: skip

    def _defaults(
        self, seen: list[Seen], needed: set[str]
    ) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """Environments, and of each key what stands for it where it is not written down."""
        envs = [dict(s.env) for s in seen]
        defaults: dict[str, Any] = {}
        derived = []
        # All builds count: what is computed may change where no tensor does.
        absent = {name[1:] for name in self.missing}
        built = [
            s for s in self.cache.values()
            if isinstance(s, Seen) and absent.isdisjoint(s.written)
        ]  # fmt: skip
        for key in sorted({k for env in envs for k in env}):
            found = [s.env.get(key) for s in built if not s.says(key)]
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
                defaults[key] = self._listed(key, built, set(derived))
            if defaults[key] is None:
                self.derived.add(key)
                for env, s in zip(envs, seen, strict=True):
                    if not s.says(key):
                        env[key] = None
        return envs, defaults

    def _computed(
        self, key: str, built: list[Seen], expressions: list[Written], derived: set[str]
    ) -> Any:
        where = [(EnvValues(s.env), s.env.get(key)) for s in built if not s.says(key)]
        if not all(isinstance(v, (int, float)) and not isinstance(v, bool) for _, v in where):
            return None
        for written in expressions:
            if not derived.isdisjoint(keys_of(written)):
                continue
            if all(evaluated(written, values) == wanted for values, wanted in where):
                return {"of": written}
        return None

    def _listed(self, key: str, built: list[Seen], derived: set[str]) -> Any:
        """A list that is computed: by what gave all builds until now, if it still does."""
        if key in self.unlike:
            return None
        where: list[tuple[EnvValues, Any]] = [
            (EnvValues(s.env), s.env.get(key)) for s in built if not s.says(key)
        ]
        found = self.listed.get(key)
        if found is None or not all(gives(found, values, items) for values, items in where):
            near = [
                k for k, v in self.base.env.items()
                if k.rpartition(".")[0] == key.rpartition(".")[0] and not IDLE.search(k)
                and k not in derived and (v is None or isinstance(v, (bool, int)))
            ]  # fmt: skip
            noted = [w for w in self.compared_sides() if derived.isdisjoint(keys_of(w))]
            found = Listing(noted, near).computed(where)
        if found is None:
            self.unlike.add(key)
            self.listed.pop(key, None)
            return None
        self.listed[key] = found
        return {"of": found}

    def compared_sides(self) -> list[Written]:
        """Expressions over the config that the class computes, and those that it compares."""
        sides = [side for _, *both in self.compared.values() for side in both]
        return [w for w in (*sides, *self.expressions.values()) if isinstance(w, list)]

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
        for written in self.compared.values():
            if not set(effective).isdisjoint(keys_of(written)):
                found.append(written)
        for key in effective:
            if isinstance(self.base.env.get(key), (int, float)) or self.base.env.get(key) is None:
                found += [["==", key, 0], ["==", key, 1], ["<", 1, key], ["<", 0, key]]
        for a in effective:
            found += [["given", a]]
        return found

    def solve(self) -> Recorded:
        """Experiments, the fit, counterexamples until none is found, the gate."""
        base = self.experiment()
        self.seen += self.random(4 if self.narrow else 16, {})
        guards: dict[str, list[Any]] = {}
        held = self._stages()
        for number in range(ROUNDS):
            trace, guards = self._widest(held | self._narrowed())
            self.zeros = set()
            whole = self._trace(trace, guards)
            wrong, answered = self._tried(whole, guards)
            wrong += self._challenged(trace, whole)
            if not wrong and len(answered) < CHECKED:
                wrong = self._missed(whole, guards)
            wrong = wrong or self._differing(whole, self.released)
            if not wrong:
                self._zeros(trace, guards)
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
            for key, allowed in guards.items():
                if any(key not in s.written and s.env.get(key) not in allowed for s in wrong):
                    self.strict.add(key)
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
        default = self.attempt(self.released, {})
        if isinstance(default, Seen) and not self.agrees(whole, default):
            raise Failed("the default config differs")
        if isinstance(default, Seen) and self.refused and not self.rebased:
            return self._rebased(guards)
        shown = [base, *answered]
        if isinstance(default, Seen) and not self.refused:
            if flat(default.root) != self.library.saved_names(self.kind, self.name, default.given):
                raise Failed("a build differs from what is saved")
            shown = [default, *shown]
        elif self.released:
            raise Failed(f"the released config is refused: {self.refused or default}")
        if gated.equal < FEW:
            raise Failed(f"refuses nearly everything: {gated}")
        idle = len([k for k in self.working if k not in self.effective()])
        return Recorded(
            trace.tree, self._guards(guards), whole["defaults"], checked,
            len(self.effective()), idle, shown[:8], gated, self.absent,
        )  # fmt: skip

    def _differing(self, whole: Mapping[str, Any], given: Mapping[str, Any]) -> list[Seen]:
        """The build of a config, where the trace gets it wrong."""
        one = self.attempt(given, {})
        if isinstance(one, str) or self.agrees(whole, one):
            return []
        return [one._replace(changes=self._changes(one))]

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

    def _challenged(self, trace: Trace, whole: Mapping[str, Any]) -> list[Seen]:
        """The builds at which a comparison of the trace turns, and the trace is wrong."""
        found = []
        tried = challenges(trace.tree, self.base.env, self.working, self.effective())
        for changes in itertools.islice(tried, 100):
            one = self.changed(changes)
            if isinstance(one, Seen) and not self.agrees(whole, one):
                found.append(one)
        return found

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
        again = Recording(
            self.library, self.kind, self.name, self.seconds, self.released, self.narrow
        )
        again.rebased = True
        wanted = {**self.unwritten, **self.released}
        again.without = {k for k in guards if wanted.get(k) != self.base.env[k]}
        if not again.without:
            raise Failed(f"the default config is refused: {self.refused}")
        return again.solve()

    def _narrowed(self) -> set[str]:
        """The keys that are guarded from the start: all, or all but numbers; never the counts of
        layers that the base has fewer of than the config which is to be answered."""
        if not self.narrow:
            return set()
        held = {k for k in self.effective() if self.narrow > 1 or not self._is_number(k)}
        return held - self.shrunk()

    def _is_number(self, key: str) -> bool:
        return type(self.base.env[key]) is int

    def _stages(self) -> set[str]:
        """Counts of what lists have an entry each for, where no other number was built."""
        return {
            key for key in self.effective()
            if not any(key in group.counts for group in self.groups)
            and isinstance(self.base.env[key], int)
            and re.search(r"(stage|block|level|layer)s?$", key)
            and any(
                isinstance(v, list) and len(v) == self.base.env[key]
                and other.rpartition(".")[0] == key.rpartition(".")[0]
                and not self._follows(other, key)
                for other, v in self.base.env.items()
            )
        }  # fmt: skip

    def _follows(self, key: str, count: str) -> bool:
        """Whether the class makes a list as long as another count says."""
        return any(
            s.env[count] == len(s.env[key])
            for s in self.cache.values()
            if isinstance(s, Seen) and not s.says(key) and isinstance(s.env.get(key), list)
            and s.env.get(count) != self.base.env[count]
        )  # fmt: skip

    def _zeros(self, trace: Trace, guards: Mapping[str, Any]) -> None:
        """Which keys may be 0: where that builds and the trace agrees."""
        for key in self.effective():
            if not self._is_number(key) and not _is_positive(self.base.env[key]):
                continue
            if key in guards or key in self.conditional:
                continue
            held = self.base.env[key]
            found = self.changed({key: [0, *held[1:]] if isinstance(held, list) else 0})
            self.zeros.add(key)
            whole = self._trace(trace, guards)
            if not isinstance(found, Seen) or not self.agrees(whole, found) or self.refused:
                self.zeros.discard(key)

    def _missed(self, whole: Any, guards: Any) -> list[Seen]:
        """Of all builds ever made, those that the trace gets wrong."""
        built = (one for one in self.cache.values() if isinstance(one, Seen))
        return [
            one._replace(changes=self._changes(one)) for one in built
            if self._within(one, guards) and not self.agrees(whole, one)
        ][:12]  # fmt: skip

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
        # Counts of layers and lists of their kinds vary together or not at all.
        deep = self.shrunk()
        keys.sort(key=lambda k: 0 if k in deep else 1 if k in self.listed else 2)

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
                fits = self._of_one_length(more[0]) and attempt([*free, *more]) is not None
                return [*free, *more] if fits else free
            half = len(more) // 2
            return extend(extend(free, more[:half]), more[half:])

        self.why = ""
        if self.groups and attempt(keys) is None:
            self._of_equal_lengths(lambda: attempt(keys) is not None)
        free = extend([], keys)
        trace = attempt(free)
        if trace is None:
            raise Failed(f"nothing fits {self.why}")
        guards = {k: [self.base.env[k]] for k in self.effective() if k not in free}
        if self._without_nulls(guards):
            return self._widest(held)
        return self._by_value(free, guards, trace)

    def _of_equal_lengths(self, fits: Callable[[], bool]) -> None:
        """Without builds of which lists have entries for unequal numbers of stages, if that fits:
        guards then want equal ones."""
        seen = self.seen
        self.seen = [s for s in seen if all(group.agree(s.env) for group in self.groups)]
        if len(self.seen) < len(seen) and not fits():
            self.seen = seen

    def _of_one_length(self, key: str) -> bool:
        """Whether there are builds without those of a list that is longer or shorter than the
        base's: a guard then keeps to its length."""
        held = self.base.env[key]
        if not isinstance(held, list):
            return False

        def same(value: Any) -> bool:
            return not isinstance(value, list) or len(value) == len(held)

        kept = [s for s in self.seen if same(s.env.get(key))]
        if len(kept) == len(self.seen):
            return False
        self.seen = kept
        self.working[key] = [v for v in self.working.get(key, ()) if same(v)]
        return True

    def _without_nulls(self, guards: Iterable[str]) -> bool:
        """Forgets what a null makes of guarded numbers: the numbers alone may fit."""
        keys = [k for k in guards if self._is_number(k) and None in self.working.get(k, ())]
        for key in keys:
            self.working[key].remove(None)
        self.seen = [s for s in self.seen if all(s.env.get(k) is not None for k in keys)]
        return bool(keys)

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
        order = sorted(changes, key=lambda k: counts(self.base.env.get(k)))
        return set(order[:1])

    # ---- guards and the check

    def _guards(self, guards: Mapping[str, list[Any]]) -> dict[str, dict[str, Any]]:
        """All that a config must keep to."""
        # What the class computes, and no expression gives, may be absent: checks have to agree.
        free = self.derived - self.base.written - self.strict
        found: dict[str, dict[str, Any]] = {
            k: {"is": [*v, None] if k in free else v} for k, v in guards.items()
        }
        effective = set(self.effective())
        inner = self.inner - {""}
        for key, kind in self.sections.items():
            if not any(key.startswith(path) for path in inner):
                found[f"{key}.model_type"] = {"is": [kind, None]}
        for key, value in self.base.env.items():
            if key in found or IDLE.search(key) or (self.hands_on and key in HANDED):
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
                found[key] = {
                    "is": [value, None] if isinstance(value, dict) or key in free else [value]
                }
            elif isinstance(value, str) and any(key.startswith(path) for path in inner):
                continue
            elif self._pinned(key, value):
                found[key] = {"is": [value, *self.working.get(key, ())]}
        for name in sorted(self.missing):
            found[name[1:]] = {"absent": True}
        self._guard_lengths(found)
        for key, value in self.base.env.items():
            if key in effective and value is None and self.unwritten.get(key) is not None:
                found.setdefault(key, {})["null"] = True  # which the base has
        return found

    def _guard_lengths(self, found: dict[str, dict[str, Any]]) -> None:
        """Of lists of stages: as many entries each, unless it is known what others do."""
        effective = set(self.effective())
        for group in self.groups:
            keys = [
                key for key in (*group.lists, *group.counts)
                if key in effective or (key in self.looked and "" not in self.inner)
            ]  # fmt: skip
            first = next((key for key in keys if key in group.lists), None)
            if first is None:
                continue
            if any("is" in found.get(key, {}) for key in keys):  # one number of stages is known
                for key in group.lists:
                    if key in effective and "is" not in found.get(key, {}):
                        found.setdefault(key, {})["length"] = group.length
                continue
            unequal = {
                key for s in self.seen for key, n in group.lengths(s.env).items()
                if n != group.lengths(s.env)[first]
            }  # fmt: skip
            for key in keys:
                if key not in unequal and key != first:
                    rule = "length" if key in group.lists else "equals"
                    found.setdefault(key, {})[rule] = ["len", first]
                    found.setdefault(first, {})

    def _pinned(self, key: str, value: Any) -> bool:
        """Whether a key that changes nothing is kept to the values of which that is known."""
        if self.narrow and not counts(value) and not isinstance(value, (bool, dict)):
            return True
        return isinstance(value, str) and key in self.looked and "act" not in key

    def _of_effective(self, key: str, value: Any) -> dict[str, Any] | None:
        if isinstance(value, list):
            lengths = {len(v) for v in (value, *self.working.get(key, ()))}
            guard: dict[str, Any] = {"length": len(value)} if len(lengths) == 1 else {}
            tried = [value, *self.working.get(key, ())]
            if any(isinstance(item, (str, bool)) for item in value):
                guard["of"] = list(dict.fromkeys(item for v in tried for item in v))
            elif len(lengths) > 1 and not self._any_length(key):
                guard["length"] = len(value)
            if key in self.listed or any(key in group.lists for group in self.groups):
                guard.pop("length", None)
            if _is_positive(value) and key not in self.zeros:
                guard |= {"least": 1, "each": True}
            return guard or None
        if isinstance(value, bool):
            return None
        if isinstance(value, str):
            return {"is": [value, *self.working.get(key, ())]}
        if isinstance(value, int):
            if key in self.idle_counts:
                return None  # a guard would read it
            working = self.working.get(key, ())
            null = {"null": True} if None in working else {}
            if value < 0:
                return {"least": 0 if key in self.zeros else 1, "but": [value], **null}
            if key in self.zeros or value == 0:
                return null or None
            two = {"pair": True} if any(isinstance(v, list) for v in working) else {}
            return {"least": 1, **two, **null}
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
        mine = {spec.name: (spec.shape, spec.active) for spec in specs if is_held(spec)}
        known = served(one.root)
        real = {
            name: (shape, known.get(name, mine[name][1] if name in mine else None))
            for name, shape in flat(one.root).items()
        }
        if mine != real:
            self.differs = sorted(set(mine.items()) ^ set(real.items()), key=repr)[:4]
        return mine == real


def _is_positive(value: Any) -> bool:
    """Whether it is a list of counts or sizes."""
    return isinstance(value, list) and bool(value) and all(
        type(item) is int and item > 0 for item in value
    )  # fmt: skip
