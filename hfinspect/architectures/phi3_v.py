"""Phi-3-vision and Phi-3.5-vision (Abdin et al. 2024); image_embedding_phi3_v.py of the same repo
has what stands next to the decoder."""

from ..layers.heads import causal_lm
from ..layers.multimodal import as_projector, linear_row
from ..trees import Component, Embedding, Linear, ModelConfig, Module, Weight, register_part
from .clip import vision_model
from .llava import CLIP_L
from .phi3 import PHI3


def image_embedding(c: ModelConfig) -> Module:
    """``image_dim_out`` is the width of the tower, which is CLIP-L; 2 by 2 patches are joined."""
    h = PHI3.width(c)
    options = c.section("embd_layer")
    wide = c.section("img_processor").dim("image_dim_out", default=1024) * 4
    plain = options.word("projection_cls", "mlp", "linear") == "linear"
    learned = options.flag("with_learnable_separator", default=True)
    return Module(
        "Phi3ImageEmbedding",
        glb_GN=Weight(1, 1, wide, component=Component.EMBEDDING) if learned else None,
        sub_GN=Weight(1, 1, 1, wide, component=Component.EMBEDDING) if learned else None,
        wte=Embedding(PHI3.size(c, "vocab_size"), h, tied_to="model.embed_tokens.weight"),
        img_processor=Module("CLIPVisionModel", vision_model=vision_model(ModelConfig(CLIP_L))),
        img_projection=as_projector(Linear(wide, h) if plain else linear_row([wide, h, h])),
        part="vision",
    )


def model(c: ModelConfig) -> Module:
    return PHI3.named("Phi3VModel", c).adding(vision_embed_tokens=image_embedding(c))


_NAME = "Phi3VForCausalLM"
_SOURCE = "modeling_phi3_v.py of microsoft/Phi-3-vision-128k-instruct"
register_part("phi3_v", _NAME, causal_lm(_NAME, model), source=_SOURCE, prefix="model")
