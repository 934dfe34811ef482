"""MetaCLIP 2 (Chuang et al. 2025). Source: transformers/models/metaclip_2.

CLIP (clip.py) under other class names, its words multilingual.
"""

from ..layers.composing import renamed_classes
from ..trees.catalog import register
from . import clip

register(
    "metaclip_2",
    renamed_classes(
        {"CLIPModel": clip.both, "CLIPForImageClassification": clip.image_classification},
        "CLIP",
        "MetaClip2",
    ),
    category="vision",
)
register(
    "metaclip_2_text_model",
    renamed_classes(
        {
            "CLIPTextModel": clip.text_model,
            "CLIPTextModelWithProjection": clip.text_with_projection,
        },
        "CLIP",
        "MetaClip2",
    ),
    base_prefix="text_model",
    category="encoder",
)
register(
    "metaclip_2_vision_model",
    renamed_classes(
        {
            "CLIPVisionModel": clip.vision_model,
            "CLIPVisionModelWithProjection": clip.vision_with_projection,
        },
        "CLIP",
        "MetaClip2",
    ),
    base_prefix="vision_model",
    category="vision",
)
