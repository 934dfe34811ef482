"""Keys that a library reads although its config class does not list them, compared one by one.

    pip install 'hfinspect[oracle]'
    python -m tests.oracle unlisted-keys                 # every catalogued type
    python -m tests.oracle unlisted-keys phi3 opt        # some
    python -m tests.oracle unlisted-keys --listing phi3  # which keys those are
    python -m tests.oracle unlisted-keys --guard vit_msn # traces that have none of them from now on

``getattr(config, "head_dim", ...)`` in a model, ``kwargs.pop("n_embed", ...)`` in a config class: a
config.json may hold such a key, and no walk over the fields of a config class meets it. The names
are read from the library's source, and each is put with several values into small configs, as
fuzz.py compares them. Printed is what differs: the catalog has to read the key, or to refuse it.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import inspect
import json
import logging
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from . import fuzz
from .mutating import Edit
from .trace import TRACED, file_name
from .tracing.writing import text

#: What is put under a key of which nothing is known.
VALUES: tuple[Any, ...] = (16, True, False, 3)
#: What is put under a key that replaces a section.
SECTIONS: tuple[Any, ...] = ({"hidden_size": 24, "intermediate_size": 24, "d_ff": 24},)
#: Not of a model's own config, or without a meaning for tensors.
_COMMON = (
    "_attn_implementation",
    "_experts_implementation",
    "gradient_checkpointing",
    "dtype",
    "rope_theta",
    "rope_scaling",
    "initializer_range",
    "use_cache",
    "_name_or_path",
    "eos_token_id",
)


def read_keys(folder: Path) -> frozenset[str]:
    """Names that the models and config classes of a folder look up without declaring them."""
    names: set[str] = set()
    for file in folder.glob("*.py"):
        if file.name.startswith(("modeling_", "configuration_")):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                names.update(_looked_up(node, of_config=file.name.startswith("configuration_")))
    return frozenset(names.difference(_COMMON))


def _looked_up(node: ast.AST, *, of_config: bool) -> Iterator[str]:
    """``of_config``: in the file of a config class, whose keyword arguments are config.json."""
    if isinstance(node, ast.Call) and len(node.args) >= 2:
        name = getattr(node.func, "id", "")
        place = ast.unparse(node.args[0])
        if name in ("getattr", "hasattr") and ("config" in place or of_config):
            yield from _text(node.args[1])
    if not of_config:
        return
    if (
        isinstance(node, ast.Call)
        and node.args
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("pop", "get")
        and ast.unparse(node.func.value).endswith("kwargs")
    ):
        yield from _text(node.args[0])
    if isinstance(node, ast.Compare) and ast.unparse(node.comparators[0]).endswith("kwargs"):
        yield from _text(node.left)


def _text(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
        yield node.value


_OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//"}


def read_defaults(folder: Path) -> dict[str, Any]:
    """What each of these names stands for where it is absent, if all places agree: a number, a
    text, or an expression over other keys (``["//", "hidden_size", "num_attention_heads"]``)."""
    names: dict[str, set[str]] = {}
    for file in folder.glob("*.py"):
        if file.name.startswith(("modeling_", "configuration_")):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                of_config = file.name.startswith("configuration_")
                for name in _looked_up(node, of_config=of_config):
                    least = 3 if getattr(getattr(node, "func", None), "id", "") == "getattr" else 2
                    last = node.args[-1] if isinstance(node, ast.Call) else None
                    if isinstance(last, ast.Constant) and last.value is None:
                        continue  # what stands for it then comes after ``or``
                    spoken = isinstance(node, ast.Call) and len(node.args) == least
                    known = _written(last) if spoken and last is not None else None
                    names.setdefault(name, set()).add(json.dumps(known))
    single = {name: json.loads(next(iter(v))) for name, v in names.items() if len(v) == 1}
    return {name: v for name, v in single.items() if v is not None}


def _written(node: ast.expr) -> Any:
    """A number, a text in its quotes, ``config.key`` or one computed of these; else None."""
    if isinstance(node, ast.Attribute) and ast.unparse(node.value) in ("config", "self.config"):
        return ["key", node.attr]
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        sides = [_written(node.left), _written(node.right)]
        return None if None in sides else [_OPERATORS[type(node.op)], *sides]
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return None
    return value if isinstance(value, (int, str)) else None


@cache
def unlisted(config_class: Any) -> tuple[str, ...]:
    """Keys that the folder of a config class looks up and the class does not declare."""
    folder = Path(inspect.getfile(config_class)).parent
    declared = {field.name for field in dataclasses.fields(config_class)}
    declared |= set(config_class.attribute_map) | set(config_class.sub_configs_defaults)
    names = read_keys(folder) - declared
    return tuple(sorted(n for n in names if not hasattr(config_class, n)))


def places(config_class: Any) -> Iterator[tuple[str, ...]]:
    """Paths of the keys to try: of the config itself, and of its fixed sections."""
    yield from ((key,) for key in unlisted(config_class))
    for section, spec in config_class.sub_configs_defaults.items():
        part: Any = spec.config_class
        if hasattr(part, "attribute_map"):
            names = unlisted(part)
            yield from ((section, key) for key in names if not key.endswith("_dict"))


def defaults(config_class: Any) -> dict[str, Any]:
    """Dotted key -> what it stands for where it is absent, of those for which that is known: a
    value, or ``{"of": expression}``."""
    values: dict[str, Any] = {}
    for path in places(config_class):
        part = config_class
        for section in path[:-1]:
            part = part.sub_configs_defaults[section].config_class
        known = read_defaults(Path(inspect.getfile(part)).parent).get(path[-1])
        if isinstance(known, list):
            values[".".join(path)] = {"of": _under(".".join(path[:-1]), part.attribute_map, known)}
        elif known is not None:
            values[".".join(path)] = known
    return values


def _under(section: str, names: Mapping[str, str], written: Any) -> Any:
    """An expression with the keys of a section by their own names."""
    if not isinstance(written, list):
        return written
    if written[0] == "key":
        name = names.get(written[1], written[1])
        return f"{section}.{name}" if section else name
    return [written[0], *(_under(section, names, side) for side in written[1:])]


def differing(model_type: str, name: str) -> Iterator[tuple[str, Any, str]]:
    """Each key with a value of which the catalog says something else, and what."""
    if not fuzz.bases(model_type):
        return
    plain = fuzz.Trial(model_type, name, "given", fuzz.bases(model_type)[0], [])
    if fuzz.compare(plain).kind != "equal":
        return
    for path in places(fuzz.config_class(model_type)):
        for value in SECTIONS if path[-1].endswith("_dict") else VALUES:
            outcome = fuzz.compare(plain._replace(edits=[Edit(path, value)]))
            if outcome.kind in ("differing", "crashed"):
                yield ".".join(path), value, outcome.detail
                break


def guard(model_type: str) -> list[str]:
    """Let a recorded trace refuse such keys; which those are."""
    file = TRACED / f"{file_name(model_type)}.json"
    if not file.exists():
        return []
    trace = json.loads(file.read_text())
    keys = sorted({key for name in trace["classes"] for key, *_ in differing(model_type, name)})
    for guards in trace["guards"]:
        guards.update({key: {"absent": True} for key in keys})
    if keys:
        file.write_text(text(trace))
    return keys


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("types", nargs="*", help="model types; all if none is given")
    parser.add_argument("--listing", action="store_true", help="print the keys, compare nothing")
    parser.add_argument("--all", action="store_true", help="each class, not the first of a type")
    parser.add_argument("--guard", action="store_true", help="let traces refuse these keys")
    options = parser.parse_args()
    import transformers

    transformers.logging.set_verbosity(logging.CRITICAL)
    transformers.PreTrainedConfig.__repr__ = object.__repr__
    for model_type in options.types or fuzz.compared_types():
        try:
            if options.guard:
                lines = [f"{key} has to be absent" for key in guard(model_type)]
            elif options.listing:
                lines = [".".join(path) for path in places(fuzz.config_class(model_type))]
            else:
                lines = [
                    f"{name} {key} = {value!r}: {detail[:200]}"
                    for name in fuzz.classes(model_type)[: None if options.all else 1]
                    for key, value, detail in differing(model_type, name)
                ]
        except Exception as error:
            lines = [f"{type(error).__name__}: {error}"]
        for line in lines:
            print(f"{model_type}: {line}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
