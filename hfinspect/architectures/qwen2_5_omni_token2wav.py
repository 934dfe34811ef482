"""The vocoder of Qwen2.5-Omni: speech codes become a mel spectrogram by a diffusion transformer,
and that a waveform by BigVGAN. Source: transformers/models/qwen2_5_omni."""

from itertools import pairwise

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.diffusion import attention
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


def speaker_encoder(c: ModelConfig) -> Module:
    """ECAPA-TDNN (Desplanques et al. 2020): a spectrogram of the speaker as one vector."""
    channels = c.dims("enc_channels", default=(256, 256, 256, 256, 768), least=1)
    kernels = c.dims("enc_kernel_sizes", default=(5, 3, 3, 3, 1), count=len(channels))
    last, seen = channels[-1], c.dim("enc_attention_channels", default=64)

    def timed(inputs: int, outputs: int, kernel: int) -> Module:
        return Module("TimeDelayNetBlock", conv=Conv(inputs, outputs, kernel, dims=1))

    layers = [timed(c.dim("mel_dim", default=80), channels[0], kernels[0])]
    for (inputs, outputs), kernel in zip(pairwise(channels[:-1]), kernels[1:], strict=False):
        # Channels in ``scale`` groups, all but the first through a convolution of their own.
        scale = c.count("enc_res2net_scale", default=2, minimum=1)
        narrow, squeezed = outputs // scale, c.dim("enc_se_channels", default=64)
        groups = ModuleList([timed(narrow, narrow, kernel)] * (int(scale) - 1))
        down, up = Conv(outputs, squeezed, 1, dims=1), Conv(squeezed, outputs, 1, dims=1)
        layer = Module(
            "SqueezeExcitationRes2NetBlock",
            tdnn1=timed(inputs, outputs, 1),
            res2net_block=Module("Res2NetBlock", blocks=groups),
            tdnn2=timed(outputs, outputs, 1),
            se_block=Module("SqueezeExcitationBlock", conv1=down, conv2=up),
        )
        layers.append(layer)
    statistics = {"tdnn": timed(3 * last, seen, 1), "conv": Conv(seen, last, 1, dims=1)}
    return Module(
        "ECAPA_TimeDelayNet",
        blocks=Layers(layers),
        mfa=timed(last, last, kernels[-1]),
        asp=Module("AttentiveStatisticsPooling", statistics),
        fc=Conv(2 * last, c.dim("enc_dim", default=128), 1, dims=1, component=Component.EMBEDDING),
        component=Component.CONV,
    )


def diffusion(c: ModelConfig) -> Module:
    h, mel = c.dim("hidden_size", default=1024), c.dim("mel_dim", default=80)
    inner = c.dim("num_attention_heads", default=16) * c.dim("head_dim", default=64)
    wide = h * c.dim("ff_mult", default=2)

    def time_norm(count: int, ending: str = "") -> Module:
        """A norm whose ``count`` scales and shifts come from the time."""
        name, to = f"Qwen2_5_OmniAdaLayerNormZero{ending}", Component.NORM
        return Module(name, linear=Linear(h, count * h), component=to)

    up, down = Linear(h, wide, kind="up"), Linear(wide, h, kind="down")
    mlp = ModuleList([up, Activation("GELU"), Dropout(0.1), down])
    layer = Module(
        "DiTDecoderLayer",
        attn_norm=time_norm(6),
        attn=attention(h, inner, bias=True, class_name="DiTAttention"),
        ff_norm=LayerNorm(h, eps=1e-6, weight=False),
        ff=Module("DiTMLP", ff=mlp, component=Component.MLP),
    )
    embedded, kind = c.dim("emb_dim", default=512), Component.EMBEDDING
    joined = mel + c.dim("enc_dim", default=128) + c.dim("enc_emb_dim", default=192) + embedded
    time = ModuleList([Linear(256, h), Activation("SiLU"), Linear(h, h)])
    codes = Embedding(c.dim("num_embeds", default=8193) + 1, embedded)
    given = {"proj": Linear(joined, h), "spk_encoder": speaker_encoder(c)}
    return Module(
        "Qwen2_5OmniToken2WavDiTModel",
        time_embed=Module("DiTTimestepEmbedding", time_mlp=time, component=kind),
        text_embed=Module("DiTCodecEmbedding", codec_embed=codes),
        input_embed=Module("DiTInputEmbedding", given, component=kind),
        transformer_blocks=Layers.of(c.count("num_hidden_layers", default=22), layer),
        norm_out=time_norm(2, "_Final"),
        proj_out=Linear(h, mel, component=Component.HEAD),
    )


def bigvgan(c: ModelConfig) -> Module:
    """Lee et al. 2022. Each stage halves the channels and multiplies the rate."""
    first, mel = c.dim("upsample_initial_channel", default=1536), c.dim("mel_dim", default=80)
    rates = c.dims("upsample_rates", default=(5, 3, 2, 2, 2, 2))
    kernels = c.dims("upsample_kernel_sizes", default=(11, 7, 4, 4, 4, 4))
    dilations = c.raw("resblock_dilation_sizes")  # a pair for each block
    inner = c.dims("resblock_kernel_sizes", default=(3, 7, 11))
    inner = inner[: len(dilations) if isinstance(dilations, list) else 3]
    widths = [first // 2**i if i else first for i in range(min(len(rates), 64) + 1)]
    if widths[-1] < 1 or len(rates) > 64:
        raise c.error("upsample_rates", c.raw("upsample_rates"), "stages that halve the channels")
    ups = [
        ModuleList([Conv(width, half, kernel, dims=1, transposed=True)])
        for (width, half), kernel in zip(pairwise(widths), kernels, strict=False)
    ]
    blocks = list[Module]()

    def snake(channels: int) -> Module:
        """x + sin²(αx) / β between resampling filters that are computed, not learned."""
        scale = Weight(channels, component=Component.OTHER)
        act = Module("Qwen2_5OmniSnakeBeta", alpha=scale, beta=scale)
        return Module("Qwen2_5OmniAntiAliasedActivation1d", act=act)

    for half in widths[1:]:
        acts = ModuleList([snake(half)] * 6)
        for kernel in inner:
            convs = ModuleList([Conv(half, half, kernel, dims=1)] * 3)
            parts = {"convs1": convs, "convs2": convs, "activations": acts}
            blocks.append(Module("Qwen2_5OmniAMPBlock", {**parts}))
    return Module(
        "Qwen2_5OmniToken2WavBigVGANModel",
        conv_pre=Conv(mel, first, 7, dims=1),
        ups=ModuleList(ups),
        resblocks=Layers(blocks),
        activation_post=snake(widths[-1]),
        conv_post=Conv(widths[-1], 1, 7, dims=1, bias=False),
        component=Component.CONV,
    )


def token2wav(c: ModelConfig) -> Module:
    sections = {"dit": diffusion, "bigvgan": bigvgan}
    parts = {f"code2wav_{x}_model": make(c.section(f"{x}_config")) for x, make in sections.items()}
    return Module("Qwen2_5OmniToken2WavModel", parts, part="audio")


for _type, _ending, _build in (
    ("token2wav", "", token2wav), ("dit", "DiT", diffusion), ("bigvgan", "BigVGAN", bigvgan),
):  # fmt: skip
    _name = f"Qwen2_5OmniToken2Wav{_ending}Model"
    register_part(f"qwen2_5_omni_{_type}", _name, _build, "audio")
