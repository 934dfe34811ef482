"""How Qwen3-Omni speaks. Source: transformers/models/qwen3_omni_moe/modeling_qwen3_omni_moe.py.

A talker with experts writes the first code of a frame, a small decoder the others, and a causal
transformer with convolutions (Code2Wav) turns all into a waveform.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import Heads, gated_mlp, grouped_attention, grouped_heads
from ..layers.experts import sparse_block, stacked_experts
from ..layers.heads import to_words
from ..trees.catalog import register
from ..trees.modules import (
    Activation,
    Conv,
    Embedding,
    LayerNorm,
    Layers,
    Linear,
    Module,
    ModuleList,
    RMSNorm,
    Weight,
)

NAME = "Qwen3OmniMoe"


def _norm(c: ModelConfig, size: Dim, name: str, eps: float = 1e-6) -> Module:
    found = c.number("rms_norm_eps", default=eps)
    return RMSNorm(size, eps=found, class_name=f"{NAME}{name}")


def attention(c: ModelConfig, hidden: Dim, heads: Heads, name: str, norm: str | None) -> Module:
    return grouped_attention(
        f"{NAME}{name}",
        hidden,
        heads,
        bias=c.flag("attention_bias", default=False),
        norms=(lambda: {"q_norm": _norm(c, heads.dim, norm), "k_norm": _norm(c, heads.dim, norm)})
        if norm
        else None,
    )


# ---- talker


def talker_model(c: ModelConfig, *, stacked: bool = False) -> Module:
    """Files of the whole have a tensor an expert; a save of it alone has them ``stacked``."""
    h, name = c.dim("hidden_size", default=1024), f"{NAME}TalkerText"
    inner, per_token = (
        c.dim("moe_intermediate_size", default=384),
        c.dim("num_experts_per_tok", default=8),
    )
    count = c.count("num_experts", "num_local_experts", default=128)
    block = sparse_block(
        name,
        h,
        inner,
        count=count,
        per_token=per_token,
        # Read by the class, though its config has no default for it.
        shared=c.dim("shared_expert_intermediate_size"),
        act=c.text("hidden_act", default="silu"),
    )
    if stacked:
        block.children["experts"] = stacked_experts(f"{name}Experts", count, per_token, h, inner)
    heads = grouped_heads(c, h, heads=16, kv=2)
    layer = Module(
        f"{NAME}TalkerDecoderLayer",
        self_attn=attention(c, h, heads, "ThinkerTextAttention", "ThinkerTextRMSNorm"),
        mlp=block,
        input_layernorm=_norm(c, h, "ThinkerTextRMSNorm"),
        post_attention_layernorm=_norm(c, h, "ThinkerTextRMSNorm"),
    )
    return Module(
        f"{NAME}TalkerModel",
        layers=Layers.of(c.count("num_hidden_layers", default=20), layer),
        norm=_norm(c, h, "TextRMSNorm"),
        rotary_emb=Activation(f"{NAME}TalkerRotaryEmbedding"),
        codec_embedding=Embedding(c.dim("vocab_size", default=3072), h),
    )


def _resize(c: ModelConfig) -> Module:
    text = c.section("text_config")
    inner = text.dim("intermediate_size", default=2048)
    return Module(
        f"{NAME}TalkerResizeMLP",
        linear_fc1=Linear(c.dim("thinker_hidden_size", default=2048), inner),
        linear_fc2=Linear(inner, text.dim("hidden_size", default=1024)),
        component=Component.PROJECTOR,
    )


def talker(c: ModelConfig) -> Module:
    text = c.section("text_config")
    h, vocab = text.dim("hidden_size", default=1024), text.dim("vocab_size", default=3072)
    return Module(
        f"{NAME}TalkerForConditionalGeneration",
        model=talker_model(text),
        text_projection=_resize(c),
        hidden_projection=_resize(c),
        codec_head=to_words(h, vocab),
        code_predictor=code_predictor(c.section("code_predictor_config")),
        part="audio",
    )


# ---- code predictor


def code_predictor_model(c: ModelConfig) -> Module:
    h, vocab = c.dim("hidden_size", default=1024), c.dim("vocab_size", default=2048)
    more = int(c.count("num_code_groups", default=32, minimum=1)) - 1
    heads = grouped_heads(c, h, heads=16, kv=8, head_dim=128)
    inner = c.dim("intermediate_size", default=3072)
    layer = Module(
        f"{NAME}TalkerCodePredictorDecoderLayer",
        self_attn=attention(c, h, heads, "TalkerCodePredictorAttention", "RMSNorm"),
        mlp=gated_mlp(f"{NAME}MLP", h, inner, act=c.text("hidden_act", default="silu")),
        input_layernorm=_norm(c, h, "RMSNorm"),
        post_attention_layernorm=_norm(c, h, "RMSNorm"),
    )
    return Module(
        f"{NAME}TalkerCodePredictorModel",
        layers=Layers.of(c.count("num_hidden_layers", default=5), layer),
        norm=_norm(c, h, "RMSNorm"),
        rotary_emb=Activation(f"{NAME}RotaryEmbedding"),
        codec_embedding=ModuleList([Embedding(vocab, h)] * more),
        part="audio",
    )


def code_predictor(c: ModelConfig) -> Module:
    h, vocab = c.dim("hidden_size", default=1024), c.dim("vocab_size", default=2048)
    more = int(c.count("num_code_groups", default=32, minimum=1)) - 1
    head = to_words(h, vocab)
    return Module(
        f"{NAME}TalkerCodePredictorModelForConditionalGeneration",
        model=code_predictor_model(c),
        lm_head=ModuleList([head] * more, component=Component.HEAD, kind="lm_head"),
        part="audio",
    )


# ---- waveform


def _conv(inputs: Dim, outputs: int, kernel: int, *, groups: int = 1) -> Module:
    return Module(f"{NAME}CausalConvNet", conv=Conv(inputs, outputs, kernel, dims=1, groups=groups))


def _up(inputs: Dim, outputs: Dim, kernel: int, stride: int) -> Module:
    up = Conv(inputs, outputs, kernel, dims=1, stride=stride, transposed=True)
    return Module(f"{NAME}CausalTransConvNet", conv=up)


def _snake(width: Dim) -> Module:
    slopes = {"alpha": Weight(width), "beta": Weight(width)}
    return Module(f"{NAME}SnakeBeta", slopes, component=Component.OTHER)


def _transformer(c: ModelConfig, h: Dim) -> Module:
    heads = grouped_heads(c, h, heads=16, kv=16)
    inner = c.dim("intermediate_size", default=3072)

    weight = Weight(h, kind="scale")
    scale = Module(f"{NAME}Code2WavLayerScale", scale=weight, component=Component.OTHER)
    layer = Module(
        f"{NAME}Code2WavTransformerLayer",
        self_attn=attention(c, h, heads, "Code2WavAttention", None),
        mlp=gated_mlp(f"{NAME}Code2WavMlp", h, inner, act=c.text("hidden_act", default="silu")),
        input_layernorm=_norm(c, h, "Code2WavRMSNorm", 1e-5),
        post_attention_layernorm=_norm(c, h, "Code2WavRMSNorm", 1e-5),
        self_attn_layer_scale=scale,
        mlp_layer_scale=scale,
    )
    return Module(
        f"{NAME}Code2WavTransformerModel",
        layers=Layers.of(c.count("num_hidden_layers", default=8), layer),
        norm=_norm(c, h, "RMSNorm", 1e-5),
        rotary_emb=Activation(f"{NAME}RotaryEmbedding"),
    )


def _convnext(h: Dim) -> Module:
    return Module(
        f"{NAME}ConvNeXtBlock",
        dwconv=_conv(h, h, 7, groups=h),
        norm=LayerNorm(h, eps=1e-6),
        pwconv1=Linear(h, 4 * h),
        act=Activation("GELU"),
        pwconv2=Linear(4 * h, h),
        gamma=Weight(h, kind="scale"),
        component=Component.CONV,
    )


def _decoder_block(width: Dim, rate: Dim) -> Module:
    half = width // 2
    unit = Module(
        f"{NAME}Code2WavDecoderResidualUnit",
        act1=_snake(half),
        conv1=_conv(half, half, 7),
        act2=_snake(half),
        conv2=_conv(half, half, 1),
    )
    parts = [_snake(width), _up(width, half, 2 * rate, rate), unit, unit, unit]
    return Module(f"{NAME}Code2WavDecoderBlock", block=Layers(parts))


def code2wav(c: ModelConfig) -> Module:
    h, width = c.dim("hidden_size", default=1024), c.dim("decoder_dim", default=1536)
    codes = c.dim("codebook_size", default=2048) * c.count("num_quantizers", default=16)
    ratios = c.dims("upsampling_ratios", default=(2, 2))
    upsample = [ModuleList([_up(h, h, ratio, ratio), _convnext(h)]) for ratio in ratios]
    decoder = [_conv(h, width, 7)]
    for rate in c.dims("upsample_rates", default=(8, 5, 4, 3)):
        decoder.append(_decoder_block(width, rate))
        width = width // 2
    decoder += [_snake(width), _conv(width, 1, 7)]
    return Module(
        f"{NAME}Code2Wav",
        pre_transformer=_transformer(c, h),
        code_embedding=Embedding(codes, h),
        upsample=ModuleList(upsample, component=Component.CONV),
        decoder=ModuleList(decoder, component=Component.CONV),
        part="audio",
    )


register(
    "qwen3_omni_moe_talker_code_predictor",
    {
        f"{NAME}TalkerCodePredictorModelForConditionalGeneration": code_predictor,
        f"{NAME}TalkerCodePredictorModel": code_predictor_model,
    },
    base_prefix="model",
    category="audio",
)
