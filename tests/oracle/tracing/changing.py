"""Keys of a config, and other values for them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from random import Random
from typing import Any

from ..mutating import _LISTED, _WORDS

#: Keys of every config that no constructor makes a tensor of.
IDLE = re.compile(
    r"(^|\.)(model_type|architectures|transformers_version|dtype|torch_dtype|id2label|label2id|"
    r"problem_type|return_dict|output_(attentions|hidden_states|past|scores|router_logits)|"
    r"quantization_config|auto_map|_name_or_path|_(?!remove_final_layer_norm)\w+|"
    r"attn_implementation|bos_token_id|eos_token_id|sep_token_id|decoder_start_token_id|"
    r"use_cache|stage_names|chunk_size_feed_forward|is_encoder_decoder|_diffusers_version|_class_name)$"
)
_STAGED = re.compile(r"depth|layers?$|blocks?$|repeats|num_stages|n_layer|experts|_per_")
_PRIMES = (3, 5, 7, 11, 13)


def flattened(values: Mapping[str, Any], sections: Mapping[str, str]) -> dict[str, Any]:
    """Dotted keys; of nested mappings only sections are entered."""
    flat: dict[str, Any] = {}

    def enter(inner: Mapping[str, Any], path: str) -> None:
        for key, value in inner.items():
            place = path + key
            if place in sections and isinstance(value, Mapping):
                enter(value, place + ".")
            else:
                flat[place] = value

    enter(values, "")
    return flat


def nested(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """``base`` with values put under dotted keys."""
    values = {k: dict(v) if isinstance(v, dict) else v for k, v in base.items()}
    for key, value in changes.items():
        *path, last = key.split(".")
        place = values
        for name in path:
            inner = place.get(name)
            place[name] = dict(inner) if isinstance(inner, dict) else {}
            place = place[name]
        place[last] = value
    return values


def without(values: Mapping[str, Any], keys: set[str], path: str = "") -> dict[str, Any]:
    """``values`` less the dotted keys."""
    return {
        key: without(v, keys, f"{path}{key}.") if isinstance(v, dict) else v
        for key, v in values.items()
        if path + key not in keys
    }


def alternatives(
    key: str, value: Any, annotation: str, words: set[str], limits: set[int]
) -> list[Any]:
    """Other values of a key, the likeliest to be buildable first."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        numbers: list[Any] = [v for v in dict.fromkeys(_ints(key, value, limits)) if v != value]
        if has_sides(value, annotation):
            numbers[1:1] = [[value, value * 2], [value * 3, value]]
        if "None" in annotation:
            numbers.insert(1, None)
        return numbers
    if isinstance(value, float):
        return [v for v in (value * 2, value / 2, value * 3, 0.5, 1.0) if v != value]
    if isinstance(value, str):
        return _texts(key, value, annotation, words)
    if value is None:
        return _for_null(key, annotation, words)
    if isinstance(value, list) and value:
        return [*_lists(key, value), *_of_other_words(value, words)]
    if isinstance(value, dict) and "rope" in key:
        other = {"rope_type": "default", "rope_theta": 777.0}
        of_types = value and all(isinstance(v, dict) for v in value.values())
        each = [{k: {**v, "rope_theta": 777.0} for k, v in value.items()}] if of_types else []
        return [other, *_scaled(value), *each]
    return []


def has_sides(value: Any, annotation: str) -> bool:
    """Whether a number may be two in the config: height and width."""
    several = "list" in annotation.lower() or "tuple" in annotation.lower()
    return type(value) is int and "int" in annotation and several


def _scaled(value: dict[str, Any]) -> list[Any]:
    """A mapping of lists of floats with other floats."""
    if not value or not all(isinstance(v, list) for v in value.values()):
        return []
    return [{k: [x * 1.5 if isinstance(x, float) else x for x in v] for k, v in value.items()}]


