"""SpeechT5 (Ao et al. 2021). Source of shapes: transformers/models/speecht5/modeling_speecht5.py.

One encoder-decoder between nets for speech and text on either side: wav2vec 2.0's convolutions or a
table of words before, a table of words or mel frames after.  The vocoder is a model of its own.
"""

from functools import partial
from itertools import pairwise
from typing import Any

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers import speech
from ..layers.blocks import size, two_layer_mlp
from ..layers.composing import Part, composed, with_defaults
from ..layers.encoders import hidden
from ..layers.sound import HIFIGAN, hifigan
from ..layers.vision import clip_attention
from ..trees.catalog import Builder, register
from ..trees.modules import (
    Activation,
    BatchNorm,
    Buffer,
    Conv,
    Dropout,
    Embedding,
    Layers,
    Linear,
    Module,
    ModuleList,
    Weight,
)

_NAME = "SpeechT5"
_mels = size("num_mel_bins", default=80)
_DEFAULTS = {
    **speech.DEFAULTS, "vocab_size": 81, "encoder_layers": 12, "encoder_attention_heads": 12,
    "encoder_ffn_dim": 3072, "decoder_layers": 6, "decoder_ffn_dim": 3072,
    "decoder_attention_heads": 12, "reduction_factor": 2,
}  # fmt: skip


def _wrapped(c: ModelConfig, side: str) -> Module:
    """The layers of a side, and the encoder's norm and table of distances."""
    h, norm, heads = hidden(c), speech.norm(c), c.dim(f"{side}_attention_heads")
    head = c.divided(h, heads, "hidden_size", f"{side}_attention_heads")
    attention = clip_attention("SpeechT5Attention", h)
    forward = two_layer_mlp(
        "SpeechT5FeedForward", h, c.dim(f"{side}_ffn_dim"), act=c.text("hidden_act"),
        act_name="intermediate_act_fn", names=("intermediate_dense", "output_dense"),
    )  # fmt: skip
    drop = Dropout(c.number("hidden_dropout", default=0.1))
    parts = {"attention": attention, "dropout": drop, "layer_norm": norm}
    before, after = {}, {}
    if side == "decoder":
        own = {"self_attn": attention, "self_attn_layer_norm": norm}
        parts = {**own, "encoder_attn": attention, "encoder_attn_layer_norm": norm}
    else:
        count, at = 2 * c.dim("encoder_max_relative_position", default=160), Component.ATTENTION
        table = Embedding(count, head, component=at, kind="relative_position")
        after = {"embed_positions": Module("SpeechT5RelativePositionalEncoding", pe_k=table)}
        before = {"layer_norm": norm}
    parts |= {"feed_forward": forward, "final_layer_norm": norm}
    layer = Module(f"SpeechT5{side.title()}Layer", parts)
    layers = Layers.of(c.count(f"{side}_layers"), layer)
    return Module(f"SpeechT5{side.title()}", {**before, "layers": layers, **after})


# ---- before and after


def _prenet(c: ModelConfig, side: str, kind: str) -> Module | None:
    """What stands before a side, for what it takes; without one, states come in."""
    h, name = hidden(c), f"SpeechT5{kind}{side.title()}Prenet"
    # Sines, computed, and one learned number that scales them.
    at, alpha = Component.EMBEDDING, Weight(kind="scale")
    positions = Module("SpeechT5ScaledPositionalEncoding", alpha=alpha, component=at)
    if kind == "Text":
        after = {"encode_positions": positions} if side == "encoder" else {}
        return Module(name, {"embed_tokens": Embedding(c.dim("vocab_size"), h), **after})
    if kind != "Speech":
        return None
    if side == "encoder":
        return Module(
            name,
            masked_spec_embed=speech.masked_spec_embed(c),
            feature_encoder=speech.feature_encoder(c, _NAME),
            feature_projection=speech.feature_projection(c, _NAME),
            pos_conv_embed=speech.positions(c, _NAME),
            part="audio",
        )
    mels, units = _mels(c), c.dim("speech_decoder_prenet_units", default=256)
    count = int(c.count("speech_decoder_prenet_layers", default=2))
    return Module(
        name,
        layers=ModuleList(Linear(width, units) for width in [mels, *[units] * count][:count]),
        final_layer=Linear(units, h),
        encode_positions=positions,
        speaker_embeds_layer=Linear(c.dim("speaker_embedding_dim", default=512) + h, h),
        component=at,
        part="audio",
    )


