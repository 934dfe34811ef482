"""Prediction: the tensors that a config.json predicts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from functools import cached_property
from typing import Any, TypeVar

from ..core.components import Role
from ..core.config import ModelConfig, Reads, keys_read, reads_noted, releases_noted
from ..core.config_keys import keys_of
from ..core.display import Shown, counted
from ..core.records import dataclass
from ..core.tensor import TORCH_DTYPES, TensorSpec
from ..core.tensor_copies import Copies
from ..core.text import of_type
from ..errors import ConfigError
from .catalog import Family, FamilyChoice, choose
from .expand import expected_tensors
from .float32 import float32_suffixes, in_float32
from .learned_activations import check_activations
from .modules import Module

T = TypeVar("T")


@dataclass(frozen=True, repr=False)
class Prediction(Shown):
    """The model that a config describes, from the catalog alone.

    Fields:
        model_type: of config.json
        architecture: the class that was built
        root: the tree of modules, of which everything else is read
        family: the catalog's entry; None where transformers built the class
        dtype: the one that the config names, as safetensors spells it; None where it names none
        because: why this class was chosen
        read: the sizes that the class uses, by dotted config key
        float32: ends of names of what a file holds in float32, whatever ``dtype`` is
        releases: releases of transformers that save it otherwise than those before, where the
            config does not name the one that saved it
    """

    model_type: str | None
    architecture: str
    root: Module
    family: Family | None = None
    dtype: str | None = None
    because: str = ""
    read: Reads = field(default_factory=dict, repr=False, compare=False)
    float32: tuple[str, ...] = field(default=(), repr=False, compare=False)
    releases: tuple[str, ...] = field(default=(), repr=False, compare=False)

    def _in_a_line(self) -> str:
        return f"{self.architecture}: {counted(self.parameters)}"

    @cached_property
    def specs(self) -> Copies[TensorSpec]:
        """Every tensor of the tree: saved or not, tied or not."""
        return in_float32(expected_tensors(self.root), self.float32)

    @cached_property
    def tensors(self) -> Copies[TensorSpec]:
        """What a freshly saved checkpoint holds: tied duplicates left out, buffers in."""
        return self.specs.where(is_saved)

    @cached_property
    def tied(self) -> dict[str, str]:
        """Name left out -> name kept."""
        tied_specs = self.specs.where(lambda spec: bool(spec.tied_to and spec.saved))
        return {spec.name: spec.tied_to for spec in tied_specs if spec.tied_to}

    @cached_property
    def extras(self) -> Copies[TensorSpec]:
        """What files on the Hub may hold and transformers does not save."""
        return self.specs.where(lambda spec: not spec.saved)

    @cached_property
    def _made(self) -> dict[str, tuple[object, Any]]:
        return {}

    def memoized(self, name: str, key: object, make: Callable[[], T]) -> T:
        """What ``make`` makes of it, under a name, and of what is ``key``: once, while equal
        things are given. One prediction may serve a thousand models."""
        before = self._made.get(name)
        if before is None or before[0] != key:
            before = self._made[name] = key, make()
        result: T = before[1]
        return result

    @cached_property
    def parameters(self) -> int:
        """Unique parameters; buffers are not counted."""
        return sum(spec.parameters * count for spec, count in self.tensors.counted())

    @cached_property
    def buffers(self) -> int:
        """Elements of saved buffers."""
        counted = self.tensors.counted()
        return sum(spec.elements * count for spec, count in counted if spec.role is Role.BUFFER)

    @cached_property
    def active_parameters(self) -> int:
        """Parameters used per token: of routed experts, k of n."""
        sums: dict[tuple[int, int] | None, int] = {}
        for spec, count in self.tensors.counted():
            sums[spec.active] = sums.get(spec.active, 0) + spec.parameters * count
        return active_sum(sums)


def is_saved(spec: TensorSpec) -> bool:
    """Whether a freshly saved checkpoint holds the tensor under this name."""
    return spec.saved and spec.tied_to is None


def active_sum(sums: Mapping[tuple[int, int] | None, int]) -> int:
    """Parameters that serve one token, of sums by (k, n): how many of how many experts serve it,
    None for what serves every token.

    Exact: n experts of a shape divide evenly, while one expert's tensor alone need not.
    """
    return sum(
        total if active is None or not total else total * active[0] // active[1]
        for active, total in sums.items()
    )


def _built(choice: FamilyChoice, config: ModelConfig) -> Module:
    """Raises UnknownArchitectureError where layers differ in a way that the class does not look at:
    such a model has other sizes than its keys say."""
    make = choice.family.classes[choice.class_name]
    differing = dict(_differing(config.file_values))

    def build(c: ModelConfig) -> Module:
        root = make(c)
        check_activations(choice.class_name, c, root)
        return root

    if not differing:
        return build(config)
    with keys_read() as spellings_read:
        root = build(config)
    read = {key for spellings in spellings_read for key in spellings}
    for key, value in differing.items():
        if config.path + key not in read:
            raise config.unknown(key, value, "none: this class has layers alike")
    return root


def _differing(values: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """Where a config says that layers have sizes of their own, not windows alone: any class of
    transformers takes the key (integrations/heterogeneity), few build such models. Heads were taken
    out of layers by transformers before 5."""
    for key, value in values.items():
        if key == "pruned_heads" and isinstance(value, Mapping) and any(value.values()):
            yield path + key, value
        elif key == "per_layer_config":
            layers = value.values() if isinstance(value, Mapping) else [value]
            if any(set(one) - {"sliding_window"} for one in layers if isinstance(one, Mapping)):
                yield path + key, value
        elif isinstance(value, Mapping):
            yield from _differing(value, f"{path}{key}.")


def predict(config: Mapping[str, Any] | ModelConfig) -> Prediction:
    """The tensors of a config.json given as a mapping.

    Raises ConfigError (a key is malformed, named) and UnknownArchitectureError.
    """
    if not isinstance(config, ModelConfig):
        if not isinstance(config, Mapping):
            raise ConfigError(
                "config", f"is {of_type(config)}", expected="a mapping, as in config.json"
            )
        config = ModelConfig(config)
    choice = choose(config)
    try:
        described = part_described(config, choice)
        if described.kind is None:
            described = described.read_as(next(iter(choice.family.model_types), None))
        with reads_noted() as read, releases_noted() as releases:
            root = _built(choice, described)
    except RecursionError:
        raise ConfigError("config.json", "is nested too deeply") from None
    kind = choice.model_type or (choice.family.model_types or (None,))[0]
    dtype = config_dtype(config)
    return Prediction(
        model_type=kind,
        architecture=choice.class_name,
        root=root,
        family=choice.family,
        dtype=dtype,
        because=choice.because,
        float32=float32_suffixes(config, kind, dtype),
        read=read,
        releases=tuple(sorted(releases)),
    )


#: Sizes of a config that describes a model by itself.
_SIZES = ("hidden_size", "n_embd", "d_model", "embed_dim", "dim", "hidden_sizes", "width")
#: Composites of composites: qwen2_5_omni -> thinker_config -> vision_config.
_DEEPEST = 3


def part_described(config: ModelConfig, choice: FamilyChoice) -> ModelConfig:
    """The section of a composite's config that describes the part which its class is.

    ``Gemma3ForCausalLM`` of a ``gemma3`` config has its sizes in ``text_config``,
    ``MusicgenForCausalLM`` in ``decoder``. Source: ``base_config_key`` and ``sub_configs_defaults``
    in transformers/configuration_utils.py; where no section is of the type, the text section of a
    config without sizes of its own.

    Raises ConfigError where sections are there and none describes the class, or more than one.
    """
    family = choice.family
    model_type = config.model_type
    if model_type is None or model_type in family.model_types:
        return config
    sections = _sections_of(config, family.model_types)
    if len(sections) > 1:
        places = " and ".join(section.path.rstrip(".") for section in sections)
        raise _not_described(choice, f"has the sizes of {places}", "a section of its own")
    if sections:
        return sections[0]
    # What is recorded of sections is known of the library's classes alone.
    composite = any(keys_of(name).sections for name in family.model_types)
    if composite or family.source != "transformers" or config.has(*_SIZES) or not config.sections():
        return config
    if family.category == "text decoder" and config.has("text_config"):
        return config.section("text_config")
    raise _not_described(choice, "has no section", "one whose model_type is the class's")


def _sections_of(config: ModelConfig, model_types: tuple[str, ...]) -> list[ModelConfig]:
    """The outermost sections of one of the types; equal ones once."""
    level = [config]
    for _ in range(_DEEPEST):
        level = [section for outer in level for section in outer.sections()]
        distinct: dict[str, ModelConfig] = {}
        for section in level:
            if section.kind in model_types:
                distinct.setdefault(repr(section.file_values), section)
        if distinct:
            return list(distinct.values())
    return []


def _not_described(choice: FamilyChoice, problem: str, expected: str) -> ConfigError:
    return ConfigError(
        "config.json",
        f"{problem} for {choice.class_name}",
        expected=expected,
        hint=f"a config of model_type {' or '.join(choice.family.model_types)} describes it",
    )


#: Where composites say what their text model is like.
_TEXT_SECTIONS = ("text_config", "thinker_config", "language_config", "llm_config")


def config_dtype(config: ModelConfig) -> str | None:
    """``dtype`` (``torch_dtype`` in older files) in the spelling of safetensors, or None."""
    dtype = config.raw("dtype", "torch_dtype")
    if dtype is None:
        sections = [config.section(key) for key in _TEXT_SECTIONS if config.has(key)]
        dtype = next((s.raw("dtype", "torch_dtype") for s in sections), None)
    if not isinstance(dtype, str):
        return None
    return TORCH_DTYPES.get(dtype.removeprefix("torch."))
