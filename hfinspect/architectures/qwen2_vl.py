"""Qwen2-VL (Wang et al. 2024). Source of shapes: transformers/models/qwen2_vl/modeling_qwen2_vl.py.
A ViT and Qwen2's decoder. Files keep the first release's names, ``visual`` next to ``model``
(conversion_mapping.py); configs of that time have the text model's keys at the top."""

from ..layers.blocks import gated_mlp
from ..layers.decoders import Decoder
from ..layers.multimodal import register_flat, text_section
from ..layers.windows import switched_windows
from ..trees import ModelConfig, Module, config_defaults, register_part
from .qwen2 import QWEN2

#: Prefixes of files written with the names in memory.
ALIASES = {"model.visual.": "visual.", "model.language_model.": "model."}


def _attention(d: Decoder, c: ModelConfig) -> Module:
    c.divided(d.width(c), d.heads(c).query, "hidden_size", "num_attention_heads")
    return QWEN2.attention(d, c.with_values(head_dim=None))


TEXT = QWEN2.like(
    "Qwen2VL",
    **config_defaults("qwen2_vl"),
    attention=_attention,
    mlp=lambda d, c: gated_mlp("Qwen2MLP", d.width(c), d.inner(c), act=d.act(c)),
    windows=lambda c: switched_windows(c, 4096, 80),
)


def register_qwen2_vl(model_type: str, name: str, tower: str) -> None:
    """The family whose classes begin with ``name``; ``tower`` is the class of its tower."""
    text = TEXT.like(name)
    alone = f"{name}TextModel"
    register_flat(model_type, name, text, {"visual": tower}, tied=False)
    register_part(
        f"{model_type}_text", alone, lambda c: text.named(alone, text_section(c)), "text decoder"
    )


register_qwen2_vl("qwen2_vl", "Qwen2VL", "Qwen2VisionTransformerPretrainedModel")
