"""Configs with a few keys changed to realistic values: what the fuzz compares.

Widths may be large, since nothing is allocated; what is listed one by one (layers, experts) is kept
small.  Every choice is the given ``Random``'s, so that a number repeats a config.
"""

from __future__ import annotations

import copy
import dataclasses
import json
import re
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any, NamedTuple

#: Keys that say nothing of tensors, or that mean another file.
_SKIPPED = re.compile(
    r"_token_ids?$|_token_index$|_index$|^(model_type|architectures|transformers_version|dtype|"
    r"torch_dtype|id2label|label2id|problem_type|use_cache|return_dict|output_.*|quantization_config|"
    r"chunk_size_feed_forward|auto_map|rope_.*|_name_or_path|attn_implementation|_.*)$|"
    r"dropout|initializer|_std$|_eps$|epsilon|layerdrop|drop_path|theta|is_encoder_decoder"
)
_LISTED = re.compile(r"layers?$|depth|blocks?$|stages?$|layers_|^layers|repeats|n_layer|num_convs")
_EXPERTS = re.compile(r"expert")
_HEADS = re.compile(r"heads?$|head_kv|groups?$|kv_heads")
_SMALL = re.compile(r"kernel|stride|patch|window|factor|levels|top_?k|per_tok|hops|codebooks|ratio")
_RATIOS = re.compile(r"ratio|factor|mult|percent|alpha")
_WIDTHS = (8, 16, 24, 32, 48, 64, 96, 128, 192)
#: Strings that switch tensors, by key.
_WORDS = {
    "position_embedding_type": ("absolute", "relative_key", "relative_key_query", "rotary"),
    "feed_forward_proj": ("relu", "gated-gelu", "gated-silu"),
    "summary_type": ("first", "last", "mean", "cls_index"),
    "hidden_act": ("gelu", "relu", "silu", "prelu", "xielu"),
    "embedding_type": ("fixed", "learned"),
    "norm_type": ("layer_norm", "rms_norm"),
    "feat_extract_norm": ("group", "layer"),
}
#: Models that may stand in a section which names its own type.
_TEXTS = ("llama", "qwen2", "mistral", "gemma", "opt", "phi3", "qwen3", "gemma2")
_SIGHTS = ("clip_vision_model", "siglip_vision_model", "vit", "dinov2")


class Edit(NamedTuple):
    """A value put under a path of keys."""

    path: tuple[str, ...]
    value: Any

    def __str__(self) -> str:
        return ".".join(self.path)


def edited(base: Mapping[str, Any], edits: list[Edit]) -> dict[str, Any]:
    """``base`` with the edits made, in order."""
    result = copy.deepcopy(dict(base))
    for *path, last in (edit.path for edit in edits):
        place = result
        for key in path:
            if not isinstance(place.get(key), dict):
                place[key] = {}
            place = place[key]
        place[last] = next(e.value for e in edits if e.path == (*path, last))
    return result


def as_json(config: Any) -> dict[str, Any]:
    """A config in full."""
    values: dict[str, Any] = json.loads(config.to_json_string(use_diff=False))
    return values


def shrunk(config_class: Any) -> dict[str, Any]:
    """What makes the default config small enough to build in no time."""
    given: dict[str, Any] = {}
    config = config_class()
    for path, key, value, _ in _places(config, as_json(config)):
        place = given
        small = _shrunk(key, value)
        if small is None:
            continue
        for section in path:
            place = place.setdefault(section, {})
        place[key] = small
    return given


def _shrunk(key: str, value: Any) -> Any:
    if isinstance(value, bool):
        return None
    if isinstance(value, int) and value > 2 and _LISTED.search(key):
        return 2
    if isinstance(value, int) and value > 8 and _EXPERTS.search(key) and "size" not in key:
        return 8
    whole = isinstance(value, list) and value and all(type(v) is int for v in value)
    if whole and _LISTED.search(key) and max(value) > 2:
        return [min(v, 2) for v in value]
    return None


def _places(
    config: Any, values: Mapping[str, Any], path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], str, Any, Any]]:
    """(path, key, value, config class) of everything that may be changed, sections included."""
    cls = type(config)
    for key, value in values.items():
        inner = getattr(config, key, None) if key in cls.sub_configs else None
        if inner is not None and isinstance(value, dict):
            yield from _places(inner, value, (*path, key))
        elif not _SKIPPED.search(key) and not isinstance(value, dict):
            yield path, key, value, cls


