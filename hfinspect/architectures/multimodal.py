"""What multimodal families share: towers from nested configs, and the decoder with its head.

Files of the LLaVA kind keep a whole causal model under ``language_model``, its head included; in
memory transformers 5 has ``model.language_model`` and ``lm_head``, and some files were written that
way. Source: transformers/conversion_mapping.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from .blocks import activation
from .modules import Linear, Module, Parameter
from .registry import auto_class, auto_model

#: Prefixes of files that spell the LLaVA kind as it is in memory, and towers as they once were.
LLAVA_ALIASES = {
    "model.language_model.": "language_model.model.",
    "model.vision_tower.vision_model.": "vision_tower.",
    "model.vision_tower.": "vision_tower.",
    "model.multi_modal_projector.": "multi_modal_projector.",
    "model.image_newline": "image_newline",
    "lm_head.": "language_model.lm_head.",
    "vision_tower.vision_model.": "vision_tower.",
}


def nested(c: ModelConfig, key: str, **defaults: Any) -> ModelConfig:
    """A section; an absent one is what the composite's config class would make of nothing."""
    return c.section(key, default=defaults)


def tower(
    c: ModelConfig,
    key: str,
    default_type: str,
    part: str,
    defaults: Mapping[str, Any] | None = None,
) -> Module:
    """The base model of a nested config."""
    return auto_model(nested(c, key, **(defaults or {})), default_type=default_type, part=part)


def tower_width(vision: Module) -> Dim:
    """The width of a vision tower: what its patch embedding puts out."""
    found = _patches(vision)
    if found is None:
        raise AssertionError(f"{vision.class_name} has no patch embedding")
    return _dim(found.shape[0])


def _patches(module: Module) -> Parameter | None:
    for child in module.children.values():
        if isinstance(child, Module):
            weight = child.children.get("weight")
            if child.kind == "patch" and isinstance(weight, Parameter):
                return weight
            inner = _patches(child)
            if inner is not None:
                return inner
    return None


@dataclass(frozen=True)
class Decoder:
    """A text model on its own: the base model, its class with a head, sizes, and whether that
    class would tie its head."""

    base: Module
    class_name: str
    hidden: Dim
    vocab: Dim
    tied: bool


def decoder(
    c: ModelConfig,
    default_type: str,
    *,
    key: str = "text_config",
    defaults: Mapping[str, Any] | None = None,
) -> Decoder:
    """The causal model of a nested config, taken apart. Raises UnknownArchitectureError."""
    section = nested(c, key, **(defaults or {}))
    causal = auto_class(section, "ForCausalLM", default_type=default_type)
    base = next(
        child for child in causal.children.values() if isinstance(child, Module) and child.children
    )
    assert isinstance(base, Module)
    table = _token_table(base)
    vocab, hidden = table.shape
    head = _head(causal)
    base.scope = True
    return Decoder(
        base, causal.class_name, _dim(hidden), _dim(vocab), head is not None and bool(head.tied_to)
    )


def _dim(size: int) -> Dim:
    return size if isinstance(size, Dim) else Dim(size)


def _token_table(base: Module) -> Parameter:
    for child in base.children.values():
        if isinstance(child, Module) and child.kind == "token":
            weight = child["weight"]
            assert isinstance(weight, Parameter)
            return weight
    raise AssertionError(f"{base.class_name} has no token embedding")


def _head(causal: Module) -> Parameter | None:
    for child in causal.children.values():
        if isinstance(child, Module) and child.kind == "lm_head":
            weight = child["weight"]
            return weight if isinstance(weight, Parameter) else None
    return None


def lm_head(text: Decoder, tied_to: str | None, vocab: Dim | None = None) -> Module:
    return Linear(
        text.hidden,
        text.vocab if vocab is None else vocab,
        bias=False,
        tied_to=tied_to,
        component=Component.HEAD,
        kind="lm_head",
    )


def language_model(text: Decoder, *, head: bool, tied: bool) -> Module:
    """``language_model`` of files of the LLaVA kind: the decoder and, with ``head``, its head."""
    to = "language_model.model.embed_tokens.weight" if tied else None
    return Module(
        text.class_name,
        model=text.base,
        lm_head=lm_head(text, to) if head else None,
        part="text",
    )


def two_layer_projector(
    class_name: str, c: ModelConfig, vision_width: Dim, hidden: Dim, *, bias: bool = True
) -> Module:
    """linear_2(act(linear_1(x))) from the vision tower's width to the text's: V·H + H² weights.

    Where ``vision_feature_layer`` lists several layers their outputs stand side by side.
    """
    layers = c.raw("vision_feature_layer")
    count = len(layers) if isinstance(layers, list) else 1
    return Module(
        class_name,
        linear_1=Linear(vision_width * count if count != 1 else vision_width, hidden, bias=bias),
        act=activation(c.text("projector_hidden_act", default="gelu")),
        linear_2=Linear(hidden, hidden, bias=bias),
        component=Component.PROJECTOR,
        part="projector",
    )
