"""VITS (Kim et al. 2021), MMS text-to-speech: a flow of WaveNets between text and sound. The
posterior encoder serves training only, but the file holds it (transformers/models/vits)."""

from ..layers.blocks import depthwise
from ..layers.composing import defaulted
from ..layers.encoders import hidden
from ..layers.sound import HIFIGAN, hifigan
from ..layers.speech import norm, weight_normed
from ..layers.vision import clip_attention
from ..trees import Component, Dim, ModelConfig, config_defaults, register_part
from ..trees.modules import Conv, Dropout, Embedding, LayerNorm, Layers, Module, ModuleList, Weight

_DEFAULTS = {**HIFIGAN, **config_defaults("vits")}


def _conv(inputs: int, outputs: int, kernel: int = 1) -> Module:
    return Conv(inputs, outputs, kernel, dims=1)


def text_encoder(c: ModelConfig) -> Module:
    h = hidden(c)
    inner = c.dim("ffn_dim", default=768)
    kernel = c.dim("ffn_kernel_size", default=3)
    heads = "num_attention_heads"
    window = c.dim("window_size", default=4, minimum=0)
    size = c.divided(h, c.dim(heads), "hidden_size", heads)
    to = Component.MLP
    attention = clip_attention("VitsAttention", h, bias=c.flag("use_bias", default=True))
    if window:
        table = Weight(1, window * 2 + 1, size, kind="relative_position")
        attention.children = {"emb_rel_k": table, "emb_rel_v": table, **attention.children}
    up = Conv(h, inner, kernel, dims=1, component=to, kind="up")
    down = Conv(inner, h, kernel, dims=1, component=to, kind="down")
    block = Module(
        "VitsEncoderLayer",
        attention=attention,
        dropout=Dropout(c.number("hidden_dropout", default=0.1)),
        layer_norm=norm(c),
        feed_forward=Module("VitsFeedForward", conv_1=up, conv_2=down, component=to),
        final_layer_norm=norm(c),
    )
    layers = Layers.of(c.count("num_hidden_layers", default=6), block)
    return Module(
        "VitsTextEncoder",
        embed_tokens=Embedding(c.dim("vocab_size", default=38), h),
        encoder=Module("VitsEncoder", layers=layers),
        project=_conv(h, c.dim("flow_size") * 2),
    )


def _around(c: ModelConfig, name: str, inputs: Dim, key: str, **last: Module) -> Module:
    """A WaveNet, of whose gated convolutions each but the last feeds the next, and one before."""
    h = hidden(c)
    voice = c.dim("speaker_embedding_size", minimum=0)
    count = c.count(f"{key}_num_wavenet_layers")

    def normed(inputs: int, outputs: int, kernel: int = 1) -> Module:
        return weight_normed(_conv(inputs, outputs, kernel), (outputs, 1, 1))

    inner = normed(h, 2 * h, c.dim("wavenet_kernel_size", default=5))
    skips = [normed(h, 2 * h)] * (int(count) - 1) + [normed(h, h)]
    wavenet = Module(
        "VitsWaveNet",
        in_layers=ModuleList([inner] * int(count)),
        res_skip_layers=ModuleList(skips if count else []),
        cond_layer=normed(voice, 2 * h * count) if voice else None,
        component=Component.CONV,
    )
    parts = {"conv_pre": _conv(inputs, h), "wavenet": wavenet, **last}
    return Module(name, parts, part="audio")


def _flowing(c: ModelConfig) -> dict[str, Module]:
    """Separable convolutions over frames, and flows that have some too."""
    h = hidden(c)
    channels = c.dim("depth_separable_channels", default=2)
    half = channels // 2
    bins = c.dim("duration_predictor_flow_bins", default=10)
    count = int(c.count("depth_separable_num_layers", default=3))
    step = {
        "convs_dilated": depthwise(h, c.dim("duration_predictor_kernel_size"), bias=True),
        "convs_pointwise": _conv(h, h),
        "norms_1": LayerNorm(h),
        "norms_2": LayerNorm(h),
    }
    steps = {name: ModuleList([part] * count) for name, part in step.items()}
    dds = Module("VitsDilatedDepthSeparableConv", {"dropout": Dropout(0.0), **steps})
    scale = Weight(channels, 1, component=Component.OTHER)
    affine = Module("VitsElementwiseAffine", translate=scale, log_scale=scale)
    ends = {"conv_pre": _conv(half, h), "conv_proj": _conv(h, half * (bins * 3 - 1))}
    flow = Module("VitsConvFlow", ends, conv_dds=dds)
    flows = ModuleList([affine, *[flow] * int(c.count("duration_predictor_num_flows", default=4))])
    return {"conv_pre": _conv(h, h), "conv_proj": _conv(h, h), "conv_dds": dds, "flows": flows}


def _durations(c: ModelConfig) -> Module:
    """A flow as well, or two plain convolutions."""
    h = hidden(c)
    voice = c.dim("speaker_embedding_size", minimum=0)
    voiced = {"cond": _conv(voice, h) if voice else None}
    if c.flag("use_stochastic_duration_prediction", default=True):
        either = _flowing(c)
        name = "VitsStochasticDurationPredictor"
        behind = {f"post_{name}": part for name, part in either.items()}
        parts = {**either, **voiced, **behind, "post_conv_pre": _conv(1, h)}
    else:
        inner = c.dim("duration_predictor_filter_channels", default=256)
        kernel = c.dim("duration_predictor_kernel_size")
        name = "VitsDurationPredictor"
        first = {"conv_1": _conv(h, inner, kernel), "norm_1": norm(c, inner)}
        second = {"conv_2": _conv(inner, inner, kernel), "norm_2": norm(c, inner)}
        parts = {"dropout": Dropout(0.5), **first, **second, "proj": _conv(inner, 1), **voiced}
    return Module(name, parts, component=Component.CONV, part="audio")


def model(c: ModelConfig) -> Module:
    h = hidden(c)
    size = c.dim("flow_size")
    speakers = c.dim("num_speakers", default=1)
    voice = c.dim("speaker_embedding_size", minimum=int(speakers > 1))
    last = _conv(h, size // 2)
    half = size // 2
    layer = _around(c, "VitsResidualCouplingLayer", half, "prior_encoder", conv_post=last)
    flows = ModuleList([layer] * int(c.count("prior_encoder_num_flows", default=4)))
    sound = c.dim("spectrogram_bins", default=513)
    name = "posterior_encoder"
    posterior = _around(c, "VitsPosteriorEncoder", sound, name, conv_proj=_conv(h, size * 2))
    return Module(
        "VitsModel",
        text_encoder=text_encoder(c),
        flow=Module("VitsResidualCouplingBlock", flows=flows, part="audio"),
        decoder=hifigan(c, "VitsHifiGan", size, bias=False, voice=voice),
        duration_predictor=_durations(c),
        embed_speaker=Embedding(speakers, voice, kind="segment") if speakers > 1 else None,
        posterior_encoder=posterior,
    )


register_part("vits", "VitsModel", defaulted(_DEFAULTS, model), "audio", prefix="vits")
