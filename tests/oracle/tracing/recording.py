"""One class: the tree that explains the experiments, its guards and its checks."""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from hfinspect.core.config import ModelConfig
from hfinspect.errors import HfinspectError
from hfinspect.trees.catalog import builder
from hfinspect.trees.expand import expected_tensors
from hfinspect.trees.prediction import is_saved
from hfinspect.trees.traced import builders

from .building import Failed, Seen
from .challenging import challenges
from .changing import IDLE
from .experimenting import counts
from .gate import LEAST, Gated, comparisons, gate
from .guarding import Guarded, is_positive
from .observing import flat, served
from .writing import Trace

#: Random builds that a class must pass.
CHECKED = 30
#: Fits that are made, seconds of the gate, and answers that a trace has to give there.
ROUNDS = 12
GATE_SECONDS = 40.0
FEW = 6
#: Rounds in which a size that has no value is something to explain, and no refusal.
EAGER = 4
#: Builds on top of which a negative number is tried.
NEGATIVE = 6


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


class Recording(Guarded):
    """One class of one type."""

    def solve(self) -> Recorded:
        """Experiments, the fit, counterexamples until none is found, the gate."""
        base = self.experiment()
        self.seen += self.random(4 if self.narrow else 16, {})
        guards: dict[str, list[Any]] = {}
        held = self._stages()
        for number in range(ROUNDS):
            self.eager = number < EAGER
            trace, guards = self._widest(held | self._narrowed())
            self.zeros = set()
            self.signed = set()
            whole = self._trace(trace, guards)
            wrong, answered = self._tried(whole, guards)
            wrong += self._challenged(trace, whole)
            if not wrong and len(answered) < CHECKED:
                wrong = self._missed(whole, guards)
            wrong = wrong or self._differing(whole, self.released)
            if not wrong:
                self._zeros(trace, guards)
                self._negatives(trace, guards)
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
        if isinstance(default, Seen) and self.refused:
            if self.rebased:
                raise Failed(f"the default config is refused: {self.refused}")
            return self._rebased(guards)
        if isinstance(default, str) and not self._reads(whole, self.released):
            raise Failed(f"the default config is refused: {self.refused}; not built: {default}")
        shown = [base, *answered]
        if isinstance(default, Seen):
            if flat(default.root) != self.library.saved_names(self.kind, self.name, default.given):
                raise Failed("a build differs from what is saved")
            shown = [default, *shown]
        elif self.released:
            raise Failed(f"the released config is refused: {self.refused or default}")
        if gated.equal < FEW:
            raise Failed(f"refuses nearly everything: {gated}")
        idle = len([k for k in self.working if k not in self.effective()])
        return Recorded(
            trace.tree,
            self._guards(guards),
            whole["defaults"],
            checked,
            len(self.effective()),
            idle,
            shown[:8],
            gated,
            self.absent,
        )

    def _differing(self, whole: Mapping[str, Any], given: Mapping[str, Any]) -> list[Seen]:
        """The build of a config, where the trace gets it wrong."""
        one = self.attempt(given, {})
        if isinstance(one, str) or self.agrees(whole, one):
            return []
        return [one._replace(changes=self._changes(one))]

    def _reads(self, whole: Mapping[str, Any], given: Mapping[str, Any]) -> bool:
        """Whether the trace takes a config, whatever it says of it."""
        config = self.library.config_json(self.kind, self.name, given)
        try:
            expected_tensors(builders(whole, builder)[self.name](ModelConfig(config)))
        except HfinspectError as error:
            self.refused = str(error)
        else:
            self.refused = ""
        return not self.refused

    def _tried(
        self, whole: Mapping[str, Any], guards: Mapping[str, list[Any]]
    ) -> tuple[list[Seen], list[Seen]]:
        """Fresh random builds: those that the trace gets wrong, and those that it answers."""
        fresh = self.random(CHECKED, guards)
        fresh += self._in_full(fresh[:4])
        wrong = []
        answered = []
        for one in fresh:
            if not self.agrees(whole, one):
                wrong.append(one)
            elif not self.refused:
                answered.append(one)
        return wrong, answered

    def _challenged(self, trace: Trace, whole: Mapping[str, Any]) -> list[Seen]:
        """The builds at which a comparison of the trace turns, and the trace is wrong."""
        observations = []
        tried = challenges(trace.tree, self.base.env, self.working, self.effective())
        for changes in itertools.islice(tried, 100):
            one = self.changed(changes)
            if isinstance(one, Seen) and not self.agrees(whole, one):
                observations.append(one)
        return observations

    def _gated(self, whole: Mapping[str, Any], number: int) -> tuple[Gated, list[Seen]]:
        """The gate, each time with other configs; and the builds of those that differ."""
        started = time.process_time()
        gated = gate(
            self.library,
            self.kind,
            self.name,
            whole,
            self.base_given,
            f"gate {number}",
            started + GATE_SECONDS,
            comparisons(len(self.effective())),
        )
        self.until += time.process_time() - started  # which is not for experiments
        if not gated.wrong and gated.equal + gated.refused < LEAST and not self._is_small():
            raise Failed(f"too few comparisons: {gated}")
        values = []
        for given, differs in gated.wrong:
            one = self.attempt(given, {})
            if isinstance(one, str):
                raise Failed(f"differs where it is loaded: {one} {differs}")
            one = one._replace(changes=self._changes(one))
            if self.agrees(whole, one):
                raise Failed(f"is loaded otherwise than built: {differs}")
            values.append(one)
        return gated, values

    def _is_small(self) -> bool:
        """Whether hardly anything of the class can be changed."""
        return len(self.effective()) < FEW

    def _changes(self, one: Seen) -> dict[str, Any]:
        """What a config changes of the base."""
        return {
            k: v
            for k, v in one.env.items()
            if not IDLE.search(k) and k in self.base.env and v != self.base.env[k]
        }

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

    def _zeros(self, trace: Trace, guards: Mapping[str, Any]) -> None:
        """Which keys may be 0: where that builds and the trace agrees."""
        for key in self.effective():
            if not self._is_number(key) and not is_positive(self.base.env[key]):
                continue
            if key in guards or key in self.conditional:
                continue
            held = self.base.env[key]
            observation = self.changed({key: [0, *held[1:]] if isinstance(held, list) else 0})
            self.zeros.add(key)
            whole = self._trace(trace, guards)
            if (
                not isinstance(observation, Seen)
                or not self.agrees(whole, observation)
                or self.refused
            ):
                self.zeros.discard(key)

    def _negatives(self, trace: Trace, guards: Mapping[str, Any]) -> None:
        """Which keys whose default is negative may be any such number, and 0: where that builds and
        the trace agrees, on top of builds in which other keys make this one count."""
        for key in self.effective():
            held = self.base.env[key]
            if type(held) is not int or held >= 0 or key in guards:
                continue
            told = [one.changes for one in self.seen if key in one.changes]
            some = [changes for changes in told if changes[key] != held][:NEGATIVE] or [{}]
            tried = [
                self.changed({**changes, key: other})
                for changes in some
                for other in (0, held - 1, held - 9)
            ]
            self.signed.add(key)
            whole = self._trace(trace, guards)
            if not all(
                isinstance(one, Seen) and self.agrees(whole, one) and not self.refused
                for one in tried
            ):
                self.signed.discard(key)

    def _missed(self, whole: Any, guards: Any) -> list[Seen]:
        """Of all builds ever made, those that the trace gets wrong."""
        built = (one for one in self.cache.values() if isinstance(one, Seen))
        return [
            one._replace(changes=self._changes(one))
            for one in built
            if self._within(one, guards) and not self.agrees(whole, one)
        ][:12]

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
        observations = (self.attempt(form, {}) for form in forms)
        return [one for one in observations if isinstance(one, Seen)]

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
            return not (self.eager and "has no value" in self.refused)
        self.refused = ""
        mine = {spec.name: (spec.shape, spec.active) for spec in specs if is_saved(spec)}
        known = served(one.root)
        real = {
            name: (shape, known.get(name, mine[name][1] if name in mine else None))
            for name, shape in flat(one.root).items()
        }
        if mine != real:
            self.differs = sorted(set(mine.items()) ^ set(real.items()), key=repr)[:4]
        return mine == real
