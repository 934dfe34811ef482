"""The first Qwen (Bai et al. 2023) and Qwen-VL. No class in transformers. Source of shapes:
modeling_qwen.py in Qwen/Qwen-7B, visual.py in Qwen/Qwen-VL, and the index of Qwen-7B-Chat-Int4.

Llama's block with q, k and v in one matrix with a bias; intermediate_size counts gate and up
together. A config with ``visual`` adds a ViT and a resampler of 256 queries.
"""

from math import isqrt

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..errors import UnknownArchitectureError
from ..layers.blocks import size, two_layer_mlp
from ..layers.heads import causal_lm
from ..layers.vision import scaled
from ..trees.catalog import register
from ..trees.modules import (
    Activation,
    Conv,
    Dropout,
    Embedding,
    LayerNorm,
    Layers,
    Linear,
    Module,
    RMSNorm,
    Weight,
)  # fmt: skip

_hidden = size("hidden_size", "n_embd", default=4096)


def _norm(c: ModelConfig) -> Module:
    return RMSNorm(_hidden(c), eps=c.number("layer_norm_epsilon", default=1e-6))


def block(c: ModelConfig) -> Module:
    h = _hidden(c)
    heads = c.dim("num_attention_heads", "n_head", default=32)
    width = c.dim("kv_channels", default=128) * heads
    inner = c.dim("intermediate_size", "ffn_hidden_size", default=22016) // 2
    bias = not c.flag("no_bias", default=True)
    return Module(
        "QWenBlock",
        ln_1=_norm(c),
        attn=Module(
            "QWenAttention",
            c_attn=Linear(h, 3 * width, kind="qkv"),
            c_proj=Linear(h, width, bias=bias, kind="output"),
            attn_dropout=Dropout(c.number("attn_dropout_prob", default=0.0)),
            component=Component.ATTENTION,
        ),
        ln_2=_norm(c),
        mlp=Module(
            "QWenMLP",
            w1=Linear(h, inner, bias=bias, kind="up"),
            w2=Linear(h, inner, bias=bias, kind="gate"),
            c_proj=Linear(inner, h, bias=bias, kind="down"),
            component=Component.MLP,
        ),
    )


def model(c: ModelConfig) -> Module:
    if c.has("audio"):
        raise UnknownArchitectureError(
            "a qwen config with audio (Qwen-Audio)", "is not in the catalog",
            where=c.path or None, hint="a checkpoint's headers are read without the catalog",
        )  # fmt: skip
    vocab = c.dim("vocab_size", "padded_vocab_size", default=151936)
    return Module(
        "QWenModel",
        wte=Embedding(vocab, _hidden(c)),
        drop=Dropout(c.number("emb_dropout_prob", default=0.0)),
        rotary_emb=Activation("RotaryEmbedding"),
        h=Layers.of(c.count("num_hidden_layers", "n_layer", default=32), block(c)),
        ln_f=_norm(c),
        visual=vision(c.section("visual")) if c.has("visual") else None,
    )


# ---- Qwen-VL's tower


def _vision_block(c: ModelConfig, width: Dim) -> Module:
    inner = scaled(c, width, "mlp_ratio", default=4)
    return Module(
        "VisualAttentionBlock",
        ln_1=LayerNorm(width, eps=1e-6),
        ln_2=LayerNorm(width, eps=1e-6),
        attn=Module(
            "VisualAttention",
            in_proj=Linear(width, 3 * width, kind="qkv"),
            out_proj=Linear(width, width, kind="output"),
            component=Component.ATTENTION,
        ),
        mlp=two_layer_mlp(
            "Sequential", width, inner, act="gelu", act_name="gelu", names=("c_fc", "c_proj")
        ),
    )


def _resampler(queries: Dim, out: Dim, width: Dim) -> Module:
    """Cross-attention of learned queries; positions are a fixed grid as large as the queries."""
    side = isqrt(queries)
    return Module(
        "Resampler",
        pos_embed=Weight(side * side, out, kind="position"),
        query=Weight(queries, out, kind="query"),
        kv_proj=Linear(width, out, bias=False) if int(width) != int(out) else None,
        attn=Module(
            "MultiheadAttention",
            in_proj_weight=Weight(3 * out, out, kind="qkv"),
            in_proj_bias=Weight(3 * out, kind="qkv"),
            out_proj=Linear(out, out, kind="output", class_name="NonDynamicallyQuantizableLinear"),
        ),
        ln_q=LayerNorm(out, eps=1e-6),
        ln_kv=LayerNorm(out, eps=1e-6),
        component=Component.ATTENTION,
        part="projector",
    )


def vision(c: ModelConfig) -> Module:
    """``visual`` has no defaults in the model's code, but for the number of queries."""
    width, out = c.dim("width"), c.dim("output_dim", default=512)
    patch = c.dim("patch_size")
    blocks = Layers.of(c.count("layers"), _vision_block(c, width))
    return Module(
        "VisionTransformer",
        # The table is 16 by 16 whatever the image's size; it is interpolated.
        positional_embedding=Weight(256, width, component=Component.EMBEDDING, kind="position"),
        proj=Weight(out, out, component=Component.PROJECTOR),
        conv1=Conv(
            3, width, (patch, patch), stride=(patch, patch), bias=False,
            component=Component.EMBEDDING, kind="patch",
        ),
        ln_pre=LayerNorm(width, eps=1e-6),
        transformer=Module("TransformerBlock", resblocks=blocks),
        attn_pool=_resampler(c.dim("n_queries", default=256), out, width),
        ln_post=LayerNorm(out, eps=1e-6),
        part="vision",
    )  # fmt: skip


register(
    "qwen",
    {
        "QWenLMHeadModel": causal_lm(
            "QWenLMHeadModel", model, prefix="transformer", embedding="wte"
        ),
        "QWenModel": model,
    },
    base="QWenModel",
    base_prefix="transformer",
    category="text decoder",
    source="modeling_qwen.py of Qwen/Qwen-7B, visual.py of Qwen-VL, index of Qwen-7B-Chat-Int4",
)
