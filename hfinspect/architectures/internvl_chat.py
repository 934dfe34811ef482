"""InternVL 1.5 to 3.5 (Chen et al. 2023-2025) as released; transformers' ``internvl`` is the
converted form. H2OVL-Mississippi and Skywork-R1V are the same model under names of their own."""

from ..layers.composing import renamed
from ..layers.multimodal import any_causal, as_projector, within
from ..trees import Dim, ModelConfig, config_defaults, register_part
from ..trees.modules import Activation, LayerNorm, Linear, Module, Sequential
from .internvl import as_released, merged, tower

#: Beginnings of class names after InternVLVision, and those after Intern in the authors' code.
_CLASSES = {"E": "VisionE", "Model": "VisionModel", "Layer": "VisionEncoderLayer", "": ""}


def vision_model(c: ModelConfig) -> Module:
    """InternViT, of 6 billion parameters unless the config says otherwise; without a last norm."""
    c.word("norm_type", "rms_norm", "layer_norm")
    built = tower(
        c.with_defaults(**config_defaults("internvl_chat")),
        use_qk_norm=c.flag("qk_normalization", default=True),
        attention_bias=c.flag("qkv_bias", default=False),
        use_mean_pooling=True,
    )
    for old, new in _CLASSES.items():
        renamed(built, f"InternVLVision{old}", f"Intern{new}")
    return as_released(built)


def projector(wide: Dim, text: ModelConfig) -> Module:
    """Two layers from merged patches to the words' width."""
    width = text.dim("hidden_size", default=4096)
    gelu = Activation("GELU", "approximate='none'")
    return as_projector(
        Sequential(LayerNorm(wide), Linear(wide, width), gelu, Linear(width, width))
    )


_PARTS = {
    "vision_model": within("vision_config", vision_model),
    "language_model": any_causal("llm_config", "llama"),
    "mlp1": lambda c: projector(
        c.section("vision_config").dim("hidden_size", default=3200) * merged(c),
        c.section("llm_config"),
    ),
}
_SOURCE = "modeling_internvl_chat.py and modeling_intern_vit.py of OpenGVLab/InternVL2-8B"
_KIN = "vLLM's h2ovl.py and skyworkr1v.py; modeling_internvl_chat.py of InternVL2"
register_part("internvl_chat", "InternVLChatModel", _PARTS, source=_SOURCE)
register_part("h2ovl_chat", "H2OVLChatModel", _PARTS, source=_KIN)
register_part("skywork_chat", "SkyworkR1VChatModel", _PARTS, source=_KIN)
register_part("intern_vit_6b", "InternVisionModel", vision_model, "vision", _SOURCE)
