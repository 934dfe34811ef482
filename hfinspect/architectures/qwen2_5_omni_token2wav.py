"""The vocoder of Qwen2.5-Omni. Source: transformers/models/qwen2_5_omni.

Speech codes become a mel spectrogram by a diffusion transformer, and that a waveform by BigVGAN.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.vision import bounded
from ..trees.catalog import register_part
from ..trees.modules import (
    Activation,
    Conv,
    Dropout,
    Embedding,
    LayerNorm,
    Layers,
    Linear,
    Module,
    ModuleList,
    Weight,
)

# ---- diffusion transformer


def _timed(inputs: int, outputs: int, kernel: int) -> Module:
    return Module("TimeDelayNetBlock", conv=Conv(inputs, outputs, kernel, dims=1))


def _res2net(c: ModelConfig, inputs: Dim, outputs: Dim, kernel: Dim) -> Module:
    """Channels in ``scale`` groups, all but the first through a convolution of their own."""
    scale = c.dim("enc_res2net_scale", default=2)
    bounded(c, "enc_res2net_scale", (scale,))
    narrow, squeezed = outputs // scale, c.dim("enc_se_channels", default=64)
    return Module(
        "SqueezeExcitationRes2NetBlock",
        tdnn1=_timed(inputs, outputs, 1),
        res2net_block=Module(
            "Res2NetBlock", blocks=ModuleList([_timed(narrow, narrow, kernel)] * (int(scale) - 1))
        ),
        tdnn2=_timed(outputs, outputs, 1),
        se_block=Module(
            "SqueezeExcitationBlock",
            conv1=Conv(outputs, squeezed, 1, dims=1),
            conv2=Conv(squeezed, outputs, 1, dims=1),
        ),
    )


def speaker_encoder(c: ModelConfig) -> Module:
    """ECAPA-TDNN (Desplanques et al. 2020): a spectrogram of the speaker as one vector."""
    channels = c.dims("enc_channels", default=(256, 256, 256, 256, 768))
    kernels = c.dims("enc_kernel_sizes", default=(5, 3, 3, 3, 1))
    if len(channels) != len(kernels) or not channels:
        raise c.error("enc_kernel_sizes", c.raw("enc_kernel_sizes"), "as many as enc_channels")
    last, seen = channels[-1], c.dim("enc_attention_channels", default=64)
    blocks = [_timed(c.dim("mel_dim", default=80), channels[0], kernels[0])]
    blocks += [
        _res2net(c, channels[i - 1], channels[i], kernels[i]) for i in range(1, len(channels) - 1)
    ]
    return Module(
        "ECAPA_TimeDelayNet",
        blocks=Layers(blocks),
        mfa=_timed(last, last, kernels[-1]),
        asp=Module(
            "AttentiveStatisticsPooling",
            tdnn=_timed(3 * last, seen, 1),
            conv=Conv(seen, last, 1, dims=1),
        ),
        fc=Conv(2 * last, c.dim("enc_dim", default=128), 1, dims=1, component=Component.EMBEDDING),
        component=Component.CONV,
    )


def diffusion_layer(c: ModelConfig, h: Dim) -> Module:
    inner = c.dim("num_attention_heads", default=16) * c.dim("head_dim", default=64)
    wide = h * c.dim("ff_mult", default=2)
    up = Linear(h, wide, kind="up")
    return Module(
        "DiTDecoderLayer",
        attn_norm=Module(
            "Qwen2_5_OmniAdaLayerNormZero", linear=Linear(h, 6 * h), component=Component.NORM
        ),
        attn=Module(
            "DiTAttention",
            to_q=Linear(h, inner, kind="query"),
            to_k=Linear(h, inner, kind="key"),
            to_v=Linear(h, inner, kind="value"),
            to_out=ModuleList([Linear(inner, h, kind="output"), Dropout(0.1)]),
            component=Component.ATTENTION,
        ),
        ff_norm=LayerNorm(h, eps=1e-6, weight=False),
        ff=Module(
            "DiTMLP",
            ff=ModuleList([up, Activation("GELU"), Dropout(0.1), Linear(wide, h, kind="down")]),
            component=Component.MLP,
        ),
    )


def diffusion(c: ModelConfig) -> Module:
    h, mel = c.dim("hidden_size", default=1024), c.dim("mel_dim", default=80)
    embedded = c.dim("emb_dim", default=512)
    joined = mel + c.dim("enc_dim", default=128) + c.dim("enc_emb_dim", default=192) + embedded
    time = ModuleList([Linear(256, h), Activation("SiLU"), Linear(h, h)])
    codes = c.dim("num_embeds", default=8193) + 1
    layers = Layers.of(c.count("num_hidden_layers", default=22), diffusion_layer(c, h))
    return Module(
        "Qwen2_5OmniToken2WavDiTModel",
        time_embed=Module("DiTTimestepEmbedding", time_mlp=time, component=Component.EMBEDDING),
        text_embed=Module("DiTCodecEmbedding", codec_embed=Embedding(codes, embedded)),
        input_embed=Module(
            "DiTInputEmbedding",
            proj=Linear(joined, h),
            spk_encoder=speaker_encoder(c),
            component=Component.EMBEDDING,
        ),
        transformer_blocks=layers,
        norm_out=Module(
            "Qwen2_5_OmniAdaLayerNormZero_Final",
            linear=Linear(h, 2 * h),
            component=Component.NORM,
        ),
        proj_out=Linear(h, mel, component=Component.HEAD),
    )


# ---- BigVGAN (Lee et al. 2022)


def _snake(channels: int) -> Module:
    """x + sin²(αx) / β between resampling filters that are computed, not learned."""
    scale = Weight(channels, component=Component.OTHER)
    act = Module("Qwen2_5OmniSnakeBeta", alpha=scale, beta=scale)
    return Module("Qwen2_5OmniAntiAliasedActivation1d", act=act)


def _residual(channels: int, kernel: int) -> Module:
    convolution = Conv(channels, channels, kernel, dims=1)
    return Module(
        "Qwen2_5OmniAMPBlock",
        convs1=ModuleList([convolution] * 3),
        convs2=ModuleList([convolution] * 3),
        activations=ModuleList([_snake(channels)] * 6),
    )


def bigvgan(c: ModelConfig) -> Module:
    """Each stage halves the channels and multiplies the rate."""
    first, mel = c.dim("upsample_initial_channel", default=1536), c.dim("mel_dim", default=80)
    rates = c.dims("upsample_rates", default=(5, 3, 2, 2, 2, 2))
    kernels = c.dims("upsample_kernel_sizes", default=(11, 7, 4, 4, 4, 4))
    inner = c.dims("resblock_kernel_sizes", default=(3, 7, 11))
    dilations = c.raw("resblock_dilation_sizes")
    inner = inner[: len(dilations) if isinstance(dilations, list) else 3]  # a pair for each block
    stages = len(rates)
    widths = [first // 2**i if i else first for i in range(min(stages, 64) + 1)]
    if widths[-1] < 1 or stages > 64:
        raise c.error("upsample_rates", c.raw("upsample_rates"), "stages that halve the channels")
    ups = [
        ModuleList([Conv(widths[i], widths[i + 1], kernels[i], dims=1, transposed=True)])
        for i in range(min(stages, len(kernels)))
    ]
    blocks = [_residual(widths[i + 1], kernel) for i in range(stages) for kernel in inner]
    return Module(
        "Qwen2_5OmniToken2WavBigVGANModel",
        conv_pre=Conv(mel, first, 7, dims=1),
        ups=ModuleList(ups),
        resblocks=Layers(blocks),
        activation_post=_snake(widths[-1]),
        conv_post=Conv(widths[-1], 1, 7, dims=1, bias=False),
        component=Component.CONV,
    )


def token2wav(c: ModelConfig) -> Module:
    return Module(
        "Qwen2_5OmniToken2WavModel",
        code2wav_dit_model=diffusion(c.section("dit_config")),
        code2wav_bigvgan_model=bigvgan(c.section("bigvgan_config")),
        part="audio",
    )


register_part("qwen2_5_omni_token2wav", "Qwen2_5OmniToken2WavModel", token2wav, "audio")
register_part("qwen2_5_omni_dit", "Qwen2_5OmniToken2WavDiTModel", diffusion, "audio")
register_part("qwen2_5_omni_bigvgan", "Qwen2_5OmniToken2WavBigVGANModel", bigvgan, "audio")
