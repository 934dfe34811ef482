"""Gemma 3n's vision tower: the encoder of timm's MobileNetV5, 300M. Of the config only the name of
the architecture counts."""

from ..trees import Component, ModelConfig, Module, builder, each_module, register
from ..trees.timm import WRAPPER

#: The one architecture that published models name.
_ARCHITECTURE = "mobilenetv5_300m_enc"


def vision_model(c: ModelConfig) -> Module:
    """What each convolution of an attention is for is said here; equal ones are one object."""
    c.word("architecture", _ARCHITECTURE)
    encoder = builder(_ARCHITECTURE)(ModelConfig({"model_type": WRAPPER, "num_classes": 0}))
    for module in each_module(encoder):
        if module.class_name == "LayerScale2d":
            module.kind = "scale"
        for kind in ("query", "key", "value", "output"):
            if module.class_name == "MobileAttention":
                row = module.inside("attn", kind)
                row.inside("proj").component = Component.ATTENTION
                module.inside("attn").children[kind] = Module("Sequential", row.children, kind=kind)
    return Module("TimmWrapperModel", timm_model=encoder, part="vision")


_CLASSES = {"TimmWrapperModel": vision_model}
register("gemma3n_vision", _CLASSES, category="vision", source="timm", base=None)
