"""The seam to a library: its types and classes, configs, builds, and the names that it saves.

``Transformers`` is one. Another library gives the same methods; a ``given`` is always a plain
mapping as config.json has it, without ``model_type``.
"""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from random import Random
from typing import Any, Protocol

from .. import deliberate, fuzz, mutating, saved
from .changing import without
from .comparing import compared
from .observing import ALWAYS, Saved

Given = Mapping[str, Any]


class Library(Protocol):
    """What recording needs of a library."""

    name: str
    version: str
    #: Modules in which ``int``, ``max`` and ``min`` keep numbers that remember their expression.
    packages: tuple[str, ...]

    def model_type(self, kind: str) -> str | None:
        """What config.json calls the kind; None where only its class is named."""
        ...

    def classes(self, kind: str) -> list[str]: ...
    def starts(
        self, kind: str, class_name: str, released: Given | None = None
    ) -> Iterator[dict[str, Any]]:
        """Configs to begin with, small ones first, ``released`` itself last."""
        ...

    def released(self, kind: str, class_name: str) -> list[dict[str, Any]]:
        """Configs of published models that a trace of the default config may not answer."""
        ...

    def full(self, kind: str, class_name: str, given: Given) -> dict[str, Any]:
        """The config in full, what the library computes itself included."""
        ...

    def as_saved(self, kind: str, class_name: str, given: Given) -> dict[str, Any]:
        """The config as the library would save it: what is default left out."""
        ...

    def build(self, kind: str, class_name: str, given: Given) -> Saved: ...
    def saved_names(self, kind: str, class_name: str, given: Given) -> dict[str, tuple[int, ...]]:
        """What the library's own way of saving writes: ``build`` has to give the same."""
        ...

    def loaded_names(self, kind: str, class_name: str, given: Given) -> dict[str, tuple[int, ...]]:
        """The same of a model that the library builds from its config.json: what the gate takes."""
        ...

    def mutated(self, kind: str, class_name: str, base: Given, rng: Random) -> dict[str, Any]:
        """``base`` with a few keys changed as users do, in a spelling that files have."""
        ...

    def run(self, kind: str, class_name: str, given: Given) -> None:
        """Only construct, on the current device: numbers of ``given`` may be symbols."""
        ...

    def sections(self, kind: str, class_name: str) -> dict[str, str]:
        """Dotted key of each nested config -> the type that it has by default."""
        ...

    def optional(self, kind: str, class_name: str) -> dict[str, str]:
        """Dotted key -> annotation, of keys that may be null."""
        ...

    def looked_at(self, kind: str, class_name: str, given: Given) -> set[str]:
        """Names of config attributes that the model's code reads."""
        ...

    def words(self, kind: str, class_name: str) -> Mapping[str, set[str]]:
        """Names of config attributes -> words that the model's code compares them with."""
        ...

    def unlisted(self, kind: str, class_name: str) -> dict[str, list[Any]]:
        """Dotted keys that the library reads although no config class lists them, and values."""
        ...

    def hidden(self, kind: str, class_name: str) -> dict[str, Any]:
        """Of these keys what they stand for where they are absent, if that is known."""
        ...

    def config_json(self, kind: str, class_name: str, given: Given) -> dict[str, Any]:
        """``given`` as config.json names it: with its type and class."""
        ...

    def about(self, kind: str) -> dict[str, Any]:
        """``category``, ``base`` (the class of a section), ``base_prefix``."""
        ...


