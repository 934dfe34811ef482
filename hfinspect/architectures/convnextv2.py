"""ConvNeXt V2 (Woo et al. 2023). Source: transformers/models/convnextv2/modeling_convnextv2.py.

ConvNeXt with a global response norm inside the MLP instead of a scale per channel.
"""

from .convnext import register_convnext

register_convnext("ConvNextV2", "convnextv2", second=True)
