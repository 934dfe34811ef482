"""Record which values transformers refuses in a config, and what becomes of odd ones.

    python -m tests.oracle record refused-values          # hfinspect/core/refused_values.json
                                                          # and fixtures/oracle/refused_values.json
    python -m tests.oracle record refused-values --check  # compare, write nothing

``kinds`` maps a field to the kinds of JSON values that its validators take, as letters
(``_KINDS``), in most classes; ``others`` model_type -> the fields where its class differs.  Found
by experiment: a value of each kind is given to the validators that ``huggingface_hub`` makes of the
field's type.

The other tables are lists of model types: ``types`` are all of them, ``uncounted`` those whose
class takes ``layer_types`` of another length than ``num_hidden_layers``, ``rope`` whose class
demands the keys of a rope type, ``alpha`` those of them that take a dynamic one without ``factor``,
``mrope`` and ``su`` that read this old type as another one, ``tables`` whose code looks the rope
type up in a table of functions, ``grouped`` whose attention repeats each key for several heads,
``padding`` whose embedding has a row for padding.  ``activations`` maps model_type -> keys that its
code looks up among the activations.

The second file are configs of toys, each with what became of it: ``config`` where the config class
refuses it, ``build`` where the model class does on the meta device, ``run`` where its first step
fails, else empty.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import re
import sys
import tempfile
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from .record_config_keys import config_classes
from .refused_value_cases import CASES

ROOT = Path(__file__).resolve().parents[2]
PLACE = ROOT / "hfinspect" / "core" / "refused_values.json"
PROOF = ROOT / "fixtures" / "oracle" / "refused_values.json"

#: Letter of a kind -> values of it; a field takes the kind if it takes one of them.
_KINDS: Mapping[str, tuple[Any, ...]] = {
    "n": (None,),
    "b": (True,),
    "i": (1,),
    "f": (0.5,),
    "s": ("x",),
    "e": ([],),
    "B": ([True],),
    "I": tuple([1] * length for length in range(1, 7)),
    "F": tuple([0.5] * length for length in range(1, 7)),
    "S": (["x"],),
    "L": ([[1]], [[1, 1]], [[0.5]], [["x"]], [[]], [None], [[[1]]], [{}], [{"x": 1}]),
    "d": ({}, {"x": 1}, {"1": "x"}, {"x": {}}, {"x": "x"}),
}

#: An embedding that torch makes with a row for padding.
_PADDED = re.compile(r"Embedding\(\s*config\.vocab_size, [\w.]+, (self\.|)padding_idx")
_ORIGINAL = {"original_max_position_embeddings": 16}
#: Rope settings that lack a key, each of another type.
_LACKING: tuple[dict[str, Any], ...] = (
    {"rope_type": "yarn", **_ORIGINAL},
    {"rope_type": "linear"},
    {"rope_type": "dynamic"},
    {"rope_type": "llama3", "factor": 2.0, **_ORIGINAL},
    {"rope_type": "longrope", "long_factor": [1.0], **_ORIGINAL},
)
_ALPHA = {"rope_type": "dynamic", "alpha": 9.0}
_SECTION = {"type": "mrope", "mrope_section": [2, 3, 3]}
#: A model of eight turned pairs, and its factors.
_SMALL = {"hidden_size": 64, "num_attention_heads": 4}
_FACTORS = {"short_factor": [1.0] * 8, "long_factor": [1.0] * 8, **_ORIGINAL}


def tables() -> dict[str, Any]:
    import transformers

    classes = dict(sorted(config_classes().items()))
    kinds = {name: _kinds(cls) for name, cls in classes.items()}
    usual = _usual(kinds.values())
    others = {
        name: {field: row for field, row in own.items() if row != usual[field]}
        for name, own in kinds.items()
    }
    sources = {name: _source(cls) for name, cls in classes.items()}
    looked_up = {name: _looked_up(sources[name], cls) for name, cls in classes.items()}
    demanding = {cls for cls in classes.values() if all(_refuses_rope(cls, r) for r in _LACKING)}

    def those(holds: Any) -> list[str]:
        return [name for name, cls in classes.items() if holds(cls)]

    return {
        "version": transformers.__version__,
        "kinds": usual,
        "others": {name: row for name, row in others.items() if row},
        "types": list(classes),
        "uncounted": those(lambda cls: not _counts_layers(cls)),
        "rope": those(lambda cls: cls in demanding),
        "alpha": those(lambda cls: cls in demanding and not _refuses_rope(cls, _ALPHA)),
        "mrope": those(lambda cls: _read_as(cls, _SECTION) == "default"),
        "su": those(lambda cls: _read_as(cls, {"type": "su", **_FACTORS}) == "longrope"),
        "tables": [name for name, text in sources.items() if "ROPE_INIT_FUNCTIONS[" in text],
        "grouped": [name for name, text in sources.items() if _is_grouped(text)],
        "padding": [name for name, text in sources.items() if _PADDED.search(text)],
        "activations": {name: keys for name, keys in looked_up.items() if keys},
    }


def _kinds(cls: Any) -> dict[str, str]:
    validators = cls.__validators__
    taken = {}
    for field in dataclasses.fields(cls):
        letters = [
            letter
            for letter, values in _KINDS.items()
            if any(_takes(validators[field.name], value) for value in values)
        ]
        if "Literal" in str(field.type) and "s" not in letters:
            letters.append("s")  # one of some words
        taken[field.name] = "".join(letters)
    return taken


def _takes(validators: Iterable[Any], value: Any) -> bool:
    try:
        for validator in validators:
            validator(value)
    except Exception:
        return False
    return True


def _usual(rows: Iterable[Mapping[str, str]]) -> dict[str, str]:
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        for field, letters in row.items():
            counts[field][letters] += 1
    return {field: count.most_common(1)[0][0] for field, count in sorted(counts.items())}


def _source(cls: Any) -> str:
    """The code of the model classes next to a config class."""
    folder = Path(sys.modules[cls.__module__].__file__ or "").parent
    return "\n".join(path.read_text() for path in sorted(folder.glob("modeling_*.py")))


def _looked_up(source: str, cls: Any) -> list[str]:
    fields = {field.name for field in dataclasses.fields(cls)} | set(cls.attribute_map)
    return sorted(fields.intersection(re.findall(r"ACT2FN\[config\.(\w+)\]", source)))


def _is_grouped(source: str) -> bool:
    return "// config.num_key_value_heads" in source and "kv_lora_rank" not in source


def _made(cls: Any, values: dict[str, Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cls(**values)


def _error(cls: Any, values: dict[str, Any]) -> str:
    try:
        _made(cls, values)
    except Exception as error:
        return f"{type(error).__name__} {error}"
    return ""


def _counts_layers(cls: Any) -> bool:
    longer = {"num_hidden_layers": 2, "layer_types": ["full_attention"] * 3}
    unknown = {"num_hidden_layers": 2, "layer_types": ["odd"] * 2}
    is_counted = "must be equal to the number" in _error(cls, longer)
    return is_counted and "entries must be in" in _error(cls, unknown)


def _refuses_rope(cls: Any, rope: dict[str, Any]) -> bool:
    names = {field.name for field in dataclasses.fields(cls)}
    if "rope_parameters" not in names:
        return False
    return "Missing required keys" in _error(cls, {"rope_scaling": dict(rope)})


def _read_as(cls: Any, rope: dict[str, Any]) -> str:
    names = {field.name for field in dataclasses.fields(cls)}
    if "rope_parameters" not in names:
        return ""
    try:
        parameters = _made(cls, {**_SMALL, "rope_scaling": dict(rope)}).rope_parameters
    except Exception:
        return ""
    kind = parameters.get("rope_type") if isinstance(parameters, dict) else None
    return kind if isinstance(kind, str) else ""


def outcomes() -> list[dict[str, Any]]:
    return [{"config": case, "refused": outcome(case)} for case in CASES]


def outcome(config: Mapping[str, Any]) -> str:
    """What transformers does with a config: the stage at which it stops, or nothing."""
    import torch
    import transformers

    names = config.get("architectures")
    architecture = names[0] if isinstance(names, list) and names else "LlamaForCausalLM"
    stage = "config"
    try:
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            Path(folder, "config.json").write_text(json.dumps(config))
            read = transformers.AutoConfig.from_pretrained(folder)
            stage = "build"
            with torch.device("meta"):
                getattr(transformers, architecture)._from_config(read)
            stage = "run"
            small = getattr(transformers, architecture)._from_config(read).eval()
            small(input_ids=torch.zeros(1, 4, dtype=torch.long))
    except Exception:
        return stage
    return ""


def written(document: Mapping[str, Any]) -> str:
    parts = [f" {json.dumps(key)}: {json.dumps(value)}" for key, value in document.items()]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    options = parser.parse_args()
    rows = ",\n".join(json.dumps(row) for row in outcomes())
    texts = {PLACE: written(tables()), PROOF: f"[\n{rows}\n]\n"}
    if options.check:
        same = all(place.read_text() == text for place, text in texts.items())
        print("ok" if same else "DIFFERS")
        return 0 if same else 1
    for place, text in texts.items():
        place.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
