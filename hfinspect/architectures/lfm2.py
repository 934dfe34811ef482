"""LFM2 (Liquid AI 2025). Source of shapes: transformers/models/lfm2/modeling_lfm2.py.

Layers mix tokens by grouped attention or by a short gated convolution. The MLP's width is adjusted
from the config's as in the first Llama: two thirds, times a factor, rounded up.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim, named
from ..layers.blocks import grouped_attention, grouped_heads, layer_types
from ..layers.heads import lm_head
from ..trees.catalog import register_pair
from ..trees.modules import Activation, Conv, Embedding, Layers, Linear, Module, RMSNorm


def hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=2560)


def norm(c: ModelConfig, width: Dim, name: str) -> Module:
    eps = c.number("norm_eps", default=1e-5)
    return RMSNorm(width, eps=eps, class_name=f"{name}RMSNorm")


def mlp_width(c: ModelConfig) -> Dim:
    """``block_ff_dim`` is the older key and wins."""
    inner = c.dim("block_ff_dim", "intermediate_size", default=12288)
    if not c.flag("block_auto_adjust_ff_dim", default=True):
        return inner
    adjusted = int(2 * int(inner) / 3)
    if "block_ffn_dim_multiplier" not in c.values or c.has("block_ffn_dim_multiplier"):
        adjusted = int(c.number("block_ffn_dim_multiplier", default=1.0) * adjusted)
        multiple = c.dim("block_multiple_of", default=256)
        adjusted = multiple * ((adjusted + multiple - 1) // multiple)
    meaning = "2/3 of intermediate_size, times block_ffn_dim_multiplier, rounded up"
    return named(int(adjusted), "adjusted_intermediate_size", meaning)


def mlp(c: ModelConfig, inner: Dim, name: str, kind: str | None = None) -> Module:
    """w2(silu(w1(x)) * w3(x)): 3·H·I."""
    h = hidden(c)
    return Module(
        f"{name}MLP",
        w1=Linear(h, inner, bias=False, kind=kind or "gate"),
        w3=Linear(h, inner, bias=False, kind=kind or "up"),
        w2=Linear(inner, h, bias=False, kind=kind or "down"),
        component=Component.MLP,
    )


def attention(c: ModelConfig, name: str, *, heads: int = 32, kv: int = 8) -> Module:
    sizes = grouped_heads(c, hidden(c), heads=heads, kv=kv)

    def norms() -> dict[str, Module]:
        return {key: norm(c, sizes.dim, name) for key in ("q_layernorm", "k_layernorm")}

    return grouped_attention(f"{name}Attention", hidden(c), sizes, norms=norms, out="out_proj")


def short_convolution(c: ModelConfig, name: str) -> Module:
    """Two gates around a depthwise convolution: 4·H² + H·k."""
    h, bias = hidden(c), c.flag("conv_bias", default=False)
    kernel = c.dim("conv_L_cache", default=3)
    return Module(
        f"{name}ShortConv",
        conv=Conv(h, h, kernel, dims=1, groups=h, bias=bias),
        in_proj=Linear(h, 3 * h, bias=bias),
        out_proj=Linear(h, h, bias=bias),
        component=Component.CONV,
    )


def layer(c: ModelConfig, kind: str) -> Module:
    convolves = kind == "conv"
    return Module(
        "Lfm2DecoderLayer",
        self_attn=None if convolves else attention(c, "Lfm2"),
        conv=short_convolution(c, "Lfm2") if convolves else None,
        feed_forward=mlp(c, mlp_width(c), "Lfm2"),
        operator_norm=norm(c, hidden(c), "Lfm2"),
        ffn_norm=norm(c, hidden(c), "Lfm2"),
    )


def kinds(c: ModelConfig, default_layers: int = 32) -> tuple[str, ...]:
    """layer_types, or attention where full_attn_idxs says; without either, everywhere."""
    count = c.count("num_hidden_layers", default=default_layers)
    indices = c.dims("full_attn_idxs", default=range(int(count)), minimum=0)
    full = {int(i) for i in indices}
    return layer_types(c, count, lambda i: "full_attention" if i in full else "conv")


def model(c: ModelConfig) -> Module:
    h, mixes = hidden(c), kinds(c)
    built = {kind: layer(c, kind) for kind in set(mixes)}
    return Module(
        "Lfm2Model",
        embed_tokens=Embedding(c.dim("vocab_size", default=65536), h),
        layers=Layers(built[kind] for kind in mixes),
        rotary_emb=Activation("Lfm2RotaryEmbedding"),
        embedding_norm=norm(c, h, "Lfm2"),
    )


def causal_lm(c: ModelConfig) -> Module:
    # ``tie_embedding`` is the older key and wins.
    tied = c.flag("tie_embedding", "tie_word_embeddings", default=True)
    head = lm_head(
        ModelConfig({"tie_word_embeddings": tied}),
        hidden(c),
        c.dim("vocab_size", default=65536),
        tied_to="model.embed_tokens.weight",
    )
    return Module("Lfm2ForCausalLM", model=model(c), lm_head=head)


register_pair("lfm2", "Lfm2", causal_lm, model, "text decoder", ending="ForCausalLM")
