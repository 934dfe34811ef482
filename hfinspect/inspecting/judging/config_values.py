"""Values of config.json that loaders refuse, or read in two ways.

What the newest transformers and vLLM both refuse is an error; what one refuses, or both take for
something else than it says, a warning. Only keys that are there are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ...core.config_keys import keys_of
from ...core.field_kinds import (
    is_in,
    kinds_of,
    looked_up_activations,
    other_kinds,
    takes,
    usual_kinds,
)
from ...core.wholeness import Problem
from .config_section import ConfigSection, shown
from .loaders_read import (
    ACTIVATIONS,
    ATTENTIONS,
    BOTH,
    FLOATS,
    LAYER_TYPES,
    OTHER_DTYPES,
    TRANSFORMERS,
    VLLM,
    VLLM_ACTIVATIONS,
    VLLM_CONFIGS,
)

#: Problems that HI349 shows.
SOURCE: Final = "values"

#: Sections in sections that are looked at; composite models have two levels.
_DEEPEST: Final = 3
#: Fields that are read by rules of their own, or before the class sees them.
_OTHERWISE: Final = frozenset({"dtype", "rope_parameters", "id2label", "label2id", "model_type"})
#: Kind of values -> what it is called.
_CALLED: Final[Mapping[str, str]] = {
    "n": "null",
    "b": "true or false",
    "i": "a whole number",
    "f": "a number with a point",
    "s": "a text",
    "e": "a list",
    "B": "a list",
    "I": "a list of whole numbers",
    "F": "a list of numbers",
    "S": "a list of texts",
    "L": "a list",
    "d": "an object",
}


def refused_values(
    config: Mapping[str, Any] | None, where: str = "config.json"
) -> Iterator[Problem]:
    """Every value of a config that a loader refuses, sections included. Raises nothing."""
    if not config:
        return
    model_type = config.get("model_type")
    if not isinstance(model_type, str) or not is_in("types", model_type):
        return
    for section in _sections(config, model_type, where):
        yield from _kinds(section)
        yield from _layer_types(section)
        yield from _activations(section)
        yield from _dtypes(section)
        yield from _heads(section)
        yield from _padding(section)
        yield from _labels(section)
        yield from _ropes(section)
    yield from _quantisation(config, where)
    yield from _attention(config, where)


def _loaders(config: Mapping[str, Any], model_type: str) -> str:
    """Those that read the config by the class of transformers."""
    auto_map = config.get("auto_map")
    own_code = isinstance(auto_map, Mapping) and "AutoConfig" in auto_map
    of_mlx = isinstance(config.get("quantization"), Mapping)
    if own_code or of_mlx or model_type in VLLM_CONFIGS:
        return TRANSFORMERS
    return BOTH


def _sections(config: Mapping[str, Any], model_type: str, where: str) -> Iterator[ConfigSection]:
    loaders = _loaders(config, model_type)
    waiting = [("", config, model_type, 0)]
    while waiting:
        path, values, kind, depth = waiting.pop(0)
        yield ConfigSection(path, values, kind, loaders, where)
        if depth >= _DEEPEST:
            continue
        keys = keys_of(kind)
        for key, default in keys.sections.items():
            inner = values.get(key)
            if isinstance(inner, Mapping):
                stated = inner.get("model_type")
                is_free = key not in keys.fixed
                kind = stated if is_free and isinstance(stated, str) else default
                waiting.append((f"{path}{key}.", inner, kind, depth + 1))


# ---- one kind of value each


def _kinds(section: ConfigSection) -> Iterator[Problem]:
    """Values of another type than the fields of the class have."""
    usual = usual_kinds()
    others = other_kinds(section.kind)
    keys = keys_of(section.kind)
    for key, value in section.values.items():
        field = keys.key_of.get(key, key)
        letters = others.get(field) or usual.get(field)
        if letters is None or field in _OTHERWISE or field in keys.sections:
            continue
        if takes(letters, value):
            continue
        letters = kinds_of(section.kind, field)  # whether the class has the field at all
        if letters is not None and not takes(letters, value):
            yield section.refused(key, value, f"{_wanted(letters)} is wanted")


def _wanted(letters: str) -> str:
    words = list(dict.fromkeys(_CALLED[letter] for letter in letters if letter != "n"))
    words += ["null"] if "n" in letters else []
    return " or ".join(words) or "nothing there"


def _layer_types(section: ConfigSection) -> Iterator[Problem]:
    """A list with another number of entries than there are layers, or with unknown ones."""
    types = section.values.get("layer_types")
    layers = section.number("num_hidden_layers")
    if types is None or layers is None or is_in("uncounted", section.kind):
        return
    by = f"{section.loaders} {'refuse' if section.loaders == BOTH else 'refuses'} it"
    if not isinstance(types, list):
        if kinds_of(section.kind, "layer_types") is None:  # no field, but looked at all the same
            yield section.refused("layer_types", types, "a list is wanted", section.loaders)
        return
    unknown = [one for one in types if not isinstance(one, str) or one not in LAYER_TYPES]
    if unknown:
        yield section.odd("layer_types", f"names {shown(unknown[0])}", by, section.refusal)
    elif len(types) != layers:
        text = f"has {len(types):,} entries for {layers:,} layers"
        yield section.odd("layer_types", text, by, section.refusal)


def _activations(section: ConfigSection) -> Iterator[Problem]:
    """Names of functions that nobody has."""
    for key in looked_up_activations(section.kind):
        value = section.values.get(key)
        if not isinstance(value, str) or value in ACTIVATIONS:
            continue
        has_vllm = value.lower() in VLLM_ACTIVATIONS
        by = TRANSFORMERS if has_vllm else section.loaders
        yield section.refused(key, value, "no such activation", by)


def _dtypes(section: ConfigSection) -> Iterator[Problem]:
    """A dtype that torch does not have, or in which no class is built."""
    new = section.values.get("dtype")
    old = section.values.get("torch_dtype")
    key = "torch_dtype" if new is None else "dtype"
    value = old if new is None else new
    if new is not None and old is not None and new != old:
        why = f"{TRANSFORMERS} takes dtype, releases before 4.56 take torch_dtype"
        text = f"is {shown(new)} and torch_dtype {shown(old)}"
        yield section.odd("dtype", text, why, "note")
    if not isinstance(value, str) or value in FLOATS:
        return
    if value not in OTHER_DTYPES:
        yield section.refused(key, value, "torch has no such dtype")
    elif not section.path and "quantization_config" not in section.values:
        yield section.refused(key, value, "no class is built in it", TRANSFORMERS)


def _heads(section: ConfigSection) -> Iterator[Problem]:
    """Key heads that do not divide the heads, where each is used by several of these."""
    yield from _odd_head(section)
    heads = section.number("num_attention_heads")
    shared = section.number("num_key_value_heads")
    if not is_in("grouped", section.kind):
        return
    if section.values.get("num_key_value_heads") == 0:
        yield section.refused("num_key_value_heads", 0, "the heads are divided by it", BOTH)
    if heads is not None and shared is not None and heads % shared:
        text = f"is {shared:,}, which does not divide num_attention_heads, {heads:,}"
        why = f"{VLLM} refuses it, and {TRANSFORMERS} fails in the first step"
        yield section.odd("num_key_value_heads", text, why, "error")


def _odd_head(section: ConfigSection) -> Iterator[Problem]:
    """A head of odd size that is turned in pairs as a whole; toys of up to four are let pass."""
    size = section.number("head_dim")
    is_small = size is None or size <= 4
    if is_small or size is None or size % 2 == 0 or not is_in("rope", section.kind):
        return
    rope = section.values.get("rope_scaling") or section.values.get("rope_parameters")
    parts = (section.values, rope if isinstance(rope, Mapping) else {})
    if not any("partial_rotary_factor" in one for one in parts):
        yield section.refused("head_dim", size, "numbers are turned in pairs")


def _padding(section: ConfigSection) -> Iterator[Problem]:
    """An id of padding behind the last row."""
    pad = section.number("pad_token_id")
    rows = section.number("vocab_size")
    if pad is None or rows is None or pad < rows or not is_in("padding", section.kind):
        return
    text = f"is {pad:,} of a vocabulary of {rows:,}"
    yield section.odd("pad_token_id", text, f"{TRANSFORMERS} does not build the embedding")


def _labels(section: ConfigSection) -> Iterator[Problem]:
    """Names of classes that are no object from numbers to names."""
    names = section.values.get("id2label")
    if names is None:
        return
    if not isinstance(names, Mapping):
        yield section.refused("id2label", names, "an object is wanted")
        return
    wrong = next((one for one in names if not _is_number(one)), None)
    if wrong is not None:
        yield section.odd(
            "id2label", f"has the key {shown(wrong)}", f"{section.loaders} want numbers",
            section.refusal,
        )  # fmt: skip


def _is_number(text: object) -> bool:
    try:
        int(text) if isinstance(text, str) and len(text) < 20 else int("x")
    except ValueError:
        return False
    return True


def _ropes(section: ConfigSection) -> Iterator[Problem]:
    if section.values.get("rope_scaling") or section.values.get("rope_parameters"):
        from .rope_values import rope_problems

        yield from rope_problems(section)


# ---- of the whole config


def _quantisation(config: Mapping[str, Any], where: str) -> Iterator[Problem]:
    """A section that names no method."""
    if "quantization_config" not in config or config["quantization_config"] is None:
        return
    value = config["quantization_config"]
    section = ConfigSection("", config, "", BOTH, where)
    if isinstance(value, Mapping):
        if not value:
            text = "is empty"
            yield section.odd("quantization_config", text, f"{TRANSFORMERS} wants a quant_method")
    else:
        yield section.refused("quantization_config", value, "an object is wanted")


def _attention(config: Mapping[str, Any], where: str) -> Iterator[Problem]:
    """An implementation of attention that transformers does not have."""
    for key in ("_attn_implementation", "attn_implementation"):
        value = config.get(key)
        if not isinstance(value, str) or "/" in value:
            continue
        if value.removeprefix("paged|") not in ATTENTIONS:
            section = ConfigSection("", config, "", TRANSFORMERS, where)
            yield section.refused(key, value, "no such attention")
