"""Traces next to the library over other lengths of lists and odd sizes, which fuzz rarely tries.

    pip install 'hfinspect[oracle]'
    python -m tests.oracle.stress                          # every trace of transformers
    python -m tests.oracle.stress --seed 7 swin glpn       # some, by the names of their files

What was recorded of a trace is taken with its lists cut or repeated together, and with other
numbers in them and elsewhere, divisible by nothing in particular.  Each is built on the meta
device; what the library refuses is no comparison.  The exit status is 1 where names or shapes of a
prediction differ.
"""

from __future__ import annotations

import argparse
import copy
import json
import logging
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any

from hfinspect.errors import HfinspectError
from hfinspect.trees.prediction import predict

from ..oracle_folder import ORACLE
from . import saved

SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20, 24, 30, 33, 36, 40, 48, 50, 64, 72, 96, 100, 128)
#: Keys that say what a model is, or that follow from others.
KEPT_OUT = frozenset(
    """architectures model_type transformers_version dtype torch_dtype _name_or_path id2label
    label2id stage_names out_indices out_features""".split()
)
Config = dict[str, Any]


def changed(config: Config, rng: Random, length: int | None, usual: int) -> Config:
    """The config with other numbers; lists that are ``usual`` long become ``length`` long."""
    return {key: _changed(value, rng, length, usual) for key, value in config.items()}


def _changed(value: Any, rng: Random, length: int | None, usual: int) -> Any:
    if isinstance(value, bool):
        return not value if rng.random() < 0.15 else value
    if isinstance(value, int) and value > 0 and rng.random() < 0.25:
        return rng.choice([2 * value, 3 * value, value + 1, value // 2 or 1, rng.choice(SIZES)])
    if isinstance(value, dict):
        return changed(value, rng, length, usual) if rng.random() < 0.3 else value
    if isinstance(value, list) and value and set(map(type, value)) == {int}:
        items = (value * (length or 1))[:length] if length and len(value) == usual else value
        if rng.random() < 0.4:
            return [max(1, rng.choice([n, 2 * n, n + 1, rng.choice(SIZES)])) for n in items]
        return items
    return value


def built(class_name: str, model_type: str, config: Config) -> saved.Shapes:
    """What the library would save. Raises what it raises."""
    model_class = saved.model_class(class_name, model_type)
    shapes = saved.shapes(model_class, model_class.config_class(**copy.deepcopy(config)))
    return {name: shape for name, shape in shapes.items() if all(shape)}


def outcome(record: Config, config: Config) -> tuple[str, str]:
    """equal, refused, passed or differing; and of the last an example."""
    class_name = record["architecture"]
    try:
        theirs = built(class_name, record["model_type"], config)
    except Exception:
        return "passed", ""
    named = {**config, "model_type": record["model_type"], "architectures": [class_name]}
    try:
        specs = predict(named).tensors
    except HfinspectError:
        return "refused", ""
    ours = {spec.name: tuple(map(int, spec.shape)) for spec in specs if all(spec.shape)}
    if ours == theirs:
        return "equal", ""
    name = min(n for n in {*ours, *theirs} if ours.get(n) != theirs.get(n))
    return "differing", f"{class_name} {name}: {ours.get(name)} for {theirs.get(name)}"


def trials(file: str, rng: Random) -> Iterator[tuple[Config, Config]]:
    """A recording of a trace and a config made from it, without end."""
    content = json.loads((ORACLE / "traced" / f"{file}.json").read_text())
    records = [r for r in content["recordings"].values() if r["library"] == "transformers"]
    while records:
        record = rng.choice(records)
        whole = record.get("saved") or record["given"]
        base = {k: v for k, v in rng.choice([record["given"], whole]).items() if k not in KEPT_OUT}
        lengths = Counter(len(v) for v in base.values() if isinstance(v, list))
        usual = lengths.most_common(1)[0][0] if lengths else 0
        length = rng.randint(1, 5) if rng.random() < 0.5 else None
        yield record, changed(base, rng, length, usual)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("traces", nargs="*", help="files of architectures/traced; all if none")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=300, help="comparisons of each trace")
    parser.add_argument("--seconds", type=float, default=5, help="of each trace")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    logging.disable(logging.ERROR)
    every = sorted(path.stem for path in (ORACLE / "traced").glob("*.json"))
    import torch  # noqa: F401 - takes longer than a trace has time
    import transformers  # noqa: F401

    wrong = 0
    for file in options.traces or every:
        rng, until = Random(f"{options.seed} {file}"), time.monotonic() + options.seconds
        found: Counter[str] = Counter()
        for record, config in trials(file, rng):
            kind, example = outcome(record, config)
            found[kind] += 1
            if example and found[kind] == 1:
                print(f"  {example}")
            if found.total() >= options.count or time.monotonic() > until:
                break
        if found:
            print(f"{file}: {dict(found)}", flush=True)
        wrong += found["differing"]
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
