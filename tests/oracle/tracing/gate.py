"""The gate of a trace: held-out comparisons with what the library saves.

The recorder learns from its own random builds.  This compares with configs as users write them:
values, aliases, sections and spellings of ``mutating.py``, and configs with a share of all keys
changed at once; then, as ``stress.py`` does, with other lengths of lists and odd sizes
(``resizing.py``).  A trace with one silent difference is not written; refusals are counted.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from random import Random
from typing import Any, NamedTuple

from hfinspect.core.config import ModelConfig
from hfinspect.errors import HfinspectError
from hfinspect.trees.catalog import builder
from hfinspect.trees.expand import expected_tensors
from hfinspect.trees.learned_activations import check_activations
from hfinspect.trees.prediction import is_saved
from hfinspect.trees.traced import builders

from ..deliberate import something
from ..resizing import KEPT_OUT, resized
from .changing import IDLE, alternatives, flattened, nested
from .library import Given, Library, patience
from .staging import Parallel, parallel

#: Comparisons that a trace must pass at least, and at most.
LEAST = 60
MOST = 150
#: Seconds for one build.
PATIENCE = 10.0
#: Comparisons at other lengths and sizes, at most, and seconds of the processor for them; so many
#: that differ are enough to fit the trace again.
STRESSED = 300
STRESS_SECONDS = 8.0
SHOWN = 4


class Gated(NamedTuple):
    """How many comparisons came out how; ``wrong``: the configs, and what differs; ``why``: the
    commonest reason of a refusal."""

    equal: int
    refused: int
    wrong: list[tuple[dict[str, Any], str]]
    why: str = ""

    def __str__(self) -> str:
        why = f" ({self.why})" if self.refused > self.equal else ""
        return f"{self.equal} equal, {self.refused} refused{why}, {len(self.wrong)} wrong"


def comparisons(keys: int) -> int:
    """How many a class with so many keys that change something has to pass."""
    return max(LEAST, min(MOST, 3 * keys))


def gate(
    library: Library,
    kind: str,
    name: str,
    whole: Mapping[str, Any],
    start: Given,
    seed: str,
    until: float,
    count: int = LEAST,
) -> Gated:
    """Compare the trace ``whole`` with the library, ``count`` times or until that time of the
    processor; and where nothing differs at other lengths and sizes."""
    known = _known(whole, library.released(kind, name)) | library.unlisted(kind, name)
    rng = Random(f"{seed} {kind} {name}")
    comparing = _Comparing(library, kind, name, whole)
    gate_result = comparing.all(
        _varied(library, kind, name, start, known, rng, 5 * count), count, 12, until
    )
    if gate_result.wrong:
        return gate_result
    more = comparing.all(
        _resized(library, kind, name, start, rng),
        STRESSED,
        SHOWN,
        time.process_time() + STRESS_SECONDS,
    )
    return more._replace(
        equal=gate_result.equal + more.equal,
        refused=gate_result.refused + more.refused,
        why=gate_result.why or more.why,
    )


class _Comparing(NamedTuple):
    """A trace of a class next to the library."""

    library: Library
    kind: str
    name: str
    whole: Mapping[str, Any]

    def all(self, configs: Iterable[Given], count: int, most: int, until: float) -> Gated:
        """``count`` comparisons, or until ``most`` differ, or until that time of the processor;
        configs that the library refuses are no comparison."""
        equal = refused = 0
        reasons: Counter[str] = Counter()
        wrong: list[tuple[dict[str, Any], str]] = []
        for given in configs:
            if equal + refused + len(wrong) >= count or len(wrong) >= most:
                break
            if time.process_time() > until:
                break
            try:
                with patience(PATIENCE):
                    real = something(self.library.loaded_names(self.kind, self.name, given))
            except ImportError:  # of this machine, and no refusal
                raise
            except Exception:
                continue
            try:
                mine = something(predicted(self.library, self.kind, self.name, self.whole, given))
            except HfinspectError as error:
                refused += 1
                reasons[str(error)[:80]] += 1
                continue
            if mine == real:
                equal += 1
            else:
                wrong.append((dict(given), str(sorted(set(mine.items()) ^ set(real.items()))[:3])))
        why = reasons.most_common(1)[0][0] if reasons else ""
        return Gated(equal, refused, wrong, why)


def predicted(
    library: Library, kind: str, name: str, whole: Mapping[str, Any], given: Given
) -> dict[str, tuple[int, ...]]:
    """What the trace says of a config: name -> shape."""
    config = ModelConfig(library.config_json(kind, name, given))
    root = builders(whole, builder)[name](config)
    check_activations(name, config, root)
    specs = expected_tensors(root)
    return {s.name: tuple(map(int, s.shape)) for s in specs if is_saved(s)}


def _known(whole: Mapping[str, Any], released: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Key -> values that matter: those that guards name, and those of released configs."""
    cases: dict[str, list[Any]] = {}
    rules = [
        (key, value)
        for rule in whole["guards"]
        for key, guard in rule.items()
        for value in guard.get("is", ())
    ]
    for key, value in [*rules, *(pair for given in released for pair in given.items())]:
        if value not in cases.setdefault(key, []):
            cases[key].append(value)
    return cases


