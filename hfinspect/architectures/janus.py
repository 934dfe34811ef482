"""Janus (Wu et al. 2024; Chen et al. 2025). Source: transformers/models/janus/modeling_janus.py;
as released, multi_modality.py.

A vision tower and a projector; a VQ-GAN with a projector, an embedding of its codes and a head over
them; a decoder.
"""

from collections.abc import Sequence
from itertools import pairwise

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation
from ..layers.multimodal import decoder, lm_head
from ..layers.vision import (
    bounded,
    pair,
    patch_conv,
    patch_count,
    plain_mlp,
    position_table,
    scaled,
)
from ..trees.catalog import register_pair, register_part
from ..trees.handed_on import MAX_STAGES
from ..trees.modules import (
    Conv,
    Embedding,
    GroupNorm,
    LayerNorm,
    Layers,
    Linear,
    Module,
    ModuleList,
    Parameter,
)
from . import multi_modality

# ---- images as they are


def _vision_layer(c: ModelConfig, h: Dim) -> Module:
    eps, bias = c.number("layer_norm_eps", default=1e-6), c.flag("attention_bias", default=True)
    norm = LayerNorm(h) if c.flag("use_qk_norm", default=False) else None
    return Module(
        "JanusVisionEncoderLayer",
        layer_norm1=LayerNorm(h, eps=eps),
        self_attn=Module(
            "JanusVisionAttention",
            q_proj=Linear(h, h, bias=bias, kind="query"),
            k_proj=Linear(h, h, bias=bias, kind="key"),
            v_proj=Linear(h, h, bias=bias, kind="value"),
            projection_layer=Linear(h, h, kind="output"),
            q_norm=norm,
            k_norm=norm,
            component=Component.ATTENTION,
        ),
        layer_norm2=LayerNorm(h, eps=eps),
        mlp=plain_mlp(
            "JanusVisionMLP",
            h,
            scaled(c, h, "mlp_ratio", default=4),
            act=c.text("hidden_act", default="gelu"),
        ),
    )


def vision_model(c: ModelConfig) -> Module:
    h, patch = c.dim("hidden_size", default=1024), pair(c, "patch_size", default=16)
    positions = patch_count(pair(c, "image_size", default=384), patch)
    layers = Layers.of(c.count("num_hidden_layers", default=24), _vision_layer(c, h))
    return Module(
        "JanusVisionModel",
        embeddings=Module(
            "JanusVisionEmbeddings",
            patch_embedding=patch_conv(c.dim("num_channels", default=3), h, patch),
            position_embedding=position_table(positions, h),
            component=Component.EMBEDDING,
        ),
        encoder=Module("JanusVisionEncoder", layers=layers),
        post_layernorm=LayerNorm(h, eps=c.number("layer_norm_eps", default=1e-6)),
        part="vision",
    )


def _aligner(name: str, c: ModelConfig, width: Dim, depth: Dim) -> Module:
    out = c.dim("projection_dim", default=2048)
    return Module(
        f"{name}AlignerMLP",
        fc1=Linear(width, out),
        hidden_layers=ModuleList([Linear(out, out)] * max(int(depth) - 1, 0)),
        activation_fn=activation(c.text("hidden_act", default="gelu")),
        component=Component.PROJECTOR,
        part="projector",
    )


# ---- images made of codes


def resnet(inner: Dim, out: Dim) -> Module:
    return multi_modality.resnet(inner, out, "JanusVQVAEResnetBlock")


def attention(width: Dim) -> Module:
    return multi_modality.attention(width, "JanusVQVAEAttnBlock")


def _level(widths: Sequence[Dim], *, attends: bool, moves: str | None) -> Module:
    out = widths[-1]
    changed = None
    if moves:
        changed = Module(f"JanusVQVAEConv{moves.capitalize()}", conv=Conv(out, out, 3))
    return Module(
        "Module",
        {
            "block": ModuleList(resnet(a, b) for a, b in pairwise(widths)),
            "attn": ModuleList([attention(out)] * (len(widths) - 1)) if attends else None,
            **({moves: changed} if moves else {}),
        },
    )


