"""Pocket TTS's codec (Kyutai 2026): Mimi's sides, of which a model may lack one, with numbers
between them in place of codebooks (transformers/models/pocket_tts_audio_tokenizer)."""

import math
from functools import partial

from ..layers import sound
from ..layers.composing import renamed
from ..trees import Builder, Conv, ModelConfig, Module, config_defaults, register_part
from . import mimi

_NAME = "PocketTTSAudioTokenizer"
_DEFAULTS = {**mimi.DEFAULTS, **config_defaults("pocket_tts_audio_tokenizer")}


def _side(c: ModelConfig, side: str) -> Module:
    """A side of Mimi's under other names, and what thins frames out further or undoes it; what is
    convolutions there is one of three parts here. Source: frame_rate and encodec_frame_rate."""
    h = c.dim("hidden_size")
    stride = c.dim("latent_stride")
    rate = int(c.dim("sampling_rate"))
    hop = sound.hop(c, "upsampling_ratios")
    ears = side == "Encoder"
    at = side.lower()
    seanet = (sound.encoder if ears else sound.decoder)(c, "Mimi", mimi.conv)
    parts = {f"{at}_seanet": seanet, f"{at}_transformer": mimi.transformer(c)}
    conv = partial(mimi.conv, h, kernel=2 * stride, stride=stride, bias=False)
    thins = rate / (hop * int(stride)) != math.ceil(rate / hop)
    if thins and ears:
        parts["downsample"] = conv(c.dim("latent_dim"))
    elif thins:
        groups = c.dim("upsample_groups")
        c.divided(h, groups, "hidden_size", "upsample_groups")
        parts["upsample"] = conv(h, up=True, groups=groups)
    order = parts if ears else dict(reversed(parts.items()))
    return renamed(Module(f"Mimi{side}Model", order, part="audio"), "Mimi", _NAME)


def model(c: ModelConfig) -> Module:
    """A side that the config says is null was left out."""
    for key in ("encoder_config", "decoder_config"):
        if c.has(key):
            raise c.error(key, "a section", "absent, or null: the sizes stand outside")
    deaf = c.says("encoder_config")
    mute = c.says("decoder_config")
    if deaf and mute:
        raise c.error("decoder_config", None, "an encoder, a decoder, or both")
    return Module(
        f"{_NAME}Model",
        encoder=None if deaf else _side(c, "Encoder"),
        decoder=None if mute else _side(c, "Decoder"),
        latent_proj=Conv(c.dim("latent_dim"), c.dim("hidden_size"), 1, dims=1, bias=False),
        part="audio",
    )


def _over(c: ModelConfig, build: Builder) -> Module:
    # An empty list stands for the default too.
    ratios = c.raw("upsampling_ratios") or (6, 5, 4)
    return build(c.with_values(upsampling_ratios=ratios).with_defaults(**_DEFAULTS))


_TYPE = "pocket_tts_audio_tokenizer"
register_part(_TYPE, f"{_NAME}Model", partial(_over, build=model), "audio")
for _end in ("Encoder", "Decoder"):
    _half = partial(_over, build=partial(_side, side=_end))
    register_part(f"{_TYPE}_{_end.lower()}", f"{_NAME}{_end}Model", _half, "audio")
