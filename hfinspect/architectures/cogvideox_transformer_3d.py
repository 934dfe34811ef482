"""CogVideoXTransformer3DModel: text to video by CogVideoX (Yang et al. 2024).

Source of shapes: diffusers/models/transformers/cogvideox_transformer_3d.py and embeddings.py. One
stream of text and patches; in each block two norms take shifts, scales and gates from the time.
Version 1.5 cuts patches in time as well.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.diffusion import attention, feed_forward, timestep_embedding
from ..layers.vision import patch_conv
from ..trees.catalog import register
from ..trees.modules import (
    Activation,
    Buffer,
    Dropout,
    LayerNorm,
    Layers,
    Linear,
    Module,
    Parameter,
)


def _norm(c: ModelConfig, width: Dim) -> Module:
    eps = c.number("norm_eps", default=1e-5)
    return LayerNorm(width, eps=eps, weight=c.flag("norm_elementwise_affine", default=True))


def _modulated(c: ModelConfig, class_name: str, width: Dim, parts: int) -> Module:
    """``parts`` vectors from the time's embedding, T·parts·W weights, and a norm."""
    time = c.dim("time_embed_dim", default=512)
    return Module(
        class_name,
        silu=Activation("SiLU"),
        linear=Linear(time, parts * width),
        norm=_norm(c, width),
        component=Component.NORM,
    )


def block(c: ModelConfig, width: Dim, head: Dim) -> Module:
    look = attention(width, width, bias=c.flag("attention_bias", default=True))
    look.children |= {f"norm_{x}": LayerNorm(head, eps=1e-6) for x in "qk"}
    gated = c.text("activation_fn", default="gelu-approximate") == "geglu"
    return Module(
        "CogVideoXBlock",
        norm1=_modulated(c, "CogVideoXLayerNormZero", width, 6),
        attn1=look,
        norm2=_modulated(c, "CogVideoXLayerNormZero", width, 6),
        ff=feed_forward(width, gated=gated),
    )


def _positions(c: ModelConfig, width: Dim) -> Parameter | None:
    """Sines of place and time, saved only where the config calls them learned."""
    learned = c.flag("use_learned_positional_embeddings", default=False)
    if c.flag("use_rotary_positional_embeddings", default=False) and not learned:
        return None
    side = c.dim("patch_size", default=2)
    pace = c.dim("temporal_compression_ratio", default=4)
    frames = (c.dim("sample_frames", default=49) - 1) // pace + 1
    height, breadth = c.dim("sample_height", default=60), c.dim("sample_width", default=90)
    places = (height // side) * (breadth // side) * frames
    length = c.dim("max_text_seq_length", default=226) + places
    # Computed in double precision and left so.
    return Buffer(1, length, width, dtype="F64", kind="position", saved=learned)


def patch_embedding(c: ModelConfig, width: Dim) -> Module:
    channels, side = c.dim("in_channels", default=16), c.dim("patch_size", default=2)
    frames = c.optional_dim("patch_size_t")
    project = (
        patch_conv(channels, width, (side, side), bias=c.flag("patch_bias", default=True))
        if frames is None
        else Linear(channels * side * side * frames, width, kind="patch")
    )
    text = c.dim("text_embed_dim", default=4096)
    return Module(
        "CogVideoXPatchEmbed",
        pos_embedding=_positions(c, width),
        proj=project,
        text_proj=Linear(text, width, component=Component.PROJECTOR),
        component=Component.EMBEDDING,
    )


def model(c: ModelConfig) -> Module:
    head = c.dim("attention_head_dim", default=64)
    width = c.dim("num_attention_heads", default=30) * head
    side, frames = c.dim("patch_size", default=2), c.optional_dim("patch_size_t") or 1
    shifted = c.optional_dim("ofs_embed_dim")
    pixels = side * side * frames * c.dim("out_channels", default=16)
    return Module(
        "CogVideoXTransformer3DModel",
        patch_embed=patch_embedding(c, width),
        embedding_dropout=Dropout(c.number("dropout", default=0.0)),
        time_proj=Activation("Timesteps"),
        time_embedding=timestep_embedding(width, c.dim("time_embed_dim", default=512)),
        ofs_proj=None if shifted is None else Activation("Timesteps"),
        ofs_embedding=None if shifted is None else timestep_embedding(shifted, shifted),
        transformer_blocks=Layers.of(c.count("num_layers", default=30), block(c, width, head)),
        norm_final=_norm(c, width),
        norm_out=_modulated(c, "AdaLayerNorm", width, 2),
        proj_out=Linear(width, pixels, component=Component.HEAD),
        part="vision",
    )


register((), {"CogVideoXTransformer3DModel": model}, category="diffusion", source="diffusers")
