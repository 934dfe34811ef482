"""InternVL 3 in transformers' own form (Zhu et al. 2025). Source: transformers/models/internvl.
InternViT (a BEiT with scales per channel), a projector over squares of patches joined together, and
any decoder. Checkpoints of the authors' own code have the type internvl_chat."""

from typing import Any

from ..layers.composing import joined, respelled
from ..layers.multimodal import Joined, two_linears
from ..layers.vision import pair
from ..trees import Dim, LayerNorm, ModelConfig, Module, builder

#: What transformers calls a part of the tower -> its name in the authors' own code.
_RELEASED = {
    "cls_token": "class_embedding",
    "patch_embeddings": "patch_embedding",
    "position_embeddings": "position_embedding",
    "layer": "layers",
    "lambda_1": "ls1",
    "lambda_2": "ls2",
    "layernorm_before": "norm1",
    "layernorm_after": "norm2",
    "attention": "attn",
    "projection_layer": "proj",
}


def tower(c: ModelConfig, **values: Any) -> Module:
    """InternViT of a config with more ``values``; images and patches may be given by one side."""
    usual = {"image_size": 448, "patch_size": 14}
    both = {key: list(map(int, pair(c, key, default=side))) for key, side in usual.items()}
    return builder("InternVLVisionModel")(ModelConfig({**c.values, **both, **values}, c.path))


def as_released(tower: Module) -> Module:
    """A tower under the names of the authors' own code, its q, k and v in one matrix."""
    embeddings = respelled(tower, _RELEASED).inside("embeddings")
    patches = embeddings.inside("patch_embedding", "projection")
    patches.kind, embeddings.children["patch_embedding"] = "patch", patches
    return joined(tower, ("q_proj", "k_proj", "v_proj"), "qkv", "qkv")


def merged(c: ModelConfig) -> int:
    """How many patches become one: those of a square, whose side is int(1 / downsample_ratio)."""
    ratio = c.number("downsample_ratio", default=0.5)
    if not 1 / 64 <= ratio <= 1:
        raise c.error("downsample_ratio", ratio, "between 1/64 and 1")
    return int(1 / ratio) ** 2


def projector(j: Joined, c: ModelConfig, width: Dim, hidden: Dim) -> Module:
    """A norm and two layers over the patches of a square."""
    wide = width * merged(c)
    norm = LayerNorm(wide)
    return two_linears(f"{j.name}MultiModalProjector", c, wide, hidden, hidden, layer_norm=norm)


Joined("InternVL", "internvl_vision", "qwen2", projector=projector).register("internvl")
