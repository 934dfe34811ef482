"""InternVL 1.5 to 3.5 (Chen et al. 2023-2025) as released under InternVLChatModel. No class in
transformers (its ``internvl`` is the converted form). Source of shapes: modeling_internvl_chat.py
and modeling_intern_vit.py in OpenGVLab/InternVL2-8B.

InternViT, a two-layer projector ``mlp1`` over 2 by 2 merged patches, and the language model that
``llm_config`` names. H2OVL-Mississippi and Skywork-R1V are the same model under class names of
their own (vLLM's h2ovl.py and skyworkr1v.py).
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.blocks import size
from ..layers.composing import renamed, renamed_classes
from ..trees.catalog import auto_class, register
from ..trees.modules import Activation, LayerNorm, Linear, Module, Sequential
from .internvl import as_released, merged, tower

_width = size("hidden_size", default=3200)
_SIZES = {
    "hidden_size": 3200, "intermediate_size": 12800, "num_hidden_layers": 48, "image_size": 224,
    "norm_type": "rms_norm",
}  # fmt: skip
#: Beginnings of class names after InternVLVision, and those after Intern in the authors' code.
_CLASSES = {"E": "VisionE", "Model": "VisionModel", "Layer": "VisionEncoderLayer", "": ""}


def vision_model(c: ModelConfig) -> Module:
    """InternViT, of 6 billion parameters unless the config says otherwise; without a last norm."""
    c.word("norm_type", "rms_norm", "layer_norm")
    built = tower(
        c.with_defaults(**_SIZES),
        use_qk_norm=c.flag("qk_normalization", default=True),
        attention_bias=c.flag("qkv_bias", default=False),
        use_mean_pooling=True,
    )
    for old, new in _CLASSES.items():
        renamed(built, f"InternVLVision{old}", f"Intern{new}")
    return as_released(built)


def chat_model(c: ModelConfig) -> Module:
    text, vision = c.section("llm_config"), c.section("vision_config")
    wide, width = _width(vision) * merged(c), text.dim("hidden_size", default=4096)
    steps = (LayerNorm(wide), Linear(wide, width), Activation("GELU"), Linear(width, width))
    return Module(
        "InternVLChatModel",
        vision_model=vision_model(vision),
        language_model=auto_class(text, "ForCausalLM", default_type="llama"),
        mlp1=Sequential(*steps, component=Component.PROJECTOR, part="projector"),
    )


_SOURCE = "modeling_internvl_chat.py and modeling_intern_vit.py of OpenGVLab/InternVL2-8B"

register("internvl_chat", {"InternVLChatModel": chat_model}, category="multimodal", source=_SOURCE)
for _type, _name in (("h2ovl_chat", "H2OVLChatModel"), ("skywork_chat", "SkyworkR1VChatModel")):
    register(
        _type,
        renamed_classes({"InternVLChatModel": chat_model}, "InternVLChatModel", _name),
        base=_name,
        category="multimodal",
        source="vLLM's h2ovl.py and skyworkr1v.py; modeling_internvl_chat.py of InternVL2",
    )
register("intern_vit_6b", {"InternVisionModel": vision_model}, category="vision", source=_SOURCE)
