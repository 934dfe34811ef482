"""Gemma 4 with vision and audio (transformers/models/gemma4). A null section means no tower.
Linears of towers may clip input and output to recorded bounds, which are buffers."""

from ..layers.multimodal import projector, register_worded
from ..trees import Activation, Dim, Linear, ModelConfig, Module, auto_model
from .gemma4_text import hidden, text_model


def embedder(width: Dim, text: Dim, name: str = "Gemma4") -> Module:
    return projector(
        f"{name}MultimodalEmbedder",
        embedding_projection=Linear(width, text, bias=False),
        embedding_pre_projection_norm=Activation(f"{name}RMSNorm"),
    )


def towers_of(c: ModelConfig, text: Dim, name: str = "Gemma4") -> dict[str, Module]:
    """The towers that a config has, and what takes their output to the text's width."""
    towers = dict[str, Module]()
    bridges = dict[str, Module]()
    for kind in ("vision", "audio"):
        if c.has(f"{kind}_config"):
            section = c.section(f"{kind}_config")
            towers[f"{kind}_tower"] = auto_model(section, default_type=f"gemma4_{kind}", part=kind)
            usual = section.dim("hidden_size", default=768) if kind == "vision" else 1536
            width = section.dim("output_proj_dims", default=usual)
            bridges[f"embed_{kind}"] = embedder(width, text, name)
    return towers | bridges


def _model(c: ModelConfig) -> Module:
    text = c.section("text_config")
    return Module("Gemma4Model", {"language_model": text_model(text), **towers_of(c, hidden(text))})


register_worded("gemma4", "Gemma4", _model, tied=True)
