"""Falcon Mamba (TII 2024). Source: transformers/models/falcon_mamba/modeling_falcon_mamba.py.

Mamba with norms of the time step and of B and C that have no weights.
"""

from ..layers.blocks import rms_norms
from .mamba import MAMBA

_FALCON = MAMBA.like(
    "FalconMamba", norms=rms_norms("FalconMambaRMSNorm", 1e-5, "layer_norm_epsilon")
)
_FALCON.register("falcon_mamba", _FALCON.classes(heads=()))
