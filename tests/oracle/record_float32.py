"""Record which tensors transformers saves in float32 of a model in half precision.

    python -m tests.oracle record float32            # every recorded class
    python -m tests.oracle record float32 TYPE ...   # these types; others stay

Each class is built on the meta device in bfloat16 and in float16, from the configs that it was
recorded with; parameters that the constructor makes in float32, and those of
``_keep_in_fp32_modules``, have this dtype when ``from_pretrained`` loads the model and when it is
saved again.  Names are those of a save, with ``*`` for numbers.  What is written are the shortest
ends, of two words at least, that only names of float32 tensors have: hfinspect/trees/float32.json.

The judge, fixtures/oracle/float32.json, does not come from there: of each type in the table a small
model is saved, loaded in bfloat16 and in float16, and saved again; the file's header says the rest.
A type for which the two differ, or that has no small model, is in neither.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from hfinspect.trees import float32
from hfinspect.trees.prediction import predict

from .record import FIXTURES, header_lines
from .saved import config_for, model_class
from .trace import FIXTURES as TRACE_FIXTURES
from .trace import ROOT, know_files

TABLE = ROOT / "hfinspect" / "trees" / "float32.json"
JUDGE = FIXTURES / "float32.json"
#: Parameters of a model that is not written.
LARGE = 5_000_000
#: Configs of each class that are built.
CONFIGS = 2


def recorded_configs() -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Type, class and config of what was recorded of transformers."""
    counts: dict[tuple[str, str], int] = {}
    for path in [*FIXTURES.joinpath("recorded").glob("*.json"), *TRACE_FIXTURES.glob("*.json")]:
        rows = json.loads(path.read_text())
        for row in rows.get("recordings", rows).values():
            if row["library"] == "transformers" and "given" in row:
                place = row["model_type"], row["architecture"]
                counts[place] = counts.get(place, 0) + 1
                if counts[place] <= CONFIGS:
                    yield *place, row["given"]


def dtypes(cls: Any, config: Any, dtype: Any) -> dict[str, bool]:
    """Name in a save -> whether it is in float32."""
    import torch
    from transformers.core_model_loading import build_glob_alternation, revert_weight_conversion
    from transformers.modeling_utils import remove_tied_weights_from_state_dict

    with torch.device("meta"):
        model = cls._from_config(config, dtype=dtype)
    state = {n: t for n, t in model.state_dict().items() if t.is_floating_point()}
    if plan := model._get_dtype_plan(dtype):
        matching = build_glob_alternation(list(plan))[0]
        for name, tensor in state.items():
            if matching.search(name):
                state[name] = tensor.to(torch.float32)
    state = revert_weight_conversion(model, remove_tied_weights_from_state_dict(state, model))
    return {re.sub(r"\d+", "*", name): t.dtype is torch.float32 for name, t in state.items()}


def ends(is_float32: Mapping[str, bool]) -> list[str]:
    """The shortest ends that all names of float32 tensors have, and no others."""
    others = [f".{name}" for name, wide in is_float32.items() if not wide]
    chosen = set()
    for name in (name for name, wide in is_float32.items() if wide):
        words = name.split(".")
        for count in range(min(2, len(words)), len(words) + 1):
            end = ".".join(words[-count:])
            if not any(other.endswith(f".{end}") for other in others):
                chosen.add(end)
                break
        else:
            print(f"   {name}: no end is its own", flush=True)
    return sorted(chosen)


def record(kinds: Iterable[str]) -> dict[str, dict[str, str]]:
    """Tables of the ends of every type that has any."""
    import torch

    wanted = set(kinds)
    names: dict[str, tuple[dict[str, bool], dict[str, bool]]] = {}
    for kind, name, given in recorded_configs():
        if wanted and kind not in wanted:
            continue
        for at, dtype in enumerate((torch.bfloat16, torch.float16)):
            try:
                cls = model_class(name, kind)
                config = config_for(cls, {**given, "model_type": kind})
                in_float32 = dtypes(cls, config, dtype)
            except Exception as error:
                print(f"{kind} {name}: {type(error).__name__} {str(error)[:90]}", flush=True)
                break
            table = names.setdefault(kind, ({}, {}))[at]
            for (
                tensor,
                wide,
            ) in in_float32.items():  # in one config's float32 and in another's not: not
                table[tensor] = wide and table.get(tensor, True)
    tables: dict[str, dict[str, str]] = {"types": {}, "float16": {}}
    for kind, (brain, half) in sorted(names.items()):
        both = ends(brain)
        more = [end for end in ends(half) if end not in both]
        for rows, chosen in zip(tables.values(), (both, more), strict=True):
            if chosen:
                rows[kind] = " ".join(chosen)
    return tables