def edits(rng: Random, config: Any) -> list[Edit]:
    """One to four changes of a config, some under an alias, some next to it."""
    places = list(_places(config, as_json(config)))
    wanted = rng.choice((1, 1, 2, 2, 3, 4))
    chosen: list[Edit] = []
    for _ in range(20):
        if len(chosen) >= wanted or not places:
            break
        path, key, value, cls = rng.choice(places)
        new = _value(rng, key, value, cls)
        if new is _SAME:
            continue
        chosen += _spelled(rng, cls, path, key, new)
    if rng.random() < 0.1:
        chosen.append(Edit(("num_labels",), rng.choice((1, 3, 7))))
    if rng.random() < 0.1:
        chosen.append(Edit(("tie_word_embeddings",), rng.random() < 0.5))
    if rng.random() < 0.04:
        chosen += [Edit(("is_decoder",), True), Edit(("add_cross_attention",), True)]
    return chosen


def _spelled(rng: Random, cls: Any, path: tuple[str, ...], key: str, value: Any) -> list[Edit]:
    aliases = [alias for alias, own in cls.attribute_map.items() if own == key and alias != own]
    if not aliases or rng.random() < 0.5:
        return [Edit((*path, key), value)]
    alias = Edit((*path, rng.choice(aliases)), value)
    if rng.random() < 0.5 or not isinstance(value, int):
        return [alias]
    return [Edit((*path, key), value + 1), alias]


_SAME: Any = object()


def _value(rng: Random, key: str, value: Any, cls: Any) -> Any:
    """Another value of the same kind; ``_SAME`` where none is known."""
    if isinstance(value, bool):
        return not value
    if value is None:
        return _for_null(rng, key, cls)
    if isinstance(value, int):
        return _number(rng, key, value)
    if isinstance(value, float):
        return rng.choice((0.25, 0.5, 1.0, 2.0, 3.0)) if _RATIOS.search(key) else _SAME
    if isinstance(value, str):
        return rng.choice(_WORDS[key]) if key in _WORDS else _literal(rng, key, cls)
    return _list(rng, key, value) if isinstance(value, list) and value else _SAME


def _number(rng: Random, key: str, value: int) -> int:
    if _SMALL.search(key):
        return rng.choice((1, 2, 3, 4, 7, 8, 14, 16))
    if _HEADS.search(key) and value <= 256:
        return rng.choice((1, 2, 4, 8, 16))
    if _EXPERTS.search(key) and "size" not in key:
        return rng.choice((0, 1, 2, 3, 4, 6))
    if _LISTED.search(key) and value <= 256:
        return rng.choice((0, 1, 1, 2, 3, 4))
    if value == 0:
        return rng.choice((1, 2, 3))
    if "vocab" in key or "position" in key:
        return rng.randint(40, 300)
    return rng.choice((*_WIDTHS, 2 * value, max(1, value // 2), value + 1))


def _for_null(rng: Random, key: str, cls: Any) -> Any:
    types = {field.name: str(field.type) for field in dataclasses.fields(cls)}.get(key, "")
    if "list" in types or "dict" in types:
        return _SAME
    if "bool" in types:
        return rng.random() < 0.5
    return _number(rng, key, 2) if "int" in types else _SAME


def _literal(rng: Random, key: str, cls: Any) -> Any:
    """One of the words that the field's annotation lists."""
    types = {field.name: str(field.type) for field in dataclasses.fields(cls)}.get(key, "")
    words = re.findall(r"'([^']+)'|\"([^\"]+)\"", types) if "Literal" in types else []
    return rng.choice([a or b for a, b in words]) if words else _SAME


def _list(rng: Random, key: str, value: list[Any]) -> Any:
    kinds = {type(item) for item in value}
    if kinds == {str} and len(set(value)) > 1:
        return [rng.choice(value) for _ in value]
    if kinds == {bool}:
        return [rng.random() < 0.5 for _ in value]
    if kinds != {int}:
        return _SAME
    changed = list(value)
    place = rng.randrange(len(changed))
    changed[place] = _number(rng, key, changed[place])
    if rng.random() < 0.15:
        shorter = rng.random() < 0.5 and len(changed) > 1
        changed = changed[:-1] if shorter else [*changed, changed[-1]]
    return changed


def other_section(rng: Random, config: Any, tiny: Mapping[str, Any]) -> list[Edit]:
    """A section that may name its own type as a small model of another one."""
    from transformers import PreTrainedConfig

    free = [
        (key, _TEXTS if "text" in key or key in ("decoder", "encoder") else _SIGHTS)
        for key, spec in type(config).sub_configs_defaults.items()
        if not issubclass(spec.config_class, PreTrainedConfig) and "audio" not in key
    ]
    free = [(key, names) for key, names in free if "backbone" not in key]
    if not free:
        return []
    key, names = rng.choice(free)
    name = rng.choice(names)
    return [Edit((key,), {"model_type": name, **tiny.get(name, {})})] if name in tiny else []
