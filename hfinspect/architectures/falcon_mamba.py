"""Falcon Mamba (TII 2024; transformers/models/falcon_mamba): its norms of the time step and of B
and C have no weights."""

from ..layers.blocks import rms_norms
from .mamba import MAMBA

_NORMS = rms_norms("FalconMambaRMSNorm", 1e-5, "layer_norm_epsilon")
MAMBA.like("FalconMamba", norms=_NORMS).register("falcon_mamba", heads=())
