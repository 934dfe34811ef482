"""Emu3's image codec (BAAI 2024): a vector-quantised autoencoder with convolutions over time.

Source of shapes: transformers/models/emu3/modeling_emu3.py. The decoder's norms are shifted and
scaled by what the latent says of each place (spatial norm).
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..trees.catalog import register_part
from ..trees.modules import (
    BatchNorm,
    Conv,
    Embedding,
    GroupNorm,
    Layers,
    Linear,
    Module,
    ModuleList,
)

#: Resolutions halve at each level; sixteen levels would be images of half a million pixels' width.
_MAX_LEVELS = 16


def spatial_norm(latent: Dim, width: Dim) -> Module:
    return Module(
        "Emu3VQVAESpatialNorm",
        norm_layer=GroupNorm(32, width, eps=1e-6),
        conv_y=Conv(latent, width, 1, component=None),
        conv_b=Conv(latent, width, 1, component=None),
        component=Component.NORM,
    )


def norm(latent: Dim | None, width: Dim) -> Module:
    return GroupNorm(32, width, eps=1e-6) if latent is None else spatial_norm(latent, width)


def convolution_3d(inputs: Dim, outputs: Dim, kernel: tuple[int, int, int]) -> Module:
    return Module("Emu3VQVAEConv3d", conv=Conv(inputs, outputs, kernel, dims=3))


def resnet(inputs: Dim, outputs: Dim, latent: Dim | None) -> Module:
    return Module(
        "Emu3VQVAEResnetBlock",
        norm1=norm(latent, inputs),
        conv1=Conv(inputs, outputs, 3),
        norm2=norm(latent, outputs),
        conv2=Conv(outputs, outputs, 3),
        nin_shortcut=Conv(inputs, outputs, 1) if inputs != outputs else None,
        component=Component.CONV,
    )


def temporal_resnet(width: Dim) -> Module:
    return Module(
        "Emu3VQVAETemporalResnetBlock",
        norm1=BatchNorm(width, dims=3),
        conv1=convolution_3d(width, width, (3, 3, 3)),
        norm2=BatchNorm(width, dims=3),
        conv2=convolution_3d(width, width, (3, 3, 3)),
    )


def attention(c: ModelConfig) -> Module:
    h = c.dim("hidden_size", default=1024)
    return Module(
        "Emu3VQVAEAttentionBlock",
        k_proj=Linear(h, h, kind="key"),
        v_proj=Linear(h, h, kind="value"),
        q_proj=Linear(h, h, kind="query"),
        out_proj=Linear(h, h, kind="output"),
        component=Component.ATTENTION,
    )


def levels(c: ModelConfig) -> tuple[Dim, ...]:
    """The width of each resolution."""
    base = c.dim("base_channels", default=256)
    factors = c.dims("channel_multiplier", default=(1, 2, 2, 4))
    if not 1 <= len(factors) <= _MAX_LEVELS:
        raise c.error("channel_multiplier", f"{len(factors)} entries", f"1 to {_MAX_LEVELS}")
    return tuple(base * factor for factor in factors)


def level(
    c: ModelConfig, i: int, inputs: Dim, outputs: Dim, count: int, latent: Dim | None
) -> dict[str, Module]:
    """``count`` residual blocks, each with attention after it where attn_resolutions says so."""
    attends = i in {int(a) for a in c.dims("attn_resolutions", default=(3,), minimum=0)}
    rest = resnet(outputs, outputs, latent)
    blocks = [resnet(inputs, outputs, latent), *[rest] * (count - 1)][:count]
    looks = [attention(c)] * count if attends else []
    return {
        "block": ModuleList(blocks),
        "attn": ModuleList(looks),
        "attn_norms": ModuleList([norm(latent, outputs)] * len(looks)),
    }


def middle(c: ModelConfig, width: Dim, latent: Dim | None) -> Module:
    attn_norm = norm(latent, width)
    if latent is None:
        attn_norm.class_name = "Emu3VQVAEGroupNorm"
    return Module(
        "Emu3VQVAEMiddleBlock",
        block_1=resnet(width, width, latent),
        attn_1=attention(c),
        attn_norm=attn_norm,
        block_2=resnet(width, width, latent),
    )


def _temporal(c: ModelConfig) -> int:
    """How often time is halved."""
    return int(c.dim("temporal_downsample_factor", default=4)).bit_length() - 1


def encoder(c: ModelConfig) -> Module:
    widths, count = levels(c), int(c.count("num_res_blocks", default=2))
    latent = c.dim("latent_channels", default=4)
    out = 2 * latent if c.flag("double_latent", default=False) else latent
    downs = []
    for i, outputs in enumerate(widths):
        inputs = widths[i - 1] if i else c.dim("base_channels", default=256)
        width = outputs if count else inputs
        sampled = Module("Emu3VQVAEEncoderConvDownsample", conv=Conv(width, width, 3))
        parts = level(c, i, inputs, outputs, count, None)
        last = i == len(widths) - 1
        downs.append(Module("Module", dict(parts), downsample=None if last else sampled))
    halving = Module("Emu3VQVAETemporalDownsample", conv=convolution_3d(out, out, (4, 3, 3)))
    return Module(
        "Emu3VQVAEEncoder",
        conv_in=Conv(c.dim("in_channels", default=3), c.dim("base_channels", default=256), 3),
        down_block=Module("Emu3VQVAEDownBlock", down=Layers(downs)),
        middle_block=middle(c, widths[-1], None),
        norm_out=GroupNorm(32, widths[-1], eps=1e-6),
        conv_out=Conv(widths[-1], out, 3),
        time_conv=ModuleList([halving] * _temporal(c)),
        time_res_stack=ModuleList([temporal_resnet(out)] * count),
        component=Component.CONV,
    )


def decoder(c: ModelConfig) -> Module:
    widths, count = levels(c), int(c.count("num_res_blocks", default=2))
    latent, codes = c.dim("latent_channels", default=4), c.dim("embed_dim", default=4)
    ups = []
    for i, outputs in enumerate(widths):
        inputs = widths[min(i + 1, len(widths) - 1)]
        sampled = Module("Emu3VQVAEEncoderConvUpsample", conv=Conv(outputs, outputs, 3))
        parts = level(c, i, inputs, outputs, count + 1, codes)
        ups.append(Module("Module", dict(parts), upsample=sampled if i else None))
    doubling = Module("Emu3VQVAETemporalUpsample", conv=convolution_3d(latent, latent, (3, 3, 3)))
    return Module(
        "Emu3VQVAEDecoder",
        time_res_stack=ModuleList([temporal_resnet(latent)] * count),
        time_conv=ModuleList([doubling] * _temporal(c)),
        conv_in=Conv(latent, widths[-1], 3),
        middle_block=middle(c, widths[-1], codes),
        up_block=Module("Emu3VQVAEUpBlock", up=Layers(ups)),
        norm_out=spatial_norm(codes, widths[0]),
        conv_out=Conv(widths[0], c.dim("out_channels", default=3), 3),
        component=Component.CONV,
    )


def model(c: ModelConfig) -> Module:
    latent, codes = c.dim("latent_channels", default=4), c.dim("embed_dim", default=4)
    book = Embedding(c.dim("codebook_size", default=32768), codes)
    return Module(
        "Emu3VQVAE",
        encoder=encoder(c),
        decoder=decoder(c),
        quantize=Module("Emu3VQVAEVectorQuantizer", embedding=book),
        quant_conv=convolution_3d(latent, codes, (3, 1, 1)),
        post_quant_conv=convolution_3d(codes, latent, (3, 1, 1)),
        part="vision",
    )


register_part("emu3_vqgan", "Emu3VQVAE", model, "vision")