def _varied(
    library: Library,
    kind: str,
    name: str,
    start: Given,
    known: Mapping[str, list[Any]],
    rng: Random,
    most: int,
) -> Iterator[dict[str, Any]]:
    starts = [dict(start)] * 3 + list(library.starts(kind, name))[:2]
    for released in library.released(kind, name):
        starts += list(library.starts(kind, name, released))[:1]
    for number in range(most):
        base = rng.choice(starts)
        try:
            if number % 5 == 4:
                yield _doubled(library, kind, name, base, rng)
            elif number % 7 == 6 and (groups := _parallel(library, kind, name, base)):
                env, group = rng.choice(groups)
                yield nested(base, group.resized(env, rng.randint(1, group.length + 2)))
            elif number % 4 == 3:
                keys = rng.sample(sorted(known), min(len(known), rng.choice((1, 1, 2))))
                yield nested(base, {key: rng.choice(known[key]) for key in keys})
            elif number % 4 == 2:
                yield _many(library, kind, name, base, rng)
            else:
                yield library.mutated(kind, name, base, rng)
        except Exception:  # the library refuses the config itself
            continue


def _resized(
    library: Library, kind: str, name: str, start: Given, rng: Random
) -> Iterator[dict[str, Any]]:
    """Other lengths of lists and odd sizes, from configs as given and in full."""
    starts = [dict(start), *list(library.starts(kind, name))[:2]]
    starts += [dict(released) for released in library.released(kind, name)[:4]]
    with suppress(Exception):  # the library refuses the config itself
        starts += [library.full(kind, name, base) for base in list(starts)]
    plain = [{k: v for k, v in base.items() if k not in KEPT_OUT} for base in starts]
    for _ in range(3 * STRESSED):
        yield resized(rng.choice(plain), rng)


def _parallel(
    library: Library, kind: str, name: str, base: Given
) -> list[tuple[dict[str, Any], Parallel]]:
    """The lists with an entry for each stage: other numbers of stages are other lists of all."""
    full = flattened(library.full(kind, name, base), library.sections(kind, name))
    return [(full, group) for group in parallel(full)]


def _doubled(library: Library, kind: str, name: str, base: Given, rng: Random) -> dict[str, Any]:
    """All sizes twice as large, which keeps what divides what, and one key turned: what the trace
    takes for a constant shows."""
    full = flattened(library.full(kind, name, base), library.sections(kind, name))
    declared = library.optional(kind, name)
    plain = {k: v for k, v in full.items() if not IDLE.search(k)}
    sizes = {k: 2 * v for k, v in plain.items() if type(v) is int and v > 8}
    turned = {
        key: options
        for key, value in plain.items()
        if (value == 0 or isinstance(value, (bool, str, type(None))))
        and (options := alternatives(key, value, declared.get(key, ""), set(), set()))
    }
    if turned:
        key = rng.choice(sorted(turned))
        sizes[key] = rng.choice(turned[key])
    return nested(base, sizes)


def _many(library: Library, kind: str, name: str, base: Given, rng: Random) -> dict[str, Any]:
    """A share of all keys changed at once."""
    sections = library.sections(kind, name)
    full = flattened(library.full(kind, name, base), sections)
    declared = library.optional(kind, name)
    share = rng.choice((0.03, 0.1, 0.3, 0.5))
    changes: dict[str, Any] = {}
    for key, value in full.items():
        if rng.random() >= share or IDLE.search(key):
            continue
        kinds = declared.get(key, "")
        options = alternatives(key, value, kinds, set(), set())
        if isinstance(value, int) and not isinstance(value, bool) and value > 1:
            options = [*options, value * rng.choice((3, 5, 7)), value + 1]
        if "None" in kinds and value is not None:
            options = [*options, None]
        if isinstance(value, (bool, int)) and ("list" in kinds.lower() or "tuple" in kinds.lower()):
            options = [*options, [value] * 4, [value] * 2]
        if options:
            changes[key] = rng.choice(options)
    return nested(base, changes)
