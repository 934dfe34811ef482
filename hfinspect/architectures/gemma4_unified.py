"""Gemma 4 without towers (Gemma Team 2026): the text model reads patches and audio directly.

Source of shapes: transformers/models/gemma4_unified/modeling_gemma4_unified.py.
The text model is Gemma 4's dense one. A patch is normed, projected, given learned positions of its
row and column and projected again; audio frames are projected once.
"""

from ..core.components import Component
from ..core.config import ModelConfig, exact
from ..core.dims import Dim
from ..layers.composing import renamed
from ..layers.heads import causal_lm
from ..layers.multimodal import register_worded
from ..trees.catalog import register
from ..trees.modules import Activation, LayerNorm, Linear, Module, Weight
from . import gemma4_text


def text_model(c: ModelConfig) -> Module:
    # The class knows neither embeddings per layer nor experts, whatever the file says of them.
    dense = {**c.values, "hidden_size_per_layer_input": 0, "enable_moe_block": False}
    return renamed(gemma4_text.text_model(ModelConfig(dense, c.path)), "Gemma4", "Gemma4Unified")


def patch_embedder(c: ModelConfig) -> Module:
    side = c.dim("patch_size", default=16) * c.dim("pooling_kernel_size", default=3)
    pixels, width = side * side * 3, c.dim("mm_embed_dim", default=3840)
    positions = c.dim("mm_posemb_size", default=1120)
    return Module(
        "Gemma4UnifiedVisionEmbedder",
        patch_ln1=LayerNorm(pixels),
        patch_dense=Linear(pixels, width, kind="patch"),
        patch_ln2=LayerNorm(width),
        pos_embedding=Weight(positions, exact(2), width, kind="position"),
        pos_norm=LayerNorm(width),
        component=Component.EMBEDDING,
        part="vision",
    )


def projection(width: Dim, text: Dim) -> Module:
    return Module(
        "Gemma4UnifiedMultimodalEmbedder",
        embedding_projection=Linear(width, text, bias=False),
        embedding_pre_projection_norm=Activation("Gemma4UnifiedRMSNorm"),
        component=Component.PROJECTOR,
        part="projector",
    )


def model(c: ModelConfig) -> Module:
    text = c.section("text_config")
    width = gemma4_text.hidden(text)
    parts: dict[str, Module] = {"language_model": text_model(text)}
    if c.has("vision_config"):
        vision = c.section("vision_config")
        parts["vision_embedder"] = patch_embedder(vision)
        found = vision.dim("output_proj_dims", default=3840)
        parts["embed_vision"] = projection(found, width)
        # In memory embed_vision is the embedder and holds the projection.
        parts["embed_vision"].class_name = "Gemma4UnifiedVisionEmbedder"
    if c.has("audio_config"):
        samples = c.section("audio_config").dim("audio_embed_dim", default=640)
        parts["embed_audio"] = projection(samples, width)
    return Module("Gemma4UnifiedModel", dict(parts))


register(
    "gemma4_unified_text",
    {
        "Gemma4UnifiedForCausalLM": causal_lm(
            "Gemma4UnifiedForCausalLM", text_model, tied_default=True
        ),
        "Gemma4UnifiedTextModel": text_model,
    },
    base_prefix="model",
    category="text decoder",
)
register_worded("gemma4_unified", "Gemma4Unified", model, tied=True)
