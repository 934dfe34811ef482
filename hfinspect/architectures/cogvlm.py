"""CogVLM and CogVLM2 (Wang et al. 2023; Hong et al. 2024). No class in transformers, and their
configs name no model_type. Source of shapes: modeling_cogvlm.py and visual.py in
THUDM/cogvlm-chat-hf, cogvlm2-llama3-chat-19B and cogvlm2-llama3-caption; cogvlm.cpp reads the same
names, and the tensor list published for cogvlm2-llama3-caption has the shapes.

Llama's block with a second MLP and second attention matrices for image tokens.  EVA2-CLIP, and a
gated MLP as projector.  CogVLM2 (``num_multi_query_heads``) merges 2 by 2 patches in a convolution,
groups its key heads and has a bias for image tokens' q, k and v; its video form has no second
matrices.
"""

from functools import partial

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import fused_attention, gated_mlp
from ..layers.composing import respelled
from ..layers.decoders import Decoder
from ..layers.heads import causal_lm
from ..layers.multimodal import projecting
from ..layers.vision import pair, patch_conv, plain_mlp, position_table
from ..trees.catalog import register
from ..trees.modules import (
    Buffer,
    Conv,
    LayerNorm,
    Layers,
    Linear,
    Module,
    RMSNorm,
    Weight,
)
from .llama import LLAMA


def _is_second(c: ModelConfig) -> bool:
    return c.has("num_multi_query_heads")


# ---- vision


def _vision_layer(c: ModelConfig, h: Dim) -> Module:
    inner, act = c.dim("intermediate_size", default=15360), c.text("hidden_act", default="gelu")
    norm = LayerNorm(h, eps=c.number("layer_norm_eps", default=1e-6))
    attention = fused_attention("Attention", h, out="dense")
    return Module(
        "TransformerLayer",
        input_layernorm=norm,
        attention=respelled(attention, {"qkv": "query_key_value"}),
        mlp=plain_mlp("MLP", h, inner, act=act),
        post_attention_layernorm=norm,
    )


def _projector(h: Dim, inner: Dim, width: Dim) -> Module:
    names = {"up_proj": "dense_h_to_4h", "down_proj": "dense_4h_to_h", "act_fn": "act2"}
    gated = projecting(respelled(gated_mlp("GLU", h, inner), names))
    gated.part = "projector"
    first = {"linear_proj": Linear(width, h, bias=False), "norm1": LayerNorm(h)}
    gated.children = {**first, **gated.children}
    return gated


def vision_model(c: ModelConfig, inner: Dim, merged: Dim | None) -> Module:
    """``inner`` is the width inside the projector, ``merged`` what the convolution puts out."""
    v = c.section("vision_config")
    width = v.dim("hidden_size", default=1792)
    patches = Module(
        "PatchEmbedding",
        cls_embedding=Weight(1, width, kind="class_token"),
        proj=patch_conv(v.dim("in_channels", default=3), width, pair(v, "patch_size", default=14)),
        position_embedding=position_table(v.dim("num_positions", default=1226), width),
        component=Component.EMBEDDING,
    )
    layers = Layers.of(v.count("num_hidden_layers", default=63), _vision_layer(v, width))
    mark = Weight(1, 1, _TEXT.width(c), component=Component.EMBEDDING)
    return Module(
        "EVA2CLIPModel",
        boi=mark,
        eoi=mark,
        patch_embedding=patches,
        transformer=Module("Transformer", layers=layers),
        linear_proj=_projector(_TEXT.width(c), inner, width if merged is None else merged),
        conv=None if merged is None else Conv(width, merged, 2, stride=2),
        part="vision",
    )


# ---- text


def _attention(d: Decoder, c: ModelConfig, *, seeing: bool = True) -> Module:
    h = d.width(c)
    heads = c.dim("num_attention_heads", default=32)
    head = c.divided(h, heads, "hidden_size", "num_attention_heads")
    groups = _is_second(c)
    width = h + 2 * (c.dim("num_multi_query_heads") * head) if groups else 3 * h
    second = {
        "vision_expert_query_key_value": Linear(h, width, bias=groups, kind="qkv"),
        "vision_expert_dense": Linear(h, h, bias=False, kind="output"),
    }
    frequencies = Buffer(head // 2)  # saved, so files hold it
    return Module(
        "VisionExpertAttention",
        {
            "rotary_emb": Module("RotaryEmbedding", inv_freq=frequencies),
            **(second if seeing else {}),
            "language_expert_query_key_value": Linear(h, width, bias=False, kind="qkv"),
            "language_expert_dense": Linear(h, h, bias=False, kind="output"),
        },
        component=Component.ATTENTION,
    )


def _mlp(d: Decoder, c: ModelConfig, *, seeing: bool = True) -> Module:
    mlp = gated_mlp("MLP", d.width(c), d.inner(c), act=d.act(c))
    return Module("VisionExpertMLP", language_mlp=mlp, vision_mlp=mlp if seeing else None)


def _norm(_d: Decoder, c: ModelConfig, size: int) -> Module:
    return RMSNorm(size, eps=c.number("rms_norm_eps", default=1e-6))


_TEXT = LLAMA.like("CogVLM", norm=_norm, attention=_attention, mlp=_mlp, rotary=False)
_VIDEO = _TEXT.like(
    "CogVLM", attention=partial(_attention, seeing=False), mlp=partial(_mlp, seeing=False)
)


def _model(d: Decoder, c: ModelConfig) -> Module:
    base = d.model(c)
    width = c.section("vision_config").dim("hidden_size", default=1792)
    base.children["vision"] = vision_model(c, d.inner(c), width if _is_second(c) else None)
    return base


register(
    ("cogvlm", "cogvlm2"),
    {
        name: causal_lm(name, partial(_model, d))
        for name, d in (("CogVLMForCausalLM", _TEXT), ("CogVLMVideoForCausalLM", _VIDEO))
    },
    base="CogVLMModel",
    base_prefix="model",
    category="multimodal",
    source="modeling_cogvlm.py and visual.py of THUDM/cogvlm2-llama3-chat-19B; names in cogvlm.cpp",
)
