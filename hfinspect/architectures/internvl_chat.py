"""InternVL 1.5 to 3.5 (Chen et al. 2023-2025) as released under InternVLChatModel (transformers'
``internvl`` is the converted form). Source of shapes: modeling_internvl_chat.py and
modeling_intern_vit.py in OpenGVLab/InternVL2-8B. H2OVL-Mississippi and Skywork-R1V are the same
model under class names of their own (vLLM's h2ovl.py and skyworkr1v.py).
"""

from functools import partial

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import size
from ..layers.composing import renamed
from ..layers.multimodal import as_projector
from ..trees.catalog import auto_class, register_part
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


def projector(wide: Dim, width: Dim) -> Module:
    """``mlp1``: two layers from merged patches to the words' ``width``."""
    gelu = Activation("GELU", "approximate='none'")
    return as_projector(
        Sequential(LayerNorm(wide), Linear(wide, width), gelu, Linear(width, width))
    )


def chat_model(c: ModelConfig, name: str = "InternVLChatModel") -> Module:
    text, vision = c.section("llm_config"), c.section("vision_config")
    return Module(
        name,
        vision_model=vision_model(vision),
        language_model=auto_class(text, "ForCausalLM", default_type="llama"),
        mlp1=projector(_width(vision) * merged(c), text.dim("hidden_size", default=4096)),
    )


_SOURCE = "modeling_internvl_chat.py and modeling_intern_vit.py of OpenGVLab/InternVL2-8B"
_KIN = "vLLM's h2ovl.py and skyworkr1v.py; modeling_internvl_chat.py of InternVL2"
for _type, _name, _from in (
    ("internvl_chat", "InternVLChatModel", _SOURCE),
    ("h2ovl_chat", "H2OVLChatModel", _KIN),
    ("skywork_chat", "SkyworkR1VChatModel", _KIN),
):
    register_part(_type, _name, partial(chat_model, name=_name), source=_from)
register_part("intern_vit_6b", "InternVisionModel", vision_model, "vision", _SOURCE)
