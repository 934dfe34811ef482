"""timm's config.json: the name of an architecture, and the few things that change its shapes.

The sizes of an architecture are those that timm's registry has for its name; a trace holds them.
A config adds what ``timm.create_model("hf-hub:...")`` passes on (timm/models/_hub.py and
_builder.py, ``_update_default_model_kwargs``): the classes, from its root or else from
``pretrained_cfg``; the channels of the image, and for architectures of a fixed input size its
sides, from ``pretrained_cfg.input_size``; and ``model_args``, which come before all of these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from ..core.config import ModelConfig
from ..errors import UnknownArchitectureError
from .modules import Module

#: The model_type of transformers' class around a model of timm.
WRAPPER: Final = "timm_wrapper"
#: What ``model_args`` may say; other keys change the architecture itself.
_ARGUMENTS: Final = ("num_classes", "in_chans", "img_size", "global_pool")
#: Keys of ``model_args`` that change no tensor.
_IDLE: Final = ("drop_rate", "drop_path_rate", "proj_drop_rate", "attn_drop_rate")


def named(config: ModelConfig) -> str | None:
    """The architecture that a config without model_type names."""
    return None if config.model_type or config.architectures else config.text("architecture")


def builder(name: str, build: Callable[[ModelConfig], Module]) -> Callable[[ModelConfig], Module]:
    """Builds the tree of an architecture from timm's own config.json.

    Raises UnknownArchitectureError for a key of ``model_args`` that no trace has.
    """
    return lambda config: build(arguments(name, config))


def arguments(name: str, config: ModelConfig) -> ModelConfig:
    """What timm's loader passes to the class of an architecture; of a config of transformers'
    wrapper what that passes, to which ``pretrained_cfg`` is nothing."""
    if config.model_type == WRAPPER:
        classes = {"num_classes": int(config.dim("num_classes", minimum=0))}
        return ModelConfig({**classes, **model_args(name, config)})
    # A config of before 2023 is itself what later stands under pretrained_cfg.
    about = config.section("pretrained_cfg") if config.has("pretrained_cfg") else config
    values: dict[str, Any] = {"fixed_input_size": about.flag("fixed_input_size", default=False)}
    size = about.dims("input_size", default=()) if about.has("input_size") else ()
    if size:
        if len(size) != 3:
            raise about.error("input_size", list(size), "channels, height and width")
        values["in_chans"] = int(size[0])
        if values["fixed_input_size"]:
            values["img_size"] = _side(name, [int(side) for side in size[1:]])
    place = config if config.says("num_classes") else about  # a null there is the class's default
    if place.has("num_classes") and place.dim("num_classes", minimum=-1) >= 0:
        values["num_classes"] = int(place.dim("num_classes", minimum=0))
    if about is not config and about.has("global_pool"):
        values["global_pool"] = about.text("global_pool")
    values |= model_args(name, config)
    if values["fixed_input_size"] and "img_size" not in values:
        raise _refused(name, "input_size", None)  # the size is the class's, which no trace has
    return ModelConfig(values)


def model_args(name: str, config: ModelConfig) -> Mapping[str, Any]:
    """What ``model_args`` says. Raises UnknownArchitectureError."""
    if not config.has("model_args"):
        return {}
    section = config.section("model_args")
    values: dict[str, Any] = {}
    for key, value in section.values.items():
        if value is None or key in _IDLE:
            continue
        if key not in _ARGUMENTS:
            raise _refused(name, f"model_args.{key}", value)
        values[key] = _side(name, value) if key == "img_size" else value
    return values


def _side(name: str, value: Any) -> int:
    """The side of a square image."""
    sides = value if isinstance(value, list) else [value]
    if len(set(map(repr, sides))) != 1 or not isinstance(sides[0], int):
        raise _refused(name, "img_size", value)
    return int(sides[0])


def _refused(name: str, key: str, value: object) -> UnknownArchitectureError:
    return UnknownArchitectureError(
        f"{name} with {key} = {repr(value)[:60]}",
        "was not recorded",
        hint="read the headers of its weights",
    )


def unknown(name: str) -> UnknownArchitectureError:
    """The error for an architecture that no trace has."""
    return UnknownArchitectureError(
        f"architecture {name!r}",
        "is one of timm's, whose configs name a model and not its sizes; it was not recorded",
        hint="read the headers of its weights",
    )
