"""GLM-4.1V (Zhipu 2025). Source of shapes: transformers/models/glm4v/modeling_glm4v.py.

A ViT over space and time with RMS norms and gated MLPs, a strided convolution that joins 2x2
patches, a gated merger, and GLM-4's decoder with norms before and after attention and MLP.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import (
    Heads,
    activation,
    fused_attention,
    gated_mlp,
    grouped_attention,
    rms_norms,
)
from ..layers.decoders import Decoder, fused_mlp, pre_norm
from ..layers.heads import to_words
from ..layers.vision import position_table
from ..trees.catalog import register_pair, register_part
from ..trees.modules import (
    Activation,
    Conv,
    LayerNorm,
    Layers,
    Linear,
    Module,
    Parameter,
)
from .llama import LLAMA

_norm = rms_norms("Glm4vRMSNorm", 1e-5)


# ---- vision


def vision_block(c: ModelConfig, h: Dim) -> Module:
    out = c.dim("out_hidden_size", default=4096)
    return Module(
        "Glm4vVisionBlock",
        norm1=_norm(c, h),
        norm2=_norm(c, h),
        attn=fused_attention(
            "Glm4vVisionAttention", h, bias=c.flag("attention_bias", default=False), out_bias=False
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


def glm_norms(d: Decoder, c: ModelConfig, kind: str) -> Module:
    """A norm before and after each half of a layer, under GLM-4's names."""
    block = pre_norm(d, c, kind)
    for name in ("post_self_attn_layernorm", "post_mlp_layernorm"):
        block.children[name] = d.norm(d, c, d.width(c))
    return block


def _attention(d: Decoder, c: ModelConfig) -> Module:
    found = d.heads(c)
    heads = Heads(found.query, found.kv, d.width(c) // found.query)
    return grouped_attention("Glm4vTextAttention", d.width(c), heads, bias=True, out_bias=False)


_TEXT = LLAMA.like(
    "Glm4vText",
    vocab_size=151552,
    intermediate_size=13696,
    num_hidden_layers=40,
    num_key_value_heads=2,
    norm=lambda _d, c, size: _norm(c, size),
    attention=_attention,
    mlp=fused_mlp,
    layer=glm_norms,
)
text_model = _TEXT.model


# ---- together


def base(c: ModelConfig) -> Module:
    return Module(
        "Glm4vModel",
        visual=vision_model(c.section("vision_config")),
        language_model=text_model(c.section("text_config")),
    )


def composite(name: str, model: Module, *, tied: bool) -> Module:
    """``model`` and a head over its words."""
    words = model.inside("language_model", "embed_tokens")
    table = words["weight"]
    assert isinstance(table, Parameter)
    vocab, hidden = table.shape
    head = to_words(hidden, vocab, "model.language_model.embed_tokens.weight" if tied else None)
    return Module(name, model=model, lm_head=head)


def generation(c: ModelConfig) -> Module:
    tied = c.tied(default=False) or c.section("text_config").tied(default=False)
    return composite("Glm4vForConditionalGeneration", base(c), tied=tied)


register_pair("glm4v", "Glm4v", generation, base, "multimodal")
register_part("glm4v_text", "Glm4vTextModel", text_model, "text decoder")
register_part("glm4v_vision", "Glm4vVisionModel", vision_model, "vision")
