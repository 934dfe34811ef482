"""Pocket TTS's codec (Kyutai 2026). Source of shapes:
transformers/models/pocket_tts_audio_tokenizer.

Mimi's convolutions and transformers (mimi.py), an encoder and a decoder of which a model may lack
one, with numbers between them in place of codebooks.
"""

import math
from functools import partial

from ..core.config import ModelConfig
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


def _thins(c: ModelConfig) -> bool:
    """Whether frames are thinned out further. Source: frame_rate and encodec_frame_rate."""
    hop, rate = sound.hop(c, "upsampling_ratios"), int(c.dim("sampling_rate"))
    return rate / (hop * int(c.dim("latent_stride"))) != math.ceil(rate / hop)


def _side(ending: str, parts: dict[str, Module | None]) -> Module:
    """A side of Mimi's under other names; what is convolutions there is one of three parts here."""
    seanet = parts[f"{ending.lower()}_seanet"]
    assert seanet is not None
    seanet.class_name = f"Mimi{ending}"
    return renamed(Module(f"Mimi{ending}Model", parts, part="audio"), "Mimi", _NAME)


def encoder(c: ModelConfig) -> Module:
    h, stride = c.dim("hidden_size"), c.dim("latent_stride")
    thin = mimi.conv(h, c.dim("latent_dim"), 2 * stride, stride=stride, bias=False)
    parts = {
        "encoder_seanet": mimi.encoder(c),
        "encoder_transformer": mimi.transformer(c),
        "downsample": thin if _thins(c) else None,
    }
    return _side("Encoder", parts)


def decoder(c: ModelConfig) -> Module:
    h, stride, groups = c.dim("hidden_size"), c.dim("latent_stride"), c.dim("upsample_groups")
    thins = _thins(c)
    if thins:
        c.divided(h, groups, "hidden_size", "upsample_groups")
    more = mimi.conv(h, h, 2 * stride, up=True, stride=stride, bias=False, groups=groups)
    parts = {
        "upsample": more if thins else None,
        "decoder_transformer": mimi.transformer(c),
        "decoder_seanet": mimi.decoder(c),
    }
    return _side("Decoder", parts)


def _lacks(c: ModelConfig, side: str) -> bool:
    """A side that the config says is null was left out of the model."""
    if c.has(f"{side}_config"):
        raise c.error(f"{side}_config", "a section", "absent, or null: the sizes stand outside")
    return c.says(f"{side}_config")


def model(c: ModelConfig) -> Module:
    lacking = [side for side in ("encoder", "decoder") if _lacks(c, side)]
    if len(lacking) > 1:
        raise c.error("decoder_config", None, "an encoder, a decoder, or both")
    return Module(
        f"{_NAME}Model",
        encoder=None if "encoder" in lacking else encoder(c),
        decoder=None if "decoder" in lacking else decoder(c),
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