class Transformers:
    """transformers: kinds are model types."""

    name = "transformers"
    packages: tuple[str, ...] = (
        "transformers.models.",
        "transformers.modeling",
        "transformers.backbone",
    )

    def __init__(self) -> None:
        import torch
        import transformers

        transformers.logging.set_verbosity(transformers.logging.CRITICAL)
        transformers.PreTrainedConfig.__repr__ = object.__repr__
        torch.set_num_threads(1)
        self.version = transformers.__version__
        # The conversion of names compiles a pattern a tensor, the same ones in every build.
        re._MAXCACHE = 200_000  # type: ignore[attr-defined]

    def _class(self, name: str) -> Any:
        return saved.model_class(name)

    def _config_class(self, kind: str) -> Any:
        from transformers import CONFIG_MAPPING

        if kind in CONFIG_MAPPING:
            return CONFIG_MAPPING[kind]
        from ..record_config_keys import config_classes

        return config_classes()[kind]

    def _config(self, kind: str, given: Given) -> Any:
        return self._config_class(kind)(**given)

    def types(self) -> list[str]:
        from transformers import CONFIG_MAPPING

        return sorted(CONFIG_MAPPING)

    def model_type(self, kind: str) -> str | None:
        return kind

    def classes(self, kind: str) -> list[str]:
        """Of the config class's own package, and what auto classes build for the type: to import
        every model of the library takes longer than to record one."""
        own = self._config_class(kind)
        package = importlib.import_module(own.__module__.rpartition(".")[0])
        names = {*getattr(package, "__all__", dir(package)), *saved._auto_classes(kind)}
        pairs = ((name, saved._class(name)) for name in sorted(names))
        return [name for name, cls in pairs if cls is not None and cls.config_class is own]

    def released(self, kind: str, class_name: str) -> list[dict[str, Any]]:
        return []

    def starts(
        self, kind: str, class_name: str, released: Given | None = None
    ) -> Iterator[dict[str, Any]]:
        cls = self._config_class(kind)
        try:
            # What the class computes where it is absent stays absent; sections are entered.
            sections = _sections(cls())
            computed = {k for k, kind in _fields(cls()) if "None" in kind and k not in sections}
            given = without(mutating.shrunk(cls), computed)
            full = json.loads(cls().to_json_string(use_diff=False))
            yield _without_stages(given, full, _made_of(cls, given) or full)
            yield given
        except Exception as error:
            print(f"{kind}: {type(error).__name__} of its default config", file=sys.stderr)
        yield {}
        yield {"prediction_length": 3}
        stages = ["stage1", "stage2", "stage3", "stage4"]
        resnet = {"model_type": "resnet", "depths": [1, 1, 1, 1]}
        for out in (stages[-1:], stages[1:], stages):
            section = {**resnet, "out_features": out}
            yield {"backbone_config": section, "use_timm_backbone": False}
        yield from fuzz.case_configs().get(kind, ())
        try:
            fields = _fields(cls())
            empty = [k for k, t in fields if "int" in t and getattr(cls(), k, 0) is None]
            yield dict.fromkeys(empty, 32)
        except Exception as error:
            print(f"{kind}: {type(error).__name__} of its default config", file=sys.stderr)

    def full(self, kind: str, class_name: str, given: Given) -> dict[str, Any]:
        config = self._config(kind, given)
        values: dict[str, Any] = json.loads(config.to_json_string(use_diff=False))
        values["num_labels"] = config.num_labels
        return values

    def as_saved(self, kind: str, class_name: str, given: Given) -> dict[str, Any]:
        values: dict[str, Any] = json.loads(self._config(kind, given).to_json_string())
        return values

    def build(self, kind: str, class_name: str, given: Given) -> Saved:
        import torch
        from transformers.core_model_loading import revert_weight_conversion
        from transformers.initialization import no_init_weights
        from transformers.modeling_utils import remove_tied_weights_from_state_dict

        config = self._config(kind, given)
        for path, section in [("", config), *_section_configs(config)]:
            section.__dict__["_traced_as"] = path  # which copies keep
        with torch.device("meta"), no_init_weights():
            model = self._class(class_name)(config)
            model.tie_weights()  # which comes with the initialisation that is left out
        state = dict(model.state_dict(keep_vars=True))
        plain = kind in deliberate.MODULE_NAMES
        if not plain:
            for name in getattr(model, "_keys_to_ignore_on_save", None) or ():
                state.pop(name, None)
        held = dict(remove_tied_weights_from_state_dict(dict(state), model))
        turned = held if plain else revert_weight_conversion(model, dict(held))
        own_of = {id(tensor): name for name, tensor in held.items()}
        own = {n: own_of[id(t)] for n, t in turned.items() if id(t) in own_of}
        trained_own = {n for n, _ in model.named_parameters(remove_duplicate=False)}
        leaves = {n.rpartition(".")[2] for n in state.keys() - trained_own}
        leaves -= {n.rpartition(".")[2] for n in trained_own}
        trained = {
            n
            for n in turned
            if (own[n] in trained_own if n in own else n.rpartition(".")[2] not in leaves)
        }
        dtypes = {n: str(t.dtype).removeprefix("torch.") for n, t in turned.items()}
        for part in getattr(model, "_keep_in_fp32_modules_strict", None) or ():
            dtypes |= {n: ALWAYS for n in dtypes.keys() - trained if part in own.get(n, n)}
        tensors = {n: (tuple(t.shape), dtypes[n]) for n, t in turned.items()}
        tied = self._tied(model, state, held, turned, own, plain)
        for name, (kept, first) in tied.items():
            tensors[name] = tensors[kept]
            own[name] = first
            if kept in trained:
                trained.add(name)
        classes = {n: type(m).__name__ for n, m in model.named_modules(remove_duplicate=False)}
        ordered = sorted(tensors, key=_place_of(state, own))
        return Saved(
            {name: tensors[name] for name in ordered},
            own,
            {name: kept for name, (kept, _) in tied.items()},
            frozenset(trained),
            classes,
            _parts(model),
        )

    def _tied(
        self, model: Any, state: Any, held: Any, turned: Any, own: Any, plain: bool
    ) -> dict[str, tuple[str, str]]:
        """Saved name left out -> (saved name kept, module's own name)."""
        import torch
        from transformers.core_model_loading import revert_weight_conversion

        left = [name for name in state if name not in held]
        if not left:
            return {}
        saved_as = {first: name for name, first in own.items()}
        copies = {name: torch.empty_like(state[name]) for name in left}
        names = {id(tensor): name for name, tensor in copies.items()}
        try:
            both = {**held, **copies}
            after = both if plain else revert_weight_conversion(model, dict(both))
        except Exception:
            return {}
        if {name for name in after if id(after[name]) not in names} != set(turned):
            return {}
        first_of = {id(state[name]): name for name in held}
        keepers = {}
        for name, tensor in after.items():
            first = names.get(id(tensor))
            kept = saved_as.get(first_of.get(id(state[first]), "")) if first else None
            if first is not None and kept is not None:
                keepers[name] = (kept, first)
        return keepers

    def saved_names(self, kind: str, class_name: str, given: Given) -> dict[str, tuple[int, ...]]:
        cls = self._class(class_name)
        plain = kind in deliberate.MODULE_NAMES
        return saved.shapes(cls, self._config(kind, given), module_names=plain)

    def loaded_names(self, kind: str, class_name: str, given: Given) -> dict[str, tuple[int, ...]]:
        cls = self._class(class_name)
        plain = kind in deliberate.MODULE_NAMES
        config = saved.config_for(cls, self.config_json(kind, class_name, given))
        return saved.shapes(cls, config, module_names=plain)

    def mutated(self, kind: str, class_name: str, base: Given, rng: Random) -> dict[str, Any]:
        cls = self._config_class(kind)
        given = mutating.edited(base, mutating.edits(rng, cls(**base)))
        spelling = rng.choice(("given", "given", "saved", "full"))
        if spelling == "given":
            return given
        config = cls.from_dict(self.config_json(kind, class_name, given))
        spelled = json.loads(config.to_json_string(use_diff=spelling == "saved"))
        return {k: v for k, v in spelled.items() if k not in ("model_type", "architectures")}

    def run(self, kind: str, class_name: str, given: Given) -> None:
        from transformers.initialization import no_init_weights

        with no_init_weights():
            self._class(class_name)(self._config(kind, given))

    def sections(self, kind: str, class_name: str) -> dict[str, str]:
        return _sections(self._config(kind, {}))

    def optional(self, kind: str, class_name: str) -> dict[str, str]:
        return dict(_fields(self._config(kind, {})))

    def looked_at(self, kind: str, class_name: str, given: Given) -> set[str]:
        import transformers

        base = transformers.PreTrainedConfig
        keys: set[str] = set()
        real = base.__getattribute__

        def spy(self: Any, name: str) -> Any:
            if not name.startswith("_"):
                file = sys._getframe(1).f_code.co_filename
                if "modeling" in file or "/configuration_" in file or "backbone" in file:
                    keys.add(name)
            return real(self, name)

        base.__getattribute__ = spy
        try:
            import torch

            with torch.device("meta"):
                self.run(kind, class_name, given)
        finally:
            base.__getattribute__ = real
        return keys

    def words(self, kind: str, class_name: str) -> Mapping[str, set[str]]:
        return compared(self._class(class_name), "transformers.models.")

    def unlisted(self, kind: str, class_name: str) -> dict[str, list[Any]]:
        from ..unlisted_keys import SECTIONS, VALUES, places

        paths = places(self._config_class(kind))
        return {
            ".".join(path): list(SECTIONS if path[-1].endswith("_dict") else VALUES)
            for path in paths
        }

    def hidden(self, kind: str, class_name: str) -> dict[str, Any]:
        from ..unlisted_keys import defaults

        return defaults(self._config_class(kind))

    def config_json(self, kind: str, class_name: str, given: Given) -> dict[str, Any]:
        return {"model_type": kind, "architectures": [class_name], **given}

    def about(self, kind: str) -> dict[str, Any]:
        from transformers.models.auto import modeling_auto

        classes = self.classes(kind)
        named = modeling_auto.MODEL_MAPPING_NAMES.get(kind)
        named = named[0] if isinstance(named, tuple) else named
        if named not in classes:
            named = next((n for n in classes if n.endswith(("Model", "Encoder"))), None)
        prefix = str(self._class(classes[0]).base_model_prefix or "") if classes else ""
        return {
            "base": named,
            "base_prefix": prefix,
            "category": self._category(kind, classes),
        }

    def _category(self, kind: str, classes: list[str]) -> str:
        config = self._config_class(kind)
        parts = {key.rpartition("_")[0] for key in config.sub_configs}
        if len(parts & {"text", "vision", "audio", "language", "vq", "image", "qformer"}) > 1:
            return "multimodal"
        inputs = str(getattr(self._class(classes[0]), "main_input_name", "")) if classes else ""
        if "pixel" in inputs or "vision" in kind or "image" in kind:
            return "vision"
        if inputs in ("input_values", "input_features", "spectrogram", "audio_values"):
            return "audio"
        if getattr(config, "is_encoder_decoder", False) is True:
            return "encoder-decoder"
        decodes = any(name.endswith("ForCausalLM") for name in classes)
        return "text decoder" if decodes else "encoder"


