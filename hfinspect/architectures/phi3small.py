"""Phi-3-small (Abdin et al. 2024); vLLM's phi3_small.py reads the same names."""

from ..layers import named_decoder as s
from ..layers.blocks import size
from ..layers.decoders import SEQUENCE_HEAD
from ..layers.vision import ratio_of
from ..trees import Dim, ModelConfig, named


def _inner(c: ModelConfig, h: Dim) -> Dim:
    """ff_intermediate_size, or hidden_size times ff_dim_multiplier where that is said."""
    if not c.has("ff_dim_multiplier"):
        return c.dim("ff_intermediate_size", default=14336)
    ratio = ratio_of(c, "ff_dim_multiplier", default=4)
    return named(int(ratio * int(h)), "intermediate_size", f"{ratio:g} times hidden_size")


s.NamedDecoder(
    "Phi3Small",
    width=size("hidden_size", default=4096),
    heads=size("num_attention_heads", default=32),
    depth=size("num_hidden_layers", default=32),
    vocab=size("vocab_size", default=100352),
    inner=_inner,
    joined=lambda d, c: (d.heads(c) + 2 * c.dim("num_key_value_heads", default=8)) * d.head(c),
    called={"Block": "Phi3SmallDecoderLayer", "Attention": "Phi3SmallSelfAttention"},
    model={
        "embed_tokens": s.words,
        "embedding_dropout": s.dropout("embedding_dropout_prob", 0.1),
        "layers": s.layers,
        "final_layernorm": s.norm,
    },
    block={
        "self_attn": s.attention,
        "mlp": s.mlp,
        "input_layernorm": s.norm,
        "post_attention_layernorm": s.norm,
    },
    attention={"query_key_value": s.qkv, "dense": s.output},
    mlp={"up_proj": s.gate_up, "down_proj": s.down, "dropout": s.dropout("ffn_dropout_prob", 0.1)},
    prefix="model",
).register(
    "phi3small",
    heads=SEQUENCE_HEAD,
    source="modeling_phi3_small.py of microsoft/Phi-3-small-8k-instruct",
)
