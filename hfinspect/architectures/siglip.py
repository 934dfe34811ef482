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
    clip_encoder,
    clip_layer,
    labels_classifier,
    multihead_attention,
    pair,
    patch_conv,
    patch_count,
    plain_mlp,
    position_table,
    text_embeddings,
)
from ..trees.catalog import register
from ..trees.modules import Buffer, LayerNorm, Linear, Module, Weight

Embeddings = Callable[[ModelConfig, Dim], Module]


hidden_size = size("hidden_size", default=768)


def _tower(c: ModelConfig, key: str, whole: str) -> ModelConfig:
    return c.section(key) if c.has(key) or c.model_type == whole else c


def _eps(c: ModelConfig) -> float:
    return c.number("layer_norm_eps", default=1e-6)


_inner = size("intermediate_size", default=3072)


def _act(c: ModelConfig) -> str | None:
    return c.text("hidden_act", default="gelu_pytorch_tanh")


def _encoder(name: str, c: ModelConfig) -> Module:
    layer = clip_layer(name, hidden_size(c), _inner(c), eps=_eps(c), act=_act(c))
    return clip_encoder(name, c.count("num_hidden_layers", default=12), layer)


def text_model(name: str, c: ModelConfig) -> Module:
    h = hidden_size(c)
    return Module(
        f"{name}TextModel",
        embeddings=text_embeddings(name, c, h, vocab_size=32000, positions=64),
        encoder=_encoder(name, c),
        final_layer_norm=LayerNorm(h, eps=_eps(c)),
        head=Linear(h, c.dim("projection_size", default=h), component=Component.HEAD),
        part="text",
    )


def pooling_head(name: str, c: ModelConfig) -> Module:
    """One learned query attends to all patches: torch's MultiheadAttention, fused q, k, v."""
    h = hidden_size(c)
    return Module(
        f"{name}MultiheadAttentionPoolingHead",
        probe=Weight(1, 1, h),
        attention=multihead_attention(h),
        layernorm=LayerNorm(h, eps=_eps(c)),
        mlp=plain_mlp(f"{name}MLP", h, _inner(c), act=_act(c)),
        component=Component.HEAD,
        kind="pooler",
    )


def vision_model(name: str, c: ModelConfig, embeddings: Embeddings) -> Module:
    h = hidden_size(c)
    return Module(
        f"{name}VisionModel",
        embeddings=embeddings(c, h),
        encoder=_encoder(name, c),
        post_layernorm=LayerNorm(h, eps=_eps(c)),
        head=pooling_head(name, c) if c.flag("vision_use_head", default=True) else None,
        part="vision",
    )


def _vision_embeddings(c: ModelConfig, h: Dim) -> Module:
    image, patch = pair(c, "image_size", default=224), pair(c, "patch_size", default=16)
    positions = patch_count(image, patch)
    return Module(
        "SiglipVisionEmbeddings",
        patch_embedding=patch_conv(c.dim("num_channels", default=3), h, patch),
        position_embedding=position_table(positions, h),
        position_ids=Buffer(1, positions, dtype="I64", saved=False),
        component=Component.EMBEDDING,
    )


def register_towers(name: str, model_type: str, embeddings: Embeddings) -> None:
    """SiglipModel, its towers and its classifier, for ``name`` Siglip or Siglip2."""

    def text(c: ModelConfig) -> Module:
        return text_model(name, _tower(c, "text_config", model_type))

    def vision(c: ModelConfig) -> Module:
        return vision_model(name, _tower(c, "vision_config", model_type), embeddings)

    def labels(c: ModelConfig) -> Module:
        return labels_classifier(c, hidden_size(_tower(c, "vision_config", model_type)))

    both: dict[str, Part] = {
        "logit_scale": lambda _: Weight(1, kind="scale"),
        "logit_bias": lambda _: Weight(1, kind="scale"),
        "text_model": text,
        "vision_model": vision,
    }
    classes: dict[str, Part] = {"vision_model": vision, "classifier": labels}
    whole = composed({f"{name}Model": both})
    whole |= composed({f"{name}ForImageClassification": classes}, part="vision")
    register(model_type, whole, base=f"{name}Model", category="vision")
    for side, tower, category in (("text", text, "encoder"), ("vision", vision, "vision")):
        alone = {f"{name}{side.capitalize()}Model": tower}
        kind, prefix = f"{model_type}_{side}_model", f"{side}_model"
        register(kind, alone, base_prefix=prefix, category=category)


register_towers("Siglip", "siglip", _vision_embeddings)
