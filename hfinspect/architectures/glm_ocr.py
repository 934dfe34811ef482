"""GLM-OCR (Zhipu 2026). Source of shapes: transformers/models/glm_ocr/modeling_glm_ocr.py.

GLM-4.1V (glm4v.py) at a smaller size: norms on the tower's queries and keys, no table of positions,
biases in its MLP, none in the decoder's attention.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import gated_mlp
from ..layers.decoders import fused_mlp
from ..trees.catalog import register, register_part
from ..trees.modules import Activation, Conv, Layers, Linear, Module, RMSNorm
from .glm4v import composite, glm_norms, merger
from .llama import LLAMA


def _norm(c: ModelConfig, size: Dim) -> Module:
    return RMSNorm(size, eps=c.number("rms_norm_eps", default=1e-5), class_name="GlmOcrRMSNorm")


# ---- vision


def vision_block(c: ModelConfig, h: Dim) -> Module:
    heads, bias = c.dim("num_heads", "num_attention_heads", default=16), _bias(c)
    head_dim = h // heads
    inner = c.dim("intermediate_size", default=4096)
    act = c.text("hidden_act", default="silu")
    return Module(
        "GlmOcrVisionBlock",
        norm1=_norm(c, h),
        norm2=_norm(c, h),
        attn=Module(
            "GlmOcrVisionAttention",
            qkv=Linear(h, 3 * h, bias=bias, kind="qkv"),
            proj=Linear(h, h, bias=bias, kind="output"),
            q_norm=_norm(c, head_dim),
            k_norm=_norm(c, head_dim),
            component=Component.ATTENTION,
        ),
        mlp=gated_mlp("GlmOcrVisionMlp", h, inner, bias=bias, act=act),
    )


def _bias(c: ModelConfig) -> bool:
    return c.flag("attention_bias", default=True)


def vision_model(c: ModelConfig, *, merged: Dim | None = None) -> Module:
    """``merged`` is the width inside the merger; absent, its output's times an image's channels."""
    h, patch = c.dim("hidden_size", default=1024), c.dim("patch_size", default=14)
    kernel = (c.dim("temporal_patch_size", default=2), patch, patch)
    merge, out = c.dim("spatial_merge_size", default=2), c.dim("out_hidden_size", default=1536)
    patches = Conv(
        c.dim("in_channels", default=3), h, kernel, dims=3, stride=kernel,
        component=Component.EMBEDDING, kind="patch",
    )  # fmt: skip
    return Module(
        "GlmOcrVisionModel",
        patch_embed=Module("GlmOcrVisionPatchEmbed", proj=patches),
        rotary_pos_emb=Activation("GlmOcrVisionRotaryEmbedding"),
        blocks=Layers.of(c.count("depth", "num_hidden_layers", default=24), vision_block(c, h)),
        merger=merger(
            c, "GlmOcrVisionPatchMerger", out, merged or out * c.dim("in_channels", default=3)
        ),
        downsample=Conv(h, out, (merge, merge), stride=(merge, merge)),
        post_layernorm=_norm(c, h),
        part="vision",
    )


# ---- text


_TEXT = LLAMA.like(
    "GlmOcrText",
    vocab_size=59392,
    hidden_size=1024,
    intermediate_size=4096,
    num_hidden_layers=16,
    num_attention_heads=16,
    num_key_value_heads=8,
    attention_bias=None,
    norm=lambda _d, c, size: _norm(c, size),
    mlp=fused_mlp,
    layer=glm_norms,
)
text_model = _TEXT.model


# ---- together


def base(c: ModelConfig) -> Module:
    return Module(
        "GlmOcrModel",
        visual=vision_model(c.section("vision_config")),
        language_model=text_model(c.section("text_config")),
    )


def generation(c: ModelConfig) -> Module:
    tied = c.tied(default=False) or c.section("text_config").tied(default=False)
    return composite("GlmOcrForConditionalGeneration", base(c), tied=tied)


register(
    "glm_ocr",
    {"GlmOcrForConditionalGeneration": generation, "GlmOcrModel": base},
    base="GlmOcrModel",
    base_prefix="model",
    category="multimodal",
)
register_part("glm_ocr_text", "GlmOcrTextModel", text_model, "text decoder")
register_part("glm_ocr_vision", "GlmOcrVisionModel", vision_model, "vision")
