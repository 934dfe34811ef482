"""Qwen2-VL (Wang et al. 2024). Source of shapes: transformers/models/qwen2_vl/modeling_qwen2_vl.py.

A ViT over space and time patches without positions of its own (rotary), a merger that turns 2x2
patches into one token, and Qwen2's decoder. Files keep the first release's names, ``visual``
next to ``model``, though in memory both are inside ``model`` (conversion_mapping.py); configs of
that time have the text model's keys at the top.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import Heads, fused_attention, gated_mlp, grouped_attention
from ..layers.decoders import Decoder
from ..layers.vision import plain_mlp, scaled
from ..layers.windows import switched_windows
from ..trees.catalog import register, register_part
from ..trees.modules import (
    Activation,
    Conv,
    LayerNorm,
    Layers,
    Linear,
    Module,
    Sequential,
)
from .llama import LLAMA

#: Prefixes of files written with the names in memory.
ALIASES = {"model.visual.": "visual.", "model.language_model.": "model."}


def text_section(c: ModelConfig) -> ModelConfig:
    """The decoder's keys: a section, or at the top in older configs."""
    return c.section("text_config") if c.has("text_config") else c


def tied(c: ModelConfig) -> bool:
    """Said at the top or in the text model's section."""
    return c.tied(default=False) or text_section(c).tied(default=False)


# ---- text


def _attention(d: Decoder, c: ModelConfig) -> Module:
    found = d.heads(c)
    width = c.divided(d.width(c), found.query, "hidden_size", "num_attention_heads")
    heads = Heads(found.query, found.kv, width)
    return grouped_attention(f"{d.name}Attention", d.width(c), heads, bias=True, out_bias=False)


def mlp(d: Decoder, c: ModelConfig) -> Module:
    return gated_mlp("Qwen2MLP", d.width(c), d.inner(c), act=d.act(c))


TEXT = LLAMA.like(
    "Qwen2VL",
    vocab_size=152064,
    hidden_size=8192,
    intermediate_size=29568,
    num_hidden_layers=80,
    num_attention_heads=64,
    num_key_value_heads=8,
    rms_norm_eps=1e-5,
    attention=_attention,
    mlp=mlp,
    windows=lambda c: switched_windows(c, 4096, 80),
)


def text_model(name: str, c: ModelConfig) -> Module:
    """The decoder whose classes begin with ``name``."""
    return TEXT.like(name).named(f"{name}TextModel", c)


# ---- vision


def patch_embed(class_name: str, c: ModelConfig, width: int) -> Module:
    """One 3-D convolution over ``temporal_patch_size`` frames of a patch."""
    frames, patch = c.dim("temporal_patch_size", default=2), c.dim("patch_size", default=14)
    kernel = (frames, patch, patch)
    return Module(
        class_name,
        proj=Conv(
            c.dim("in_channels", default=3), width, kernel, dims=3, stride=kernel, bias=False,
            component=Component.EMBEDDING, kind="patch",
        ),
    )  # fmt: skip


def merger(class_name: str, c: ModelConfig, width: Dim, out: Dim, norm: Module) -> Module:
    """Neighbouring patches side by side, through an MLP, to the text's width."""
    side = c.dim("spatial_merge_size", default=2)
    wide = width * side * side
    return Module(
        class_name,
        ln_q=norm,
        mlp=Sequential(Linear(wide, wide), Activation("GELU"), Linear(wide, out)),
        component=Component.PROJECTOR,
        part="projector",
    )


def vision_model(c: ModelConfig) -> Module:
    width = c.dim("embed_dim", default=1280)
    inner, act = (
        scaled(c, width, "mlp_ratio", default=4),
        c.text("hidden_act", default="quick_gelu"),
    )
    out, norm = c.dim("hidden_size", default=3584), LayerNorm(width, eps=1e-6)
    block = Module(
        "Qwen2VLVisionBlock",
        norm1=norm,
        norm2=norm,
        attn=fused_attention("VisionAttention", width),
        mlp=plain_mlp("VisionMlp", width, inner, act=act),
    )
    return Module(
        "Qwen2VisionTransformerPretrainedModel",
        patch_embed=patch_embed("PatchEmbed", c, width),
        rotary_pos_emb=Activation("Qwen2VLVisionRotaryEmbedding"),
        blocks=Layers.of(c.count("depth", "num_hidden_layers", default=32), block),
        merger=merger("PatchMerger", c, width, out, norm),
        part="vision",
    )


# ---- together


def head(c: ModelConfig, tied_to: str) -> Module:
    return TEXT.words(text_section(c), tied_to if tied(c) else None)


def generation(c: ModelConfig) -> Module:
    return Module(
        "Qwen2VLForConditionalGeneration",
        visual=vision_model(c.section("vision_config")),
        model=TEXT.named("Qwen2VLModel", text_section(c)),
        lm_head=head(c, "model.embed_tokens.weight"),
    )


def only_text(c: ModelConfig) -> Module:
    return text_model("Qwen2VL", text_section(c))


def base(c: ModelConfig) -> Module:
    vision = vision_model(c.section("vision_config"))
    return Module("Qwen2VLModel", visual=vision, language_model=only_text(c))


register(
    "qwen2_vl",
    {"Qwen2VLForConditionalGeneration": generation, "Qwen2VLModel": base},
    aliases=ALIASES,
    category="multimodal",
)
register_part("qwen2_vl_text", "Qwen2VLTextModel", only_text, "text decoder")
register_part("qwen2_vl_vision", "Qwen2VisionTransformerPretrainedModel", vision_model, "vision")
