"""SigLIP (Zhai et al. 2023). Source of shapes: transformers/models/siglip/modeling_siglip.py.

CLIP without class token and without a norm before the layers; the vision tower pools by attention
with one learned query. A tower saved alone lost its prefix (``vision_model.``) in transformers 5.
"""

from collections.abc import Callable

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import size
from ..layers.composing import Part, composed
from ..layers.vision import (
    clip_embeddings,
    clip_layers,
    labels_classifier,
    multihead_attention,
    plain_mlp,
    text_embeddings,
)
from ..trees.catalog import register
from ..trees.modules import LayerNorm, Linear, Module, Weight

_hidden = size("hidden_size", default=768)


def _layers(name: str, c: ModelConfig) -> Module:
    normed = c.with_defaults(layer_norm_eps=1e-6)
    return clip_layers(name, normed, _hidden(c), inner=3072, act="gelu_pytorch_tanh")


def _norm(c: ModelConfig) -> Module:
    return LayerNorm(_hidden(c), eps=c.number("layer_norm_eps", default=1e-6))


def pooling_head(name: str, c: ModelConfig) -> Module:
    """One learned query attends to all patches: torch's MultiheadAttention, fused q, k, v."""
    h, inner = _hidden(c), c.dim("intermediate_size", default=3072)
    act = c.text("hidden_act", default="gelu_pytorch_tanh")
    return Module(
        f"{name}MultiheadAttentionPoolingHead",
        probe=Weight(1, 1, h),
        attention=multihead_attention(h),
        layernorm=_norm(c),
        mlp=plain_mlp(f"{name}MLP", h, inner, act=act),
        component=Component.HEAD,
        kind="pooler",
    )


def register_towers(
    name: str, model_type: str, embeddings: Callable[[ModelConfig, Dim], Module]
) -> None:
    """SiglipModel, its towers and its classifier, for ``name`` Siglip or Siglip2."""

    def section(c: ModelConfig, key: str) -> ModelConfig:
        return c.section(key) if c.has(key) or c.model_type == model_type else c

    def text(whole: ModelConfig) -> Module:
        c = section(whole, "text_config")
        h = _hidden(c)
        return Module(
            f"{name}TextModel",
            embeddings=text_embeddings(name, c, h, vocab_size=32000, positions=64),
            encoder=_layers(name, c),
            final_layer_norm=_norm(c),
            head=Linear(h, c.dim("projection_size", default=h), component=Component.HEAD),
            part="text",
        )

    def vision(whole: ModelConfig) -> Module:
        c = section(whole, "vision_config")
        return Module(
            f"{name}VisionModel",
            embeddings=embeddings(c, _hidden(c)),
            encoder=_layers(name, c),
            post_layernorm=_norm(c),
            head=pooling_head(name, c) if c.flag("vision_use_head", default=True) else None,
            part="vision",
        )

    both: dict[str, Part] = {
        "logit_scale": lambda _: Weight(1, kind="scale"),
        "logit_bias": lambda _: Weight(1, kind="scale"),
        "text_model": text,
        "vision_model": vision,
    }
    labelled: dict[str, Part] = {
        "vision_model": vision,
        "classifier": lambda c: labels_classifier(c, _hidden(section(c, "vision_config"))),
    }
    whole = composed({f"{name}Model": both})
    whole |= composed({f"{name}ForImageClassification": labelled}, part="vision")
    register(model_type, whole, base=f"{name}Model", category="vision")
    for side, tower, category in (("text", text, "encoder"), ("vision", vision, "vision")):
        alone = {f"{name}{side.capitalize()}Model": tower}
        kind, prefix = f"{model_type}_{side}_model", f"{side}_model"
        register(kind, alone, base_prefix=prefix, category=category)


register_towers(
    "Siglip", "siglip", lambda c, h: clip_embeddings("SiglipVision", c, h, 16, classed=False)
)