def saved_again(cls: Any, config: Any, dtype: Any) -> tuple[dict[str, Any], list[str]]:
    """config.json of a model that was loaded in a dtype and saved, and names in float32."""
    with tempfile.TemporaryDirectory() as folder:
        cls._from_config(config, dtype=torch_dtype("float32")).save_pretrained(folder)
        cls.from_pretrained(folder, dtype=dtype).save_pretrained(folder)
        lines = [line for file in Path(folder).glob("*.safetensors") for line in header_lines(file)]
        saved = json.loads((Path(folder) / "config.json").read_text())
    return saved, sorted(name for name, _, *other in map(str.split, lines) if not other)


def is_small(cls: Any, config: Any) -> bool:
    """Whether a model takes seconds to write."""
    import torch

    with torch.device("meta"):
        return sum(int(p.numel()) for p in cls._from_config(config).parameters()) < LARGE


def torch_dtype(name: str) -> Any:
    import torch

    return getattr(torch, name)


def judge(kinds: Iterable[str]) -> dict[str, Any]:
    """Of the first config of each type: what a save in half precision has in float32."""
    records: dict[str, Any] = {}
    wanted = set(kinds)
    for kind, name, given in recorded_configs():
        if kind not in wanted or any(label.startswith(f"{kind} ") for label in records):
            continue
        for dtype in ("bfloat16", "float16"):
            cls = model_class(name, kind)
            try:
                config = config_for(cls, {**given, "model_type": kind})
                if not is_small(cls, config):
                    break
                saved, names = saved_again(cls, config, torch_dtype(dtype))
            except Exception as error:
                print(f"{kind} {name}: {type(error).__name__} {str(error)[:90]}", flush=True)
                break
            records[f"{kind} {dtype}"] = {"saved": saved, "float32": names}
    return dict(sorted(records.items()))


def agreed(judged: Mapping[str, Any]) -> dict[str, Any]:
    """The rows of the judge that the table on the disk answers."""
    float32._recorded.cache_clear()
    rules = {}
    for label, row in judged.items():
        names = (spec.name for spec in predict(row["saved"]).tensors if spec.dtype == "F32")
        if sorted(names) == row["float32"]:
            rules[label] = row
        else:
            print(f"{label}: a file has others in float32, left out", flush=True)
    return rules


def write(tables: Mapping[str, Any]) -> None:
    TABLE.write_text(json.dumps(tables, indent=1) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("types", nargs="*", help="model types; all if none is given")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    import transformers

    transformers.logging.set_verbosity_error()
    know_files()  # a type may be recorded right after its trace
    tables = record(options.types)
    if options.types:
        before = json.loads(TABLE.read_text())
        for table, rows in tables.items():
            kept = {k: v for k, v in before[table].items() if k not in options.types}
            tables[table] = dict(sorted({**kept, **rows}.items()))
    write(tables)
    listed = {*tables["types"], *tables["float16"]}
    judged = judge(listed & {*options.types} if options.types else listed)
    if options.types and JUDGE.exists():
        past = json.loads(JUDGE.read_text())
        judged |= {k: v for k, v in past.items() if k.split()[0] not in options.types}
        judged = dict(sorted(judged.items()))
    judged = agreed(judged)
    dtypes = {"types": "bfloat16", "float16": "float16"}
    tables = {
        table: {kind: rows[kind] for kind in rows if f"{kind} {dtypes[table]}" in judged}
        for table, rows in tables.items()
    }
    write(tables)
    body = ",\n".join(f"{json.dumps(label)}: {json.dumps(row)}" for label, row in judged.items())
    JUDGE.write_text(f"{{\n{body}\n}}\n")
    print(f"wrote {Path(TABLE).name}: {', '.join(f'{len(v)} {k}' for k, v in tables.items())}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
