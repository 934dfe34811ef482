"""Granite 4 (IBM 2025; transformers/models/granitemoehybrid). Most layers have a Mamba 2 mixer in
place of attention."""

from ..layers.decoders import Decoder
from ..layers.layer_kinds import words
from ..layers.mamba2_mixer import mixer
from ..trees import ModelConfig, Module
from .granitemoe import GRANITE_MOE, moe
from .granitemoeshared import shared_mlp


def _layer(d: Decoder, c: ModelConfig, kind: str) -> Module:
    """Files of the first release say "mamba", newer ones "linear_attention"."""
    mamba = kind in ("linear_attention", "mamba")
    count = c.count("num_local_experts", default=8)
    shared = shared_mlp(d, c, c.dim("shared_intermediate_size", default=1024))
    shared.kind = shared.kind if count else None
    norm = f"{d.name}RMSNormGated"
    name = f"{d.name}MambaLayer"
    block = Module(f"{d.name}DecoderLayer", self_attn=None if mamba else d.attention(d, c))
    return block.adding(
        **d.norms(c, "input_layernorm", "post_attention_layernorm"),
        block_sparse_moe=moe(d, c) if count else None,
        shared_mlp=shared,
        mamba=mixer(name, c, d.width(c), norm=norm, act=d.act(c)) if mamba else None,
    )


_kinds = words(lambda *_: "linear_attention", older="layers_block_type")
GRANITE_MOE.like("GraniteMoeHybrid", layer=_layer, kinds=_kinds).register("granitemoehybrid")
