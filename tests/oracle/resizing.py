"""Configs of other lengths of lists and odd sizes: what the stress and the gate of traces try.

Numbers become twice and three times as large, half, one more, and some that divide nothing in
particular; lists that belong together are cut or repeated together, and so is the number that
counts them.  What is listed one by one (layers, experts) stays small.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from random import Random
from typing import Any

from .mutating import _EXPERTS, _LISTED

Config = dict[str, Any]

SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20, 24, 30, 33, 36, 40, 48, 50, 64, 72, 96, 100, 128)
#: Keys that say what a model is, or that follow from others.
KEPT_OUT = frozenset(
    """architectures model_type transformers_version dtype torch_dtype _name_or_path id2label
    label2id stage_names out_indices out_features""".split()
)
#: Numbers that say how long the lists of their section are.
_COUNTS = re.compile(r"(^|_)(stage|block|level|layer|resolution|codebook)s$|^depth$")
#: Numbers of layers, which show patterns only where there are many.
_DEPTH = re.compile(r"(layers?|depth)$")
_DEEP = (9, 13, 24, 52)
#: What each of is built one by one, and how many of it at most.
_SEVERAL = re.compile(_LISTED.pattern + "|" + _EXPERTS.pattern)
_MOST = 12


def resized(config: Mapping[str, Any], rng: Random) -> Config:
    """The config with other numbers, and at every second time other lengths of lists."""
    length = rng.randint(1, 5) if rng.random() < 0.5 else None
    return _changed(config, rng, length)


def _changed(config: Mapping[str, Any], rng: Random, length: int | None) -> Config:
    usual = usual_length(config)
    return {
        key: value if key in KEPT_OUT else _value(key, value, rng, length, usual)
        for key, value in config.items()
    }


def usual_length(config: Mapping[str, Any]) -> int:
    """How long most lists of a section are; 0 without lists."""
    lengths = Counter(
        len(v) for k, v in config.items() if isinstance(v, list) and k not in KEPT_OUT
    )
    return lengths.most_common(1)[0][0] if lengths else 0


def _value(key: str, value: Any, rng: Random, length: int | None, usual: int) -> Any:
    if isinstance(value, bool):
        return not value if rng.random() < 0.15 else value
    if isinstance(value, int) and value > 0:
        if length and value == usual and _COUNTS.search(key) and rng.random() < 0.8:
            return length
        return _number(key, value, rng) if rng.random() < 0.25 else value
    if isinstance(value, dict):
        return _changed(value, rng, length) if rng.random() < 0.5 else value
    if isinstance(value, list) and value:
        items = (value * (length or 1))[:length] if length and len(value) == usual else value
        if set(map(type, value)) == {int} and rng.random() < 0.4:
            return [max(1, rng.choice([n, _number(key, n, rng)])) for n in items]
        return items
    return value


def _number(key: str, value: int, rng: Random) -> int:
    if _DEPTH.search(key) and rng.random() < 0.2:
        return rng.choice(_DEEP)
    options = [2 * value, 3 * value, value + 1, value // 2 or 1, rng.choice(SIZES)]
    number = rng.choice(options)
    return min(number, max(_MOST, value)) if _SEVERAL.search(key) and "size" not in key else number


#: What configs of timm say next to the name of an architecture.
_CLASSES = (0, 1, 2, 7, 21841, None)
_CHANNELS = (1, 2, 3, 4, 7)
_SIDES = (32, 96, 128, 160, 192, 224, 240, 256, 288, 336, 384, 448, 512)
_POOLS = (None, "", "avg", "max", "token", "map", "fast", "avgmax", "catavgmax")


def of_timm(name: str, rng: Random) -> Config:
    """A config.json of an architecture: classes, channels, sides and pooling in every place."""
    side = rng.choice(_SIDES)
    about: Config = {
        "num_classes": rng.choice(_CLASSES),
        "input_size": [rng.choice(_CHANNELS), side, side if rng.random() < 0.9 else 2 * side],
        "fixed_input_size": rng.random() < 0.5,
        "global_pool": rng.choice(_POOLS),
        "pool_size": [7, 7],
    }
    arguments: Config = {
        "num_classes": rng.choice(_CLASSES),
        "in_chans": rng.choice(_CHANNELS),
        "img_size": side,
        "global_pool": rng.choice(_POOLS),
        "drop_rate": 0.1,
    }
    above: Config = {
        "num_classes": rng.choice(_CLASSES),
        "global_pool": rng.choice(_POOLS),
        "num_features": 768,
    }
    config = {"architecture": name, **_some(above, rng, 0.5)}
    older = rng.random() < 0.2
    config |= _some(about, rng, 0.6) if older else {"pretrained_cfg": _some(about, rng, 0.6)}
    if rng.random() < 0.3:
        config["model_args"] = _some(arguments, rng, 0.3)
    return config


def _some(values: Config, rng: Random, share: float) -> Config:
    return {key: value for key, value in values.items() if rng.random() < share}
