"""dots.ocr (rednote 2025); vLLM's dots_ocr.py reads the same names."""

from typing import Any

from ..layers.blocks import fused_attention, gated_mlp, rms_norms
from ..layers.composing import respelled
from ..layers.multimodal import linear_row, projector
from ..layers.vision import pair, patch_conv
from ..trees import Dim, LayerNorm, Layers, ModelConfig, Module, register_part
from .qwen2 import QWEN2


def gated(name: str, width: Dim, inner: Dim, **options: Any) -> Module:
    """fc1 and fc3 are gate and up, fc2 goes down."""
    names = {"gate_proj": "fc1", "up_proj": "fc3", "down_proj": "fc2"}
    return respelled(gated_mlp(name, width, inner, **options), names)


def merger(name: str, width: Dim, side: Dim, out: Dim) -> Module:
    """A square of patches as one token, through two layers."""
    wide = width * side * side
    return projector(name, ln_q=LayerNorm(width, eps=1e-6), mlp=linear_row([wide, wide, out]))


def vision_model(c: ModelConfig) -> Module:
    width = c.dim("embed_dim", default=1536)
    out = c.dim("hidden_size", default=1536)
    patch = pair(c, "patch_size", default=14)
    channels = c.dim("num_channels", default=3)
    inner = c.dim("intermediate_size", default=4224)
    bias = c.flag("use_bias", default=False)
    norm = rms_norms("RMSNorm", 1e-5)(c, width)
    after = c.flag("post_norm", default=True)
    attn = fused_attention("VisionAttention", width, bias=bias, out_bias=bias)
    mlp = gated("DotsSwiGLUFFN", width, inner, bias=bias)
    block = Module("DotsVisionBlock", attn=attn, norm1=norm, mlp=mlp, norm2=norm)
    patches = Module("DotsPatchEmbed", proj=patch_conv(channels, width, patch), norm=norm)
    return Module(
        "DotsVisionTransformer",
        patch_embed=Module("DotsViTPreprocessor", patchifier=patches),
        blocks=Layers.of(c.count("num_hidden_layers", default=42), block),
        post_trunk_norm=norm if after else None,
        merger=merger("PatchMerger", width, c.dim("spatial_merge_size", default=2), out),
        part="vision",
    )


def causal_lm(c: ModelConfig) -> Module:
    tower = vision_model(c.section("vision_config"))
    root = QWEN2.classes()["Qwen2ForCausalLM"](c)
    return root.called("DotsOCRForCausalLM").adding(vision_tower=tower)


_SOURCE = "modeling_dots_ocr.py and modeling_dots_vision.py of rednote-hilab/dots.ocr"
register_part("dots_ocr", "DotsOCRForCausalLM", causal_lm, source=_SOURCE)
