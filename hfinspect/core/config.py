"""ModelConfig: config.json with synonyms, nesting and checked getters.

A getter names the key as the family's code knows it first and its synonyms after it; the first one
that is present and not null wins.  Aliases of the config class come before all of that:
transformers sets them after the fields, so a value under an alias is the value of the key
(config_keys.py).  ``null`` counts as absent, because transformers itself writes
``"head_dim": null``; only of booleans it is false, which is what ``if config.alibi`` makes of it.
What is absent takes the family's default; a key without default is required.
Every number comes back as a Dim that remembers its key, so shapes can explain themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from ..errors import ConfigError, UnknownArchitectureError
from .config_keys import ConfigKeys, keys_of
from .dims import Constant, Dim

#: Beyond any real size (the largest vocabularies are near 10^6, widths near 10^5), small enough
#: that products of a few stay readable.
MAX_DIM: Final = 2**40
#: Layers, experts, stages: things that are listed one by one. 10,000 is ten times the deepest.
MAX_COUNT: Final = 10_000

_REQUIRED: Final = object()

#: Where the keys that are read are written down, as long as somebody wants to know.
_READ: ContextVar[set[tuple[str, ...]] | None] = ContextVar("keys read", default=None)


@contextmanager
def keys_read() -> Iterator[set[tuple[str, ...]]]:
    """The keys that getters read inside: each with the other spellings that the getter takes
    after it, all of them dotted."""
    keys: set[tuple[str, ...]] = set()
    outer = _READ.get()
    token = _READ.set(keys)
    try:
        yield keys
    finally:
        _READ.reset(token)
        if outer is not None:
            outer |= keys


#: Dotted key -> the spelling of it that was taken, and the number or list that was read.
Reads = dict[str, tuple[str, "int | list[Any]"]]
_READS: ContextVar[Reads | None] = ContextVar("reads", default=None)


@contextmanager
def reads_noted() -> Iterator[Reads]:
    """Collects what the getters of any config read within the block, defaults included."""
    reads: Reads = {}
    token = _READS.set(reads)
    try:
        yield reads
    finally:
        _READS.reset(token)


#: Major and minor number of a release: (4, 57).
Release = tuple[int, int]
_RELEASE = re.compile(r"(\d{1,4})(?:\.(\d{1,4}))?(?![\d])", re.ASCII)
_RELEASES: ContextVar[set[str] | None] = ContextVar("releases that decide", default=None)


@contextmanager
def releases_noted() -> Iterator[set[str]]:
    """Collects the releases that decide on something within the block where a config names none."""
    releases: set[str] = set()
    token = _RELEASES.set(releases)
    try:
        yield releases
    finally:
        _RELEASES.reset(token)


def release_of(values: Mapping[str, Any]) -> Release | None:
    """The release of transformers that a config says it was saved by, or None."""
    text = values.get("transformers_version")
    return _numbers(text) if isinstance(text, str) and _RELEASE.match(text) else None


def _numbers(text: str) -> Release:
    match = _RELEASE.match(text)
    assert match is not None
    return int(match[1]), int(match[2] or 0)


class ModelConfig:
    """Read-only view of a config mapping; ``path`` is the dotted prefix of a nested section.

    ``kind`` is the model_type of the class that reads it, where the mapping does not name one; with
    ``fixed`` whatever it names, as of a composite's section whose class is always the same one.
    ``given`` is the mapping as it was; ``values`` holds every key under the class's own name.
    """

    def __init__(
        self,
        values: Mapping[str, Any],
        path: str = "",
        kind: str | None = None,
        *,
        fixed: bool = False,
        saved_by: Release | None = None,
    ) -> None:
        model_type = None if fixed else values.get("model_type")
        self.file_values = values
        self.path = path
        self.kind: str | None = model_type if isinstance(model_type, str) else kind
        self.fixed = fixed
        #: The release of transformers that saved it: the outermost config's, or this one's own.
        self.saved_by: Release | None = saved_by or release_of(values)
        self._keys: ConfigKeys = keys_of(self.kind)
        #: key -> the alias under which its value stands in the file
        self._aliased = self._keys.aliased(values)
        self.values = self._keys.resolved(values, self._aliased)

    def __repr__(self) -> str:
        return f"ModelConfig({self.path or 'config.json'}, {len(self.values)} keys)"

    # ---- what kind of model it says it is

    @property
    def model_type(self) -> str | None:
        return self.text("model_type", default=None)

    @property
    def architectures(self) -> tuple[str, ...]:
        names = self.raw("architectures")
        if names is None:
            return ()
        if isinstance(names, str):
            return (names,)
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise self.error("architectures", names, "a list of class names")
        return tuple(names)

    # ---- getters

    def raw(self, *keys: str) -> Any:
        """The first present, non-null value as it stands in the file, or None."""
        return self._find(keys)[1]

    def has(self, *keys: str) -> bool:
        """Whether any of the keys is present and not null."""
        return self.raw(*keys) is not None

    def _find(self, keys: Sequence[str]) -> tuple[str, Any]:
        """The first key with a value, as the file spells it, and the value."""
        aliases = self._keys.key_of
        read = _READ.get()
        if read is not None:
            for spelling in self._keys.spellings(keys):
                read.add(tuple(self.path + key for key in spelling))
            # What the class knows, it reads, whether or not it says anything about tensors.
            read.update((self.path + key, self.path + alias) for alias, key in aliases.items())
        for key in keys:
            key = aliases.get(key, key)
            value = self.values.get(key)
            if value is not None:
                return self._aliased.get(key, key), value
        return keys[0], None

    def key_and_value(self, *keys: str) -> tuple[str, Any]:
        """What ``raw`` gives, after the dotted key under which the file has it."""
        key, value = self._find(keys)
        return self.path + key, value

    def says(self, key: str) -> bool:
        """Whether the key is written down at all, be it as null."""
        return self._keys.key_of.get(key, key) in self.values

    def _note(self, keys: Sequence[str], key: str, value: int | list[Any]) -> None:
        """Write down what was read, under each of its spellings, if anyone wants to know."""
        reads = _READS.get()
        if reads is not None:
            for spelling in self._keys.spellings(keys):
                for name in spelling:
                    reads.setdefault(self.path + name, (self.path + key, value))

    def dim(
        self, *keys: str, default: Any = _REQUIRED, minimum: int = 1, maximum: int = MAX_DIM
    ) -> Dim:
        """A size. ``default`` is an int (then shown under the key's name) or a Dim expression."""
        key, value = self._find(keys)
        if value is not None:
            size = Dim(self._integer(key, value, minimum, maximum), self.path + key)
        elif default is _REQUIRED:
            raise self.missing(key)
        else:
            size = default if isinstance(default, Dim) else Dim(default, self.path + keys[0])
        self._note(keys, key, int(size))
        self._shared(key, size)
        return size

    def _shared(self, key: str, heads: int) -> None:
        """Raises ConfigError where heads do not divide a width that the class wants them to."""
        canonical = self._keys.key_of.get(key, key)
        if canonical in self._keys.divides:
            width, default = self._keys.divides[canonical]
            own_width = self.values.get(width)
            if own_width is None or isinstance(own_width, int):
                self.divided(default if own_width is None else own_width, heads, width, key)

    def count(self, *keys: str, default: Any = _REQUIRED, minimum: int = 0) -> Dim:
        """How many layers, experts, stages: bounded by what can be listed."""
        return self.dim(*keys, default=default, minimum=minimum, maximum=MAX_COUNT)

    def optional_dim(self, *keys: str, minimum: int = 1) -> Dim | None:
        """A size, or None where the key is absent or null."""
        return self.dim(*keys, minimum=minimum) if self.has(*keys) else None

    def flag(self, *keys: str, default: bool) -> bool:
        """A boolean; 0 and 1 are taken as well, and a null that is written down as false, as
        Python code reading the config would."""
        key, value = self._find(keys)
        if value is None:
            return default and not any(self.says(key) for key in keys)
        if value in (0, 1) and isinstance(value, (bool, int)):
            return bool(value)
        raise self.error(key, value, "true or false")

    def number(self, *keys: str, default: float) -> float:
        """A finite real number (ratios)."""
        key, value = self._find(keys)
        if value is None:
            return float(default)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.error(key, value, "a number")
        if not abs(value) <= MAX_DIM:  # infinite, no number at all, or too large for a float
            raise self.error(key, value, "a finite number")
        return float(value)

    def text(self, *keys: str, default: str | None = None) -> str | None:
        """A string, or the default."""
        key, value = self._find(keys)
        if value is None:
            return default
        if not isinstance(value, str):
            raise self.error(key, value, "a string")
        return value

    def word(self, key: str, *known: str, default: str | None = None) -> str:
        """One of the ``known`` words; absent, the first unless ``default`` is given."""
        value = self.text(key, default=default or known[0])
        if value is None or value not in known:
            raise self.error(key, value, " or ".join(known))
        return value

    def dims(
        self,
        *keys: str,
        default: Sequence[int] | None = None,
        minimum: int = 1,
        maximum: int = MAX_DIM,
        count: int | None = None,
        least: int = 0,
        most: int = MAX_COUNT,
    ) -> tuple[Dim, ...]:
        """A list of sizes, ``count`` of them or from ``least`` to ``most``; a single int stands for
        a list of one."""
        key, items = self._entries(keys, default, count, least, most, single=True)
        self._note(keys, key, items)
        return tuple(
            Dim(self._integer(f"{key}[{i}]", item, minimum, maximum), f"{self.path}{key}[{i}]")
            for i, item in enumerate(items)
        )

    def strings(
        self,
        *keys: str,
        default: Sequence[str] | None = None,
        count: int | None = None,
        least: int = 0,
    ) -> tuple[str, ...]:
        """A list of strings (layer types), ``count`` of them or at ``least`` so many."""
        key, items = self._entries(keys, default, count, least)
        for item in items:
            if not isinstance(item, str):
                raise self.error(key, item, "strings")
        return tuple(items)

    def flags(
        self, *keys: str, default: Sequence[bool] | None = None, count: int | None = None
    ) -> tuple[bool, ...]:
        """A list of booleans (or of 0 and 1), ``count`` of them."""
        key, items = self._entries(keys, default, count)
        for item in items:
            if not (isinstance(item, (bool, int)) and item in (0, 1)):
                raise self.error(key, item, "booleans")
        return tuple(bool(item) for item in items)

    def section(self, *keys: str, default: Mapping[str, Any] | None = None) -> ModelConfig:
        """A nested config; an absent one is empty, so the family's defaults apply. Raises
        UnknownArchitectureError where ``backbone`` stands in place of it: a repo's config, or a
        model of timm's."""
        key, value = self._find(keys)
        if key == "backbone_config" and value is None and self.has("backbone"):
            backbone = self.raw("backbone")
            raise self.unknown("backbone", backbone, "its own config under backbone_config")
        if value is None:
            value = dict(default or {})
        if not isinstance(value, Mapping):
            raise self.error(key, value, "an object")
        kind = self._keys.sections.get(key)
        fixed = key in self._keys.fixed
        return self._of(value, f"{self.path}{key}.", kind, fixed=fixed)

    def sections(self) -> tuple[ModelConfig, ...]:
        """Nested configs: those that are written down, and those that the class has without."""
        defaulted = (key for key in self._keys.sections if not self.says(key))
        written = (key for key, value in self.values.items() if isinstance(value, Mapping))
        return tuple(self.section(key) for key in (*written, *defaulted))

    def with_defaults(self, **defaults: Any) -> ModelConfig:
        """The same config with family defaults under what the file says; a null takes the default
        unless it stands for false (see ``flag``)."""
        aliases = self._keys.key_of
        values = dict(self.file_values)
        for key, default in defaults.items():
            key = aliases.get(key, key)
            if values.get(key) is None and not (key in values and isinstance(default, bool)):
                values[key] = default  # an alias that the file has still comes first
        return self._of(values, self.path, self.kind, fixed=self.fixed)

    def with_values(self, **values: Any) -> ModelConfig:
        """The same config with these in place of what the file says."""
        return self._of({**self.file_values, **values}, self.path, self.kind, fixed=self.fixed)

    def read_as(self, kind: str | None) -> ModelConfig:
        """The same config read by the class of ``kind``, where it does not name a model_type."""
        return self._of(self.file_values, self.path, kind)

    def _of(
        self, values: Mapping[str, Any], path: str, kind: str | None, *, fixed: bool = False
    ) -> ModelConfig:
        """Another view of what the same release saved."""
        return ModelConfig(values, path, kind, fixed=fixed, saved_by=self.saved_by)

    def saved_between(self, first: str, end: str) -> bool:
        """Whether transformers of a release from ``first`` on and before ``end`` ("4.57") saved the
        config; where it names no release, or none that can be read, False."""
        releases = _RELEASES.get()
        if self.saved_by is None:
            if releases is not None:
                releases.add(end)
            return False
        return _numbers(first) <= self.saved_by < _numbers(end)

    def of_type(self, *types: str) -> ModelConfig:
        """The same config. Raises UnknownArchitectureError where it names a model_type that is none
        of these."""
        if self.model_type not in (None, *types):
            raise self.unknown("model_type", self.model_type, " or ".join(types))
        return self

    def brings(self, code: str) -> bool:
        """Whether ``auto_map`` names code of the repo's own with ``code`` in its path."""
        auto_map = self.raw("auto_map")
        return isinstance(auto_map, dict) and any(code in str(path) for path in auto_map.values())

    @property
    def fields(self) -> ModelConfig:
        """The config before aliases are set: what ``__post_init__`` of its class computes from."""
        aliases = self._keys.key_of
        plain = {key: value for key, value in self.file_values.items() if key not in aliases}
        return self._of(plain, self.path, self.kind, fixed=self.fixed)

    # ---- keys that every family shares

    @property
    def num_labels(self) -> Dim:
        """Width of a classifier: num_labels, else the labels listed in id2label, else 2.

        Files have both where a library before 2020 was given another number than id2label has; the
        number is what the classifier was made with, and what transformers makes of them now.
        """
        if self.has("num_labels"):
            return self.dim("num_labels")
        labels = self.raw("id2label")
        if labels is not None:
            if not isinstance(labels, (dict, list)) or not labels:
                raise self.error("id2label", labels, "a non-empty object")
            return Dim(
                len(labels), self.path + "num_labels", definition="number of labels in id2label"
            )
        return self.dim("_num_labels", default=2)

    def tied(self, *, default: bool = True) -> bool:
        """tie_word_embeddings; transformers' own default is true."""
        return self.flag("tie_word_embeddings", default=default)

    @property
    def padding_idx(self) -> int | None:
        """pad_token_id as an embedding shows it; anything but a number is none."""
        token = self.raw("pad_token_id")
        return token if isinstance(token, int) and not isinstance(token, bool) else None

    # ---- errors

    def error(self, key: str, value: object, expected: str) -> ConfigError:
        """A ConfigError that names the key."""
        return self._wrong(key, f"is {_shown(value)}", expected)

    def miscounted(self, key: str, count: int, expected: str) -> ConfigError:
        """A ConfigError about a list of so many entries."""
        entries = "entry" if count == 1 else "entries"
        return self._wrong(key, f"has {count:,} {entries}", expected)

    def missing(self, key: str) -> ConfigError:
        expected = "a value, since this model type has no default for it"
        return self._wrong(key, "is missing", expected)

    def _wrong(self, key: str, problem: str, expected: str) -> ConfigError:
        key = self.path + key
        return ConfigError(f"config key {key}", problem, key=key, expected=expected)

    def uncatalogued(self, what: str, nearest: Sequence[str] = ()) -> UnknownArchitectureError:
        """The error of a form of a model that no family builds."""
        return UnknownArchitectureError(
            what,
            "is not in the catalog",
            where=self.path.rstrip(".") or None,
            nearest=nearest,
            hint="a checkpoint's headers are read without the catalog",
        )

    def unknown(self, key: str, value: object, expected: str) -> UnknownArchitectureError:
        """The same where one key says it: the config may well be sound."""
        return UnknownArchitectureError(
            f"config key {self.path}{key}",
            f"is {_shown(value)}",
            expected=expected,
            hint="a checkpoint's headers are read without the catalog",
        )

    def divided(self, value: int, by: int, what: str, key: str) -> Dim:
        """``value / by`` where the model needs it to be exact; else ConfigError naming ``key``."""
        if int(by) <= 0 or int(value) % int(by):
            raise self.error(key, int(by), f"a divisor of {what} = {int(value)}")
        return exact(value) // by

    # ---- checks

    def _integer(self, key: str, value: object, minimum: int, maximum: int) -> int:
        if isinstance(value, float) and value.is_integer():
            value = int(value)  # JSON writers of other languages spell 64 as 64.0
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.error(key, value, "an integer")
        if value < minimum:
            raise self.error(key, value, f"at least {minimum}")
        if value > maximum:
            raise self.error(key, value, f"at most {maximum:,}")
        return value

    def _entries(
        self,
        keys: Sequence[str],
        default: Sequence[Any] | None,
        count: int | None,
        least: int = 0,
        most: int = MAX_COUNT,
        *,
        single: bool = False,
    ) -> tuple[str, list[Any]]:
        """The key of a list, and what is in it; ``single``: a bare int is the one entry."""
        key, value = self._find(keys)
        if value is None:
            if default is None:
                raise self.missing(key)
            value = list(default)
        if single and isinstance(value, int) and not isinstance(value, bool):
            value = [value]
        if not isinstance(value, (list, tuple)):
            raise self.error(key, value, "a list")
        if len(value) > most:
            raise self.miscounted(key, len(value), f"at most {most:,}")
        if count is not None and len(value) != count:
            raise self.miscounted(key, len(value), f"{int(count):,}")
        if len(value) < least:
            raise self.miscounted(key, len(value), f"at least {int(least)}")
        return key, list(value)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def exact(value: int) -> Dim:
    """A number of the model's own code, as a Dim."""
    return value if isinstance(value, Dim) else Dim(value, Constant(value))