def _middle(width: Dim) -> Module:
    return Module(
        "JanusVQVAEMidBlock",
        block_1=resnet(width, width),
        attn_1=attention(width),
        block_2=resnet(width, width),
    )


def _widths(c: ModelConfig) -> list[Dim]:
    base = c.dim("base_channels", default=128)
    multiples = c.dims("channel_multiplier", default=(1, 1, 2, 2, 4))
    if not 1 <= len(multiples) <= MAX_STAGES:
        raise c.error("channel_multiplier", c.raw("channel_multiplier"), f"1 to {MAX_STAGES}")
    return [base * multiple for multiple in multiples]


def vq_model(c: ModelConfig) -> Module:
    """Rows of residual blocks, attention in the last; the decoder's rows are one block longer."""
    widths, latent = _widths(c), c.dim("latent_channels", default=256)
    blocks = int(bounded(c, "num_res_blocks", (c.dim("num_res_blocks", default=2),))[0])
    code, codes = c.dim("embed_dim", default=8), c.dim("num_embeddings", default=16384)
    base, last = c.dim("base_channels", default=128), len(widths) - 1
    down, up = [], []
    for i, width in enumerate(widths):
        row = [widths[i - 1] if i else base, *[width] * blocks]
        down.append(_level(row, attends=i == last, moves="downsample" if i < last else None))
        row = [widths[min(i + 1, last)], *[width] * (blocks + 1)]
        up.append(_level(row, attends=i == last, moves="upsample" if i else None))
    doubled = c.flag("double_latent", default=False)
    return Module(
        "JanusVQVAE",
        encoder=Module(
            "JanusVQVAEEncoder",
            conv_in=Conv(c.dim("in_channels", default=3), base, 3),
            down=Layers(down),
            mid=_middle(widths[-1]),
            norm_out=GroupNorm(32, widths[-1], eps=1e-6),
            conv_out=Conv(widths[-1], latent * 2 if doubled else latent, 3),
        ),
        quantize=Module(
            "JanusVQVAEVectorQuantizer", embedding=Embedding(codes, code, kind="codebook")
        ),
        quant_conv=Conv(latent, code, 1),
        post_quant_conv=Conv(code, latent, 1),
        decoder=Module(
            "JanusVQVAEDecoder",
            conv_in=Conv(latent, widths[-1], 3),
            mid=_middle(widths[-1]),
            up=Layers(reversed(up)),
            norm_out=GroupNorm(32, widths[0], eps=1e-6),
            conv_out=Conv(widths[0], c.dim("out_channels", default=3), 3),
        ),
        component=Component.CONV,
        part="vq",
    )


def _code_head(c: ModelConfig) -> Module:
    out = c.dim("projection_dim", default=2048)
    return Module(
        "JanusVQVAEHead",
        proj_out=Linear(c.dim("image_token_embed_dim", default=2048), out),
        activation_fn=activation(c.text("hidden_act", default="gelu")),
        vision_head=Linear(out, c.dim("num_embeddings", default=16384)),
        component=Component.HEAD,
    )


# ---- together


def model(c: ModelConfig) -> Module:
    vision, vq = c.section("vision_config"), c.section("vq_config")
    code = vq.dim("embed_dim", default=8)
    parts: dict[str, Module | Parameter] = {
        "vision_model": vision_model(vision),
        "aligner": _aligner(
            "JanusVision",
            vision,
            vision.dim("hidden_size", default=1024),
            vision.count("depth", default=2),
        ),
        "vqmodel": vq_model(vq),
        "generation_embeddings": Embedding(
            vq.dim("num_embeddings", default=16384), code, kind="codebook"
        ),
        "generation_aligner": _aligner(
            "JanusVQVAE", vq, code, vq.count("num_hidden_layers", default=2)
        ),
        "generation_head": _code_head(vq),
        "language_model": decoder(c, "llama").base,
    }
    return Module("JanusModel", parts)


def generation(c: ModelConfig) -> Module:
    to = "model.language_model.embed_tokens.weight" if c.tied() else None
    head = lm_head(decoder(c, "llama"), to)
    return Module("JanusForConditionalGeneration", model=model(c), lm_head=head)


register_pair("janus", "Janus", generation, model, "multimodal")
register_part("janus_vqgan", "JanusVQVAE", vq_model, "vision")
