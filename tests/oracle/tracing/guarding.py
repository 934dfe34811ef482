"""What a trace refuses: the guards of a class."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .building import Seen
from .changing import IDLE
from .evaluating import HANDED, EnvValues, evaluated
from .experimenting import counts
from .explaining import Explained


class Guarded(Explained):
    """Guards, from what was explained and what was tried."""

    # ---- what is guarded from the start

    def _narrowed(self) -> set[str]:
        """The keys that are guarded from the start: all, or all but numbers; never the counts of
        layers that the base has fewer of than the config which is to be answered."""
        if not self.narrow:
            return set()
        held = {k for k in self.effective() if self.narrow > 1 or not self._is_number(k)}
        return held - self.shrunk()

    def _stages(self) -> set[str]:
        """Counts of what lists have an entry each for, where no other number was built."""
        return {
            key
            for key in self.effective()
            if not any(key in group.counts for group in self.groups)
            and isinstance(self.base.env[key], int)
            and re.search(r"(stage|block|level|layer)s?$", key)
            and any(
                isinstance(v, list)
                and len(v) == self.base.env[key]
                and other.rpartition(".")[0] == key.rpartition(".")[0]
                and not self._follows(other, key)
                for other, v in self.base.env.items()
            )
        }

    def _follows(self, key: str, count: str) -> bool:
        """Whether the class makes a list as long as another count says."""
        return any(
            s.env[count] == len(s.env[key])
            for s in self.cache.values()
            if isinstance(s, Seen)
            and not s.says(key)
            and isinstance(s.env.get(key), list)
            and s.env.get(count) != self.base.env[count]
        )

    # ---- the guards of a trace

    def _guards(self, guards: Mapping[str, list[Any]]) -> dict[str, dict[str, Any]]:
        """All that a config must keep to."""
        # What the class computes, and no expression gives, may be absent: checks have to agree.
        free = self.derived - self.base.written - self.strict
        rules: dict[str, dict[str, Any]] = {
            k: {"is": [*v, None] if k in free else v} for k, v in guards.items()
        }
        effective = set(self.effective())
        inner = self.inner - {""}
        for key, kind in self.sections.items():
            if not any(key.startswith(path) for path in inner):
                rules[f"{key}.model_type"] = {"is": [kind, None]}
        for key, value in self.base.env.items():
            if key in rules or IDLE.search(key) or (self.hands_on and key in HANDED):
                continue
            if key in effective:
                guard = {"needs": self.needs[key]} if key in self.needs else None
                guard = guard or self._of_effective(key, value)
                if guard:
                    rules[key] = guard
            elif isinstance(value, dict) and key not in self.annotations:
                continue  # the class sets it itself, from keys that are tried
            elif key not in self.working and (key in self.looked or key in self._likely()):
                # could not be changed at all; a mapping has no default in a trace
                if isinstance(value, dict) and any(key.startswith(path) for path in inner):
                    continue  # the part's own matter
                if self._only_computed(key):
                    rules[key] = {"equals": self.computed[key]}
                    continue
                rules[key] = {
                    "is": [value, None] if isinstance(value, dict) or key in free else [value]
                }
            elif isinstance(value, str) and any(key.startswith(path) for path in inner):
                continue
            elif self._pinned(key, value):
                rules[key] = {"is": [value, *self.working.get(key, ())]}
        for name in sorted(self.missing):
            rules[name[1:]] = {"absent": True}
        self._guard_lengths(rules)
        for key, value in self.base.env.items():
            if key in effective and value is None and self.unwritten.get(key) is not None:
                rules.setdefault(key, {})["null"] = True  # which the base has
        return rules

    def _only_computed(self, key: str) -> bool:
        """Whether every build has the number that the class computes, also where it is given."""
        built = [s for s in self.cache.values() if isinstance(s, Seen)]
        return key in self.computed and all(
            s.env.get(key) == evaluated(self.computed[key], EnvValues(s.env)) for s in built
        )

    def _guard_lengths(self, guards: dict[str, dict[str, Any]]) -> None:
        """Of lists of stages: as many entries each, unless it is known what others do."""
        effective = set(self.effective())
        for group in self.groups:
            keys = [
                key
                for key in (*group.lists, *group.counts)
                if key in effective or (key in self.looked and "" not in self.inner)
            ]
            first = next((key for key in keys if key in group.lists), None)
            if first is None:
                continue
            if any("is" in guards.get(key, {}) for key in keys):  # one number of stages is known
                for key in group.lists:
                    if key in effective and "is" not in guards.get(key, {}):
                        guards.setdefault(key, {})["length"] = group.length
                continue
            unequal = {
                key
                for s in self.seen
                for key, n in group.lengths(s.env).items()
                if n != group.lengths(s.env)[first]
            }
            for key in keys:
                if key not in unequal and key != first:
                    rule = "length" if key in group.lists else "equals"
                    guards.setdefault(key, {})[rule] = ["len", first]
                    guards.setdefault(first, {})

    def _pinned(self, key: str, value: Any) -> bool:
        """Whether a key that changes nothing is kept to the values of which that is known."""
        if self.narrow and not counts(value) and not isinstance(value, (bool, dict)):
            return True
        if key in self.deciding:
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
                guard |= self._as_long(key)
            if is_positive(value) and key not in self.zeros:
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
            if key in self.signed:
                return {"signed": True, **null}
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

    def _as_long(self, key: str) -> dict[str, Any]:
        """That a list is as long as the one which the class computes, where no other was built."""
        count = self.listed.get(key, {}).get("count")
        built = [s for s in self.cache.values() if isinstance(s, Seen) and s.env.get(key)]
        if count is None or any(
            len(s.env[key]) != evaluated(count, EnvValues(s.env)) for s in built
        ):
            return {}
        return {"length": count}

    def _any_length(self, key: str) -> bool:
        lengths = [len(v) for v in self.working.get(key, ()) if isinstance(v, list)]
        return len(set(lengths)) > 2


def is_positive(value: Any) -> bool:
    """Whether it is a list of counts or sizes."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(type(item) is int and item > 0 for item in value)
    )
