"""What explains the builds of a class: one tree, and what stands for keys not written down."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from hfinspect.trees.arithmetic import Written

from .building import Failed, Seen
from .changing import IDLE
from .evaluating import EnvValues, evaluated
from .experimenting import Experiments, counts
from .fitting import Fitter
from .listing import Listing, gives
from .numbering import Build, NoFit, Staged
from .proposing import proposed
from .staging import of_the_last, staged
from .writing import Trace, keys_of


class Explained(Experiments):
    """The fit of what was seen, with as few keys guarded as possible."""

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
            k
            for k in effective
            if any(isinstance(e.get(k), list) for e in envs) and not counts(self.base.env.get(k))
        ]
        fitter = Fitter(
            builds,
            expressions,
            self._conditions(effective, seen),
            list(dict.fromkeys(lists)),
            [k for k in effective if not isinstance(self.base.env.get(k), list)],
            self.known,
            self._staged([*effective, *more]),
        )
        root = fitter.root(range(len(builds)))
        return Trace(root, defaults, self.absent)

    def _staged(self, effective: list[str]) -> Staged | None:
        """What may be said of a stage, where other numbers of stages build."""
        if not self.groups:
            return None
        return staged(
            self.expressions.values(),
            self.sizes.values(),
            self.compared.values(),
            self.base.env,
            effective,
            self.groups,
        )

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
            s for s in self.cache.values() if isinstance(s, Seen) and absent.isdisjoint(s.written)
        ]
        for key in sorted({k for env in envs for k in env}):
            values = [s.env.get(key) for s in built if not s.says(key)]
            if not values:
                defaults[key] = self.unwritten.get(key)
            elif all(v == values[0] for v in values):
                defaults[key] = values[0]
            else:
                derived.append(key)
        keys = [k for k in needed if k not in derived]
        expressions = proposed(self.expressions.values(), self.sizes.values(), self.base.env, keys)
        for key in derived:
            defaults[key] = self._computed(key, built, expressions, set(derived))
            if defaults[key] is not None:
                self.computed[key] = defaults[key]["of"]
            else:
                defaults[key] = self._searched(key, built, set(derived))
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

    def _searched(self, key: str, built: list[Seen], derived: set[str]) -> Any:
        """A list that is computed, or a value that is chosen: by what gave all builds until now,
        if it still does."""
        if key in self.unlike:
            return None
        where: list[tuple[EnvValues, Any]] = [
            (EnvValues(s.env), s.env.get(key)) for s in built if not s.says(key)
        ]
        rule = self.listed.get(key)
        if rule is None or not all(gives(rule, values, items) for values, items in where):
            lists = all(isinstance(items, list) for _, items in where)
            plain = (bool, int) if lists else (bool, int, str)
            near = [
                k
                for k, v in self.base.env.items()
                if k.rpartition(".")[0] == key.rpartition(".")[0]
                and not IDLE.search(k)
                and k not in derived
                and (v is None or isinstance(v, plain))
            ]
            noted = [w for w in self.compared_sides() if derived.isdisjoint(keys_of(w))]
            noted += [
                ["len", k]
                for k, v in self.base.env.items()
                if isinstance(v, list) and k not in derived
            ]
            listing = Listing(noted, near)
            rule = listing.computed(where) if lists else listing.chosen(where)
        if rule is None:
            self.unlike.add(key)
            self.listed.pop(key, None)
            return None
        self.listed[key] = rule
        return {"of": rule}

    @property
    def deciding(self) -> set[str]:
        """The texts that choose a value which the class computes and the tree reads."""
        return {
            key
            for rule in map(self.listed.get, self.effective())
            if rule
            for key in keys_of(rule)
            if isinstance(self.base.env.get(key), str)
        }

    def compared_sides(self) -> list[Written]:
        """Expressions over the config that the class computes, and those that it compares."""
        sides = [side for _, *both in self.compared.values() for side in both]
        return [w for w in (*sides, *self.expressions.values()) if isinstance(w, list)]

    def _conditions(self, effective: list[str], seen: list[Seen]) -> list[Written]:
        conditions: list[Written] = []
        for key in effective:
            values = {json.dumps(s.env.get(key), default=repr): s.env.get(key) for s in seen}
            kinds = {type(v) for v in values.values()}
            if bool in kinds:
                conditions.append(["true", key])
            if type(None) in kinds and len(kinds) > 1:
                conditions.append(["null", key])
            if str in kinds:
                conditions += [["is", key, v] for v in values.values() if isinstance(v, str)]
            if list in kinds and len(kinds) > 1:
                lists = [v for v in values.values() if isinstance(v, list)]
                words = dict.fromkeys(w for v in lists for w in v if isinstance(w, str))
                conditions += [["has", key, word] for word in words]
        for written in self.compared.values():
            if not set(effective).isdisjoint(keys_of(written)):
                conditions.append(written)
        for key in effective:
            if isinstance(self.base.env.get(key), (int, float)) or self.base.env.get(key) is None:
                conditions += [["==", key, 0], ["==", key, 1], ["<", 1, key], ["<", 0, key]]
        for a in effective:
            conditions += [["given", a]]
        return conditions

    # ---- as few guarded keys as possible

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

    def _within(self, one: Seen, guards: Mapping[str, list[Any]]) -> bool:
        return all(one.env.get(k, self.base.env.get(k)) in allowed for k, allowed in guards.items())

    def _is_number(self, key: str) -> bool:
        return type(self.base.env[key]) is int
