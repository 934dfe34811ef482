"""Falcon-H1 (TII 2025). Source of shapes: transformers/models/falcon_h1/modeling_falcon_h1.py.

Every layer has attention and a Mamba 2 mixer side by side. The mixer's width is ``mamba_d_ssm``;
its gated norm is optional. The multipliers of the config are numbers, not tensors.
"""

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.decoders import Decoder
from ..layers.mamba2_mixer import bamba_sizes, expanded, mixer
from ..trees.modules import Linear, Module
from .llama import LLAMA


def _inner(d: Decoder, c: ModelConfig) -> Dim:
    """Absent is 1024; null means expand · hidden_size."""
    if "mamba_d_ssm" in c.values and not c.has("mamba_d_ssm"):
        return expanded(c, "mamba_expand", d.width(c))
    return c.dim("mamba_d_ssm", default=1024)


def _mixer(d: Decoder, c: ModelConfig) -> Module:
    sizes = bamba_sizes(c, d.width(c), _inner(d, c))
    norm = "FalconH1RMSNormGated" if c.flag("mamba_rms_norm", default=False) else None
    module = mixer("FalconH1Mixer", sizes, norm=norm, act=d.act(c))
    bias = c.flag("projectors_bias", default=False)  # the output's own switch
    module.children["out_proj"] = Linear(sizes.inner, sizes.hidden, bias=bias)
    return module


def _layer(d: Decoder, c: ModelConfig, _kind: str) -> Module:
    return Module(
        "FalconH1DecoderLayer",
        feed_forward=d.mlp(d, c),
        mamba=_mixer(d, c),
        self_attn=d.attention(d, c),
        input_layernorm=d.norm(d, c, d.width(c)),
        pre_ff_layernorm=d.norm(d, c, d.width(c)),
    )


LLAMA.like(
    "FalconH1", vocab_size=128000, intermediate_size=14336, num_key_value_heads=8,
    rms_norm_eps=1e-05, endings=(), layer=_layer, last_norm="final_layernorm",
).register("falcon_h1")  # fmt: skip
