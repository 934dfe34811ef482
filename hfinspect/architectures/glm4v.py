"""GLM-4.1V (Zhipu 2025). Source of shapes: transformers/models/glm4v/modeling_glm4v.py.

A ViT over space and time with RMS norms and gated MLPs, a strided convolution that joins 2x2
patches, a gated merger, and GLM-4's decoder with norms before and after attention and MLP.
"""

from __future__ import annotations

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import Heads, activation, gated_mlp, grouped_attention, grouped_heads
from ..layers.vision import position_table
from ..trees.catalog import register
from ..trees.modules import (
    Activation,
    Conv,
    Embedding,
    LayerNorm,
    Layers,
    Linear,
    Module,
    Parameter,
    RMSNorm,
)


def _norm(c: ModelConfig, size: Dim) -> Module:
    return RMSNorm(size, eps=c.number("rms_norm_eps", default=1e-5), class_name="Glm4vRMSNorm")


# ---- vision


def vision_block(c: ModelConfig, h: Dim) -> Module:
    out = c.dim("out_hidden_size", default=4096)
    return Module(
        "Glm4vVisionBlock",
        norm1=_norm(c, h),
        norm2=_norm(c, h),
        attn=Module(
            "Glm4vVisionAttention",
            qkv=Linear(h, 3 * h, bias=c.flag("attention_bias", default=False), kind="qkv"),
            proj=Linear(h, h, bias=False, kind="output"),
            component=Component.ATTENTION,
        ),
        # As wide inside as the tower's output, not as intermediate_size.
        mlp=gated_mlp("Glm4VisionMlp", h, out, act=c.text("hidden_act", default="silu")),
    )


def merger(c: ModelConfig, name: str, out: Dim, inner: Dim) -> Module:
    """``inner`` is the width inside the gated MLP, ``out`` that of the decoder."""
    return Module(
        name,
        proj=Linear(out, out, bias=False),
        post_projection_norm=LayerNorm(out),
        gate_proj=Linear(out, inner, bias=False, kind="gate"),
        up_proj=Linear(out, inner, bias=False, kind="up"),
        down_proj=Linear(inner, out, bias=False, kind="down"),
        act1=Activation("GELU"),
        act_fn=activation(c.text("hidden_act", default="silu")),
        component=Component.PROJECTOR,
        part="projector",
    )


def vision_model(c: ModelConfig) -> Module:
    h, patch = c.dim("hidden_size", default=1536), c.dim("patch_size", default=14)
    side = c.dim("image_size", default=336) // patch
    kernel = (c.dim("temporal_patch_size", default=2), patch, patch)
    merge, out = c.dim("spatial_merge_size", default=2), c.dim("out_hidden_size", default=4096)
    return Module(
        "Glm4vVisionModel",
        embeddings=Module(
            "Glm4vVisionEmbeddings", position_embedding=position_table(side * side, h)
        ),
        patch_embed=Module(
            "Glm4vVisionPatchEmbed",
            proj=Conv(
                c.dim("in_channels", default=3), h, kernel, dims=3, stride=kernel,
                component=Component.EMBEDDING, kind="patch",
            ),
        ),
        rotary_pos_emb=Activation("Glm4vVisionRotaryEmbedding"),
        blocks=Layers.of(c.count("depth", "num_hidden_layers", default=24), vision_block(c, h)),
        merger=merger(
            c, "Glm4vVisionPatchMerger", out, c.dim("intermediate_size", default=13696)
        ),
        post_conv_layernorm=_norm(c, h),
        downsample=Conv(h, out, (merge, merge), stride=(merge, merge)),
        post_layernorm=_norm(c, h),
        part="vision",
    )  # fmt: skip


# ---- text


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=4096)


def text_layer(c: ModelConfig) -> Module:
    h, inner = _hidden(c), c.dim("intermediate_size", default=13696)
    found = grouped_heads(c, h, heads=32, kv=2)
    heads = Heads(found.query, found.kv, h // found.query)
    return Module(
        "Glm4vTextDecoderLayer",
        self_attn=grouped_attention("Glm4vTextAttention", h, heads, bias=True, out_bias=False),
        mlp=Module(
            "Glm4vTextMLP",
            gate_up_proj=Linear(h, 2 * inner, bias=False, kind="gate_up"),
            down_proj=Linear(inner, h, bias=False, kind="down"),
            activation_fn=activation(c.text("hidden_act", default="silu")),
            component=Component.MLP,
        ),
        input_layernorm=_norm(c, h),
        post_attention_layernorm=_norm(c, h),
        post_self_attn_layernorm=_norm(c, h),
        post_mlp_layernorm=_norm(c, h),
    )


def text_model(c: ModelConfig) -> Module:
    return Module(
        "Glm4vTextModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=151552), _hidden(c)),
        layers=Layers.of(c.count("num_hidden_layers", default=40), text_layer(c)),
        norm=_norm(c, _hidden(c)),
        rotary_emb=Activation("Glm4vTextRotaryEmbedding"),
    )


# ---- together


def base(c: ModelConfig) -> Module:
    return Module(
        "Glm4vModel",
        visual=vision_model(c.section("vision_config")),
        language_model=text_model(c.section("text_config")),
    )


def composite(name: str, model: Module, *, tied: bool) -> Module:
    """``model`` and a head over its words."""
    text = model["language_model"]
    assert isinstance(text, Module)
    words = text["embed_tokens"]
    assert isinstance(words, Module)
    table = words["weight"]
    assert isinstance(table, Parameter)
    vocab, hidden = table.shape
    head = Linear(
        hidden,
        vocab,
        bias=False,
        tied_to="model.language_model.embed_tokens.weight" if tied else None,
        component=Component.HEAD,
        kind="lm_head",
    )
    return Module(name, model=model, lm_head=head)


def generation(c: ModelConfig) -> Module:
    tied = c.tied(default=False) or c.section("text_config").tied(default=False)
    return composite("Glm4vForConditionalGeneration", base(c), tied=tied)


register(
    "glm4v",
    {"Glm4vForConditionalGeneration": generation, "Glm4vModel": base},
    base="Glm4vModel",
    base_prefix="model",
    category="multimodal",
)
register(
    "glm4v_text", {"Glm4vTextModel": text_model}, base="Glm4vTextModel", category="text decoder"
)
register(
    "glm4v_vision", {"Glm4vVisionModel": vision_model}, base="Glm4vVisionModel", category="vision"
)
