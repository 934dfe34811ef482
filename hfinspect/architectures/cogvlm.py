"""CogVLM and CogVLM2 (Wang et al. 2023; Hong et al. 2024); configs name no model_type. The tensor
list of cogvlm2-llama3-caption was published. Llama's block with a second MLP and second attention
matrices for image tokens, which the video form lacks; the second version groups its key heads."""

from functools import partial

from ..layers.blocks import fused_attention, gated_mlp
from ..layers.composing import respelled
from ..layers.decoders import Decoder, norms_called
from ..layers.heads import causal_lm
from ..layers.multimodal import projector
from ..layers.vision import pair, patch_conv, plain_mlp
from ..trees import Component, Dim, ModelConfig, register
from ..trees.modules import Buffer, Conv, Embedding, LayerNorm, Layers, Linear, Module, Weight
from .llama import LLAMA

_GATED = {"up_proj": "dense_h_to_4h", "down_proj": "dense_4h_to_h", "act_fn": "act2"}


def vision_model(c: ModelConfig, inner: Dim, merged: Dim | None) -> Module:
    """``inner`` is the width inside the projector, ``merged`` what the convolution puts out."""
    v = c.section("vision_config")
    h = _TEXT.width(c)
    width = v.dim("hidden_size", default=1792)
    patches = Module(
        "PatchEmbedding",
        cls_embedding=Weight(1, width, kind="class_token"),
        proj=patch_conv(v.dim("in_channels", default=3), width, pair(v, "patch_size", default=14)),
        position_embedding=Embedding(v.dim("num_positions", default=1226), width, kind="position"),
        component=Component.EMBEDDING,
    )
    deep = v.dim("intermediate_size", default=15360)
    act = v.text("hidden_act", default="gelu")
    norm = LayerNorm(width, eps=v.number("layer_norm_eps", default=1e-6))
    layer = Module(
        "TransformerLayer",
        input_layernorm=norm,
        attention=fused_attention("Attention", width, qkv="query_key_value", out="dense"),
        mlp=plain_mlp("MLP", width, deep, act=act),
        post_attention_layernorm=norm,
    )
    layers = Layers.of(v.count("num_hidden_layers", default=63), layer)
    mark = Weight(1, 1, h, component=Component.EMBEDDING)
    first = Linear(width if merged is None else merged, h, bias=False)
    gated = respelled(gated_mlp("GLU", h, inner), _GATED).children
    return Module(
        "EVA2CLIPModel",
        boi=mark,
        eoi=mark,
        patch_embedding=patches,
        transformer=Module("Transformer", layers=layers),
        linear_proj=projector("GLU", linear_proj=first, norm1=LayerNorm(h), **gated),
        conv=None if merged is None else Conv(width, merged, 2, stride=2),
        part="vision",
    )


def _attention(d: Decoder, c: ModelConfig, *, seeing: bool = True) -> Module:
    h = d.width(c)
    groups = c.has("num_multi_query_heads")
    head = c.divided(h, d.size(c, key := "num_attention_heads"), "hidden_size", key)
    width = h + 2 * (c.dim("num_multi_query_heads") * head) if groups else 3 * h
    frequencies = Buffer(head // 2)  # saved, so files hold it
    parts = {"rotary_emb": Module("RotaryEmbedding", inv_freq=frequencies)}
    for expert in ("vision_expert", "language_expert") if seeing else ("language_expert",):
        bias = groups and expert == "vision_expert"
        parts[f"{expert}_query_key_value"] = Linear(h, width, bias=bias, kind="qkv")
        parts[f"{expert}_dense"] = Linear(h, h, bias=False, kind="output")
    return Module("VisionExpertAttention", parts, component=Component.ATTENTION)


def _mlp(d: Decoder, c: ModelConfig, *, seeing: bool = True) -> Module:
    mlp = gated_mlp("MLP", d.width(c), d.inner(c), act=d.act(c))
    return Module("VisionExpertMLP", language_mlp=mlp, vision_mlp=mlp if seeing else None)


def _model(d: Decoder, c: ModelConfig) -> Module:
    width = c.section("vision_config").dim("hidden_size", default=1792)
    merged = width if c.has("num_multi_query_heads") else None
    return d.model(c).adding(vision=vision_model(c, d.inner(c), merged))


_TEXT = LLAMA.like(
    "CogVLM", norm=norms_called("RMSNorm"), attention=_attention, mlp=_mlp, rotary=False
)
_VIDEO = _TEXT.like(
    "CogVLM", attention=partial(_attention, seeing=False), mlp=partial(_mlp, seeing=False)
)
_CLASSES = {"CogVLMForCausalLM": _TEXT, "CogVLMVideoForCausalLM": _VIDEO}
register(
    ("cogvlm", "cogvlm2"),
    {name: causal_lm(name, partial(_model, d)) for name, d in _CLASSES.items()},
    base="CogVLMModel",
    base_prefix="model",
    category="multimodal",
    source="modeling_cogvlm.py and visual.py of THUDM/cogvlm2-llama3-chat-19B; names in cogvlm.cpp",
)
