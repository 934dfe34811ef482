"""Compare predictions with transformers over random configs: as many as wanted, seeded, resumable.

    pip install 'hfinspect[oracle]'
    python -m tests.oracle fuzz --state fuzz.json --each 20            # 20 more of every type
    python -m tests.oracle fuzz --state fuzz.json --each 20 llama t5   # of some
    python -m tests.oracle fuzz --state fuzz.json --report             # what was found so far
    python -m tests.oracle fuzz --again llama:17                       # one comparison, in full

A comparison takes a class that transformers has for a catalogued model_type, a small config of the
type, and one to four changed keys (mutating.py): values, aliases, sections, spellings of the whole
config.  Equal means: the same names and shapes as what would be saved (saved.py); a class that the
catalog lacks is never built by other means.  What transformers itself refuses is no comparison.  A
difference is cut down to the changed keys that it needs, and counted under them.  The state file
holds counts and a few examples of each difference, whatever the number of comparisons; seed, type
and number alone repeat one.
"""

from __future__ import annotations

import argparse
import json
import re
import signal
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from hfinspect.core.config import ModelConfig
from hfinspect.errors import HfinspectError, UnknownArchitectureError
from hfinspect.trees import catalog
from hfinspect.trees.prediction import predict

from . import mutating, record, saved
from .deliberate import MODULE_NAMES, passed_over, something
from .mutating import Edit

CASES = Path(__file__).resolve().parents[2] / "fixtures" / "oracle" / "cases"
#: Examples of one difference that the state file keeps.
KEPT = 3
#: Seconds for one build; a config that needs more is passed over.
PATIENCE = 10
#: Differences of one type that are cut down in one run; further ones are counted only.
CUT = 40


class Trial(NamedTuple):
    """One comparison: what is built, and which keys were changed for it."""

    model_type: str
    class_name: str
    spelling: str
    base: dict[str, Any]
    edits: list[Edit]


class Outcome(NamedTuple):
    """``kind``: equal, differing, refused (by hfinspect), crashed, or passed over, where
    transformers refuses."""

    kind: str
    detail: str = ""


# ---- what is compared


def compared_types() -> list[str]:
    """Catalogued model types that transformers has a config class for."""
    from transformers import CONFIG_MAPPING

    known = {t for family in catalog.families() for t in family.model_types}
    return sorted(t for t in known if t in CONFIG_MAPPING)


@cache
def case_configs() -> dict[str, list[dict[str, Any]]]:
    """model_type -> the small configs of its recorded cases, each once."""
    configs: dict[str, list[dict[str, Any]]] = {}
    for path in sorted(CASES.glob("*.json")):
        for entry in record.entries(path):
            if entry.get("library", "transformers") == "transformers":
                rows = configs.setdefault(entry["model_type"], [])
                for case in entry.get("cases", ()):
                    gone = case.get("remove", ())
                    tiny = {k: v for k, v in entry.get("tiny", {}).items() if k not in gone}
                    row = {**tiny, **case.get("config", {})}
                    rows += [row] if row not in rows else []
    return configs


