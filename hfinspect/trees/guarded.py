"""A config under a trace's keys: what each says, its default, and the guards of one root."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ..core.config import MAX_COUNT, MAX_DIM, ModelConfig
from ..errors import ConfigError, HfinspectError, UnknownArchitectureError
from .arithmetic import NoValueError, Written, holds, value
from .backbone_stages import MAX_STAGES, chosen_stages, stage_names

_MISSING: Final = object()


class GuardedRead:
    """A config under a trace's keys: dotted ones reach into sections."""

    def __init__(
        self, config: ModelConfig, name: str, trace: Mapping[str, Any], entry: Mapping[str, Any]
    ) -> None:
        self._config = config
        self._name = name
        self.entry = entry
        self._defaults = {**trace["defaults"], **entry.get("defaults", {})}
        self._guards: Mapping[str, Any] = trace["guards"][entry["guards"]]
        self._sections: dict[str, ModelConfig] = {"": config}
        self._reading: list[str] = []
        self._lists: dict[str, list[Any]] = {}
        #: The number of each member of a list of stages that is being made, by its name.
        self.places: dict[str, int] = {}
        self._chosen: dict[int, frozenset[int]] = {}
        #: Dotted key of a section -> what it holds where it is not written down.
        self.absent: Mapping[str, Mapping[str, Any]] = trace.get("absent", {})

    def place(self, key: str) -> tuple[ModelConfig, str]:
        path, _, last = key.rpartition(".")
        return self.section(path), last

    def section(self, path: str) -> ModelConfig:
        """The config of a section; an absent one as the class makes it."""
        if path not in self._sections:
            outer, name = self.place(path)
            inner = outer.section(name)
            if path in self.absent and not outer.says(name):
                values = self.absent[path]
                by = inner.saved_by
                inner = ModelConfig(values, inner.path, inner.kind, saved_by=by)
            self._sections[path] = inner
        return self._sections[path]

    def named(self, key: str) -> str:
        config, last = self.place(key)
        return config.path + last

    def has(self, key: str) -> bool:
        config, last = self.place(key)
        return config.has(last)

    def first_given(self, written: Written) -> str | None:
        """The first key of an expression that the config has."""
        if isinstance(written, str):
            return written if written not in self.places and self.has(written) else None
        parts = written if isinstance(written, list) else ()
        return next((key for key in map(self.first_given, parts) if key), None)

    def raw(self, key: str) -> Any:
        """What the config says, else the default."""
        config, last = self.place(key)
        if last == "num_labels" and config.has("num_labels", "id2label", "_num_labels"):
            return int(config.num_labels)
        raw = config.raw(last)
        if raw is not None:
            if self._reading and config.fields.raw(last) != raw:
                raise self.refused(key, raw)  # see number
            return raw
        default = self._defaults.get(key, _MISSING)
        if default is _MISSING or (config.says(last) and isinstance(default, bool)):
            return None  # a null that is written down is false
        if config.says(last) and default is not None and not isinstance(default, dict):
            if self._guards.get(key, {}).get("null"):
                return None  # it is a value of its own
            raise self.refused(key, None)  # it is no default: classes see the null
        if isinstance(default, dict):
            return self._computed(key, default["of"])
        return default

    def _computed(self, key: str, written: Written) -> Any:
        if key in self._reading:
            raise NoValueError(f"is computed from itself ({key})")
        self._reading.append(key)
        try:
            if not isinstance(written, dict):
                return value(written, self)
            return (
                self._listed(key, written) if "count" in written else self._entry(written["pick"])
            )
        finally:
            self._reading.pop()

    def _listed(self, key: str, written: Mapping[str, Any]) -> list[Any]:
        """A list that the class computes: each entry is the first whose condition holds."""
        if key not in self._lists:
            count = value(written["count"], self)
            if not isinstance(count, int) or not 0 <= count <= MAX_COUNT:
                raise NoValueError("is not a number of entries")
            self._lists[key] = [self._entry(written["pick"], i) for i in range(count)]
        return self._lists[key]

    def _entry(self, pick: list[Any], i: int | None = None) -> Any:
        """The first whose condition holds, at a place of a list or by itself."""
        for when, entry in pick:
            if when is None or holds(when, self, i):
                return value(entry, self, i) if isinstance(entry, list) else entry
        raise NoValueError("has no value" if i is None else f"has no entry {i}")

    def number(self, key: str) -> int | float:
        if key in self.places:
            return self.places[key]
        config, last = self.place(key)
        if last == "num_labels" and config.has("num_labels", "id2label", "_num_labels"):
            return config.num_labels
        if self._reading and config.fields.raw(last) != config.raw(last):
            # Classes compute before they look at aliases; which of both they took is not recorded.
            raise self.refused(key, config.raw(last))
        if config.has(last) and isinstance(config.raw(last), float):
            return config.number(last, default=0.0)
        if config.has(last):
            return config.dim(last, minimum=min([0, *self._below(key)]))
        raw = self.raw(key)
        if isinstance(raw, bool) or not isinstance(raw, (int, float)):
            raise config.missing(last)
        return raw if isinstance(raw, float) else config.dim(last, default=raw, minimum=0)

    def _below(self, key: str) -> list[int]:
        """Numbers under the least that a guard allows which are known as well: -1 for none; the
        least of all where the class takes every negative number alike."""
        guard = self._guards.get(key, {})
        return [-MAX_DIM] if guard.get("signed") else list(guard.get("but", ()))

    def chosen(self, place: int, count: int) -> bool:
        """Whether a backbone of so many maps, that of the stem first, hands this one on."""
        if count not in self._chosen:
            if not 1 <= count <= MAX_STAGES + 1:
                raise NoValueError("is not a number of stages")
            chosen = chosen_stages(self._config, stage_names(count - 1))
            self._chosen[count] = frozenset(chosen)
        return place in self._chosen[count]

    def items(self, key: str) -> list[Any]:
        entries = self.raw(key)
        if not isinstance(entries, (list, tuple)) or len(entries) > MAX_COUNT:
            config, last = self.place(key)
            raise config.error(last, entries, "a list")
        return list(entries)

    def check_layers(self) -> None:
        """Raises ConfigError where a list has not one word for each layer: no config class of
        transformers takes that, whether the model reads the list or not."""
        config = self._config
        layers = config.raw("num_hidden_layers")
        for key in ("layer_types", "mlp_layer_types"):
            words = config.raw(key)
            if isinstance(words, list) and type(layers) is int and len(words) != layers:
                expected = f"one for each of {layers} layers"
                raise config.miscounted(key, len(words), expected)

    def failing(self) -> list[HfinspectError]:
        """What is wrong of each key whose guard does not hold."""
        return [error for key, guard in self._guards.items() for error in self._failed(key, guard)]

    def _failed(self, key: str, guard: Mapping[str, Any]) -> Iterator[HfinspectError]:
        try:
            self.check(key, guard)
        except NoValueError:
            yield self.refused(key, self._config.raw(key))
        except (UnknownArchitectureError, ConfigError) as error:
            yield error

    def check(self, key: str, guard: Mapping[str, Any]) -> None:
        """Raises UnknownArchitectureError where the config leaves what the trace is exact for."""
        section, last = self.place(key)
        if last == "model_type" and section.fixed:
            return  # its class reads no such key
        if "saved_between" in guard:
            first, end, expected = guard["saved_between"]
            if self._config.saved_between(first, end) is not expected:
                by = self._config.file_values.get("transformers_version")
                raise self.refused("transformers_version", by)
            return
        if guard.get("absent"):
            if self.has(key):
                raise self.refused(key, self.raw(key))
            return
        raw = self.raw(key)
        if "is" in guard and not any(_same(raw, allowed) for allowed in guard["is"]):
            raise self.refused(key, raw)
        if "least" in guard and any(
            side < guard["least"] and side not in self._below(key)
            for side in self._sides(key, guard)
        ):
            raise self.refused(key, raw)
        if "length" in guard and len(self.items(key)) != value(guard["length"], self):
            raise self.refused(key, raw)
        if "equals" in guard and raw != value(guard["equals"], self):
            raise self.refused(key, raw)
        if raw and any(self.raw(k) is not answer for k, answer in guard.get("needs", {}).items()):
            raise self.refused(key, raw)
        if "of" in guard and not all(
            any(_same(item, allowed) for allowed in guard["of"]) for item in self.items(key)
        ):
            raise self.refused(key, raw)
        for other in guard.get("divides", ()):
            config, last = self.place(key)
            config.divided(int(self.number(other)), int(self.number(key)), self.named(other), last)

    def _sides(self, key: str, guard: Mapping[str, Any]) -> list[int | float]:
        """The number of a key; with ``pair`` in its guard the two that it may have instead; with
        ``each`` every entry of a list."""
        raw = self.raw(key)
        if raw is None:
            return []
        if guard.get("each"):
            return [value(["[]", key, i], self) for i in range(len(self.items(key)))]
        if isinstance(raw, (list, tuple)) and guard.get("pair"):
            if len(raw) != 2:
                raise self.refused(key, raw)
            return [value(["pair", key, side], self) for side in (0, 1)]
        return [self.number(key)]

    def refused(self, key: str, raw: object) -> UnknownArchitectureError:
        text = "null" if raw is None else repr(raw)
        return UnknownArchitectureError(
            f"{self._name} with {self._config.path}{key} = {text[:60]}",
            "was not recorded",
            hint="read the headers of the weights, or install hfinspect[transformers]",
        )


def _same(value: object, allowed: object) -> bool:
    return value == allowed and isinstance(value, bool) == isinstance(allowed, bool)
