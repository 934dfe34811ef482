"""RADIO (Ranzinger et al. 2023). Source of shapes: transformers/models/radio/modeling_radio.py.

DINOv2's layers over patches that one matrix makes of their pixels, with several class tokens and
registers, and positions for the largest image. Files keep the names of NVIDIA's code.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import gated_mlp, gated_width, size
from ..layers.vision import plain_mlp, scaled, uneven_width
from ..trees.catalog import register
from ..trees.modules import Buffer, LayerNorm, Layers, Linear, Module, Weight

_hidden = size("hidden_size", default=1280)


def _patches(c: ModelConfig) -> Module:
    h, patch = _hidden(c), c.dim("patch_size", default=16)
    side = c.dim("max_img_size", default=2048) // patch
    pixels = c.dim("num_channels", default=3) * patch * patch
    frames = c.optional_dim("video_temporal_patch_size", minimum=2)
    tokens = c.dim("num_cls_tokens", default=3, minimum=0)
    tokens = tokens + c.dim("num_registers", default=7, minimum=0)
    return Module(
        "RadioPatchEmbeddings",
        embedder=Linear(pixels, h, bias=False, kind="patch"),
        video_embedder=Linear(frames * pixels, h, bias=False, kind="patch") if frames else None,
        pos_embed=Weight(1, side * side, h, kind="position"),
        cls_token=Module("RadioTokens", token=Weight(tokens, h, kind="class_token")),
        component=Component.EMBEDDING,
    )


def _attention(c: ModelConfig, width: Dim) -> Module:
    """One matrix for queries, keys and values."""
    inner = uneven_width(c, width, c.dim("num_attention_heads", default=16)) or width
    return Module(
        "RadioAttention",
        qkv=Linear(width, 3 * inner, bias=c.flag("qkv_bias", default=True), kind="qkv"),
        proj=Linear(inner, width, kind="output"),
        component=Component.ATTENTION,
    )


def _layer(c: ModelConfig) -> Module:
    h, eps = _hidden(c), c.number("layer_norm_eps", default=1e-6)
    inner = scaled(c, h, "mlp_ratio", default=4.0)
    act = c.text("hidden_act", default="gelu")
    scale = Module("RadioLayerScale", lambda1=Weight(h, kind="scale"))
    gated = c.flag("use_swiglu_ffn", default=False)
    return Module(
        "RadioLayer",
        norm1=LayerNorm(h, eps=eps),
        attn=_attention(c, h),
        layer_scale1=scale,
        norm2=LayerNorm(h, eps=eps),
        mlp=gated_mlp("RadioSwiGLUFFN", h, gated_width(inner), bias=True)
        if gated
        else plain_mlp("RadioMLP", h, inner, act=act),
        layer_scale2=scale,
    )


def _listed(c: ModelConfig, key: str, default: int) -> int:
    found = c.raw(key)
    if found is None:
        return default
    if not isinstance(found, (list, tuple)):
        raise c.error(key, found, "a list")
    return len(found)


def model(c: ModelConfig) -> Module:
    layers = Layers.of(c.count("num_hidden_layers", default=32), _layer(c))
    return Module(
        "RadioModel",
        radio_model=Module(
            "RadioModel",
            input_conditioner=Module(
                "RadioInputConditioner",
                norm_mean=Buffer(_listed(c, "norm_mean", 3), 1, 1),
                norm_std=Buffer(_listed(c, "norm_std", 3), 1, 1),
            ),
            summary_idxs=Buffer(_listed(c, "summary_idxs", 2), dtype="I64"),
            model=Module("RadioEncoder", patch_generator=_patches(c), blocks=layers),
        ),
        part="vision",
    )


register("radio", {"RadioModel": model}, category="vision")
