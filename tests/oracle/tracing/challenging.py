"""Configs that try the conditions of a trace: each comparison in it is made to turn.

Random configs seldom have two widths that are equal.  What a trace compares is known, so that a
comparison which only happens to fit what was built is found here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hfinspect.trees.arithmetic import Written

from .evaluating import Env, EnvValues, evaluated
from .writing import PLACES, keys_of

#: Places of a list that are tried.
_STAGES = 4


def challenges(
    tree: Any, env: Env, working: Mapping[str, Sequence[Any]], effective: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """Changes of the base at which a comparison of the tree turns, the flags and words around it
    as they must be; and the same with another flag or word turned."""
    done = set()
    modes: list[dict[str, Any]] = [
        {key: value}
        for key in effective
        if isinstance(env.get(key), (bool, str))
        for value in working.get(key, ())[:2]
    ]
    for condition, around in _conditions(tree, {}, env, working):
        for stage in range(_STAGES) if _is_staged(condition) else (0,):
            for changes in turned(_at(condition, stage), env):
                for mode in ({}, *modes):
                    whole = {**around, **mode, **changes}
                    if repr(whole) not in done:
                        done.add(repr(whole))
                        yield whole


def _conditions(
    node: Any, around: dict[str, Any], env: Env, working: Mapping[str, Sequence[Any]]
) -> Iterator[tuple[Written, dict[str, Any]]]:
    """The comparisons below a node, and what must be so that they are looked at."""
    if not isinstance(node, dict) or "shape" in node:
        return
    if "if" in node:
        yield from ((one, around) for one in _atoms(node["if"]))
        for side in ("then", "else"):
            more = _setting(node["if"], side == "then", env, working)
            yield from _conditions(node[side], {**around, **more}, env, working)
    elif "pick" in node:
        for _, inner in node["pick"]:
            yield from _conditions(inner, around, env, working)
    else:
        for inner in node.get("in", {}).values():
            yield from _conditions(inner, around, env, working)


def _atoms(condition: Written) -> Iterator[Written]:
    if isinstance(condition, list):
        op, *terms = condition
        if op in ("and", "or", "not"):
            for term in terms:
                yield from _atoms(term)
        elif op in ("==", "<", "<="):
            yield condition


def _setting(
    condition: Written, wanted: bool, env: Env, working: Mapping[str, Sequence[Any]]
) -> dict[str, Any]:
    """What a flag or a word has to be for a condition to hold, or not to."""
    op, key, *rest = condition
    if op == "not":
        return _setting(key, not wanted, env, working)
    if op == "true":
        return {key: wanted} if isinstance(env.get(key), bool) else {}
    if op == "is" and isinstance(env.get(key), str):
        others = [v for v in (env[key], *working.get(key, ())) if v != rest[0]]
        return {key: rest[0]} if wanted else {key: others[0]} if others else {}
    return {}


def turned(condition: Written, env: Env) -> Iterator[dict[str, Any]]:
    """Changes of the base at which a comparison turns."""
    op, *sides = condition
    for one, other in (sides, sides[::-1]):
        key = one if isinstance(one, str) else _list_of(one)
        value = evaluated(other, EnvValues(env))
        if key is None or type(value) is not int:
            continue
        for number in (value,) if op == "==" else (value - 1, value, value + 1):
            held = env.get(key)
            if isinstance(held, list):
                place = one[2]
                if not -len(held) <= place < len(held):
                    continue
                changed: Any = [*held]
                changed[place] = number
            elif type(held) is int:
                changed = number
            else:
                continue
            if changed != held and number > 0:
                yield {key: changed}


def _list_of(written: Written) -> str | None:
    """The list of which this is an entry at a place that is a number."""
    entry = isinstance(written, list) and written[0] == "[]" and type(written[2]) is int
    return str(written[1]) if entry else None


def _is_staged(written: Written) -> bool:
    return any(place in repr(written) for place in PLACES)


def _at(written: Written, stage: int) -> Written:
    """An expression at a stage: places of lists as numbers."""
    if isinstance(written, str):
        return stage if written in PLACES else written
    if not isinstance(written, list):
        return written
    op, *terms = written
    replaced = [op, *(_at(term, stage) for term in terms)]
    if op == "[]" and not any(keys_of(replaced[2])):
        replaced[2] = evaluated(replaced[2], EnvValues({}))
    return replaced
