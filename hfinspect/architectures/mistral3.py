"""Mistral Small 3.1 and later with vision: Pixtral's tower, a merger of 2x2 patches, two linear
layers, Mistral. Source: transformers/models/mistral3. File names: multimodal.py."""

from ..layers.multimodal import Joined, two_layer_projector
from ..trees import Dim, Linear, ModelConfig, Module, RMSNorm, config_defaults


def _projector(j: Joined, c: ModelConfig, width: Dim, text: Dim) -> Module:
    side = c.dim("spatial_merge_size", default=2)
    merging = Linear(width * side * side, width, bias=False)
    return two_layer_projector(
        f"{j.name}MultiModalProjector",
        c,
        width,
        text,
        bias=c.flag("multimodal_projector_bias", default=False),
        norm=RMSNorm(width, class_name=f"{j.name}RMSNorm"),
        patch_merger=Module(f"{j.name}PatchMerger", merging_layer=merging),
    )


# The defaults are what Mistral3Config makes of absent sections: Mistral Small 3.1.
MISTRAL3 = Joined(
    "Mistral3",
    "pixtral",
    "mistral",
    projector=_projector,
    vision_defaults=config_defaults("mistral3"),
    text_defaults=config_defaults("mistral3.text"),
).register("mistral3")