def _made_of(cls: Any, given: Given) -> dict[str, Any] | None:
    """A config in full, None where its class refuses."""
    try:
        values: dict[str, Any] = json.loads(cls(**given).to_json_string(use_diff=False))
    except Exception:
        return None
    return values


def _without_stages(given: Given, full: Given, made: Given) -> dict[str, Any]:
    """Without lists, and counts that lists of the config have an entry for each of, also when it
    is ``made`` of fewer."""
    lengths = {len(v) for v in made.values() if isinstance(v, list)}
    values: dict[str, Any] = {}
    for key, value in given.items():
        if isinstance(value, dict):
            values[key] = _without_stages(value, full.get(key) or {}, made.get(key) or {})
        elif not isinstance(value, list) and full.get(key) not in lengths:
            values[key] = value
    return values


def _place_of(state: Mapping[str, Any], own: Mapping[str, str]) -> Any:
    """The order of the modules; what a conversion made comes where its parts stood."""
    places = {name: number for number, name in enumerate(state)}
    stems: dict[str, int] = {}
    for name, number in places.items():
        parts = name.split(".")
        for depth in range(1, len(parts)):
            stems.setdefault(".".join(parts[:depth]), number)

    def place(name: str) -> tuple[Any, ...]:
        position = places.get(own.get(name, name))
        if position is None:
            parts = name.split(".")
            position = next(
                (
                    stems[".".join(parts[:d])]
                    for d in range(len(parts), 0, -1)
                    if ".".join(parts[:d]) in stems
                ),
                len(places),
            )
        return position, tuple((int(p), "") if p.isdecimal() else (0, p) for p in name.split("."))

    return place


