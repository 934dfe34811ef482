"""StableLM (Bellagente et al. 2024): Llama's block with LayerNorms, no second norm where attention
and MLP stand side by side (transformers/models/stablelm)."""

from ..layers.blocks import Heads, grouped_attention
from ..layers.decoders import LABEL_HEADS, Decoder, layer_norms, pre_norm
from ..trees import Dropout, LayerNorm, ModelConfig, Module, ModuleList
from .llama import LLAMA


def _attention(d: Decoder, c: ModelConfig) -> Module:
    h = d.width(c)
    bias = c.flag("use_qkv_bias", default=False)
    keys = ("num_attention_heads", "num_key_value_heads")
    query, kv = (c.count(key, default=32, minimum=1) for key in keys)
    head = c.divided(h, query, "hidden_size", keys[0])
    heads = Heads(query, kv, head)
    block = grouped_attention(f"{d.name}Attention", h, heads, bias=bias, out_bias=False)
    if c.flag("qk_layernorm", default=False):
        norm = LayerNorm(head, eps=c.number("layer_norm_eps", default=1e-5), bias=False)
        for name, count in (("q_layernorm", query), ("k_layernorm", kv)):
            norms = ModuleList([norm] * int(count))
            block.children[name] = Module(f"{d.name}LayerNormPerHead", norms=norms)
    return block


def _layer(d: Decoder, c: ModelConfig, kind: str) -> Module:
    block = pre_norm(d, c, kind).adding(dropout=Dropout(c.number("hidden_dropout", default=0.0)))
    parallel = c.flag("use_parallel_residual", default=False)
    return block.without("post_attention_layernorm") if parallel else block


STABLELM = LLAMA.like(
    "StableLm",
    attention_bias=None,
    mlp_bias=None,
    tasks=LABEL_HEADS,
    norm=layer_norms("layer_norm_eps"),
    attention=_attention,
    layer=_layer,
).register("stablelm")
