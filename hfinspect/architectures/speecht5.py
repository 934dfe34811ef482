"""SpeechT5 (Ao et al. 2021): one encoder-decoder between nets for speech or text on either side;
the vocoder is a model apart (transformers/models/speecht5)."""

from functools import partial
from itertools import pairwise
from typing import Any

from ..layers import speech
from ..layers.blocks import size, two_layer_mlp
from ..layers.composing import Form, composed, with_defaults
from ..layers.encoders import hidden
from ..layers.sound import HIFIGAN, hifigan
from ..layers.vision import clip_attention
from ..trees import Builder, Component, ModelConfig, register, register_part
from ..trees import modules as nn

_NAME = "SpeechT5"
_mels = size("num_mel_bins", default=80)
_DEFAULTS = {**speech.DEFAULTS, "vocab_size": 81, "reduction_factor": 2}


def _wrapped(c: ModelConfig, side: str) -> nn.Module:
    """The layers of a side, and the encoder's norm and table of distances."""
    h = hidden(c)
    norm = speech.norm(c)
    key = f"{side}_attention_heads"
    first = side == "encoder"
    name = f"{_NAME}{side.title()}"
    attention = clip_attention("SpeechT5Attention", h)
    count = 2 * c.dim("encoder_max_relative_position", default=160)
    head = c.divided(h, c.dim(key, default=12), "hidden_size", key)
    kind = "relative_position"
    table = nn.Embedding(count, head, component=Component.ATTENTION, kind=kind)
    places = nn.Module("SpeechT5RelativePositionalEncoding", pe_k=table)
    if first:
        drop = nn.Dropout(c.number("hidden_dropout", default=0.1))
        looks = {"attention": attention, "dropout": drop, "layer_norm": norm}
    else:
        at = {"": attention, "_layer_norm": norm}
        looks = {f"{way}_attn{end}": at[end] for way in ("self", "encoder") for end in at}
    forward = two_layer_mlp(
        "SpeechT5FeedForward",
        h,
        c.dim(f"{side}_ffn_dim", default=3072),
        act=c.text("hidden_act"),
        act_name="intermediate_act_fn",
        names=("intermediate_dense", "output_dense"),
    )
    layer = nn.Module(f"{name}Layer", looks, feed_forward=forward, final_layer_norm=norm)
    return nn.Module(
        name,
        layer_norm=norm if first else None,
        layers=nn.Layers.of(c.count(f"{side}_layers", default=12 if first else 6), layer),
        embed_positions=places if first else None,
    )


def _prenet(c: ModelConfig, side: str, kind: str) -> nn.Module | None:
    """What stands before a side, for what it takes; without one, states come in."""
    h = hidden(c)
    name = f"SpeechT5{kind}{side.title()}Prenet"
    first = side == "encoder"
    # Sines, computed, and one learned number that scales them.
    at = Component.EMBEDDING
    alpha = nn.Weight(kind="scale")
    positions = nn.Module("SpeechT5ScaledPositionalEncoding", alpha=alpha, component=at)
    if kind == "Text":
        table = nn.Embedding(c.dim("vocab_size"), h)
        return nn.Module(name, embed_tokens=table, encode_positions=positions if first else None)
    if kind != "Speech":
        return None
    if first:
        return nn.Module(
            name,
            masked_spec_embed=speech.masked_spec_embed(c),
            feature_encoder=speech.feature_encoder(c, _NAME),
            feature_projection=speech.feature_projection(c, _NAME),
            pos_conv_embed=speech.positions(c, _NAME),
            part="audio",
        )
    units = c.dim("speech_decoder_prenet_units", default=256)
    count = int(c.count("speech_decoder_prenet_layers", default=2))
    return nn.Module(
        name,
        layers=nn.ModuleList(nn.Linear(n, units) for n in [_mels(c), *[units] * count][:count]),
        final_layer=nn.Linear(units, h),
        encode_positions=positions,
        speaker_embeds_layer=nn.Linear(c.dim("speaker_embedding_dim", default=512) + h, h),
        component=at,
        part="audio",
    )


def polishing(c: ModelConfig, name: str, *, stops: bool = False) -> nn.Module:
    """Mel frames, several a step, where it ``stops`` by itself whether to, and convolutions that
    polish the frames."""
    mels = _mels(c)
    units = c.dim("speech_decoder_postnet_units", default=256)
    kernel = c.dim("speech_decoder_postnet_kernel", default=5)
    count = int(c.count("speech_decoder_postnet_layers", default=5))
    steps = [
        nn.Module(
            f"{name}BatchNormConvLayer",
            conv=nn.Conv(inputs, out, kernel, dims=1, bias=False),
            batch_norm=nn.BatchNorm(out, dims=1),
            activation=None if out is mels else nn.Activation("Tanh"),
        )
        for inputs, out in pairwise([mels, *[units] * (count - 1), mels][: count + 1])
    ]
    h = hidden(c)
    each = c.dim("reduction_factor")
    return nn.Module(
        f"{name}SpeechDecoderPostnet",
        feat_out=nn.Linear(h, mels * each),
        prob_out=nn.Linear(h, each) if stops else None,
        layers=nn.Layers(steps),
        component=Component.HEAD,
        part="audio",
    )


def _words(c: ModelConfig) -> nn.Module:
    table = "speecht5.decoder.prenet.embed_tokens.weight" if c.tied() else None
    head = nn.Linear(hidden(c), c.dim("vocab_size"), bias=False, tied_to=table, kind="lm_head")
    return nn.Module("SpeechT5TextDecoderPostnet", lm_head=head, component=Component.HEAD)


def _model(c: ModelConfig, source: str = "out", target: str = "out") -> nn.Module:
    sides = dict[str, nn.Module]()
    for at, kind in (("encoder", source), ("decoder", target)):
        parts = {"prenet": _prenet(c, at, kind), f"wrapped_{at}": _wrapped(c, at)}
        sides[at] = nn.Module(f"SpeechT5{at.title()}With{kind}Prenet", parts)
    return nn.Module("SpeechT5Model", sides)


_LAST: dict[str, Form] = {
    "Speech": {"speech_decoder_postnet": partial(polishing, name=_NAME, stops=True)},
    "Text": {"text_decoder_postnet": _words},
}
_FORMS: dict[str, Builder | Form] = {
    f"SpeechT5For{first}To{last}": {
        "speecht5": partial(_model, source=first, target=last),
        **_LAST[last],
    }
    for first, last in (("Text", "Speech"), ("Speech", "Text"), ("Speech", "Speech"))
}
_CLASSES = with_defaults(_DEFAULTS, composed({**_FORMS, "SpeechT5Model": _model}))
register("speecht5", _CLASSES, base_prefix="speecht5", category="audio")


def vocoder(c: ModelConfig, name: str = "SpeechT5", **rates: Any) -> nn.Module:
    """From mel frames; their mean and scale are buffers. ``rates``: defaults of the upsampling."""
    c = c.with_defaults(**{**HIFIGAN, **rates})
    mels = c.dim("model_in_dim", default=80)
    return hifigan(c, f"{name}HifiGan", mels, mean=nn.Buffer(mels), scale=nn.Buffer(mels))


_RATED = partial(vocoder, upsample_rates=(4, 4, 4, 4), upsample_kernel_sizes=(8, 8, 8, 8))
# The released vocoder's config calls itself hifigan.
register_part(("speecht5_hifigan", "hifigan"), "SpeechT5HifiGan", _RATED, "audio")
