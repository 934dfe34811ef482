"""Idefics2 (Laurençon et al. 2024). Source: transformers/models/idefics2. A SigLIP tower, a gated
projection to the text's width, a Perceiver that reads all patches into 64 latents, and Mistral."""

from ..core.config import ModelConfig
from ..layers.blocks import gated_mlp
from ..layers.multimodal import any_model, decoder, projecting, projector, register_worded
from ..trees.catalog import auto_model
from ..trees.modules import Linear, Module, Weight


def _connector(c: ModelConfig) -> Module:
    """Its Perceiver is as wide as the text, whatever perceiver_config says."""
    text, section, own = (
        decoder(c, "mistral"),
        c.section("text_config"),
        c.section("perceiver_config"),
    )
    # Mistral's own default stands in where the section is silent.
    seen, inner = (
        c.section("vision_config").dim("hidden_size", default=768),
        section.dim("intermediate_size", default=14336),
    )
    down = Linear(inner, text.hidden, bias=False, kind="down")
    mlp = gated_mlp("Idefics2MLP", seen, inner, act=section.text("hidden_act"))
    wide = own.with_values(hidden_size=int(text.hidden))
    resampler = projecting(auto_model(wide, default_type="idefics2_perceiver"))
    latents = own.dim("resampler_n_latents", default=64)
    mlp.component = None
    return projector(
        "Idefics2Connector",
        modality_projection=mlp.adding(down_proj=down),
        perceiver_resampler=resampler.adding(latents=Weight(latents, text.hidden)),
    )


_PARTS = {
    "vision_model": any_model("vision_config", "idefics2_vision"),
    "connector": _connector,
    "text_model": lambda c: decoder(c, "mistral").base,
}
register_worded("idefics2", "Idefics2", _PARTS, tied=False, text="text_model")
