"""The names under which a config class knows its keys, recorded from transformers.

``attribute_map`` of a config class gives some fields a second name: gpt2's ``num_hidden_layers`` is
its ``n_layer``.  transformers sets the fields first and what is no field after them, so a value
under the alias replaces one under the key.  ``config_keys.json`` holds the aliases of every class,
which class reads which nested section, and which heads must divide a width; ``config_fields.json``
the names of all fields; tests/oracle/record_config_keys.py writes both.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from functools import cache, cached_property
from typing import Any

from . import data_files
from .records import dataclass


@dataclass(frozen=True)
class ConfigKeys:
    """``key_of`` maps alias -> key; ``sections`` maps key -> model_type of the nested config, of
    which the ``fixed`` are read by that type's class whatever model_type they name.
    ``in_order``: aliases that replace only a key which stands before them in the file.
    ``divides`` maps a number of heads to the width that it must divide, and that one's default."""

    key_of: Mapping[str, str] = field(default_factory=dict, hash=False)
    in_order: Collection[str] = ()
    sections: Mapping[str, str] = field(default_factory=dict, hash=False)
    fixed: Collection[str] = ()
    divides: Mapping[str, tuple[str, int]] = field(default_factory=dict, hash=False)

    def aliased(self, values: Mapping[str, Any]) -> dict[str, str]:
        """key -> the alias that has a value; of two the one that stands later in the file."""
        present = [name for name in self.key_of if values.get(name) is not None]
        if len(present) > 1 or any(alias in self.in_order for alias in present):
            places = {name: place for place, name in enumerate(values)}
            present.sort(key=lambda alias: places[alias])
            present = [
                alias
                for alias in present
                if alias not in self.in_order
                or values.get(self.key_of[alias]) is None
                or places[self.key_of[alias]] < places[alias]
            ]
        return {self.key_of[alias]: alias for alias in present}

    def resolved(self, values: Mapping[str, Any], aliased: Mapping[str, str]) -> Mapping[str, Any]:
        """The mapping with every value under the class's own key."""
        if not any(name in values for name in self.key_of):
            return values
        by_own_name = {self.key_of.get(name, name): None for name in values}
        by_own_name |= {name: value for name, value in values.items() if name not in self.key_of}
        return by_own_name | {key: values[alias] for key, alias in aliased.items()}

    @cached_property
    def _aliases(self) -> Mapping[str, tuple[str, ...]]:
        """A key with all that it is called, the key first."""
        spelled: dict[str, tuple[str, ...]] = {}
        for alias, key in self.key_of.items():
            spelled[key] = (*spelled.get(key, (key,)), alias)
        return spelled

    def spellings(self, keys: Sequence[str]) -> list[tuple[str, ...]]:
        """What one getter reads, under the class's own keys; and each of them with its
        aliases."""
        own_keys = tuple(dict.fromkeys(self.key_of.get(key, key) for key in keys))
        return [own_keys, *(self._aliases[key] for key in own_keys if key in self._aliases)]


_NONE = ConfigKeys()


@cache
def _recorded() -> Mapping[str, Any]:
    return data_files.read(__package__, "config_keys.json")


@cache
def _of_type(model_type: str) -> ConfigKeys:
    tables = _recorded()
    fixed = tables["sections"].get(model_type, {})
    sections = {**tables["auto_sections"].get(model_type, {}), **fixed}
    return ConfigKeys(
        tables["aliases"].get(model_type, {}),
        tables["in_order"].get(model_type, ()),
        sections,
        frozenset(fixed),
        {
            heads: (width, size)
            for heads, (width, size) in tables["divides"].get(model_type, {}).items()
        },
    )


def keys_of(model_type: str | None) -> ConfigKeys:
    """What is recorded of a model_type; nothing where transformers has no class for it."""
    known = model_type is not None and model_type in _types()
    return _of_type(model_type) if known and model_type is not None else _NONE


@cache
def _types() -> frozenset[str]:
    tables = _recorded()
    return frozenset().union(*(table for table in tables.values() if isinstance(table, dict)))


@cache
def _fields() -> Mapping[str, Any]:
    return data_files.read(__package__, "config_fields.json")


def fields_of(model_type: str | None) -> frozenset[str]:
    """Every key that the config class of a model_type has, whether or not a tensor depends on it;
    nothing where transformers has no class for it. ``num_labels`` is a property of all classes."""
    row = _fields()["fields"].get(model_type or "")
    return (
        frozenset() if row is None else frozenset(f"{row} {_fields()['common']} num_labels".split())
    )


def has_field(config: Mapping[str, Any], dotted: str) -> bool:
    """Whether a config's class has the key, or that of the section that a dotted key leads to. What
    is in a field that is no section may have any name."""
    *path, last = dotted.split(".")
    kind = _text(config.get("model_type"))
    place: Any = config
    for key in path:
        place = place.get(key) if isinstance(place, Mapping) else None
        model_type = place.get("model_type") if isinstance(place, Mapping) else None
        keys = keys_of(kind)
        default = keys.sections.get(key)
        section = default if key in keys.fixed else _text(model_type) or default
        if section is None:
            return key in fields_of(kind)
        kind = section
    return last in fields_of(kind)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
