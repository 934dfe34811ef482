"""Record by which names transformers' config classes know a key, and what their sections are.

    python -m tests.oracle record config-keys           # hfinspect/core/config_keys.json
                                                        # and config_fields.json next to it
    python -m tests.oracle record config-keys --check   # compare, write nothing

``aliases`` maps model_type -> {alias: key}: a value under the alias replaces one under the key,
because the class sets aliases after its fields (``attribute_map``).  Where the class's field is
the alias and the mapped name is no field, it is the other way round, and recorded so.  An alias
that is a field before the key's own has no effect, the key's value or default replaces it: left
out.
``in_order`` lists aliases of which neither name is a field: of the two the one that stands later in
the file is set last.  ``sections`` maps model_type -> {key: model_type} of nested configs whose
class is fixed, ``auto_sections`` of those that may name another type themselves.

``divides`` maps model_type -> {heads: [width, its default]}: the class refuses a width that is no
multiple of the heads, before there is any tensor.  Found by experiment: it takes seven heads (or
eleven) where the width is sixteen times as many, and refuses one more.

``config_fields.json`` has every field of each class: those of the base class, and model_type -> the
others, with spaces between them.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import re
import sys
from pathlib import Path
from typing import Any

PLACE = Path(__file__).resolve().parents[2] / "hfinspect" / "core" / "config_keys.json"
FIELDS = PLACE.with_name("config_fields.json")


def config_classes() -> dict[str, Any]:
    """Every config class by its model_type, those of nested configs included."""
    from transformers import CONFIG_MAPPING

    # Some types are read by the class of another: gpt-sw3 by GPT2Config.
    classes: dict[str, Any] = {
        model_type: CONFIG_MAPPING[model_type] for model_type in CONFIG_MAPPING
    }
    waiting = [pair for name, outer in classes.items() for pair in _fixed(outer, name)]
    while waiting:
        name, cls = waiting.pop()
        if name in classes:
            continue
        classes[name] = cls
        waiting += _fixed(cls, name)
    return classes


def _fixed(cls: Any, name: str) -> list[tuple[str, Any]]:
    """Names and classes of nested configs that can be no other."""
    from transformers import PreTrainedConfig

    return [
        (_called(spec, name, key), spec.config_class)
        for key, spec in cls.sub_configs_defaults.items()
        if issubclass(spec.config_class, PreTrainedConfig)
    ]


def _called(spec: Any, outer: str, key: str) -> str:
    return spec.model_type or spec.config_class.model_type or f"{outer}.{key}"


def aliases(cls: Any) -> dict[str, str]:
    """Alias -> the key whose value it replaces."""
    fields = [field.name for field in dataclasses.fields(cls)]
    key_of = {}
    for alias, key in cls.attribute_map.items():
        if alias in fields and key not in fields:
            alias, key = key, alias
        elif alias in fields and fields.index(alias) < fields.index(key):
            continue
        if alias != key:
            key_of[alias] = key
    return key_of


def in_order(cls: Any) -> list[str]:
    """Aliases that are set after the fields like the key itself."""
    fields = {field.name for field in dataclasses.fields(cls)}
    pairs = cls.attribute_map.items()
    return [alias for alias, key in pairs if alias not in fields and key not in fields]


def sections(cls: Any, name: str, *, fixed: bool) -> dict[str, str]:
    from transformers import PreTrainedConfig

    types = {
        key: _called(spec, name, key) if fixed else spec.model_type
        for key, spec in cls.sub_configs_defaults.items()
        if issubclass(spec.config_class, PreTrainedConfig) == fixed
    }
    return {key: kind for key, kind in types.items() if kind}


#: Numbers of heads, and of what they may have to share.
_HEADS = re.compile(r"(heads?|head_kv)$")
_WIDTHS = re.compile(r"^(\w*hidden_size|d_model|n_embd|\w*embed_dim|(?!head)\w*_dim|\w*heads)$")


def divides(cls: Any) -> dict[str, list[Any]]:
    """Number of heads -> the key that it must divide, and that one's default."""
    numbers = {
        field.name: field.default
        for field in dataclasses.fields(cls)
        if type(field.default) is int and field.default > 0
    }
    heads = [key for key in numbers if _HEADS.search(key)]

    def takes(key: str, width: str, count: int, size: int | None) -> bool:
        # One head of each other kind, so that no rule of theirs is broken.
        given = {**{other: 1 for other in heads if other != width}, key: count}
        return _takes(cls, given if size is None else {**given, width: size})

    rules: dict[str, list[Any]] = {}
    for key in heads:
        for width in (other for other in numbers if _WIDTHS.search(other) and other != key):
            seven = next(n for n in (7, 11, 13) if numbers[width] % n)
            multiples = ((seven, 16 * seven), (2 * seven, 32 * seven))
            others = ((seven, 16 * seven + 1), (2 * seven, 17 * seven), (seven, None))
            if all(takes(key, width, *pair) for pair in multiples) and not any(
                takes(key, width, *pair) for pair in others
            ):
                rules[key] = [width, numbers[width]]
    return rules


def _takes(cls: Any, given: dict[str, Any]) -> bool:
    try:
        cls(**given)
    except Exception:
        return False
    return True


def record() -> dict[str, Any]:
    import transformers

    classes = dict(sorted(config_classes().items()))
    tables: dict[str, dict[str, Any]] = {
        "aliases": {name: aliases(cls) for name, cls in classes.items()},
        "in_order": {name: in_order(cls) for name, cls in classes.items()},
        "sections": {name: sections(cls, name, fixed=True) for name, cls in classes.items()},
        "auto_sections": {name: sections(cls, name, fixed=False) for name, cls in classes.items()},
        "divides": {name: divides(cls) for name, cls in classes.items()},
    }
    return {
        "version": transformers.__version__,
        **{key: {name: row for name, row in t.items() if row} for key, t in tables.items()},
    }


def fields() -> dict[str, Any]:
    """The names of all fields: of the base class, and of each other one in addition."""
    from transformers import PreTrainedConfig

    common = {*_public(PreTrainedConfig), *PreTrainedConfig().to_dict()} - {"_name_or_path"}
    own = {
        name: " ".join(sorted({*_public(cls), *cls.attribute_map} - common))
        for name, cls in sorted(config_classes().items())
    }
    return {"common": " ".join(sorted(common)), "fields": {n: row for n, row in own.items() if row}}


def _public(cls: Any) -> list[str]:
    return [field.name for field in dataclasses.fields(cls) if not field.name.startswith("_")]


def written(tables: dict[str, Any]) -> str:
    """One line for each model_type."""
    parts = []
    for key, value in tables.items():
        if isinstance(value, dict):
            rows = ",\n".join(f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in value.items())
            parts.append(f" {json.dumps(key)}: {{\n{rows}\n }}")
        else:
            parts.append(f" {json.dumps(key)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    options = parser.parse_args()
    texts = {PLACE: written(record()), FIELDS: written(fields())}
    if options.check:
        same = all(place.read_text() == text for place, text in texts.items())
        print("ok" if same else "DIFFERS")
        return 0 if same else 1
    for place, text in texts.items():
        place.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
