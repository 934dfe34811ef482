"""The catalog: which builder makes which class, found by exact name.

A family file calls ``register`` once per model_type (or group of types that share all builders);
a file of ``architectures/traced/`` is a family as data (``traced.py``).
The files of ``architectures/`` are the catalog. ``index.json`` says which of them holds which type
and class, so that one file is imported and not all; it is generated from what they register.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import pkgutil
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import field
from functools import cache
from typing import Any, NamedTuple

from ..core.config import ModelConfig
from ..core.json_form import JsonForm
from ..core.records import dataclass
from ..errors import UnknownArchitectureError, UnnamedModelError
from . import timm, trace_files
from .learned_activations import check_activations
from .modules import Module, Parameter
from .trace_files import TRACED

#: A builder makes the root module of one class from its config.
Builder = Callable[[ModelConfig], Module]

#: The room of the families: one file each.
_FAMILIES = f"{__package__.rpartition('.')[0]}.architectures"


@dataclass(frozen=True)
class Family(
    JsonForm,
    without="classes base base_prefix aliases file generates",
    names={"class_names": "classes"},
    after={"classes": "category", "default": "classes"},
):
    """What the catalog knows of one model_type.

    ``classes`` maps class name -> builder; the first is taken where config.json names none.
    ``base`` is the class that AutoModel would build: what a composite embeds.  ``base_prefix`` is
    the attribute under which a head class keeps the base model: files on the Hub come with and
    without it.  ``aliases`` maps prefixes of other spellings found in files to ours. ``file`` is
    the file of ``architectures/`` that registers the family, without its ending. ``generates`` are
    classes whose cache was recorded although neither their names nor the category say that they
    generate.

    Fields:
        model_types: of config.json; empty where the library has classes alone
        category: its kind: ``text decoder``, ``vision``, ``multimodal``, ...
        source: where shapes come from: a library, or a file of remote code
    """

    model_types: tuple[str, ...]
    classes: Mapping[str, Builder] = field(hash=False)
    base: str | None = None
    base_prefix: str = ""
    aliases: Mapping[str, str] = field(default_factory=dict, hash=False)
    category: str = ""
    source: str = "transformers"
    file: str = ""
    generates: frozenset[str] = frozenset()

    @property
    def class_names(self) -> tuple[str, ...]:
        """The classes, the most common first."""
        return tuple(self.classes)

    @property
    def default(self) -> str:
        """The class where config.json names none."""
        return next(iter(self.classes))

    def gave_name(self, class_name: str) -> bool:
        """Whether the class is named after one of the model types: LlamaForCausalLM, llama."""
        stems = (re.sub(r"[-_.]", "", model_type).lower() for model_type in self.model_types)
        return class_name.lower().startswith(tuple(stems))


class Index(NamedTuple):
    """model_type -> family file; class name -> (family file, a model_type of the family or "")."""

    types: Mapping[str, str] = field(hash=False)
    classes: Mapping[str, tuple[str, str]] = field(hash=False)


_BY_TYPE: dict[str, Family] = {}
_BY_CLASS: dict[str, Family] = {}
_TRACED_LOADED: set[str] = set()


def register(
    model_types: str | tuple[str, ...],
    classes: Mapping[str, Builder],
    *,
    base: str | None = "",
    base_prefix: str = "",
    aliases: Mapping[str, str] | None = None,
    category: str,
    source: str = "transformers",
) -> Family:
    """Add a family. ``base`` is the first class whose name ends in Model, unless another is given
    (None: no class); diffusion models have none. ``category`` is the README table's row: ``text
    decoder``, ``encoder``, ``encoder-decoder``, ``audio``, ``vision``, ``multimodal``,
    ``diffusion``."""
    types = (model_types,) if isinstance(model_types, str) else model_types
    if base == "":
        models = (name for name in classes if name.endswith("Model") and category != "diffusion")
        base = next(models, None)
    family = Family(
        types, dict(classes), base, base_prefix, dict(aliases or {}), category, source, _caller()
    )
    for model_type in types:
        if model_type in _BY_TYPE:
            raise ValueError(f"two families for model_type {model_type!r}")
        _BY_TYPE[model_type] = family
    _add_classes(family)
    return family


def register_part(
    model_type: str | tuple[str, ...],
    class_name: str,
    build: Builder | Mapping[str, Callable[[ModelConfig], Module | Parameter | None]],
    category: str = "multimodal",
    source: str = "transformers",
    prefix: str = "",
) -> Family:
    """Add a model_type with one class, built or of its parts, which is its base: a section of a
    composite, or what a release with code of its own consists of."""

    def root_of(c: ModelConfig) -> Module:
        if isinstance(build, Mapping):
            return Module(class_name, {at: part(c) for at, part in build.items()})
        return build(c)

    return register(
        model_type,
        {class_name: root_of},
        base=class_name,
        base_prefix=prefix,
        category=category,
        source=source,
    )


def register_pair(
    model_type: str | tuple[str, ...],
    name: str,
    with_head: Builder,
    model: Builder,
    category: str,
    *,
    ending: str = "ForConditionalGeneration",
    prefix: str = "model",
    **options: Any,
) -> Family:
    """Add a family of two classes: ``{name}Model``, and what keeps it under ``prefix``."""
    classes = {f"{name}{ending}": with_head, f"{name}Model": model}
    return register(model_type, classes, base_prefix=prefix, category=category, **options)


def _add_classes(family: Family) -> None:
    for name in family.classes:
        # Some types take the classes of another (internlm3: LlamaForCausalLM).
        if name not in _BY_CLASS or (
            family.gave_name(name) and not _BY_CLASS[name].gave_name(name)
        ):
            _BY_CLASS[name] = family


def _caller() -> str:
    """The family file that is being imported; what it calls may register in its name."""
    frame = sys._getframe()
    while frame.f_code.co_name != "<module>" and frame.f_back is not None:
        frame = frame.f_back
    return str(frame.f_globals["__name__"]).rpartition(".")[2]


def registered() -> tuple[Mapping[str, Family], Mapping[str, Family]]:
    """By model_type and by class name, what all family files register."""
    load_all()
    return _BY_TYPE, _BY_CLASS


@cache
def index() -> Index:
    """``index.json``: for each file the types in it, and the classes of each. Written by ``python
    -m tests.regenerate`` from what the files register; a test compares the two."""
    content = pkgutil.get_data(__package__, "index.json")
    assert content is not None
    types: dict[str, str] = {}
    classes: dict[str, tuple[str, str]] = {}
    for file, kinds in json.loads(content).items():
        for kind, names in kinds.items():
            if kind:
                types[kind] = file
            classes |= dict.fromkeys(names.split(), (file, kind))
    return Index(types, classes)


def load_all() -> None:
    """Import every family file, in order of their names."""
    package = importlib.import_module(_FAMILIES)
    for name in sorted(info.name for info in pkgutil.iter_modules(package.__path__)):
        _load(name)
    for file in traced_files():
        _load(file)


def traced_files() -> list[str]:
    """The families that are data: ``traced/<name>`` of each."""
    return trace_files.names(_FAMILIES)


def families() -> tuple[Family, ...]:
    """All families, each once, in order of their first model_type or class."""
    load_all()
    unique = {id(family): family for family in (*_BY_TYPE.values(), *_BY_CLASS.values())}
    return tuple(sorted(unique.values(), key=lambda f: (f.model_types or (f.default,))[0]))


def find_type(model_type: str) -> Family | None:
    """The family of a model_type, or None."""
    if model_type not in _BY_TYPE:
        file = index().types.get(model_type) or _file_named_after(model_type)
        if file is not None:
            _load(file)
    return _BY_TYPE.get(model_type)


def find_class(class_name: str) -> Family | None:
    """The family that builds a class, or None."""
    if class_name not in index().classes:
        return _BY_CLASS.get(class_name)
    file, model_type = index().classes[class_name]
    _load(file)
    return _BY_TYPE[model_type] if model_type else _BY_CLASS[class_name]


def builder(class_name: str) -> Builder:
    """What builds a class. Raises UnknownArchitectureError."""
    family = find_class(class_name)
    if family is None:
        raise _unknown(class_name, sorted(index().classes), None, "class")
    return family.classes[class_name]


def _load(file: str) -> None:
    if not file.startswith(TRACED):
        importlib.import_module(f"{_FAMILIES}.{file}")
    elif file not in _TRACED_LOADED:
        family = traced_family(json.loads(trace_files.content(_FAMILIES, file)), file)
        _TRACED_LOADED.add(file)
        for model_type in family.model_types:
            # Where a family of the type is written, a trace adds the classes that it lacks.
            if model_type not in index().types or index().types[model_type] == file:
                _BY_TYPE.setdefault(model_type, family)
        _add_classes(family)


def traced_family(trace: Mapping[str, Any], file: str = "") -> Family:
    """The family that a trace describes."""
    from .traced import builders

    model_types = trace["model_type"]  # null for diffusers, whose configs name a class alone
    classes = builders(trace, builder)
    if trace.get("library") == "timm":
        classes = {name: timm.builder(name, build) for name, build in classes.items()}
    return Family(
        () if model_types is None else (str(model_types), *map(str, trace.get("also", ()))),
        classes,
        trace.get("base"),
        str(trace.get("base_prefix", "")),
        {str(theirs): str(ours) for theirs, ours in trace.get("aliases", {}).items()},
        category=str(trace["category"]),
        source=str(trace.get("library", "transformers")),
        file=file,
        generates=frozenset(
            str(name)
            for name, entry in trace["classes"].items()
            if entry.get("cache", {}).get("generates")
        ),
    )


def _file_named_after(model_type: str) -> str | None:
    """The file of a family that was written a minute ago and is not in the index yet."""
    file = re.sub(r"[-.]", "_", model_type).lower()
    known = file.isidentifier() and importlib.util.find_spec(f"{_FAMILIES}.{file}") is not None
    return file if known else None


#: Why a class was chosen that config.json does not name.
MOST_COMMON = "the most common class of the model_type"


@dataclass(frozen=True)
class FamilyChoice:
    """Which class of which family a config means, and why."""

    family: Family
    class_name: str
    model_type: str | None
    because: str


def choose(config: ModelConfig) -> FamilyChoice:
    """The class that a config describes.

    architectures[0] (diffusers: _class_name) chooses; absent, the family's first class.
    Raises UnknownArchitectureError, naming the nearest known types.
    """
    model_type = config.model_type
    class_names = config.architectures[:1] or tuple(
        name for name in (config.text("_class_name") or timm.named(config),) if name is not None
    )
    family = find_type(model_type) if model_type else None
    if class_names:
        name = class_names[0]
        if family is not None and name in family.classes:
            return FamilyChoice(family, name, model_type, "architectures[0]")
        by_class = find_class(name)
        if by_class is not None and by_class.source == "timm" and timm.named(config) != name:
            by_class = None  # a class of another library that has the name of an architecture
        if by_class is not None:
            return FamilyChoice(by_class, name, model_type, "architectures[0]")
        if family is not None:
            raise _unknown(name, sorted(family.classes), f"model_type {model_type}", "class")
    if family is not None:
        return FamilyChoice(family, family.default, model_type, MOST_COMMON)
    if not model_type and not class_names:
        raise UnnamedModelError(
            "config.json",
            "names neither model_type nor architectures",
            key="model_type",
            expected="one of both",
            hint="the catalog lists the model types that are known",
        )
    if timm.named(config) is not None:
        raise timm.unknown(class_names[0])
    known = sorted(index().types if model_type else index().classes)
    raise _unknown(
        model_type or class_names[0], known, None, "model_type" if model_type else "class"
    )


def _unknown(name: str, known: list[str], where: str | None, what: str) -> UnknownArchitectureError:
    from difflib import get_close_matches

    nearest = get_close_matches(name, known, n=3, cutoff=0.4)
    return UnknownArchitectureError(
        f"{what} {name!r}",
        "is not in the catalog",
        where=where,
        nearest=nearest,
        hint=(f"nearest known: {', '.join(nearest)}" if nearest else "no similar name is known")
        + "; a checkpoint's headers are read without the catalog, "
        "or install hfinspect[transformers]",
    )


def nothing_like(text: str) -> UnknownArchitectureError:
    """The error for a text that no model type and no class contains, with the nearest names."""
    known = {name.lower(): name for name in (*index().classes, *index().types)}
    from difflib import get_close_matches

    nearest = [known[name] for name in get_close_matches(text.lower(), known, n=3)]
    return UnknownArchitectureError(
        repr(text),
        "is in no model type and no class of the catalog",
        nearest=nearest,
        hint=f"nearest known: {', '.join(nearest)}"
        if nearest
        else UnknownArchitectureError.usual_hint,
    )


def auto_model(
    config: ModelConfig, *, default_type: str | None = None, part: str | None = None
) -> Module:
    """The base model of a nested config, as AutoModel.from_config would build it.

    ``default_type`` applies where the section names no model_type. The result is a scope of its own
    for ties. Raises UnknownArchitectureError.
    """
    return _nested(config, default_type, part, lambda family: family.base or family.default)


def auto_class(
    config: ModelConfig,
    suffix: str | tuple[str, ...],
    *,
    default_type: str | None = None,
    part: str | None = None,
) -> Module:
    """The family's class whose name ends with ``suffix`` (``ForCausalLM``), for composites; of
    several endings the first class that has any."""

    def pick(family: Family) -> str:
        for name in family.classes:
            if name.endswith(suffix):
                return name
        raise _unknown(f"...{suffix}", sorted(family.classes), family.model_types[0], "class")

    return _nested(config, default_type, part, pick)


def _nested(
    config: ModelConfig, default_type: str | None, part: str | None, pick: Callable[[Family], str]
) -> Module:
    model_type = config.model_type or default_type
    family = find_type(model_type) if model_type else None
    if family is None:
        where = f"config.json: {config.path.rstrip('.')}"
        raise _unknown(str(model_type), sorted(index().types), where, "model_type")
    name = pick(family)
    module = family.classes[name](config.read_as(model_type))
    if config.path:  # the whole config is checked with its root
        check_activations(name, config, module)
    module.scope = True
    module.part = part or module.part
    return module
