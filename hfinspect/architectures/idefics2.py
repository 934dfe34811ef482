"""Idefics2 (Laurençon et al. 2024; transformers/models/idefics2): a SigLIP tower, a gated
projection to the text's width, a Perceiver that reads all patches into 64 latents, and Mistral."""

from ..layers.blocks import gated_mlp
from ..layers.multimodal import any_model, decoder, projecting, projector, register_worded
from ..trees import Linear, ModelConfig, Module, Weight, auto_model


def _connector(c: ModelConfig) -> Module:
    """Its Perceiver is as wide as the text, whatever perceiver_config says."""
    vision, text, reader = (c.section(f"{part}_config") for part in ("vision", "text", "perceiver"))
    h = decoder(c, "mistral").hidden
    vision_width = vision.dim("hidden_size", default=768)
    inner = text.dim("intermediate_size", default=14336)  # Mistral's own
    mlp = gated_mlp("Idefics2MLP", vision_width, inner, act=text.text("hidden_act"))
    mlp.component = None
    wide = reader.with_values(hidden_size=int(h))
    resampler = projecting(auto_model(wide, default_type="idefics2_perceiver"))
    latents = Weight(reader.dim("resampler_n_latents", default=64), h)
    return projector(
        "Idefics2Connector",
        modality_projection=mlp.adding(down_proj=Linear(inner, h, bias=False, kind="down")),
        perceiver_resampler=resampler.adding(latents=latents),
    )


_PARTS = {
    "vision_model": any_model("vision_config", "idefics2_vision"),
    "connector": _connector,
    "text_model": lambda c: decoder(c, "mistral").base,
}
register_worded("idefics2", "Idefics2", _PARTS, tied=False, text="text_model")
