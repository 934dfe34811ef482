"""What transformers would save, without saving: names and shapes of a model on the meta device."""

from __future__ import annotations

import importlib
import json
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

Shapes = dict[str, tuple[int, ...]]


def config_for(cls: Any, values: Mapping[str, Any]) -> Any:
    """The config that a model class is built from: where an auto class takes the class for the
    config's type that type's, else what ``from_pretrained`` of the class makes of a config.json."""
    from transformers import CONFIG_MAPPING

    own = cls.config_class
    model_type = str(values.get("model_type"))
    if own.model_type == model_type:
        return own.from_dict(dict(values))
    if cls.__name__ in _auto_classes(model_type) and not _is_part(own, model_type):
        return CONFIG_MAPPING[model_type].from_dict(dict(values))
    # A part of a composite: the library itself looks for its section.
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "config.json").write_text(json.dumps(values))
        return own.from_pretrained(folder)


def shapes(cls: Any, config: Any, *, module_names: bool = False) -> Shapes:
    """Name -> shape of what ``save_pretrained`` writes of a fresh model: tied copies left out, the
    library's own conversion of names applied (unless ``module_names``)."""
    import torch
    from transformers.core_model_loading import revert_weight_conversion
    from transformers.modeling_utils import remove_tied_weights_from_state_dict

    with torch.device("meta"):
        model = cls._from_config(config)
    state = dict(model.state_dict())
    if not module_names:
        for name in getattr(model, "_keys_to_ignore_on_save", None) or ():
            state.pop(name, None)
    state = remove_tied_weights_from_state_dict(state, model)
    if not module_names:
        state = revert_weight_conversion(model, state)
    return {name: tuple(tensor.shape) for name, tensor in state.items()}


def classes_of(model_type: str) -> list[str]:
    """Every public model class whose config class is the type's own, and those that an auto class
    would build for it; of a section that has neither, the classes in the composite's file."""
    from transformers import CONFIG_MAPPING

    names = {*_public_classes().get(CONFIG_MAPPING[model_type], ()), *_auto_classes(model_type)}
    return sorted(name for name in names if _class(name) is not None) or sorted(
        _in_own_file(model_type)
    )


def model_class(name: str, *model_types: str) -> Any:
    """A model class of transformers, also one that only the file of its type names: many sections
    of composites have such classes.  ``model_types``: whose it may be; else the catalog says it.
    Raises AttributeError where there is none."""
    import transformers

    from hfinspect.trees import catalog

    if _class(name) is not None:
        return _class(name)
    family = catalog.find_class(name)
    for model_type in model_types or (family.model_types if family else ()):
        if name in _in_own_file(model_type):
            return _in_own_file(model_type)[name]
    return getattr(transformers, name)


@cache
def _in_own_file(model_type: str) -> dict[str, Any]:
    """Name -> model class, of those in the type's own file that take its config class."""
    from transformers import CONFIG_MAPPING, PreTrainedModel

    if model_type not in CONFIG_MAPPING:
        return {}
    own = CONFIG_MAPPING[model_type]
    try:
        file = importlib.import_module(own.__module__.replace(".configuration_", ".modeling_"))
    except ImportError:
        return {}
    return {
        name: cls
        for name, cls in vars(file).items()
        if isinstance(cls, type)
        and issubclass(cls, PreTrainedModel)
        and getattr(cls, "config_class", None) is own
        and not name.endswith("PreTrainedModel")
    }


@cache
def _auto_classes(model_type: str) -> frozenset[str]:
    """Names of what the auto classes build for a type."""
    from transformers.models.auto import modeling_auto

    names: set[str] = set()
    for attribute, mapping in vars(modeling_auto).items():
        if attribute.endswith("_MAPPING_NAMES") and model_type in mapping:
            named = mapping[model_type]
            names.update(named if isinstance(named, tuple) else (named,))
    return frozenset(names)


def _is_part(config_class: Any, model_type: str) -> bool:
    """Whether a config class is that of a section of the type's."""
    from transformers import CONFIG_MAPPING

    specs = CONFIG_MAPPING[model_type].sub_configs_defaults.values()
    return any(spec.model_type == config_class.model_type for spec in specs)


@cache
def _public_classes() -> dict[Any, list[str]]:
    """Config class -> names of the model classes that take it."""
    import transformers

    names: dict[Any, list[str]] = {}
    for name in dir(transformers):
        cls = _class(name)
        if cls is not None:
            names.setdefault(cls.config_class, []).append(name)
    return names


def _class(name: str) -> Any:
    """The model class of a name in transformers, or None."""
    import transformers

    if name.startswith("_") or name.endswith("PreTrainedModel"):
        return None
    try:
        cls = getattr(transformers, name)
    except (AttributeError, ImportError, ValueError):
        return None
    is_model = isinstance(cls, type) and issubclass(cls, transformers.PreTrainedModel)
    if not is_model or getattr(cls, "config_class", None) is None or _is_base(cls):
        return None
    return cls


def _is_base(cls: Any) -> bool:
    """Whether a class is only there for others to inherit from: PretrainedBartModel."""
    from torch.nn import Module

    return "pretrained" in cls.__name__.lower() and cls.forward is Module.forward
