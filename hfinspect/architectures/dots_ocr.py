"""dots.ocr (rednote 2025). No class in transformers. Source of shapes: modeling_dots_ocr.py and
modeling_dots_vision.py in rednote-hilab/dots.ocr; vLLM's dots_ocr.py reads the same names.

Qwen2 next to a ViT of RMSNorms and gated MLPs, whose merger joins 2 by 2 patches; positions are
rotary.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation, fused_attention
from ..layers.heads import lm_head
from ..layers.vision import pair, patch_conv
from ..trees.catalog import register
from ..trees.modules import Activation, LayerNorm, Layers, Linear, Module, RMSNorm, Sequential
from .qwen2 import QWEN2


def _norm(c: ModelConfig, size: Dim) -> Module:
    return RMSNorm(size, eps=c.number("rms_norm_eps", default=1e-5))


def _block(c: ModelConfig, width: Dim) -> Module:
    inner, bias = c.dim("intermediate_size", default=4224), c.flag("use_bias", default=False)
    return Module(
        "DotsVisionBlock",
        attn=fused_attention("VisionAttention", width, bias=bias, out_bias=bias),
        norm1=_norm(c, width),
        mlp=Module(
            "DotsSwiGLUFFN",
            fc1=Linear(width, inner, bias=bias, kind="gate"),
            fc2=Linear(inner, width, bias=bias, kind="down"),
            fc3=Linear(width, inner, bias=bias, kind="up"),
            act=activation("silu"),
            component=Component.MLP,
        ),
        norm2=_norm(c, width),
    )


def vision_model(c: ModelConfig) -> Module:
    width, out = c.dim("embed_dim", default=1536), c.dim("hidden_size", default=1536)
    patch, side = pair(c, "patch_size", default=14), c.dim("spatial_merge_size", default=2)
    merged = width * side * side
    channels = c.dim("num_channels", default=3)
    patches = Module("DotsPatchEmbed", proj=patch_conv(channels, width, patch))
    patches.children["norm"] = _norm(c, width)
    after = c.flag("post_norm", default=True)
    return Module(
        "DotsVisionTransformer",
        patch_embed=Module("DotsViTPreprocessor", patchifier=patches),
        blocks=Layers.of(c.count("num_hidden_layers", default=42), _block(c, width)),
        post_trunk_norm=_norm(c, width) if after else None,
        merger=Module(
            "PatchMerger",
            ln_q=LayerNorm(width, eps=1e-6),
            mlp=Sequential(Linear(merged, merged), Activation("GELU"), Linear(merged, out)),
            component=Component.PROJECTOR,
            part="projector",
        ),
        part="vision",
    )


def causal_lm(c: ModelConfig) -> Module:
    head = lm_head(
        c, c.dim("hidden_size", default=4096), c.dim("vocab_size", default=151936),
        tied_to="model.embed_tokens.weight", tied_default=False,
    )  # fmt: skip
    return Module(
        "DotsOCRForCausalLM",
        model=QWEN2.model(c),
        lm_head=head,
        vision_tower=vision_model(c.section("vision_config")),
    )


register(
    "dots_ocr",
    {"DotsOCRForCausalLM": causal_lm},
    category="multimodal",
    source="modeling_dots_ocr.py and modeling_dots_vision.py of rednote-hilab/dots.ocr",
)
