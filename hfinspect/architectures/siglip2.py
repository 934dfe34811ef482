"""SigLIP 2 (Tschannen et al. 2025): patches arrive flattened, and the square table of positions is
resized to the image. Source: transformers/models/siglip2/modeling_siglip2.py."""

from ..trees import Component, Dim, Embedding, Linear, ModelConfig, Module
from .siglip import register_towers


def _embeddings(c: ModelConfig, h: Dim) -> Module:
    patch = c.dim("patch_size", default=16)
    pixels = c.dim("num_channels", default=3) * patch * patch
    positions = Embedding(c.dim("num_patches", default=256), h, kind="position")
    parts = {"patch_embedding": Linear(pixels, h, kind="patch"), "position_embedding": positions}
    return Module("Siglip2VisionEmbeddings", {**parts}, component=Component.EMBEDDING)


register_towers("Siglip2", "siglip2", _embeddings)
