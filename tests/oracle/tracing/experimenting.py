"""Experiments on one class: which keys of its config change what."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from typing import Any

from hfinspect.trees.arithmetic import Written
from hfinspect.trees.backbone_stages import stage_names

from . import symbols
from .building import PATIENCE, Builds, Seen
from .challenging import turned
from .changing import IDLE, alternatives, at_random, flattened, has_sides, nested, without
from .compared_numbers import against_zero, limits, other_way
from .evaluating import HANDED
from .library import patience
from .observing import Node, Part, paths
from .staging import Parallel, parallel, resized
from .writing import keys_of

_BATCH = 14


class Experiments(Builds):
    """What one key after the other changes, and several at once."""

    # ---- what the constructor looks at

    def _noted(self, one: Seen, paired: bool = True) -> None:
        """Runs with numbers that remember: all keys, and those that are fields of their own."""
        plain = {k: v for k, v in one.env.items() if not IDLE.search(k)}
        derived = {k for k, v in plain.items() if k not in one.written and self._is_derived(k)}
        sides = {k for k, v in plain.items() if has_sides(v, self.annotations.get(k, ""))}
        runs = [((), False), (derived, False), ((), True), (derived, True)]
        for left_out, of_two in runs:
            if (left_out == derived and not derived) or (of_two and not (sides and paired)):
                continue
            marked = {k: _marked(k, v) for k, v in plain.items() if k not in left_out}
            if of_two:
                marked |= {k: _two_sides(k, plain[k]) for k in sides if k in marked}
            marked = {k: v for k, v in marked.items() if v is not None}
            try:
                with symbols.noting(self.library.packages) as noted, patience(PATIENCE):
                    self.library.run(self.kind, self.name, nested(one.given, marked))
            except Exception:  # what was noted until then still proposes
                pass
            self.expressions.update(noted.computed)
            self.sizes.update(noted.sizes)
            self.compared.update(noted.compared)
            for key, words in noted.words.items():
                self.words.setdefault(key, set()).update(words)

    def _released_words(self) -> None:
        """Words of released configs may be a key's, as they are written and as they are saved."""
        for given in self.library.released(self.kind, self.name):
            try:
                full = self.library.full(self.kind, self.name, given)
            except Exception:
                full = {}
            for values in (given, full):
                for key, value in flattened(values, self.sections).items():
                    if isinstance(value, str) and key in self.words:
                        self.words[key].add(value)

    def _other_branches(self) -> None:
        """What is computed only where a flag or a text is another: the same runs there."""
        for one in self.seen[1:]:
            ((key, _),) = one.changes.items()
            if _turns(self.base.env[key]):
                self._noted(one, paired=isinstance(self.base.env[key], bool))
        vars(self).pop("_sized", None)  # of which there may be more now

    def _with_hidden(self, base: Seen) -> Seen:
        """The base with the keys that no config class lists, where what is read of them from the
        source holds: given in full they build the same."""
        absent = self._hidden(base.env)
        right = [
            k for k, (builds, differs) in self._alone(absent).items() if builds and not differs
        ]
        self.hidden = {key: value for key, value in self.hidden.items() if key in right}
        self.cache.clear()
        again = self.attempt(self.base_given, {})
        self.base = again if isinstance(again, Seen) else base
        return self.base

    def _unlisted(self) -> Iterator[str]:
        """Keys that no config class lists and that change something, or cannot be tried."""
        values = {
            key: options
            for key, options in self.library.unlisted(self.kind, self.name).items()
            if key not in self.base.env and not any(map(key.startswith, self.inner - {""}))
        }
        there: dict[str, bool] = {}
        for place in range(max(map(len, values.values()), default=0)):
            these = {key: options[place] for key, options in values.items() if place < len(options)}
            for key, (builds, differs) in self._alone(these).items():
                there[key] = there.get(key, False) or builds
                if differs:
                    yield key
                    values.pop(key)
        yield from (key for key in values if not there.get(key))

    def _alone(self, changes: Mapping[str, Any]) -> dict[str, tuple[bool, bool]]:
        """Of each change whether it builds, and whether that differs from the base: by halves."""
        observation = self.changed(changes) if changes else self.base
        if isinstance(observation, Seen) and observation.root.signature == self.base.root.signature:
            return dict.fromkeys(changes, (True, False))
        if len(changes) == 1:
            return dict.fromkeys(
                changes, (isinstance(observation, Seen), isinstance(observation, Seen))
            )
        some = dict(list(changes.items())[: len(changes) // 2])
        rest = {key: value for key, value in changes.items() if key not in some}
        return {**self._alone(some), **self._alone(rest)}

    def _is_derived(self, key: str) -> bool:
        declared = self.annotations.get(key, "")
        return not declared or "None" in declared

    # ---- experiments

    def experiment(self) -> Seen:
        """Singles: every key, as many at once as change nothing."""
        base = self._begin()
        self.base = base
        if self.hidden:
            base = self._with_hidden(base)
        self.seen.append(base)
        try:
            self.annotations = self.library.optional(self.kind, self.name)
        except Exception:
            self.annotations = {}
        self.expressions: dict[str, Written] = {}
        self.sizes: dict[str, Written] = {}
        self.compared: dict[str, Written] = {}
        named = self.library.words(self.kind, self.name)
        self.words = {key: _words_of(key.rpartition(".")[2], named) for key in base.env}
        self._released_words()
        self._noted(base)
        try:
            self.looked, self.missing = self._looked(base)
        except Exception:
            self.looked = set(base.env)
            self.missing = set()
        self.missing |= {f"?{key}" for key in self._unlisted()}
        near = limits(self.compared.values())
        options = {
            key: alternatives(
                key,
                value,
                self.annotations.get(key, ""),
                self.words.get(key, set()),
                near.get(key, set()),
            )
            for key, value in base.env.items()
            if not IDLE.search(key)
        }
        for key in against_zero(self.compared.values()) & options.keys():
            if isinstance(base.env[key], float) and base.env[key]:
                options[key].insert(0, 0.0)
        self.options = options
        # What is no number may matter by a value that is not the first: all are tried.
        alone = self._likely() | {k for k, v in base.env.items() if self.narrow and not counts(v)}
        suspects = [k for k in options if options[k] and k not in alone]
        likely = [k for k in options if options[k] and k in alone]
        for key in [*likely, *self._not_idle(suspects)]:
            self._single(key)
        if not self.narrow:
            self._other_branches()
            self._together()
            self._conditional()
            self._equal()
            self._compared()
            self._lengths()
        full = self.attempt(self._spelled_in_full(base), {})
        if isinstance(full, Seen):
            self.seen.append(full)
        return base

    def _likely(self) -> set[str]:
        """Keys that stand in an expression of a size."""
        if not hasattr(self, "_sized"):
            inner = self.inner
            self._sized = {
                key
                for written in self.sizes.values()
                for key in keys_of(written)
                if not any(key.startswith(path) for path in inner)
            }
        return self._sized

    @property
    def inner(self) -> set[str]:
        """Prefixes of the keys that parts read for themselves; empty where one has the config."""
        keys = {part.key for part in _all_parts(self.base.root)}
        return {f"{key}." if key else "" for key in keys}

    def _not_idle(self, keys: list[str]) -> Iterator[str]:
        """Those of the keys that change something, or cannot be changed, by halves."""
        for start in range(0, len(keys), _BATCH):
            yield from self._halved(keys[start : start + _BATCH])

    def _halved(self, keys: list[str]) -> list[str]:
        if len(keys) == 1:
            return keys
        observation = self.changed({key: self.options[key][0] for key in keys})
        if isinstance(observation, Seen) and observation.root.signature == self.base.root.signature:
            several = [k for k in keys if self.words.get(k) and len(self.options[k]) > 1]
            self.working |= {k: [self.options[k][0]] for k in keys if k not in several}
            return several  # of words that the code names each is tried
        half = len(keys) // 2
        return [*self._halved(keys[:half]), *self._halved(keys[half:])]

    def _single(self, key: str) -> None:
        wanted = 3 if isinstance(self.base.env[key], int) else 8
        counted = isinstance(self.base.env[key], int)
        if self.narrow > 1 and counted and key not in self.shrunk():
            wanted = 1  # it is guarded if it matters
        within = any(key.startswith(path) for path in self.inner)
        if within and not isinstance(self.base.env[key], str):
            wanted = 1  # unless it matters outside the part as well
        for value in self.options[key]:
            if len(self.working.get(key, ())) >= wanted:
                break
            if type(value) is int and value == 0:
                continue
            observation = self.changed({key: value})
            if (
                value is None
                and isinstance(observation, Seen)
                and observation.env.get(key) is not None
            ):
                continue  # the config class puts a number in its place
            if isinstance(observation, Seen):
                self.working.setdefault(key, []).append(value)
                if observation.root.signature != self.base.root.signature:
                    self.seen.append(observation)
                    if self.narrow and not counted:
                        break  # it is guarded
                    wanted = wanted if self.narrow else max(wanted, 3)
            else:
                self.failing.setdefault(key, []).append(value)

    def _equal(self) -> None:
        """What the constructor compares of two keys, made equal: two equal widths need no shortcut;
        and the keys that matter only there."""
        both = [c for c in self.compared.values() if c[0] == "==" and all(map(_reads, c[1:]))]
        observations = (
            self.changed(changes) for c in both[:20] for changes in turned(c, self.base.env)
        )
        for one in observations:
            if isinstance(one, Seen) and one not in self.seen:
                self.seen.append(one)
                for key, value in one.changes.items():
                    self.working.setdefault(key, []).append(value)
                idle = [k for k in self.working if k not in self.effective()]
                for start in range(0, len(idle), _BATCH):
                    self._turned(one, idle[start : start + _BATCH])

    def _compared(self) -> None:
        """What the constructor compares of computed numbers, the other way round: the branch that
        it takes there."""
        computed = [
            c
            for c in self.compared.values()
            if c[0] != "in" and any(isinstance(side, list) for side in c[1:])
        ]
        for condition in computed[:30]:
            for changes in other_way(condition, self.base.env):
                one = self.changed(changes)
                if isinstance(one, Seen) and one.root.signature != self.base.root.signature:
                    if one not in self.seen:
                        self.seen.append(one)
                    break

    def _lengths(self) -> None:
        """Other numbers of stages: all lists of one length together, and each alone."""
        base = self.base.root.signature
        for group in parallel(self.base.env):
            keys = {*group.lists, *group.counts}
            built = list(self._resized(group))
            changed = any(one.root.signature != base for one in built)
            if len(built) < 2 or not (changed or keys & set(self.effective())):
                continue
            self.groups.append(group)
            self.lengths[group] = [len(one.env[group.lists[0]]) for one in (self.base, *built)]
            alone = [
                {key: resized(key, self.base.env[key], group.length + by)}
                for key in group.lists
                for by in (1, -1)
            ]
            observations = (self.changed(changes) for changes in alone if all(changes.values()))
            self.seen += [*built, *(one for one in observations if isinstance(one, Seen))]
            effective = set(self.effective())
            more = keys if effective.isdisjoint(group.lists) else group.counts
            self.conditional.update(key for key in more if key not in effective)

    def _resized(self, group: Parallel) -> Iterator[Seen]:
        """The base with other numbers of stages."""
        n = group.length
        for length in dict.fromkeys((n + 1, n - 1, max(n + 2, 6), 2, 1)):
            if length != n and length > 0:
                one = self.changed(group.resized(self.base.env, length))
                if isinstance(one, Seen) and group.agree(one.env):
                    yield one

    def _together(self) -> None:
        """Flags that build only where another flag is turned: cross-attention of a decoder."""
        flags = [k for k, v in self.base.env.items() if isinstance(v, bool) and k in self.options]
        for key in [k for k in flags if k in self.failing and not self.working.get(k)][:4]:
            value = not self.base.env[key]
            for other in flags:
                near = other.rpartition(".")[0] == key.rpartition(".")[0] and other != key
                turned = self.changed({other: not self.base.env[other]}) if near else ""
                both = {other: not self.base.env[other], key: value}
                observation = self.changed(both) if isinstance(turned, Seen) else ""
                if isinstance(turned, Seen) and isinstance(observation, Seen):
                    self.working[key] = [value]
                    self.conditional.add(key)
                    if value:
                        self.needs[key] = {other: not self.base.env[other]}
                    self.seen += [one for one in (turned, observation) if one not in self.seen]
                    break

    def _conditional(self) -> None:
        """Keys that matter only where another one is turned: a flag, a text, what is null, or a
        share that may be none."""
        for key in self.effective():
            turned_to = self.working[key][:2]
            if isinstance(self.base.env[key], float):
                turned_to = [value for value in turned_to if value == 0]
            elif not _turns(self.base.env[key]):
                continue
            for value in turned_to:
                one = self.changed({key: value})
                if isinstance(one, Seen) and one.root.signature != self.base.root.signature:
                    idle = [k for k in self.working if k not in self.effective()]
                    for start in range(0, len(idle), _BATCH):
                        self._turned(one, idle[start : start + _BATCH])

    def _turned(self, turned: Seen, keys: list[str]) -> None:
        """Finds by halves which of the idle keys matter at a change of another."""
        over = {k: self.working[k][0] for k in keys if self.working[k]}
        observation = self.changed({**turned.changes, **over})
        if not over or (
            isinstance(observation, Seen) and observation.root.signature == turned.root.signature
        ):
            return
        if len(keys) > 1:
            half = len(keys) // 2
            self._turned(turned, keys[:half])
            self._turned(turned, keys[half:])
            return
        self._single(keys[0])  # more values than the one that showed nothing alone
        for value in self.working[keys[0]][:3]:
            observation = self.changed({**turned.changes, keys[0]: value})
            if (
                isinstance(observation, Seen)
                and observation.root.signature != turned.root.signature
            ):
                self.conditional.add(keys[0])
                self.seen.append(observation)

    def _looked(self, base: Seen) -> tuple[set[str], set[str]]:
        keys = self.library.looked_at(self.kind, self.name, base.given)
        known = {key.rpartition(".")[2] for key in base.env}
        return {k for k in base.env if k.rpartition(".")[2] in keys}, {
            name for name in keys if name.startswith("?") and name[1:] not in known
        }

    def _spelled_in_full(self, one: Seen) -> dict[str, Any]:
        values = self.library.full(self.kind, self.name, one.given)
        values.pop("num_labels", None)
        return values

    def effective(self) -> list[str]:
        """Keys of which a change alone or with others changes the tree."""
        base = self.base.root.signature
        keys = [
            k
            for s in self.seen
            if s.root.signature != base and len(s.changes) == 1
            for k in s.changes
        ]
        said = HANDED if self.hands_on else ()  # by a condition of its own
        return [k for k in dict.fromkeys([*keys, *sorted(self.conditional)]) if k not in said]

    @property
    def idle_counts(self) -> set[str]:
        """Counts of stages that change nothing by themselves."""
        base = self.base.root.signature
        alone = {
            key
            for s in self.seen
            if s.root.signature != base and len(s.changes) == 1
            for key in s.changes
        }
        return {key for group in self.groups for key in group.counts} - alone

    @property
    def hands_on(self) -> bool:
        """Whether it has a module for each map that it hands on, of any number of stages."""
        below = (node for _, node in paths(self.base.root))
        return bool(self.groups) and any(node.maps and node.children for node in below)

    def random(self, count: int, allowed: Mapping[str, list[Any]]) -> list[Seen]:
        """So many builds with several keys changed at once, guarded keys within their guard."""
        observations: list[Seen] = []
        # Keys of an expression count too: alone they may change nothing.
        known = dict.fromkeys([*self.effective(), *sorted(self._likely())])
        effective = [k for k in known if k not in allowed and self.working.get(k)]
        idle = [k for k in self.working if k not in effective and k not in allowed]
        for _ in range(count * 4):
            if len(observations) >= count or time.process_time() > self.until:
                break
            keys = set(self.rng.sample(effective, min(len(effective), self.rng.randint(1, 6))))
            keys |= set(self.rng.sample(idle, min(len(idle), self.rng.randint(0, 4))))
            changes = {k: at_random(self.rng, self.base.env[k], self.working[k]) for k in keys}
            for group in self.groups:
                if self.rng.random() < 0.5 and allowed.keys().isdisjoint(group.lists):
                    length = self.rng.choice(self.lengths[group])
                    changes |= group.resized({**self.base.env, **changes}, length)
            if self.hands_on:
                changes |= self._maps(changes)
            for key, values in allowed.items():
                if len(values) > 1 and self.rng.random() < 0.3:
                    value = self.rng.choice(values)
                    if value is not None:
                        changes[key] = value
            one = self.attempt(nested(self._less(changes), changes), changes)
            if isinstance(one, str):  # halve the changes until it builds
                kept = set(self.rng.sample(sorted(changes), (len(changes) + 1) // 2))
                for group in self.groups:  # all of them or none
                    whole = {*group.lists, *group.counts} & changes.keys()
                    kept = kept | whole if kept & whole else kept
                one = self.changed({k: v for k, v in changes.items() if k in kept})
            if isinstance(one, Seen) and one not in observations:
                observations.append(one)
        return observations

    def _maps(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Some of the maps of the stages, by name or by number, or none that are said."""
        (first, *_), *_ = (group.lists for group in self.groups)
        names = stage_names(len(changes.get(first, self.base.env[first])))
        some = sorted(self.rng.sample(range(len(names)), self.rng.randint(1, len(names))))
        back = self.rng.choice((0, len(names)))
        by_name = {"out_features": [names[i] for i in some]}
        return self.rng.choice([{}, by_name, {"out_indices": [i - back for i in some]}])

    def _less(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        """The base less some of what it writes down: what is absent may be computed."""
        there = [k for k in flattened(self.base_given, self.sections) if k not in changes]
        deep = self.shrunk()  # which take long to build
        absent = {
            k
            for k in there
            if not k.endswith("model_type") and self.rng.random() < (0.02 if k in deep else 0.2)
        }
        return without(self.base_given, absent)


#: Words for what a layer is: whatever the code calls what it compares with them.
_LAYER = re.compile(r"attention$|^(sparse|dense|conv|mamba|moe|mlp|hybrid|recurrent)$")


def _words_of(name: str, named: Mapping[str, set[str]]) -> set[str]:
    """The words that the code compares a key with, or what it calls an entry of its list."""
    choices = set(named.get(name, ())) | set(named.get(name.removesuffix("s"), ()))
    if name.endswith("layer_types"):
        choices |= {"full_attention", "sliding_attention"}  # of which other modules may read
        choices.update(word for words in named.values() for word in words if _LAYER.search(word))
    return choices


def _turns(value: Any) -> bool:
    """Whether other values of a key may be other branches: flags, texts, kinds of layers."""
    texts = isinstance(value, list) and bool(value) and all(isinstance(v, str) for v in value)
    return texts or value is None or isinstance(value, (bool, str))


def counts(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _all_parts(node: Node) -> Iterator[Part]:
    for child in node.children.values():
        if isinstance(child, Part):
            yield child
        elif isinstance(child, Node):
            yield from _all_parts(child)


def _reads(written: Written) -> bool:
    return any(keys_of(written))


def _two_sides(key: str, value: int) -> list[Any]:
    return [symbols.Int(value, ["pair", key, side]) for side in (0, 1)]


def _marked(key: str, value: Any) -> Any:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return symbols.Int(value, key)
    if isinstance(value, float):
        return symbols.Float(value, key)
    if isinstance(value, str):
        return symbols.text(value, key)
    if isinstance(value, list) and value and all(counts(v) for v in value):
        return [
            (symbols.Float if isinstance(v, float) else symbols.Int)(v, ["[]", key, i])
            for i, v in enumerate(value)
        ]
    return None
