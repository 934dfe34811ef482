"""Mamba 2 (Dao & Gu 2024; transformers/models/mamba2)."""

from ..layers.blocks import rms_norms, size
from ..layers.mamba2_mixer import Mixer
from ..layers.named_decoder import flagged
from .mamba import MAMBA

_MIXER = Mixer(
    heads=size("num_heads", default=128),
    groups=size("n_groups", default=8),
    state=size("state_size", default=128),
    kernel=size("conv_kernel", default=4),
    expand="expand",
    bias=flagged("use_bias"),
    conv_bias=flagged("use_conv_bias", default=True),
)
_MAMBA2 = MAMBA.like(
    "Mamba2",
    width=size("hidden_size", default=4096),
    depth=size("num_hidden_layers", default=64),
    vocab=size("vocab_size", default=32768),
    norms=rms_norms("Mamba2RMSNorm", 1e-5, "layer_norm_epsilon"),
    block={
        **MAMBA.block,
        "mixer": lambda d, c: _MIXER(
            "Mamba2Mixer",
            c,
            d.width(c),
            norm="MambaRMSNormGated",
            act=c.text("hidden_act", default="silu"),
        ),
    },
    tied=False,
)
# state-spaces/mamba2-*: the first release's spelling.
_ALIASES = {"backbone.embedding.": "backbone.embeddings."}
_MAMBA2.register("mamba2", aliases=_ALIASES, heads=())