def _ints(key: str, value: int, limits: set[int]) -> list[int]:
    last = key.rpartition(".")[2]
    near = [n for c in sorted(limits) for n in (c - 1, c, c + 1) if 0 <= n <= 4096]
    if value <= 0:
        return [1, 2, 3, 16, *near, 0]
    if _LISTED.search(last) or _STAGED.search(last):
        return [value + 1, value + 2, 1, 3, *near, 0]
    half = [value // n for n in (2, 3) if value % n == 0]
    return [value * 2, value * 3, *half, value + 1, value * 5, *near, 1, 0]


def _texts(key: str, value: str, annotation: str, words: set[str]) -> list[Any]:
    last = key.rpartition(".")[2]
    literal = re.findall(r"'([^']+)'", annotation) if "Literal" in annotation else []
    texts = [*literal, *sorted(words), *_WORDS.get(last, ())]
    if last == "activation_fn":  # of diffusers: two of them have a gate
        texts = ["geglu", "swiglu", *texts]
    if "act" in last:
        texts += ["relu", "gelu", "silu"]
    if last == "layer_norm_type" or "norm" in last:
        texts += ["layer_norm", "batch_norm", "rms_norm"]
    return [word for word in dict.fromkeys(texts) if word != value][:6]


def _for_null(key: str, annotation: str, words: set[str]) -> list[Any]:
    if "list" in annotation or "tuple" in annotation or "dict" in annotation:
        return [2, 3] if "int" in annotation.partition("list")[0] else _some(annotation, words)
    if "bool" in annotation:
        return [True, False]
    if "int" in annotation:
        return [8, 3, 16, 2, 64, 1]
    if "float" in annotation:
        return [0.5, 2.0]
    return sorted(words)[:4] if "str" in annotation else []


def _some(annotation: str, words: set[str]) -> list[Any]:
    """Some of the words that the code looks for, as a list and as a text."""
    few = sorted(words)[:3]
    if not few or "str" not in annotation:
        return []
    alone = re.sub(r"(list|tuple)\[.*?\]", "", annotation)
    texts = ["|".join(few), few[0]] if "str" in alone else []
    return [few, *([word] for word in few), *texts]


def _lists(key: str, value: list[Any]) -> list[Any]:
    # Which stages a backbone gives: each may have a norm of its own.
    stages = {"out_features": ("stage1", "stage2"), "out_indices": (1, 2)}
    first = list(stages.get(key.rpartition(".")[2], ()))
    lists: list[Any] = [first[:1], first, [*first[:1], value[-1]]] if first else []
    kinds = {type(item) for item in value}
    staged = bool(_STAGED.search(key.rpartition(".")[2]))
    if kinds <= {int, float}:
        lists.append([_other(v, staged) for v in value])
        for i in range(min(len(value), 5)):
            changed = list(value)
            changed[i] = _other(changed[i], staged)
            lists.append(changed)
            if not staged:  # twice a width may be the next one's: another that is nobody's
                apart = value[i] * 3 if value[i] > 16 else _PRIMES[i % len(_PRIMES)] + 6
                lists.append([*value[:i], apart, *value[i + 1 :]])
        lists += [value[:-1], [*value, value[-1]]]
        if 0 in value:  # nothing of it at one place: perhaps at any other
            lists += [[*value[:i], 0, *value[i + 1 :]] for i in range(min(len(value), 5))]
            lists.append([0] * len(value))
    elif kinds == {bool}:
        for i in range(min(len(value), 4)):
            lists.append([v != (i == j) for j, v in enumerate(value)])
    elif kinds == {list} and all(type(item) is bool for row in value for item in row):
        lists += [[[not item for item in row] for row in value], [*value, value[-1]]]  # a table
    elif kinds == {str}:
        if len(set(value)) > 1:
            lists += [value[::-1], [value[-1], *value[:-1]], [value[0]] * len(value)]
            lists += [[value[-1]] * len(value)]
        lists += [value[:-1]] if len(value) > 1 else []
    return [v for v in lists if v and v != value]


def _of_other_words(value: list[Any], words: set[str]) -> list[Any]:
    """A list of texts with others: at every second place, and everywhere."""
    if not all(isinstance(item, str) for item in value):
        return []
    others = sorted(words.difference(value))[:4]
    mixed = [[w if i % 2 else item for i, item in enumerate(value)] for w in others]
    return [v for v in [*mixed, *([w] * len(value) for w in others)] if v != value]


def _other(value: Any, staged: bool) -> Any:
    if isinstance(value, float):
        return value * 2
    return value + 1 if staged or value < 2 else value * 2


def at_random(rng: Random, value: Any, working: list[Any]) -> Any:
    """A value for a random build: one known to build, a prime multiple, or any number near: what
    rounds up to a multiple or divides shows only at a number that is none."""
    if isinstance(value, int) and not isinstance(value, bool) and value > 1:
        chance = rng.random()
        if chance < 0.4:
            return value * rng.choice(_PRIMES) if value > 4 else value + rng.choice((1, 2, 3))
        if chance < 0.6:
            return rng.choice((value + 1, max(value // 3, 1), rng.randint(1, 2 * value)))
    return rng.choice(working) if working else value
