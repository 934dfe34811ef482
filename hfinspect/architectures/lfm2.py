"""LFM2 (Liquid AI 2025). Source of shapes: transformers/models/lfm2/modeling_lfm2.py.

Layers mix tokens by grouped attention or by a short gated convolution. The MLP's width is adjusted
from the config's as in the first Llama: two thirds, times a factor, rounded up.
"""

from collections.abc import Sequence
from typing import Any

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim, named
from ..layers.blocks import grouped_attention, layer_types, short_convolution
from ..layers.composing import changed
from ..layers.decoders import Decoder, mixed, norms_called, says
from ..trees.catalog import Builder
from ..trees.modules import Linear, Module
from .llama import LLAMA


def _adjusted(c: ModelConfig) -> Dim:
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


def three(d: Decoder, c: ModelConfig, inner: Dim, *, expert: bool = False) -> Module:
    """w2(silu(w1(x)) * w3(x)): 3·H·I."""
    h = d.width(c)
    gate, up, down = (None,) * 3 if expert else ("gate", "up", "down")
    return Module(
        f"{d.name}MLP",
        w1=Linear(h, inner, bias=False, kind=gate),
        w3=Linear(h, inner, bias=False, kind=up),
        w2=Linear(inner, h, bias=False, kind=down),
        component=Component.MLP,
    )


def _attention(d: Decoder, c: ModelConfig) -> Module:
    h, heads = d.width(c), d.heads(c)
    norm = d.norm(d, c, heads.dim)
    return grouped_attention(
        f"{d.name}Attention", h, heads, out="out_proj",
        norms=lambda: {"q_layernorm": norm, "k_layernorm": norm},
    )  # fmt: skip


def layer(d: Decoder, c: ModelConfig, kind: Any, *, kernel: int = 3) -> Module:
    """A convolution or attention, and an MLP."""
    convolves = says(kind, "conv")
    convolution = short_convolution(f"{d.name}ShortConv", c, d.width(c), kernel)
    return mixed(
        d, c, convolution if convolves else d.attention(d, c), kind, mlp="feed_forward",
        self_attn="conv" if convolves else "self_attn", input_layernorm="operator_norm",
        post_attention_layernorm="ffn_norm",
    )  # fmt: skip


def _kinds(_d: Decoder, c: ModelConfig, layers: int) -> Sequence[str]:
    """layer_types, or attention where full_attn_idxs says; without either, everywhere."""
    full = {int(i) for i in c.dims("full_attn_idxs", default=range(layers), minimum=0)}
    return layer_types(c, layers, lambda i: "full_attention" if i in full else "conv")


LFM2 = LLAMA.like(
    "Lfm2", vocab_size=65536, hidden_size=2560, num_key_value_heads=8, rms_norm_eps=1e-5,
    norm=norms_called("Lfm2RMSNorm", "norm_eps"), layer=layer,
    attention=_attention, mlp=lambda d, c: three(d, c, _adjusted(c)), kinds=_kinds,
    last_norm="embedding_norm", endings=(), tie_word_embeddings=True,
)  # fmt: skip


def older_tie(d: Decoder) -> dict[str, Builder]:
    """The class with a head: ``tie_embedding`` is the older key and wins."""
    name = f"{d.name}ForCausalLM"
    build = d.classes()[name]

    def over(c: ModelConfig) -> Module:
        tied = c.flag("tie_embedding", "tie_word_embeddings", default=True)
        return build(ModelConfig({**c.values, "tie_word_embeddings": tied}, c.path, c.kind))

    return {name: over}


def _norm_last(_c: ModelConfig, root: Module) -> None:
    """The model makes its positions before its last norm."""
    model = root.inside("model") if "model" in root.children else root
    model.children["embedding_norm"] = model.children.pop("embedding_norm")


_CLASSES = {**LFM2.classes(), **older_tie(LFM2)}
LFM2.register("lfm2", more=changed(_CLASSES, _norm_last))
