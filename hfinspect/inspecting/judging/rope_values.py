"""What a config says of scaled rotary positions, against what loaders need for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ...core.field_kinds import is_in, kinds_of
from ...core.wholeness import Problem
from .config_section import ConfigSection
from .loaders_read import (
    BOTH,
    ROPE_KEYS,
    SAME_ROPES,
    SCALED_FROM_ORIGINAL,
    TRANSFORMERS,
    VLLM,
    VLLM_ROPES,
)

_ORIGINAL: Final = "original_max_position_embeddings"


def rope_problems(section: ConfigSection) -> Iterator[Problem]:
    """``rope_scaling``, or ``rope_parameters`` where that is not there, of one section."""
    if kinds_of(section.kind, "rope_parameters") is None:
        return
    key = "rope_scaling" if section.values.get("rope_scaling") else "rope_parameters"
    rope = section.values[key]
    if not isinstance(rope, Mapping):
        yield section.refused(key, rope, "an object is wanted")
        return
    layers = section.values.get("layer_types")
    nested = [name for name, value in rope.items() if isinstance(value, Mapping)]
    if nested and (isinstance(layers, list) or set(rope) == set(nested)):
        for name in nested:
            yield from _RopeValues(section, f"{key}.{name}", rope[name]).problems()
    else:
        yield from _RopeValues(section, key, rope).problems()


class _RopeValues:
    """One object of settings, under the key ``key``."""

    def __init__(self, section: ConfigSection, key: str, rope: Mapping[str, Any]) -> None:
        self._section = section
        self._key = key
        self._rope = rope
        self._kind = section.kind
        self._type = rope.get("rope_type", rope.get("type", "default"))

    def problems(self) -> Iterator[Problem]:
        yield from self._untyped()
        yield from self._conflict()
        kind = self._read_as()
        if not isinstance(kind, str) or kind not in ROPE_KEYS:
            yield from self._unknown(kind)
            return
        missing = [name for name in self._needed(kind) if name not in self._rope]
        if missing and is_in("rope", self._kind):
            yield self._lacking(missing)
            return
        yield from self._original(kind)
        yield from self._factor(kind)
        yield from self._lists(kind)

    def _read_as(self) -> object:
        """The type as the class reads it: some know an old one by its new name."""
        if self._type == "su" and is_in("su", self._kind):
            return "longrope"
        if self._type == "mrope" and is_in("mrope", self._kind):
            return "default"
        return self._type

    def _untyped(self) -> Iterator[Problem]:
        """Settings without a type: they are not applied."""
        if "rope_type" in self._rope or "type" in self._rope or "factor" not in self._rope:
            return
        why = f"{BOTH} leave the positions as they are, whatever factor says; others refuse it"
        yield self._section.odd(f"{self._key}.rope_type", "is missing", why)

    def _conflict(self) -> Iterator[Problem]:
        new = self._rope.get("rope_type")
        old = self._rope.get("type")
        if "rope_type" not in self._rope or "type" not in self._rope or new == old:
            return
        if isinstance(new, str) and isinstance(old, str) and (old, new) not in SAME_ROPES:
            yield self._section.refused(f"{self._key}.type", old, f"rope_type is {new:.40}",
                                        VLLM)  # fmt: skip

    def _unknown(self, kind: object) -> Iterator[Problem]:
        """A type that transformers does not know; vLLM has some that it does not."""
        if not is_in("tables", self._kind):
            return
        name = "rope_type" if "rope_type" in self._rope else "type"
        needed = VLLM_ROPES.get(kind) if isinstance(kind, str) else None
        missing = [one for one in needed or () if one not in self._rope]
        key = f"{self._key}.{name}"
        if needed is not None and not missing:
            yield self._section.refused(key, kind, "no such type", TRANSFORMERS)
        elif missing:
            why = f"{TRANSFORMERS} has no such type, and {VLLM} needs {missing[0]} for it"
            yield self._section.odd(key, f'is "{kind}"', why, "error")
        else:
            yield self._section.refused(key, kind, "no such type", BOTH)

    def _needed(self, kind: str) -> tuple[str, ...]:
        if kind == "dynamic" and "alpha" in self._rope and is_in("alpha", self._kind):
            return ()
        is_renamed = kind == "longrope" and self._type == "su"
        return (*ROPE_KEYS[kind], *((_ORIGINAL,) if is_renamed else ()))

    def _lacking(self, missing: list[str]) -> Problem:
        section = self._section
        verb = "refuse" if section.loaders == BOTH else "refuses"
        what = "it" if len(missing) == 1 else "them"
        why = f'{section.loaders} {verb} the type "{self._type}" without {what}'
        text = "is missing"
        if len(missing) > 1:
            text = f"and {', '.join(missing[1:])} are missing"
        return section.odd(f"{self._key}.{missing[0]}", text, why, section.refusal)

    def _original(self, kind: str) -> Iterator[Problem]:
        """The length of training: where it is missing, the config's length stands for it."""
        if kind not in SCALED_FROM_ORIGINAL or not is_in("rope", self._kind):
            return
        value = self._rope.get(_ORIGINAL)
        if value == 0 and kind == "yarn":
            yield self._section.refused(
                f"{self._key}.{_ORIGINAL}", value, "lengths are divided by it"
            )
        if _ORIGINAL in self._rope or _ORIGINAL in self._section.values:
            return
        length = self._section.number("max_position_embeddings")
        stands = "the default" if length is None else f"{length:,}"
        why = f"{BOTH} take max_position_embeddings, {stands}, for it"
        yield self._section.odd(f"{self._key}.{_ORIGINAL}", "is missing", why)

    def _factor(self, kind: str) -> Iterator[Problem]:
        value = self._rope.get("factor")
        if kind not in ("linear", "dynamic", "yarn", "llama3") or "factor" not in self._rope:
            return
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            if is_in("tables", self._kind):
                yield self._section.refused(f"{self._key}.factor", value, "a number is wanted",
                                            BOTH)  # fmt: skip
        elif value < 1:
            why = f"{TRANSFORMERS} warns, for a factor below 1 shortens the context"
            yield self._section.odd(f"{self._key}.factor", f"is {value:g}", why)

    def _lists(self, kind: str) -> Iterator[Problem]:
        """The factors of longrope: one for each pair of numbers that is turned."""
        pairs = self._pairs()
        if kind != "longrope" or not is_in("tables", self._kind) or pairs is None:
            return
        for name in ("short_factor", "long_factor"):
            factors = self._rope.get(name)
            if not isinstance(factors, list):
                yield self._section.refused(f"{self._key}.{name}", factors, "a list is wanted",
                                            BOTH)  # fmt: skip
            elif len(factors) != pairs and len(factors) != 1:
                text = f"has {len(factors):,} numbers, and {pairs:,} pairs are turned"
                yield self._section.odd(
                    f"{self._key}.{name}", text, f"{BOTH} refuse another number", "error"
                )

    def _pairs(self) -> int | None:
        """Half of the turned part of a head; None where the config does not say it."""
        section = self._section
        turned = section.number("qk_rope_head_dim")
        if turned is not None:
            return turned // 2
        head = section.number("head_dim")
        width = section.number("hidden_size")
        heads = section.number("num_attention_heads")
        if head is None and (width is None or heads is None):
            return None
        size = head if head is not None else (width or 0) // (heads or 1)
        share = self._rope.get("partial_rotary_factor")
        if share is None:
            share = section.values.get("partial_rotary_factor", 1.0)
        if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 < share <= 1:
            return None
        return int(size * share) // 2
