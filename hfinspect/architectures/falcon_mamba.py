"""Falcon Mamba (TII 2024). Source: transformers/models/falcon_mamba/modeling_falcon_mamba.py.

Mamba with norms of the time step and of B and C that have no weights.
"""

from ..core.config import ModelConfig
from ..layers.heads import decoder_classes
from ..trees.catalog import register
from ..trees.modules import Embedding, Layers, Module, RMSNorm
from .mamba import mixer


def _norm(c: ModelConfig) -> Module:
    eps = c.number("layer_norm_epsilon", default=1e-5)
    h = c.dim("hidden_size", default=768)
    return RMSNorm(h, eps=eps, class_name="FalconMambaRMSNorm")


def model(c: ModelConfig) -> Module:
    inner = mixer(c)
    inner.class_name = "FalconMambaMixer"
    block = Module("FalconMambaBlock", norm=_norm(c), mixer=inner)
    return Module(
        "FalconMambaModel",
        embeddings=Embedding(c.dim("vocab_size", default=50280), c.dim("hidden_size", default=768)),
        layers=Layers.of(c.count("num_hidden_layers", default=32), block),
        norm_f=_norm(c),
    )


_CLASSES = decoder_classes(
    "FalconMamba", model, prefix="backbone", embedding="embeddings", tied_default=True, heads=()
)
register("falcon_mamba", _CLASSES, base_prefix="backbone", category="text decoder")
