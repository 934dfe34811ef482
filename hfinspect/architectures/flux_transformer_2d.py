"""FluxTransformer2DModel: FLUX.1 (Black Forest Labs 2024).

Source of shapes: diffusers/models/transformers/transformer_flux.py. Blocks with two streams, image
and text, then blocks with one, whose attention and MLP run side by side and share the projection
out. The distilled dev model is also given its guidance.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.diffusion import (
    attention,
    feed_forward,
    modulation,
    out_channels,
    text_projection,
    timestep_embedding,
)
from ..trees.catalog import register
from ..trees.modules import Activation, LayerNorm, Layers, Linear, Module


def double_block(width: Dim, head: Dim) -> Module:
    return Module(
        "FluxTransformerBlock",
        norm1=modulation("AdaLayerNormZero", width, 6),
        norm1_context=modulation("AdaLayerNormZero", width, 6),
        attn=attention(
            width, width, bias=True, head_norm=head, added=width, class_name="FluxAttention"
        ),
        norm2=LayerNorm(width, eps=1e-6, weight=False),
        ff=feed_forward(width, gated=False),
        norm2_context=LayerNorm(width, eps=1e-6, weight=False),
        ff_context=feed_forward(width, gated=False),
    )


def single_block(width: Dim, head: Dim) -> Module:
    """One projection out for attention and MLP together: (W + 4·W)·W weights."""
    inner = 4 * width
    return Module(
        "FluxSingleTransformerBlock",
        norm=modulation("AdaLayerNormZeroSingle", width, 3),
        proj_mlp=Linear(width, inner, component=Component.MLP, kind="up"),
        act_mlp=Activation("GELU"),
        proj_out=Linear(width + inner, width, component=Component.MLP, kind="down"),
        attn=attention(
            width, width, bias=True, head_norm=head, out=False, class_name="FluxAttention"
        ),
    )


def conditions(c: ModelConfig, width: Dim) -> Module:
    guided = c.flag("guidance_embeds", default=False)
    return Module(
        f"CombinedTimestep{'Guidance' if guided else ''}TextProjEmbeddings",
        time_proj=Activation("Timesteps"),
        timestep_embedder=timestep_embedding(256, width),
        guidance_embedder=timestep_embedding(256, width) if guided else None,
        text_embedder=text_projection(c.dim("pooled_projection_dim", default=768), width),
    )


def model(c: ModelConfig) -> Module:
    head = c.dim("attention_head_dim", default=128)
    width = c.dim("num_attention_heads", default=24) * head
    patch = c.dim("patch_size", default=1)
    pixels = patch * patch * out_channels(c, default=None, in_default=64)
    text = c.dim("joint_attention_dim", default=4096)
    return Module(
        "FluxTransformer2DModel",
        pos_embed=Activation("FluxPosEmbed"),
        time_text_embed=conditions(c, width),
        context_embedder=Linear(text, width, component=Component.PROJECTOR),
        x_embedder=Linear(
            c.dim("in_channels", default=64), width, component=Component.EMBEDDING, kind="patch"
        ),
        transformer_blocks=Layers.of(c.count("num_layers", default=19), double_block(width, head)),
        single_transformer_blocks=Layers.of(
            c.count("num_single_layers", default=38), single_block(width, head)
        ),
        norm_out=modulation("AdaLayerNormContinuous", width, 2),
        proj_out=Linear(width, pixels, component=Component.HEAD),
        part="vision",
    )


register((), {"FluxTransformer2DModel": model}, category="diffusion", source="diffusers")
