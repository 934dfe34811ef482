"""Mamba 2 (Dao & Gu 2024). Source of shapes: transformers/models/mamba2/modeling_mamba2.py."""

from ..core.config import ModelConfig
from ..layers.blocks import rms_norms, size
from ..layers.mamba2_mixer import Mixer, expanded, mixer
from ..layers.spelled import Spelled
from ..trees.modules import Module
from .mamba import MAMBA


def _mixer(d: Spelled, c: ModelConfig) -> Module:
    h, heads = d.width(c), c.dim("num_heads", default=128)
    groups, state = c.dim("n_groups", default=8), c.dim("state_size", default=128)
    inner, kernel = expanded(c, "expand", h), c.dim("conv_kernel", default=4)
    bias, convolved = c.flag("use_bias", default=False), c.flag("use_conv_bias", default=True)
    sizes = Mixer(h, inner, heads, groups, state, kernel, bias, convolved)
    act = c.text("hidden_act", default="silu")
    return mixer("Mamba2Mixer", sizes, norm="MambaRMSNormGated", act=act)


_MAMBA2 = MAMBA.like(
    "Mamba2", width=size("hidden_size", default=4096), depth=size("num_hidden_layers", default=64),
    vocab=size("vocab_size", default=32768),
    norms=rms_norms("Mamba2RMSNorm", 1e-5, "layer_norm_epsilon"),
    block={**MAMBA.block, "mixer": _mixer}, tied=False,
)  # fmt: skip
_MAMBA2.register(
    "mamba2",
    _MAMBA2.classes(heads=()),
    # state-spaces/mamba2-*: the first release's spelling.
    aliases={"backbone.embedding.": "backbone.embeddings."},
)
