"""V-JEPA 2 (Assran et al. 2025). Source of shapes: transformers/models/vjepa2/modeling_vjepa2.py.

A ViT over blocks of a few frames with rotary positions, and a narrower one that predicts hidden
patches. To classify a video, one vector asks the patches what they hold.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation
from ..layers.heads import classifier
from ..layers.vision import clip_attention, clip_layer, pair, plain_mlp, scaled
from ..trees.catalog import register
from ..trees.modules import Conv, LayerNorm, Layers, Linear, Module, Weight

#: Of the pooler, whose MLP does not read ``mlp_ratio``.
_POOLER_RATIO = 4


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=1024)


def _narrow(c: ModelConfig) -> Dim:
    return c.dim("pred_hidden_size", default=384)


def _norm(c: ModelConfig, width: Dim) -> Module:
    return LayerNorm(width, eps=c.number("layer_norm_eps", default=1e-6))


def _act(c: ModelConfig) -> str | None:
    return c.text("hidden_act", default="gelu")


def _layer(c: ModelConfig, width: Dim, before: str = "", heads: int = 16) -> Module:
    bias, key = c.flag("qkv_bias", default=True), f"{before}num_attention_heads"
    c.divided(width, c.dim(key, default=heads), f"{before}hidden_size", key)
    inner = scaled(c, width, f"{before}mlp_ratio", default=4.0)
    return Module(
        "VJEPA2Layer",
        norm1=_norm(c, width),
        attention=Module(
            "VJEPA2RopeAttention",
            query=Linear(width, width, bias=bias, kind="query"),
            key=Linear(width, width, bias=bias, kind="key"),
            value=Linear(width, width, bias=bias, kind="value"),
            proj=Linear(width, width, kind="output"),
            component=Component.ATTENTION,
        ),
        norm2=_norm(c, width),
        mlp=Module(
            "VJEPA2MLP",
            fc1=Linear(width, inner, kind="up"),
            activation=activation(_act(c)),
            fc2=Linear(inner, width, kind="down"),
            component=Component.MLP,
        ),
    )


def _embeddings(c: ModelConfig) -> Module:
    patch = pair(c, "patch_size", default=16)
    kernel = (c.dim("tubelet_size", default=2), *patch)
    proj = Conv(
        c.dim("in_chans", default=3), _hidden(c), kernel, dims=3, stride=kernel,
        component=Component.EMBEDDING, kind="patch",
    )  # fmt: skip
    return Module(
        "VJEPA2Embeddings",
        patch_embeddings=Module("VJEPA2PatchEmbeddings3D", proj=proj),
        component=Component.EMBEDDING,
    )


def _predictor(c: ModelConfig) -> Module:
    h, width = _hidden(c), _narrow(c)
    tokens = c.dim("pred_num_mask_tokens", default=10, minimum=0)
    count = c.count("pred_num_hidden_layers", default=12)
    return Module(
        "VJEPA2Predictor",
        embeddings=Module(
            "VJEPA2PredictorEmbeddings",
            mask_tokens=Weight(tokens, 1, 1, width, kind="mask_token"),
            predictor_embeddings=Linear(h, width),
            component=Component.EMBEDDING,
        ),
        layer=Layers.of(count, _layer(c, width, "pred_", 12)),
        layernorm=_norm(c, width),
        proj=Linear(width, h, component=Component.PROJECTOR),
    )


def model(c: ModelConfig) -> Module:
    h, count = _hidden(c), c.count("num_hidden_layers", default=24)
    encoder = Module(
        "VJEPA2Encoder",
        embeddings=_embeddings(c),
        layer=Layers.of(count, _layer(c, h)),
        layernorm=_norm(c, h),
    )
    return Module("VJEPA2Model", encoder=encoder, predictor=_predictor(c), part="vision")


def _pooler(c: ModelConfig) -> Module:
    h, eps = _hidden(c), c.number("layer_norm_eps", default=1e-6)
    inner = _POOLER_RATIO * h
    asking = clip_attention("VJEPA2PoolerCrossAttention", h)
    del asking.children["out_proj"]
    across = Module(
        "VJEPA2PoolerCrossAttentionLayer",
        layer_norm1=LayerNorm(h, eps=eps),
        cross_attn=asking,
        layer_norm2=LayerNorm(h, eps=eps),
        mlp=plain_mlp("VJEPA2MLP", h, inner, act=_act(c)),
    )
    within = clip_layer(
        "VJEPA2", h, inner, eps=eps, act=_act(c), attention_name="VJEPA2PoolerSelfAttention"
    )
    within.class_name = "VJEPA2PoolerSelfAttentionLayer"
    count = c.count("num_pooler_layers", default=3)
    return Module(
        "VJEPA2AttentivePooler",
        query_tokens=Weight(1, 1, h, kind="class_token", component=Component.EMBEDDING),
        cross_attention_layer=across,
        self_attention_layers=Layers.of(count, within),
        component=Component.HEAD,
    )


def video_classification(c: ModelConfig) -> Module:
    return Module(
        "VJEPA2ForVideoClassification",
        vjepa2=model(c),
        pooler=_pooler(c),
        classifier=classifier(_hidden(c), c.num_labels),
        part="vision",
    )


register(
    "vjepa2",
    {"VJEPA2Model": model, "VJEPA2ForVideoClassification": video_classification},
    base="VJEPA2Model",
    base_prefix="vjepa2",
    category="vision",
)
