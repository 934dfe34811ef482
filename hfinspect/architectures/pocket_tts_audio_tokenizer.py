"""Pocket TTS's codec (Kyutai 2026). Source: transformers/models/pocket_tts_audio_tokenizer.

Mimi's convolutions and transformers (mimi.py), an encoder and a decoder of which a model may lack
one, with numbers between them in place of codebooks.
"""

import math
from functools import partial
from typing import Any

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers import sound
from ..layers.composing import renamed
from ..trees.catalog import Builder, register_part
from ..trees.modules import Conv, Module
from . import mimi

_NAME, _TYPE = "PocketTTSAudioTokenizer", "pocket_tts_audio_tokenizer"
_DEFAULTS = {
    "audio_channels": 1, "hidden_size": 512, "num_filters": 64, "num_residual_layers": 1,
    "kernel_size": 7, "last_kernel_size": 3, "residual_kernel_size": 3, "compress": 2,
    "upsample_groups": 512, "num_hidden_layers": 2, "intermediate_size": 2048,
    "num_attention_heads": 8, "num_key_value_heads": 8, "hidden_act": "gelu_pytorch_tanh",
    "sampling_rate": 24000, "latent_stride": 16, "latent_dim": 32,
}  # fmt: skip


def _thin(c: ModelConfig, inputs: Dim, outputs: Dim, **options: Any) -> Module | None:
    """What thins frames out further or undoes it. Source: frame_rate and encodec_frame_rate."""
    stride, rate = c.dim("latent_stride"), int(c.dim("sampling_rate"))
    hop = sound.hop(c, "upsampling_ratios")
    if rate / (hop * int(stride)) == math.ceil(rate / hop):
        return None
    return mimi.conv(inputs, outputs, 2 * stride, stride=stride, bias=False, **options)


def _side(ending: str, **parts: Module | None) -> Module:
    """A side of Mimi's under other names; what is convolutions there is one of three parts here."""
    found = Module(f"Mimi{ending}Model", parts, part="audio")
    found.inside(f"{ending.lower()}_seanet").class_name = f"Mimi{ending}"
    return renamed(found, "Mimi", _NAME)


def encoder(c: ModelConfig) -> Module:
    return _side(
        "Encoder",
        encoder_seanet=mimi.encoder(c),
        encoder_transformer=mimi.transformer(c),
        downsample=_thin(c, c.dim("hidden_size"), c.dim("latent_dim")),
    )


def decoder(c: ModelConfig) -> Module:
    h, groups = c.dim("hidden_size"), c.dim("upsample_groups")
    more = _thin(c, h, h, up=True, groups=groups)
    if more is not None:
        c.divided(h, groups, "hidden_size", "upsample_groups")
    return _side(
        "Decoder",
        upsample=more,
        decoder_transformer=mimi.transformer(c),
        decoder_seanet=mimi.decoder(c),
    )


def model(c: ModelConfig) -> Module:
    """A side that the config says is null was left out."""
    for key in ("encoder_config", "decoder_config"):
        if c.has(key):
            raise c.error(key, "a section", "absent, or null: the sizes stand outside")
    deaf, mute = c.says("encoder_config"), c.says("decoder_config")
    if deaf and mute:
        raise c.error("decoder_config", None, "an encoder, a decoder, or both")
    return Module(
        f"{_NAME}Model",
        encoder=None if deaf else encoder(c),
        decoder=None if mute else decoder(c),
        latent_proj=Conv(c.dim("latent_dim"), c.dim("hidden_size"), 1, dims=1, bias=False),
        part="audio",
    )


def _over(c: ModelConfig, build: Builder) -> Module:
    # An empty list stands for the default too.
    ratios = c.raw("upsampling_ratios") or (6, 5, 4)
    return build(c.with_values(upsampling_ratios=ratios).with_defaults(**_DEFAULTS))


for _ending, _build in (("", model), ("_encoder", encoder), ("_decoder", decoder)):
    _class = f"{_NAME}{_ending[1:].title()}Model"
    register_part(f"{_TYPE}{_ending}", _class, partial(_over, build=_build), "audio")
