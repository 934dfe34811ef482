"""Gemma 4 without towers (Gemma Team 2026): the dense text model reads patches and audio directly
(transformers/models/gemma4_unified)."""

from ..layers.composing import renamed
from ..layers.heads import register_tower
from ..layers.multimodal import register_worded
from ..trees import Component, LayerNorm, Linear, ModelConfig, Module, Weight, exact
from . import gemma4, gemma4_text

_NAME = "Gemma4Unified"


def text_model(c: ModelConfig) -> Module:
    # The class knows neither embeddings per layer nor experts, whatever the file says of them.
    dense = {**c.values, "hidden_size_per_layer_input": 0, "enable_moe_block": False}
    return renamed(gemma4_text.text_model(ModelConfig(dense, c.path)), "Gemma4", _NAME)


def _model(c: ModelConfig) -> Module:
    text = c.section("text_config")
    width = gemma4_text.hidden(text)
    root = Module(f"{_NAME}Model", language_model=text_model(text))
    if c.has("vision_config"):
        v = c.section("vision_config")
        side = v.dim("patch_size", default=16) * v.dim("pooling_kernel_size", default=3)
        pixels = side * side * 3
        wide = v.dim("mm_embed_dim", default=3840)
        positions = Weight(v.dim("mm_posemb_size", default=1120), exact(2), wide, kind="position")
        patches = Module(
            f"{_NAME}VisionEmbedder",
            patch_ln1=LayerNorm(pixels),
            patch_dense=Linear(pixels, wide, kind="patch"),
            patch_ln2=LayerNorm(wide),
            pos_embedding=positions,
            pos_norm=LayerNorm(wide),
            component=Component.EMBEDDING,
            part="vision",
        )
        embedder = gemma4.embedder(v.dim("output_proj_dims", default=3840), width, _NAME)
        # In memory embed_vision is the embedder and holds the projection.
        root.adding(vision_embedder=patches, embed_vision=embedder.called(f"{_NAME}VisionEmbedder"))
    if c.has("audio_config"):
        samples = c.section("audio_config").dim("audio_embed_dim", default=640)
        root.adding(embed_audio=gemma4.embedder(samples, width, _NAME))
    return root


register_tower("gemma4_unified_text", _NAME, text_model, tied=True)
register_worded("gemma4_unified", _NAME, _model, tied=True)
