"""Emu3's image codec (BAAI 2024): a vector-quantised autoencoder with convolutions over time.

Source of shapes: transformers/models/emu3/modeling_emu3.py. The decoder's norms are shifted and
scaled by what the latent says of each place (spatial norm).
"""

from itertools import pairwise

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import size
from ..layers.vision import clip_attention
from ..trees.catalog import register_part
from ..trees.modules import BatchNorm, Conv, Embedding, GroupNorm, Layers, Module, ModuleList

Parts = dict[str, Module]

#: Resolutions halve at each level; sixteen levels would be images of half a million pixels' width.
_MAX_LEVELS = 16
_NAME = "Emu3VQVAE"

_base = size("base_channels", default=256)
_latent = size("latent_channels", default=4)
_codes = size("embed_dim", default=4)


def _norm(latent: Dim | None, width: Dim) -> Module:
    """Of each place as its ``latent`` says, where there is one."""
    plain = GroupNorm(32, width, eps=1e-6)
    if latent is None:
        return plain
    return Module(
        f"{_NAME}SpatialNorm",
        norm_layer=plain,
        conv_y=Conv(latent, width, 1, component=None),
        conv_b=Conv(latent, width, 1, component=None),
        component=Component.NORM,
    )


def _over_time(inputs: Dim, outputs: Dim, kernel: tuple[int, int, int]) -> Module:
    return Module(f"{_NAME}Conv3d", conv=Conv(inputs, outputs, kernel, dims=3))


def _resnet(inputs: Dim, outputs: Dim, latent: Dim | None) -> Module:
    return Module(
        f"{_NAME}ResnetBlock",
        norm1=_norm(latent, inputs),
        conv1=Conv(inputs, outputs, 3),
        norm2=_norm(latent, outputs),
        conv2=Conv(outputs, outputs, 3),
        nin_shortcut=Conv(inputs, outputs, 1) if inputs != outputs else None,
        component=Component.CONV,
    )


def _temporal(c: ModelConfig, width: Dim, moves: str, kernel: tuple[int, int, int]) -> Parts:
    """What changes the number of frames, as often as it halves, and residual blocks over time."""
    halvings = int(c.dim("temporal_downsample_factor", default=4)).bit_length() - 1
    norm, conv = BatchNorm(width, dims=3), _over_time(width, width, (3, 3, 3))
    name = f"{_NAME}TemporalResnetBlock"
    block = Module(name, norm1=norm, conv1=conv, norm2=norm, conv2=conv)
    moved = Module(f"{_NAME}Temporal{moves}sample", conv=_over_time(width, width, kernel))
    return {
        "time_conv": ModuleList([moved] * halvings),
        "time_res_stack": ModuleList([block] * int(c.count("num_res_blocks", default=2))),
    }


def _attention(c: ModelConfig) -> Module:
    return clip_attention(f"{_NAME}AttentionBlock", c.dim("hidden_size", default=1024))


def _widths(c: ModelConfig) -> tuple[Dim, ...]:
    """Of each resolution."""
    factors = c.dims("channel_multiplier", default=(1, 2, 2, 4))
    if not 1 <= len(factors) <= _MAX_LEVELS:
        raise c.miscounted("channel_multiplier", len(factors), f"1 to {_MAX_LEVELS}")
    return tuple(_base(c) * factor for factor in factors)


def _level(
    c: ModelConfig, i: int, sizes: tuple[Dim, Dim], count: int, latent: Dim | None, **moved: Module
) -> Module:
    """``count`` residual blocks, each with attention after it where attn_resolutions says so, and
    the change to the next resolution."""
    inputs, outputs = sizes
    attends = i in {int(a) for a in c.dims("attn_resolutions", default=(3,), minimum=0)}
    looks = count if attends else 0
    blocks = [_resnet(inputs, outputs, latent), *[_resnet(outputs, outputs, latent)] * (count - 1)]
    looking = {
        "attn": ModuleList([_attention(c)] * looks),
        "attn_norms": ModuleList([_norm(latent, outputs)] * looks),
    }
    return Module("Module", {"block": ModuleList(blocks[:count]), **looking, **moved})


def _middle(c: ModelConfig, width: Dim, latent: Dim | None) -> Module:
    attn_norm = _norm(latent, width)
    if latent is None:
        attn_norm.class_name = f"{_NAME}GroupNorm"
    return Module(
        f"{_NAME}MiddleBlock",
        block_1=_resnet(width, width, latent),
        attn_1=_attention(c),
        attn_norm=attn_norm,
        block_2=_resnet(width, width, latent),
    )


def _encoder(c: ModelConfig) -> Module:
    widths, count = _widths(c), int(c.count("num_res_blocks", default=2))
    out = 2 * _latent(c) if c.flag("double_latent", default=False) else _latent(c)
    downs = []
    for i, (inputs, outputs) in enumerate(pairwise((_base(c), *widths))):
        width = outputs if count else inputs
        conv = Module(f"{_NAME}EncoderConvDownsample", conv=Conv(width, width, 3))
        moved = {} if i == len(widths) - 1 else {"downsample": conv}
        downs.append(_level(c, i, (inputs, outputs), count, None, **moved))
    return Module(
        f"{_NAME}Encoder",
        {
            "conv_in": Conv(c.dim("in_channels", default=3), _base(c), 3),
            "down_block": Module(f"{_NAME}DownBlock", down=Layers(downs)),
            "middle_block": _middle(c, widths[-1], None),
            "norm_out": _norm(None, widths[-1]),
            "conv_out": Conv(widths[-1], out, 3),
            **_temporal(c, out, "Down", (4, 3, 3)),
        },
        component=Component.CONV,
    )


def _decoder(c: ModelConfig) -> Module:
    """And back, each resolution with one block more."""
    widths, count, codes = _widths(c), int(c.count("num_res_blocks", default=2)), _codes(c)
    ups = []
    for i, (outputs, inputs) in enumerate(pairwise((*widths, widths[-1]))):
        conv = Module(f"{_NAME}EncoderConvUpsample", conv=Conv(outputs, outputs, 3))
        moved = {"upsample": conv} if i else {}
        ups.append(_level(c, i, (inputs, outputs), count + 1, codes, **moved))
    return Module(
        f"{_NAME}Decoder",
        {
            **_temporal(c, _latent(c), "Up", (3, 3, 3)),
            "conv_in": Conv(_latent(c), widths[-1], 3),
            "middle_block": _middle(c, widths[-1], codes),
            "up_block": Module(f"{_NAME}UpBlock", up=Layers(ups)),
            "norm_out": _norm(codes, widths[0]),
            "conv_out": Conv(widths[0], c.dim("out_channels", default=3), 3),
        },
        component=Component.CONV,
    )


def model(c: ModelConfig) -> Module:
    book = Embedding(c.dim("codebook_size", default=32768), _codes(c))
    return Module(
        _NAME,
        encoder=_encoder(c),
        decoder=_decoder(c),
        quantize=Module(f"{_NAME}VectorQuantizer", embedding=book),
        quant_conv=_over_time(_latent(c), _codes(c), (3, 1, 1)),
        post_quant_conv=_over_time(_codes(c), _latent(c), (3, 1, 1)),
        part="vision",
    )


register_part("emu3_vqgan", _NAME, model, "vision")
