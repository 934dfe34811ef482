"""How Qwen3-Omni speaks. Source: transformers/models/qwen3_omni_moe/modeling_qwen3_omni_moe.py. A
talker with experts writes the first code of a frame, a small decoder (a trace) the others, and a
causal transformer with convolutions (Code2Wav) turns all into a waveform."""

from functools import partial

from ..layers import mixtures as m
from ..layers.composing import renamed
from ..layers.decoders import Decoder, last_norm_of, scaled
from ..layers.multimodal import within
from ..trees import Component, Dim, ModelConfig, config_defaults, register_part
from ..trees import modules as nn

NAME = "Qwen3OmniMoe"
#: The norm behind the layers is of another class than those in them.
END = last_norm_of(f"{NAME}TextRMSNorm")


def _moe(d: Decoder, c: ModelConfig, *, stacked: bool = False) -> nn.Module:
    """The width of the shared expert has no default in the config class."""
    experts = m.sparse(
        "SparseMoeBlock",
        {**m.QWEN, "experts": m.stacked() if stacked else m.each},
        count=m.counts("num_experts", "num_local_experts", default=128),
        used=8,
        inner=384,
        shared=lambda c, _inner: c.dim("shared_expert_intermediate_size"),
    )
    return experts(d.like(f"{NAME}TalkerText"), c)


TALKER = Decoder(
    f"{NAME}ThinkerText",
    **config_defaults("qwen3_omni_moe_talker"),
    qk_norm=True,
    moe=_moe,
    further=END,
)


def talker_model(c: ModelConfig, *, stacked: bool = False) -> nn.Module:
    """Files of the whole have a tensor an expert; a save of it alone has them ``stacked``."""
    d = TALKER.like(TALKER.name, moe=partial(_moe, stacked=stacked))
    base = d.named(f"{NAME}TalkerModel", c)
    base.children["codec_embedding"] = base.children.pop("embed_tokens")
    for ending in ("DecoderLayer", "RotaryEmbedding"):
        renamed(base, f"{NAME}ThinkerText{ending}", f"{NAME}Talker{ending}")
    return base


def talker(c: ModelConfig) -> nn.Module:
    predictor = f"{NAME}TalkerCodePredictorModelForConditionalGeneration"
    text = c.section("text_config")
    thinker_width = c.dim("thinker_hidden_size", default=2048)
    inner = text.dim("intermediate_size", default=2048)
    into = nn.Linear(thinker_width, inner)
    out = nn.Linear(inner, TALKER.width(text))
    resize = nn.Module(f"{NAME}TalkerResizeMLP", linear_fc1=into, linear_fc2=out)
    resize.component = Component.PROJECTOR
    to = "talker.model.codec_embedding.weight" if c.tied(default=False) else None
    return nn.Module(
        f"{NAME}TalkerForConditionalGeneration",
        model=talker_model(text),
        text_projection=resize,
        hidden_projection=resize,
        codec_head=TALKER.words(text, to),
        code_predictor=within("code_predictor_config", predictor)(c),
        part="audio",
    )


def _conv(inputs: Dim, outputs: int, kernel: int, *, stride: int = 0, groups: int = 1) -> nn.Module:
    """``stride``: of a transposed one, which every other is not."""
    make_conv = partial(nn.Conv, dims=1, groups=groups, stride=stride or 1, transposed=stride > 0)
    conv = make_conv(inputs, outputs, kernel)
    return nn.Module(f"{NAME}Causal{'Trans' if stride else ''}ConvNet", conv=conv)


def _snake(width: Dim) -> nn.Module:
    slopes = dict.fromkeys(("alpha", "beta"), nn.Weight(width))
    return nn.Module(f"{NAME}SnakeBeta", {**slopes}, component=Component.OTHER)


TRANSFORMER = Decoder(
    f"{NAME}Code2Wav",
    **config_defaults("qwen3_omni_moe_talker.decoder"),
    further=last_norm_of(f"{NAME}RMSNorm"),
    layer=lambda d, c, kind: renamed(scaled(d, c, kind), f"{d.name}MLP", f"{d.name}Mlp"),
)


def code2wav(c: ModelConfig) -> nn.Module:
    """Each block of the decoder halves the channels."""
    h = TRANSFORMER.width(c)
    width = c.dim("decoder_dim", default=1536)
    codes = c.dim("codebook_size", default=2048) * c.count("num_quantizers", default=16)
    steps = {"dwconv": _conv(h, h, 7, groups=h), "norm": nn.LayerNorm(h, eps=1e-6)}
    steps |= {"pwconv1": nn.Linear(h, 4 * h), "act": nn.Activation("GELU")}
    steps["pwconv2"] = nn.Linear(4 * h, h)
    scale = nn.Weight(h, kind="scale")
    convnext = nn.Module(f"{NAME}ConvNeXtBlock", steps, gamma=scale)
    ratios = c.dims("upsampling_ratios", default=(2, 2))
    upsample = [nn.ModuleList([_conv(h, h, ratio, stride=ratio), convnext]) for ratio in ratios]
    decoder = [_conv(h, width, 7)]
    for rate in c.dims("upsample_rates", default=(8, 5, 4, 3)):
        before = width
        width = width // 2
        acts = dict.fromkeys(("act1", "act2"), _snake(width))
        convs = {"conv1": _conv(width, width, 7), "conv2": _conv(width, width, 1)}
        unit = nn.Module(f"{NAME}Code2WavDecoderResidualUnit", {**acts, **convs})
        parts = _snake(before), _conv(before, width, 2 * rate, stride=rate), unit, unit, unit
        decoder.append(nn.Module(f"{NAME}Code2WavDecoderBlock", block=nn.Layers(parts)))
    decoder = [*decoder, _snake(width), _conv(width, 1, 7)]
    to = Component.CONV
    transformer = TRANSFORMER.named(f"{NAME}Code2WavTransformerModel", c).without("embed_tokens")
    renamed(transformer, f"{NAME}Code2WavRotary", f"{NAME}Rotary")
    return nn.Module(
        f"{NAME}Code2Wav",
        pre_transformer=transformer,
        code_embedding=nn.Embedding(codes, h),
        upsample=nn.ModuleList(upsample, component=to),
        decoder=nn.ModuleList(decoder, component=to),
        part="audio",
    )


_alone = partial(talker_model, stacked=True)
register_part("qwen3_omni_moe_talker_text", f"{NAME}TalkerModel", _alone, "audio")
