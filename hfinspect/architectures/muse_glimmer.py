"""Muse Glimmer (Meta 2026), text and vision. Source: transformers/models/muse_glimmer.

A decoder with four norms a layer, a gate as wide as the attention's output and a norm without
weight on q, k and the embedding; a ViT that reads patches of space and time through a linear.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation, gated_mlp, grouped_attention, grouped_heads
from ..layers.multimodal import register_worded
from ..layers.windows import windows
from ..trees.catalog import register_part
from ..trees.modules import Embedding, LayerNorm, Layers, Linear, Module, RMSNorm

# ---- text


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=6656)


def _centered(c: ModelConfig, key: str, eps: float) -> Module:
    return RMSNorm(
        _hidden(c), eps=c.number(key, default=eps), class_name="MuseGlimmerTextCenteredRMSNorm"
    )


def layer(c: ModelConfig) -> Module:
    h = _hidden(c)
    heads = grouped_heads(c, h, heads=32, kv=2, head_dim=128)
    attention = grouped_attention(
        "MuseGlimmerTextAttention", h, heads, bias=c.flag("attention_bias", default=False)
    )
    attention.children["gate_proj"] = Linear(h, heads.query * heads.dim, bias=False, kind="gate")
    inner, act = (
        c.dim("intermediate_size", default=19968),
        c.text("hidden_activation", default="silu"),
    )
    return Module(
        "MuseGlimmerTextDecoderLayer",
        self_attn=attention,
        mlp=gated_mlp("MuseGlimmerTextMLP", h, inner, act=act),
        input_layernorm=_centered(c, "rms_norm_eps", 1e-5),
        post_attention_layernorm=_centered(c, "post_norm_eps", 1e-8),
        pre_feedforward_layernorm=_centered(c, "rms_norm_eps", 1e-5),
        post_feedforward_layernorm=_centered(c, "post_norm_eps", 1e-8),
    )


def text_model(c: ModelConfig) -> Module:
    h = _hidden(c)
    return Module(
        "MuseGlimmerTextModel",
        embed_tokens=Embedding(
            c.dim("vocab_size", default=202048), h, class_name="MuseGlimmerTextNormedEmbedding"
        ),
        layers=Layers.of(
            c.count("num_hidden_layers", default=52),
            layer(c),
            windows=windows(c, 2048, lambda i, n: (n - 1 - i) % 4 == 0),
        ),
        norm=RMSNorm(
            h, eps=c.number("rms_norm_eps", default=1e-5), class_name="MuseGlimmerRMSNorm"
        ),
    )


# ---- vision


def vision_layer(c: ModelConfig, h: Dim) -> Module:
    inner = c.dim("intermediate_size", default=8960)
    return Module(
        "MuseGlimmerVisionEncoderLayer",
        norm1=LayerNorm(h),
        norm2=LayerNorm(h),
        attn=Module(
            "MuseGlimmerVisionAttention",
            proj=Linear(h, h, kind="output"),
            q_proj=Linear(h, h, kind="query"),
            k_proj=Linear(h, h, kind="key"),
            v_proj=Linear(h, h, kind="value"),
            component=Component.ATTENTION,
        ),
        mlp=Module(
            "MuseGlimmerVisionMLP",
            fc1=Linear(h, inner, kind="up"),
            act=activation(c.text("hidden_act", default="gelu")),
            fc2=Linear(inner, h, kind="down"),
            component=Component.MLP,
        ),
    )


def vision_model(c: ModelConfig) -> Module:
    h, eps = c.dim("hidden_size", default=1536), c.number("layer_norm_eps", default=1e-5)
    patch = c.dim("patch_size", default=14)
    values = c.dim("patch_temporal", default=2) * 3 * (patch * patch)
    positions = c.dim("pos_emb_height", default=32) * c.dim("pos_emb_width", default=32)
    return Module(
        "MuseGlimmerVisionModel",
        patch_embedder=Module(
            "MuseGlimmerVisionPatchEmbedder",
            patch_embedding=Linear(values, h, bias=False, kind="patch"),
            position_embedding_table=Embedding(positions, h, kind="position"),
            component=Component.EMBEDDING,
        ),
        ln_pre=LayerNorm(h, eps=eps),
        layers=Layers.of(c.count("num_hidden_layers", default=50), vision_layer(c, h)),
        ln_post=LayerNorm(h, eps=eps),
        part="vision",
    )


# ---- both


def projections(c: ModelConfig, hidden: Dim, adapter: str) -> dict[str, Module]:
    """From merged patches to the width of the text."""
    width = c.dim("projector_hidden_size", default=4096)
    linear = Linear(width, hidden, bias=False, component=Component.PROJECTOR)
    linear.part = "projector"
    return {
        "vision_adapter": Module(
            adapter,
            fc1=Linear(c.dim("out_hidden_size", default=6144), width, bias=False),
            act=activation(c.text("projector_hidden_act", default="gelu")),
            fc2=Linear(width, width, bias=False),
            component=Component.PROJECTOR,
            part="projector",
        ),
        "vision_projection": linear,
    }


def model(c: ModelConfig) -> Module:
    text = c.section("text_config")
    parts = {
        "vision_tower": vision_model(c.section("vision_config")),
        "language_model": text_model(text),
    }
    joined = projections(c, _hidden(text), "MuseGlimmerVisionAdapter")
    return Module("MuseGlimmerModel", {**parts, **joined})


register_part("muse_glimmer_text", "MuseGlimmerTextModel", text_model, "text decoder")

register_part("muse_glimmer_vision", "MuseGlimmerVisionModel", vision_model, "vision")

register_worded("muse_glimmer", "MuseGlimmer", model, tied=False)
