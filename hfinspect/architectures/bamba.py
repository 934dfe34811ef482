"""Bamba (IBM, Princeton, CMU, UIUC 2024). Source: transformers/models/bamba/modeling_bamba.py.

Mamba 2 layers, and attention in those that ``attn_layer_indices`` lists.
"""

from ..core.config import ModelConfig
from ..layers.decoders import Decoder
from ..layers.mamba2_mixer import bamba_sizes, mixer
from ..trees.modules import Module
from .llama import LLAMA


def _layer(d: Decoder, c: ModelConfig, kind: str) -> Module:
    attends, sizes = kind == "attention", bamba_sizes(c, d.width(c))
    mixed = mixer("BambaMixer", sizes, norm="BambaRMSNormGated", act=d.act(c))
    return Module(
        "BambaDecoderLayer",
        feed_forward=d.mlp(d, c),
        input_layernorm=d.norm(d, c, d.width(c)),
        pre_ff_layernorm=d.norm(d, c, d.width(c)),
        mamba=None if attends else mixed,
        self_attn=d.attention(d, c) if attends else None,
    )


def _kinds(_d: Decoder, c: ModelConfig, layers: int) -> list[str]:
    attending = {int(i) for i in c.dims("attn_layer_indices", default=(), minimum=0)}
    return ["attention" if i in attending else "mamba" for i in range(layers)]


LLAMA.like(
    "Bamba", vocab_size=128000, intermediate_size=14336, num_key_value_heads=8, rms_norm_eps=1e-05,
    endings=(), kinds=_kinds, layer=_layer, last_norm="final_layernorm",
).register("bamba")  # fmt: skip