def polishing(name: str, c: ModelConfig, h: Dim, **more: Module) -> Module:
    """Mel frames of states H wide, and convolutions; ``more`` stands between."""
    mels, factor = _mels(c), c.dim("reduction_factor")
    units = c.dim("speech_decoder_postnet_units", default=256)
    kernel = c.dim("speech_decoder_postnet_kernel", default=5)
    count = int(c.count("speech_decoder_postnet_layers", default=5))
    widths = [mels, *[units] * (count - 1), mels][: count + 1]
    steps = [
        Module(
            f"{name}BatchNormConvLayer",
            conv=Conv(inputs, out, kernel, dims=1, bias=False),
            batch_norm=BatchNorm(out, dims=1),
            activation=None if out is mels else Activation("Tanh"),
        )
        for inputs, out in pairwise(widths)
    ]
    parts = {"feat_out": Linear(h, mels * factor), **more, "layers": Layers(steps)}
    return Module(f"{name}SpeechDecoderPostnet", parts, component=Component.HEAD, part="audio")


def _speech_postnet(c: ModelConfig) -> Module:
    """Mel frames, several a step, whether to stop, and convolutions that polish the frames."""
    h = hidden(c)
    return polishing(_NAME, c, h, prob_out=Linear(h, c.dim("reduction_factor")))


def _text_postnet(c: ModelConfig) -> Module:
    table = "speecht5.decoder.prenet.embed_tokens.weight" if c.tied() else None
    head = Linear(hidden(c), c.dim("vocab_size"), bias=False, tied_to=table, kind="lm_head")
    return Module("SpeechT5TextDecoderPostnet", lm_head=head, component=Component.HEAD)


# ---- classes


def _side(c: ModelConfig, side: str, kind: str) -> Module:
    parts = {"prenet": _prenet(c, side, kind), f"wrapped_{side}": _wrapped(c, side)}
    return Module(f"SpeechT5{side.title()}With{kind}Prenet", parts)


def _between(source: str, target: str) -> Builder:
    sides = {"encoder": source, "decoder": target}
    return lambda c: Module("SpeechT5Model", {at: _side(c, at, kind) for at, kind in sides.items()})


def _speaking(source: str) -> dict[str, Part]:
    return {"speecht5": _between(source, "Speech"), "speech_decoder_postnet": _speech_postnet}


_WRITING: dict[str, Part] = {
    "speecht5": _between("Speech", "Text"), "text_decoder_postnet": _text_postnet,
}  # fmt: skip
_CLASSES = composed(
    {
        "SpeechT5ForTextToSpeech": _speaking("Text"),
        "SpeechT5Model": _between("out", "out"),
        "SpeechT5ForSpeechToText": _WRITING,
        "SpeechT5ForSpeechToSpeech": _speaking("Speech"),
    }
)
_SYNONYMS = {
    "num_hidden_layers": "encoder_layers", "num_attention_heads": "encoder_attention_heads",
}  # fmt: skip
_COMPLETED = with_defaults(_DEFAULTS, _CLASSES, synonyms=_SYNONYMS)
register("speecht5", _COMPLETED, base_prefix="speecht5", category="audio")


def vocoder(c: ModelConfig, name: str = "SpeechT5", **rates: Any) -> Module:
    """From mel frames; their mean and scale are buffers. ``rates``: defaults of the upsampling."""
    c = c.with_defaults(**{**HIFIGAN, **rates})
    mels = c.dim("model_in_dim", default=80)
    return hifigan(c, f"{name}HifiGan", mels, mean=Buffer(mels), scale=Buffer(mels))


_RATED = partial(vocoder, upsample_rates=(4, 4, 4, 4), upsample_kernel_sizes=(8, 8, 8, 8))
# The released vocoder's config calls itself hifigan.
_HIFIGAN = {"SpeechT5HifiGan": _RATED}
register(("speecht5_hifigan", "hifigan"), _HIFIGAN, base="SpeechT5HifiGan", category="audio")
