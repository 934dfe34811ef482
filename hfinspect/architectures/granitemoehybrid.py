"""Granite 4 (IBM 2025).

Source of shapes: transformers/models/granitemoehybrid/modeling_granitemoehybrid.py.
Most layers have a Mamba 2 mixer in place of attention. Every layer has a dense (shared) MLP, and
experts next to it where ``num_local_experts`` is not 0.
"""

from collections.abc import Sequence

from ..core.config import ModelConfig
from ..layers.blocks import layer_types
from ..layers.decoders import Decoder
from ..layers.mamba2_mixer import Mixer, expanded
from ..layers.mamba2_mixer import mixer as mamba_mixer
from ..trees.modules import Module
from .granitemoe import GRANITE_MOE, moe
from .granitemoeshared import shared_mlp

#: Files of the first release say "mamba", newer ones "linear_attention".
_MAMBA = ("linear_attention", "mamba")


def mixer(d: Decoder, c: ModelConfig) -> Module:
    sizes = Mixer(
        hidden=d.width(c),
        inner=expanded(c, "mamba_expand", d.width(c)),
        heads=c.dim("mamba_n_heads", default=128),
        groups=c.dim("mamba_n_groups", default=1),
        state=c.dim("mamba_d_state", default=256),
        kernel=c.dim("mamba_d_conv", default=4),
        bias=c.flag("mamba_proj_bias", default=False),
        conv_bias=c.flag("mamba_conv_bias", default=True),
    )
    act = d.act(c)
    return mamba_mixer(f"{d.name}MambaLayer", sizes, norm=f"{d.name}RMSNormGated", act=act)


def _layer(d: Decoder, c: ModelConfig, kind: str) -> Module:
    mamba, count = kind in _MAMBA, c.count("num_local_experts", default=8)
    shared = shared_mlp(d, c, c.dim("shared_intermediate_size", default=1024))
    if not count:
        shared.kind = None
    return Module(
        f"{d.name}DecoderLayer",
        self_attn=None if mamba else d.attention(d, c),
        input_layernorm=d.norm(d, c, d.width(c)),
        post_attention_layernorm=d.norm(d, c, d.width(c)),
        block_sparse_moe=moe(d, c) if count else None,
        shared_mlp=shared,
        mamba=mixer(d, c) if mamba else None,
    )


def _kinds(_d: Decoder, c: ModelConfig, layers: int) -> Sequence[str]:
    key = "layer_types" if c.has("layer_types") else "layers_block_type"
    return layer_types(c, layers, lambda _: "linear_attention", key=key)


GRANITE_MOE.like("GraniteMoeHybrid", layer=_layer, kinds=_kinds).register("granitemoehybrid")
