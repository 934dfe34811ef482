"""SigLIP (Zhai et al. 2023). Source of shapes: transformers/models/siglip/modeling_siglip.py. CLIP
without class token and without a norm before the layers; the vision tower pools by attention with
one learned query. A tower saved alone lost its prefix (``vision_model.``) in transformers 5."""

from collections.abc import Callable
from functools import partial

from ..layers import vision
from ..layers.blocks import size
from ..layers.composing import FormPart, composed_of
from ..trees import Component, Dim, LayerNorm, Linear, ModelConfig, Module, Weight, register

_hidden = size("hidden_size", default=768)


def register_towers(
    name: str, model_type: str, embeddings: Callable[[ModelConfig, Dim], Module]
) -> None:
    """SiglipModel, its towers and its classifier, for ``name`` Siglip or Siglip2."""

    def section(c: ModelConfig, side: str) -> ModelConfig:
        key = f"{side}_config"
        return c.section(key) if c.has(key) or c.model_type == model_type else c

    def tower(side: str, outer: ModelConfig) -> Module:
        c = section(outer, side).with_defaults(layer_norm_eps=1e-6, hidden_act="gelu_pytorch_tanh")
        h = _hidden(c)
        eps = c.number("layer_norm_eps", default=1e-6)
        act = c.text("hidden_act")
        norm = LayerNorm(h, eps=eps)
        reads = side == "text"
        if reads:
            embedding = vision.text_embeddings(name, c, h, vocab_size=32000, positions=64)
            head = Linear(h, c.dim("projection_size", default=h), component=Component.HEAD)
        else:
            # One learned query attends to all patches: torch's MultiheadAttention.
            embedding = embeddings(c, h)
            inner = c.dim("intermediate_size", default=3072)
            pools = f"{name}MultiheadAttentionPoolingHead"
            look = vision.multihead_attention(h)
            mlp = vision.plain_mlp(f"{name}MLP", h, inner, act=act)
            head = Module(pools, probe=Weight(1, 1, h), attention=look, layernorm=norm, mlp=mlp)
            head.component = Component.HEAD
            head.kind = "pooler"
        layers = vision.clip_layers(name, c, h, inner=3072, act="gelu_pytorch_tanh")
        last = "final_layer_norm" if reads else "post_layernorm"
        pooling = head if reads or c.flag("vision_use_head", default=True) else None
        parts = {"embeddings": embedding, "encoder": layers, last: norm}
        return Module(f"{name}{side.capitalize()}Model", parts, head=pooling, part=side)

    text = partial(tower, "text")
    images = partial(tower, "vision")
    parts: dict[str, FormPart] = {
        "logit_scale": lambda _: Weight(1, kind="scale"),
        "logit_bias": lambda _: Weight(1, kind="scale"),
        "text_model": text,
        "vision_model": images,
        "classifier": lambda c: vision.labels_classifier(c, _hidden(section(c, "vision"))),
    }
    both = {f"{name}Model": ("logit_scale", "logit_bias", "text_model", "vision_model")}
    labelled = {f"{name}ForImageClassification": ("vision_model", "classifier")}
    classes = {**composed_of(parts, both), **composed_of(parts, labelled, part="vision")}
    register(model_type, classes, base=f"{name}Model", category="vision")
    for side, build, category in (("text", text, "encoder"), ("vision", images, "vision")):
        alone = {f"{name}{side.capitalize()}Model": build}
        kind = f"{model_type}_{side}_model"
        register(kind, alone, base_prefix=f"{side}_model", category=category)


register_towers(
    "Siglip", "siglip", lambda c, h: vision.clip_embeddings("SiglipVision", c, h, 16, classed=False)
)
