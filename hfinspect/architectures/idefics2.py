"""Idefics2 (Laurençon et al. 2024). Source: transformers/models/idefics2/modeling_idefics2.py.

A SigLIP tower without pooling, a gated projection to the text's width, a Perceiver that reads all
patches into 64 latents, and Mistral.
"""

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation
from ..layers.multimodal import Decoder, decoder, projecting, projector, register_worded
from ..trees.catalog import auto_model
from ..trees.modules import Linear, Module, Weight


def _mlp(inputs: int, inner: int, outputs: int, act: str | None) -> Module:
    return Module(
        "Idefics2MLP",
        gate_proj=Linear(inputs, inner, bias=False, kind="gate"),
        up_proj=Linear(inputs, inner, bias=False, kind="up"),
        down_proj=Linear(inner, outputs, bias=False, kind="down"),
        act_fn=activation(act),
    )


def resampler(c: ModelConfig, hidden: Dim) -> Module:
    """As wide as the text, whatever perceiver_config says."""
    section = ModelConfig({**c.values, "hidden_size": int(hidden)}, c.path)
    latents = Weight(c.dim("resampler_n_latents", default=64), hidden)
    built = projecting(auto_model(section, default_type="idefics2_perceiver"))
    built.children["latents"] = latents
    return built


def connector(c: ModelConfig, text: Decoder) -> Module:
    vision, section = c.section("vision_config"), c.section("text_config")
    # Mistral's own default stands in where the section is silent.
    inner = section.dim("intermediate_size", default=14336)
    return projector(
        "Idefics2Connector",
        modality_projection=_mlp(
            vision.dim("hidden_size", default=768), inner, text.hidden, section.text("hidden_act")
        ),
        perceiver_resampler=resampler(c.section("perceiver_config"), text.hidden),
    )


def base(c: ModelConfig) -> Module:
    text = decoder(c, "mistral")
    return Module(
        "Idefics2Model",
        vision_model=auto_model(c.section("vision_config"), default_type="idefics2_vision"),
        connector=connector(c, text),
        text_model=text.base,
    )


register_worded("idefics2", "Idefics2", base, tied=False, text="text_model")