@cache
def bases(model_type: str) -> list[dict[str, Any]]:
    """Small configs to start from: recorded ones, and the class's defaults with few layers."""
    from transformers import CONFIG_MAPPING

    cls = CONFIG_MAPPING[model_type]
    configs = list(case_configs().get(model_type, ()))
    try:
        small = mutating.shrunk(cls)
        cls(**small)
        configs += [small] * max(1, len(configs) // 2)
    except Exception:  # a default that its own class refuses once it is smaller
        pass
    return configs


@cache
def classes(model_type: str) -> list[str]:
    """Classes of the type that the catalog has."""
    return [name for name in saved.classes_of(model_type) if _known(model_type, name)]


@cache
def part_classes(model_type: str) -> list[str]:
    """Classes of fixed sections: what is loaded with the composite's config."""
    from transformers import CONFIG_MAPPING, PreTrainedConfig

    class_names = []
    for spec in CONFIG_MAPPING[model_type].sub_configs_defaults.values():
        part = spec.model_type
        if issubclass(spec.config_class, PreTrainedConfig) and part in CONFIG_MAPPING:
            class_names += [name for name in saved.classes_of(part) if _known(part, name)]
    return class_names


def _known(model_type: str, name: str) -> bool:
    try:
        catalog.choose(ModelConfig({"model_type": model_type, "architectures": [name]}))
    except UnknownArchitectureError:
        return False
    return True


def trial(seed: int, model_type: str, number: int) -> Trial | None:
    """The comparison of that number; None where the base itself is refused."""
    from transformers import CONFIG_MAPPING

    rng = Random(f"{seed}:{model_type}:{number}")
    cls = CONFIG_MAPPING[model_type]
    parts = part_classes(model_type)
    part = bool(parts) and rng.random() < 0.15
    names = parts if part else classes(model_type)
    if not names or not bases(model_type):
        return None
    name = rng.choice(names)
    base = rng.choice(bases(model_type))
    part = name in parts
    config = cls(**base)
    edits = mutating.edits(rng, config)
    if rng.random() < 0.15:
        tiny = {kind: rows[0] for kind, rows in case_configs().items() if rows}
        edits = mutating.other_section(rng, config, tiny) + edits
    # The library finds a part's section by the model_type that a saved config states.
    spelling = rng.choice(("saved", "full") if part else ("given", "given", "saved", "full"))
    return Trial(model_type, name, spelling, base, edits)


def written(one: Trial) -> dict[str, Any]:
    """The trial's config.json."""
    from transformers import CONFIG_MAPPING

    head = {"model_type": one.model_type, "architectures": [one.class_name]}
    given = mutating.edited(one.base, one.edits)
    if one.spelling == "given":
        return {**given, **head}
    config = CONFIG_MAPPING[one.model_type].from_dict({**given, **head})
    spelled: dict[str, Any] = json.loads(config.to_json_string(use_diff=one.spelling == "saved"))
    return {**spelled, **head}


def config_class(model_type: str) -> Any:
    """The config class that transformers has for a type."""
    from transformers import CONFIG_MAPPING

    return CONFIG_MAPPING[model_type]


# ---- comparing


def compare(one: Trial) -> Outcome:
    try:
        with _patience(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            values = written(one)
            part = one.class_name in part_classes(one.model_type)
            if passed_over(one.model_type, part, values):
                return Outcome("passed", "deliberate")
            cls = saved.model_class(one.class_name)
            built = saved.config_for(cls, values)
            wanted = saved.shapes(cls, built, module_names=one.model_type in MODULE_NAMES)
    except Exception as error:
        return Outcome("passed", f"{type(error).__name__}: {str(error)[:200]}")
    try:
        shapes = {t.name: tuple(map(int, t.shape)) for t in predict(values).tensors}
    except HfinspectError as error:
        return Outcome("refused", str(error)[:200])
    except Exception as error:
        return Outcome("crashed", f"{type(error).__name__}: {str(error)[:200]}")
    shapes = something(shapes)
    wanted = something(wanted)
    return (
        Outcome("equal") if shapes == wanted else Outcome("differing", difference(wanted, shapes))
    )


def difference(wanted: saved.Shapes, predicted: saved.Shapes) -> str:
    """``-`` missing, ``+`` unexpected, ``~`` of another shape; six of each, numbers as N."""
    shapes = sorted(
        f"~{_numbered(name)} {shape}->{predicted[name]}"
        for name, shape in wanted.items()
        if name in predicted and predicted[name] != shape
    )
    missing = sorted({f"-{_numbered(name)}" for name in wanted.keys() - predicted.keys()})
    unexpected = sorted({f"+{_numbered(name)}" for name in predicted.keys() - wanted.keys()})
    return "; ".join([*shapes[:6], *missing[:6], *unexpected[:6]])


def _numbered(name: str) -> str:
    return re.sub(r"\d+", "N", name)


@contextmanager
def _patience() -> Iterator[None]:
    def late(*_: object) -> None:
        raise TimeoutError("takes too long")

    old = signal.signal(signal.SIGALRM, late)
    signal.alarm(PATIENCE)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, old)


def cut_down(one: Trial, kind: str) -> Trial:
    """The trial with the fewest edits that still ends so, plainly spelled if that does."""
    part = one.class_name in part_classes(one.model_type)
    for spelling in ("saved",) if part else ("given", "saved"):
        plain = one._replace(spelling=spelling)
        if compare(plain).kind == kind:
            one = plain
            break
    for edit in list(one.edits):
        fewer = one._replace(edits=[other for other in one.edits if other != edit])
        if compare(fewer).kind == kind:
            one = fewer
    return one


# ---- a run, and what is kept of it


def run(state: dict[str, Any], model_type: str, count: int) -> None:
    """``count`` more comparisons of a type into the state."""
    done = state["done"].setdefault(model_type, 0)
    counts = Counter(state["counts"].get(model_type, {}))
    cuts = 0
    for number in range(done, done + count):
        try:
            one = trial(state["seed"], model_type, number)
        except Exception as error:
            counts["passed"] += 1
            state["passed"][model_type] = f"{type(error).__name__}: {str(error)[:200]}"
            continue
        if one is None:
            counts["without base or class"] += 1
            continue
        outcome = compare(one)
        counts[outcome.kind] += 1
        if outcome.kind == "passed":
            state["passed"].setdefault(model_type, outcome.detail)
        elif outcome.kind != "equal":
            cuts += 1
            _keep(state, number, one, outcome, cut=cuts <= CUT)
    state["done"][model_type] = done + count
    state["counts"][model_type] = dict(counts)


def _keep(state: dict[str, Any], number: int, one: Trial, outcome: Outcome, *, cut: bool) -> None:
    if cut:
        one = cut_down(one, outcome.kind)
        outcome = compare(one)
    keys = ", ".join(sorted({str(edit) for edit in one.edits})) if cut else "(not cut down)"
    cause = f"{one.model_type} {one.class_name} [{keys}]"
    row = state["found"].setdefault(cause, {"kind": outcome.kind, "count": 0, "examples": []})
    row["count"] += 1
    if len(row["examples"]) < KEPT:
        row["examples"].append(
            {
                "number": f"{one.model_type}:{number}",
                "spelling": one.spelling,
                "edits": {str(edit): edit.value for edit in one.edits},
                "detail": outcome.detail,
            }
        )


def report(state: dict[str, Any]) -> str:
    """Totals, then differences by their cause."""
    totals: Counter[str] = Counter()
    for counts in state["counts"].values():
        totals.update(counts)
    made = sum(totals[kind] for kind in ("equal", "differing", "refused", "crashed"))
    lines = [
        f"{made:,} comparisons over {len(state['counts'])} model types, seed {state['seed']}",
        *(
            f"{totals[kind]:>9,}  {totals[kind] / max(made, 1):8.3%}  {kind}"
            for kind in ("equal", "differing", "refused", "crashed")
        ),
        f"{totals['passed']:>9,}  configs that transformers refuses, not compared",
    ]
    rows = sorted(state["found"].items(), key=lambda row: -row[1]["count"])
    for cause, row in rows:
        example = row["examples"][0]
        lines.append(f"\n{row['count']:>5} {row['kind']}: {cause}")
        lines.append(f"      {example['number']} {example['spelling']} {example['edits']}")
        lines.append(f"      {example['detail'][:400]}")
    idle = [t for t, c in state["counts"].items() if not set(c) & {"equal", "differing", "refused"}]
    if idle:
        lines.append(f"\nnothing compared: {', '.join(sorted(idle))}")
    return "\n".join(lines)


def again(seed: int, model_type: str, number: int) -> str:
    """One comparison in full."""
    one = trial(seed, model_type, number)
    if one is None:
        return "no such comparison"
    return json.dumps({"config": written(one), "class": one.class_name}) + f"\n{compare(one)}"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("types", nargs="*", help="model types; all if none is given")
    parser.add_argument("--state", type=Path, default=Path("fuzz.json"), help="to go on from")
    parser.add_argument("--each", type=int, default=10, help="comparisons of each type")
    parser.add_argument("--seconds", type=float, default=500, help="stop after so long")
    parser.add_argument("--seed", type=int, default=0, help="of a new state file")
    parser.add_argument("--report", action="store_true", help="print what was found, run nothing")
    parser.add_argument("--again", metavar="TYPE:NUMBER", help="one comparison in full")
    options = parser.parse_args(arguments)
    state: dict[str, Any] = {
        "seed": options.seed,
        "done": {},
        "counts": {},
        "found": {},
        "passed": {},
    }
    if options.state.exists():
        state = json.loads(options.state.read_text())
    if options.report:
        print(report(state))
        return 0
    import torch
    import transformers

    transformers.logging.set_verbosity_error()
    # A config in full, for a log that nobody reads, is a seventh of the time.
    transformers.PreTrainedConfig.__repr__ = object.__repr__
    torch.set_num_threads(1)
    if options.again:
        model_type, _, number = options.again.rpartition(":")
        print(again(state["seed"], model_type, int(number)))
        return 0
    started = time.monotonic()
    types = options.types or compared_types()
    least = min((state["done"].get(t, 0) for t in types), default=0)
    for model_type in types:  # those that an earlier run did not come to, first
        missing = least + options.each - state["done"].get(model_type, 0)
        if missing <= 0:
            continue
        if time.monotonic() - started > options.seconds:
            return 3
        run(state, model_type, missing)
        fresh = options.state.with_suffix(".new")
        fresh.write_text(json.dumps(state))
        fresh.replace(options.state)
    print(report(state).partition("\n\n")[0])
    return 0


if __name__ == "__main__":
    sys.exit(main())
