"""MiniCPM-V 4.6 (OpenBMB 2026). Source of shapes: transformers/models/minicpmv4_6.

SigLIP's layers with a merger of windows between them, a projector that halves the grid
``merger_times`` times, and any text tower, Qwen3.5's by default.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.heads import lm_head
from ..layers.vision import (
    clip_attention,
    clip_encoder,
    clip_layer,
    pair,
    patch_conv,
    position_table,
)
from ..trees.catalog import auto_model, register, register_part
from ..trees.modules import Activation, LayerNorm, Linear, Module, ModuleList


def _width(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=768)


def window_merger(c: ModelConfig) -> Module:
    """Attention within windows, then each window into one vector."""
    h, eps = _width(c), c.number("layer_norm_eps", default=1e-6)
    sides = pair(c, "window_kernel_size", default=2)
    window = sides[0] * sides[1]
    inner = c.dim("intermediate_size", default=3072) * window
    attention = clip_attention("MiniCPMV4_6VisionAttention", h)
    attention.component = Component.PROJECTOR
    return Module(
        "MiniCPMV4_6ViTWindowAttentionMerger",
        self_attn=attention,
        layer_norm1=LayerNorm(h, eps=eps),
        pre_norm=LayerNorm(h * window, eps=eps),
        linear_1=Linear(h * window, inner),
        linear_2=Linear(inner, h),
        component=Component.PROJECTOR,
    )


def vision_model(c: ModelConfig) -> Module:
    h, eps = _width(c), c.number("layer_norm_eps", default=1e-6)
    patch = pair(c, "patch_size", default=16)
    side = pair(c, "image_size", default=224)[0] // patch[0]
    block = clip_layer(
        "MiniCPMV4_6Vision",
        h,
        c.dim("intermediate_size", default=3072),
        eps=eps,
        act=c.text("hidden_act", default="gelu_pytorch_tanh"),
    )
    return Module(
        "MiniCPMV4_6VisionModel",
        embeddings=Module(
            "MiniCPMV4_6VisionEmbeddings",
            patch_embedding=patch_conv(c.dim("num_channels", default=3), h, patch),
            position_embedding=position_table(side * side, h),
            component=Component.EMBEDDING,
        ),
        encoder=clip_encoder(
            "MiniCPMV4_6Vision", c.count("num_hidden_layers", default=12), block
        ),
        post_layernorm=LayerNorm(h, eps=eps),
        vit_merger=window_merger(c),
        part="vision",
    )  # fmt: skip


def _halving(h: Dim, out: Dim) -> Module:
    wide = h * 4
    return Module(
        "MiniCPMV4_6DownsampleMLP",
        pre_norm=LayerNorm(wide, eps=1e-6),
        linear_1=Linear(wide, wide),
        act=Activation("GELU", "approximate='none'"),
        linear_2=Linear(wide, out),
    )


def _text_width(c: ModelConfig) -> Dim:
    return c.section("text_config").dim("hidden_size", default=4096)


def merger(c: ModelConfig) -> Module:
    h = _width(c.section("vision_config"))
    times = int(c.count("merger_times", default=1))
    before = [_halving(h, h)] * max(times - 1, 0)
    return Module(
        "MiniCPMV4_6Merger",
        mlp=ModuleList([*before, _halving(h, _text_width(c))]),
        component=Component.PROJECTOR,
        part="projector",
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "MiniCPMV4_6Model",
        vision_tower=vision_model(c.section("vision_config")),
        language_model=auto_model(c.section("text_config"), default_type="qwen3_5_text"),
        merger=merger(c),
    )


def conditional_generation(c: ModelConfig, *, tied: bool = False) -> Module:
    vocab = c.section("text_config").dim("vocab_size", default=248320)
    head = lm_head(
        c,
        _text_width(c),
        vocab,
        tied_to="model.language_model.embed_tokens.weight",
        tied_default=tied,
    )
    return Module("MiniCPMV4_6ForConditionalGeneration", model=model(c), lm_head=head)


register(
    "minicpmv4_6",
    {
        "MiniCPMV4_6ForConditionalGeneration": conditional_generation,
        "MiniCPMV4_6Model": model,
    },
    base="MiniCPMV4_6Model",
    base_prefix="model",
    category="multimodal",
)

register_part("minicpmv4_6_vision", "MiniCPMV4_6VisionModel", vision_model, "vision")
