"""Nystromformer (Xiong et al. 2021). Source: transformers/models/nystromformer.

BERT whose attention goes through landmarks, which cost no tensors, and a convolution of the values,
which does. Two rows of the position table belong to no position.
"""

from ..layers.encoders import BASE
from .yoso import YOSO, window

_DEFAULTS = {
    **BASE, "vocab_size": 30000, "max_position_embeddings": 510, "hidden_act": "gelu_new",
    "layer_norm_eps": 1e-5,
}  # fmt: skip

YOSO.like(
    "Nystromformer",
    "nystromformer",
    defaults=_DEFAULTS,
    layer=lambda e, c: window(e, c, "conv_kernel_size", 65),
).register("nystromformer")
