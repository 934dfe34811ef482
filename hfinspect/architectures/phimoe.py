"""Phi-3.5-MoE (Microsoft 2024; transformers/models/phimoe). Mixtral's expert layout with LayerNorms
that have biases, and optional biases in attention and head."""

from ..layers import mixtures as m
from ..layers.decoders import SEQUENCE_HEAD, Decoder, block_sparse, layer_norms
from ..layers.windows import windows
from ..trees import config_defaults

_PHI = Decoder(
    "Phimoe",
    **config_defaults("phimoe"),
    windows=lambda c: windows(c, None),
    rotary=False,
    tasks=SEQUENCE_HEAD,
    norm=layer_norms("rms_norm_eps"),
    layer=block_sparse,
    moe=m.mixtral(m.counts("num_local_experts", default=16), 2),
)
_CLASSES = _PHI.classes(bias="lm_head_bias")
# The repo's own code spells the class with a capital E.
_PHI.register("phimoe", more={**_CLASSES, "PhiMoEForCausalLM": _CLASSES["PhimoeForCausalLM"]})