def _sections(config: Any) -> dict[str, str]:
    return {path: inner.model_type for path, inner in _section_configs(config)}


def _section_configs(config: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    for key in type(config).sub_configs:
        inner = getattr(config, key, None)
        if inner is not None and hasattr(inner, "model_type"):
            yield path + key, inner
            yield from _section_configs(inner, f"{path}{key}.")


def _parts(model: Any) -> dict[str, tuple[str, str]]:
    """Models inside a model, by the section that each is built from."""
    from transformers import PreTrainedModel

    parts: dict[str, tuple[str, str]] = {}
    for path, module in model.named_modules():
        if path and isinstance(module, PreTrainedModel):
            key = getattr(module.config, "__dict__", {}).get("_traced_as")
            if key is not None:
                parts[path] = (key, type(module).__name__)
    return parts


def _fields(config: Any, path: str = "") -> Iterator[tuple[str, str]]:
    import dataclasses

    for field in dataclasses.fields(type(config)):
        yield path + field.name, str(field.type)
    for key in type(config).sub_configs:
        inner = getattr(config, key, None)
        if inner is not None and hasattr(inner, "model_type"):
            yield from _fields(inner, f"{path}{key}.")


@contextmanager
def patience(seconds: float) -> Iterator[None]:
    """Raises TimeoutError inside when it takes more processor time: what is recorded must not hang
    on what else the machine does."""
    import signal

    def stop(*_: Any) -> None:
        raise TimeoutError("took too long")

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


@cache
def transformers() -> Transformers:
    return Transformers()
