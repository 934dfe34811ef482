"""QwenImageTransformer2DModel: Qwen-Image (Wu et al. 2025).

Source of shapes: diffusers/models/transformers/transformer_qwenimage.py. Every block has two
streams, image and text, each with its modulation and MLP, in one attention.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.diffusion import attention, feed_forward, modulation, out_channels, timestep_embedding
from ..trees.catalog import register
from ..trees.modules import (
    Activation,
    Embedding,
    LayerNorm,
    Layers,
    Linear,
    Module,
    RMSNorm,
    Sequential,
)


def _modulation(width: Dim) -> Module:
    """Shift, scale and gate for attention and MLP, from the time: 6·W² weights."""
    return Sequential(Activation("SiLU"), Linear(width, 6 * width), component=Component.NORM)


def block(width: Dim, head: Dim) -> Module:
    def bare() -> Module:
        return LayerNorm(width, eps=1e-6, weight=False)

    return Module(
        "QwenImageTransformerBlock",
        img_mod=_modulation(width),
        img_norm1=bare(),
        attn=attention(width, width, bias=True, head_norm=head, added=width),
        img_norm2=bare(),
        img_mlp=feed_forward(width, gated=False),
        txt_mod=_modulation(width),
        txt_norm1=bare(),
        txt_norm2=bare(),
        txt_mlp=feed_forward(width, gated=False),
    )


def model(c: ModelConfig) -> Module:
    head = c.dim("attention_head_dim", default=128)
    width = c.dim("num_attention_heads", default=24) * head
    patch, text = c.dim("patch_size", default=2), c.dim("joint_attention_dim", default=3584)
    pixels = patch * patch * out_channels(c, default=16, in_default=64)
    more = c.flag("use_additional_t_cond", default=False)
    return Module(
        "QwenImageTransformer2DModel",
        pos_embed=Activation("QwenEmbedRope"),
        time_text_embed=Module(
            "QwenTimestepProjEmbeddings",
            time_proj=Activation("Timesteps"),
            timestep_embedder=timestep_embedding(256, width),
            addition_t_embedding=Embedding(2, width) if more else None,
        ),
        txt_norm=RMSNorm(text, eps=1e-6),
        img_in=Linear(
            c.dim("in_channels", default=64), width, component=Component.EMBEDDING, kind="patch"
        ),
        txt_in=Linear(text, width, component=Component.PROJECTOR),
        transformer_blocks=Layers.of(c.count("num_layers", default=60), block(width, head)),
        norm_out=modulation("AdaLayerNormContinuous", width, 2),
        proj_out=Linear(width, pixels, component=Component.HEAD),
        part="vision",
    )


register((), {"QwenImageTransformer2DModel": model}, category="diffusion", source="diffusers")
