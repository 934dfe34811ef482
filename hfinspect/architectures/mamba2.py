"""Mamba 2 (Dao & Gu 2024). Source of shapes: transformers/models/mamba2/modeling_mamba2.py.

One input projection gives the gate, the convolved stream x with the state matrices B and C (shared
by groups of heads) and a time step per head; A and D are one number per head. Hybrid models use the
same mixer under their own names.
"""

from ..core.config import ModelConfig
from ..layers.blocks import size
from ..layers.heads import decoder_classes
from ..layers.mamba2_mixer import Mixer, expanded, mixer
from ..trees.catalog import register
from ..trees.modules import Embedding, Layers, Module, RMSNorm

_hidden = size("hidden_size", default=4096)


def _norm(c: ModelConfig) -> Module:
    eps = c.number("layer_norm_epsilon", default=1e-5)
    return RMSNorm(_hidden(c), eps=eps, class_name="Mamba2RMSNorm")


def model(c: ModelConfig) -> Module:
    h = _hidden(c)
    sizes = Mixer(
        hidden=h,
        inner=expanded(c, "expand", h),
        heads=c.dim("num_heads", default=128),
        groups=c.dim("n_groups", default=8),
        state=c.dim("state_size", default=128),
        kernel=c.dim("conv_kernel", default=4),
        bias=c.flag("use_bias", default=False),
        conv_bias=c.flag("use_conv_bias", default=True),
    )
    act = c.text("hidden_act", default="silu")
    block = Module(
        "Mamba2Block",
        norm=_norm(c),
        mixer=mixer("Mamba2Mixer", sizes, norm="MambaRMSNormGated", act=act),
    )
    return Module(
        "Mamba2Model",
        embeddings=Embedding(c.dim("vocab_size", default=32768), h),
        layers=Layers.of(c.count("num_hidden_layers", default=64), block),
        norm_f=_norm(c),
    )


register(
    "mamba2",
    decoder_classes("Mamba2", model, prefix="backbone", embedding="embeddings", heads=()),
    base_prefix="backbone",
    # state-spaces/mamba2-*: the first release's spelling.
    aliases={"backbone.embedding.": "backbone.embeddings."},
    category="text decoder",
)
