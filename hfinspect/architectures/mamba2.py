"""Mamba 2 (Dao & Gu 2024). Source of shapes: transformers/models/mamba2/modeling_mamba2.py.

One input projection gives the gate, the convolved stream x with the state matrices B and C (shared
by groups of heads) and a time step per head; A and D are one number per head. Hybrid models use the
same mixer under their own names.
"""

from ..core.config import ModelConfig
from ..layers.blocks import rms_norms, size
from ..layers.mamba2_mixer import Mixer, expanded, mixer
from ..layers.spelled import Spelled
from ..trees.modules import Module
from .mamba import MAMBA


def _mixer(d: Spelled, c: ModelConfig) -> Module:
    sizes = Mixer(
        hidden=d.width(c),
        inner=expanded(c, "expand", d.width(c)),
        heads=c.dim("num_heads", default=128),
        groups=c.dim("n_groups", default=8),
        state=c.dim("state_size", default=128),
        kernel=c.dim("conv_kernel", default=4),
        bias=c.flag("use_bias", default=False),
        conv_bias=c.flag("use_conv_bias", default=True),
    )
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
