"""The first Qwen (Bai et al. 2023) and Qwen-VL, whose config has ``visual``. intermediate_size
counts gate and up together."""

from math import isqrt

from ..layers import named_decoder as s
from ..layers.blocks import fused_attention, rms_norms, size, two_layer_mlp
from ..layers.vision import multihead_attention, patch_conv, scaled
from ..trees import Component, Dim, LayerNorm, Layers, Linear, ModelConfig, Module, Weight

_BIASED = s.unless("no_bias", default=True)


def _channels(d: s.NamedDecoder, c: ModelConfig) -> Dim:
    return c.dim("kv_channels", default=128) * d.heads(c)


def _visual(_d: s.NamedDecoder, c: ModelConfig) -> Module | None:
    if c.has("audio"):
        raise c.uncatalogued("a qwen config with audio (Qwen-Audio)")
    return vision(c.section("visual")) if c.has("visual") else None


s.NamedDecoder(
    "QWen",
    width=size("hidden_size", "n_embd", default=4096),
    heads=size("num_attention_heads", "n_head", default=32),
    depth=size("num_hidden_layers", "n_layer", default=32),
    vocab=size("vocab_size", "padded_vocab_size", default=151936),
    inner=lambda c, _h: c.dim("intermediate_size", "ffn_hidden_size", default=22016) // 2,
    norms=rms_norms("RMSNorm", 1e-6, "layer_norm_epsilon"),
    bias=_BIASED,
    attention_bias=s.always,
    joined=lambda d, c: 3 * _channels(d, c),
    model={
        "wte": s.words,
        "drop": s.dropout("emb_dropout_prob"),
        "rotary_emb": s.shown("RotaryEmbedding"),
        "h": s.layers,
        "ln_f": s.norm,
        "visual": _visual,
    },
    attention={
        "c_attn": s.qkv,
        "c_proj": lambda d, c: Linear(d.width(c), _channels(d, c), _BIASED(c), kind="output"),
        "attn_dropout": s.dropout("attn_dropout_prob"),
    },
    mlp={"w1": s.up, "w2": s.gate, "c_proj": s.down},
    tied=False,
).register(
    "qwen",
    causal="LMHeadModel",
    heads=(),
    source="modeling_qwen.py of Qwen/Qwen-7B, visual.py of Qwen-VL, index of Qwen-7B-Chat-Int4",
)


def vision(c: ModelConfig) -> Module:
    """Qwen-VL's tower: ``visual`` has no defaults in the model's code, but for the number of
    queries, which are learned; their positions are a fixed grid as large as they are."""
    width = c.dim("width")
    out = c.dim("output_dim", default=512)
    patch = c.dim("patch_size")
    queries = c.dim("n_queries", default=256)
    inner = scaled(c, width, "mlp_ratio", default=4)
    side = isqrt(queries)
    names = ("c_fc", "c_proj")
    norm = LayerNorm(width, eps=1e-6)
    after = LayerNorm(out, eps=1e-6)
    block = Module(
        "VisualAttentionBlock",
        ln_1=norm,
        ln_2=norm,
        attn=fused_attention("VisualAttention", width, qkv="in_proj", out="out_proj"),
        mlp=two_layer_mlp("Sequential", width, inner, act="gelu", act_name="gelu", names=names),
    )
    resampler = Module(
        "Resampler",
        pos_embed=Weight(side * side, out, kind="position"),
        query=Weight(queries, out, kind="query"),
        kv_proj=Linear(width, out, bias=False) if width != out else None,
        attn=multihead_attention(out),
        ln_q=after,
        ln_kv=after,
        component=Component.ATTENTION,
        part="projector",
    )
    blocks = Layers.of(c.count("layers"), block)
    return Module(
        "VisionTransformer",
        # The table is 16 by 16 whatever the image's size; it is interpolated.
        positional_embedding=Weight(256, width, component=Component.EMBEDDING, kind="position"),
        proj=Weight(out, out, component=Component.PROJECTOR),
        conv1=patch_conv(3, width, (patch, patch), bias=False),
        ln_pre=norm,
        transformer=Module("TransformerBlock", resblocks=blocks),
        attn_pool=resampler,
        ln_post=after,
        part="vision",
    )
