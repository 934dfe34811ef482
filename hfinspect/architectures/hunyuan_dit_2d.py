"""HunyuanDiT2DModel: Hunyuan-DiT (Li et al. 2024).

Source of shapes: diffusers/models/transformers/hunyuan_transformer_2d.py and embeddings.py. Blocks
of self-attention, attention to two text encoders' states and an MLP; those of the second half join
what a block of the first half gave.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.diffusion import attention, modulation, timestep_embedding
from ..trees.catalog import register
from ..trees.modules import (
    Activation,
    Conv,
    Dropout,
    Embedding,
    LayerNorm,
    Layers,
    Linear,
    Module,
    ModuleList,
    Weight,
)


def _norm(width: int) -> Module:
    norm = LayerNorm(width, eps=1e-6)
    norm.class_name = "FP32LayerNorm"
    return norm


def _perceptron(inputs: int, hidden: int, outputs: int) -> Module:
    return Module(
        "PixArtAlphaTextProjection",
        linear_1=Linear(inputs, hidden),
        act_1=Activation("FP32SiLU"),
        linear_2=Linear(hidden, outputs),
        component=Component.EMBEDDING,
    )


def _attention(width: Dim, head: Dim, context: Dim | None = None) -> Module:
    block = attention(width, width, context=context, bias=True)
    block.children["norm_q"] = LayerNorm(head, eps=1e-6)
    block.children["norm_k"] = LayerNorm(head, eps=1e-6)
    return block


def _feed_forward(c: ModelConfig, width: Dim) -> Module:
    """``mlp_ratio`` times as wide inside, rounded down."""
    inner = int(width * c.number("mlp_ratio", default=4.0))
    gated = c.text("activation_fn", default="gelu-approximate") == "geglu"
    project = Module(
        "GEGLU" if gated else "GELU",
        proj=Linear(width, 2 * inner if gated else inner, kind="gate_up" if gated else "up"),
    )
    return Module(
        "FeedForward",
        net=ModuleList([project, Dropout(0.0), Linear(inner, width, kind="down")]),
        component=Component.MLP,
    )


def block(c: ModelConfig, width: Dim, head: Dim, *, joins: bool) -> Module:
    shift = Module(
        "AdaLayerNormShift",
        silu=Activation("SiLU"),
        linear=Linear(width, width),
        norm=_norm(width),
        component=Component.NORM,
    )
    return Module(
        "HunyuanDiTBlock",
        norm1=shift,
        attn1=_attention(width, head),
        norm2=_norm(width),
        attn2=_attention(width, head, c.dim("cross_attention_dim", default=1024)),
        norm3=_norm(width),
        ff=_feed_forward(c, width),
        skip_norm=_norm(2 * width) if joins else None,
        skip_linear=Linear(2 * width, width, component=Component.OTHER) if joins else None,
    )


def conditions(c: ModelConfig) -> Module:
    """Time, pooled text and, up to version 1.1, the image's sizes and a style."""
    width, pooled = (
        c.dim("hidden_size", default=1152),
        c.dim("pooled_projection_dim", default=1024),
    )
    text, length = c.dim("cross_attention_dim_t5", default=2048), c.dim("text_len_t5", default=256)
    styled = c.flag("use_style_cond_and_image_meta_size", default=True)
    pooler = Module(
        "HunyuanDiTAttentionPool",
        positional_embedding=Weight(length + 1, text, component=Component.EMBEDDING),
        k_proj=Linear(text, text),
        q_proj=Linear(text, text),
        v_proj=Linear(text, text),
        c_proj=Linear(text, pooled),
        component=Component.HEAD,
        kind="pooler",
    )
    extra = 256 * 6 + width + pooled if styled else pooled
    return Module(
        "HunyuanCombinedTimestepTextSizeStyleEmbedding",
        time_proj=Activation("Timesteps"),
        timestep_embedder=timestep_embedding(256, width),
        size_proj=Activation("Timesteps"),
        pooler=pooler,
        style_embedder=Embedding(1, width, kind=None) if styled else None,
        extra_embedder=_perceptron(extra, 4 * width, width),
    )


def model(c: ModelConfig) -> Module:
    head = c.dim("attention_head_dim", default=88)
    width = c.dim("num_attention_heads", default=16) * head
    hidden, patch = c.dim("hidden_size", default=1152), c.dim("patch_size")
    channels, count = c.dim("in_channels"), c.count("num_layers", default=28)
    text, text_t5 = (
        c.dim("cross_attention_dim", default=1024),
        c.dim("cross_attention_dim_t5", default=2048),
    )
    positions = c.dim("text_len", default=77) + c.dim("text_len_t5", default=256)
    outputs = channels * (2 if c.flag("learn_sigma", default=True) else 1)
    plain, joining = (block(c, width, head, joins=joins) for joins in (False, True))
    return Module(
        "HunyuanDiT2DModel",
        text_embedder=_perceptron(text_t5, 4 * text_t5, text),
        text_embedding_padding=Weight(positions, text, component=Component.EMBEDDING),
        pos_embed=Module(
            "PatchEmbed",
            proj=Conv(
                channels,
                hidden,
                int(patch),
                stride=int(patch),
                component=Component.EMBEDDING,
                kind="patch",
            ),
        ),
        time_extra_emb=conditions(c),
        blocks=Layers([joining if i > count // 2 else plain for i in range(count)], count=count),
        norm_out=modulation("AdaLayerNormContinuous", width, 2),
        proj_out=Linear(width, patch * patch * outputs, component=Component.HEAD),
        part="vision",
    )


register((), {"HunyuanDiT2DModel": model}, category="diffusion", source="diffusers")
