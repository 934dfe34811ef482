"""The vocoder of Qwen2.5-Omni: speech codes become a mel spectrogram by a diffusion transformer,
and that a waveform by BigVGAN. Source: transformers/models/qwen2_5_omni."""

from itertools import pairwise

from ..layers.diffusion import attention
from ..trees import Component, Dim, ModelConfig, register_part
from ..trees import modules as nn


def speaker_encoder(c: ModelConfig) -> nn.Module:
    """ECAPA-TDNN (Desplanques et al. 2020): a spectrogram of the speaker as one vector."""
    channels = c.dims("enc_channels", default=(256, 256, 256, 256, 768), least=1)
    kernels = c.dims("enc_kernel_sizes", default=(5, 3, 3, 3, 1), count=len(channels))
    last = channels[-1]
    inner = c.dim("enc_attention_channels", default=64)

    def timed(inputs: int, outputs: int, kernel: int) -> nn.Module:
        return nn.Module("TimeDelayNetBlock", conv=nn.Conv(inputs, outputs, kernel, dims=1))

    layers = [timed(c.dim("mel_dim", default=80), channels[0], kernels[0])]
    for (inputs, outputs), kernel in zip(pairwise(channels[:-1]), kernels[1:], strict=False):
        # Channels in ``scale`` groups, all but the first through a convolution of their own.
        scale = c.count("enc_res2net_scale", default=2, minimum=1)
        size = outputs // scale
        squeezed = c.dim("enc_se_channels", default=64)
        groups = nn.ModuleList([timed(size, size, kernel)] * (int(scale) - 1))
        grouped = nn.Module("Res2NetBlock", blocks=groups)
        down = nn.Conv(outputs, squeezed, 1, dims=1)
        up = nn.Conv(squeezed, outputs, 1, dims=1)
        squeeze = nn.Module("SqueezeExcitationBlock", conv1=down, conv2=up)
        steps = {"tdnn1": timed(inputs, outputs, 1), "res2net_block": grouped}
        steps |= {"tdnn2": timed(outputs, outputs, 1), "se_block": squeeze}
        layers.append(nn.Module("SqueezeExcitationRes2NetBlock", steps))
    vector = c.dim("enc_dim", default=128)
    embeds = Component.EMBEDDING
    statistics = {"tdnn": timed(3 * last, inner, 1), "conv": nn.Conv(inner, last, 1, dims=1)}
    pooling = nn.Module("AttentiveStatisticsPooling", statistics)
    parts = {"blocks": nn.Layers(layers), "mfa": timed(last, last, kernels[-1]), "asp": pooling}
    fc = nn.Conv(2 * last, vector, 1, dims=1, component=embeds)
    return nn.Module("ECAPA_TimeDelayNet", parts, fc=fc)


def diffusion(c: ModelConfig) -> nn.Module:
    h = c.dim("hidden_size", default=1024)
    mel = c.dim("mel_dim", default=80)
    inner = c.dim("num_attention_heads", default=16) * c.dim("head_dim", default=64)
    wide = h * c.dim("ff_mult", default=2)

    def time_norm(count: int, ending: str = "") -> nn.Module:
        """A norm whose ``count`` scales and shifts come from the time."""
        name = f"Qwen2_5_OmniAdaLayerNormZero{ending}"
        to = Component.NORM
        return nn.Module(name, linear=nn.Linear(h, count * h), component=to)

    up = nn.Linear(h, wide, kind="up")
    down = nn.Linear(wide, h, kind="down")
    mlp = nn.ModuleList([up, nn.Activation("GELU"), nn.Dropout(0.1), down])
    attend = attention(h, inner, bias=True, class_name="DiTAttention")
    norm = nn.LayerNorm(h, eps=1e-6, weight=False)
    steps = {"attn_norm": time_norm(6), "attn": attend, "ff_norm": norm}
    feeds = nn.Module("DiTMLP", ff=mlp, component=Component.MLP)
    layer = nn.Module("DiTDecoderLayer", steps, ff=feeds)
    embedded = c.dim("emb_dim", default=512)
    kind = Component.EMBEDDING
    joined = mel + c.dim("enc_dim", default=128) + c.dim("enc_emb_dim", default=192) + embedded
    time = nn.ModuleList([nn.Linear(256, h), nn.Activation("SiLU"), nn.Linear(h, h)])
    codes = nn.Embedding(c.dim("num_embeds", default=8193) + 1, embedded)
    inputs = {"proj": nn.Linear(joined, h), "spk_encoder": speaker_encoder(c)}
    return nn.Module(
        "Qwen2_5OmniToken2WavDiTModel",
        time_embed=nn.Module("DiTTimestepEmbedding", time_mlp=time, component=kind),
        text_embed=nn.Module("DiTCodecEmbedding", codec_embed=codes),
        input_embed=nn.Module("DiTInputEmbedding", inputs, component=kind),
        transformer_blocks=nn.Layers.of(c.count("num_hidden_layers", default=22), layer),
        norm_out=time_norm(2, "_Final"),
        proj_out=nn.Linear(h, mel, component=Component.HEAD),
    )


def bigvgan(c: ModelConfig) -> nn.Module:
    """Lee et al. 2022. Each stage halves the channels and multiplies the rate."""
    first = c.dim("upsample_initial_channel", default=1536)
    mel = c.dim("mel_dim", default=80)
    rates = c.dims("upsample_rates", default=(5, 3, 2, 2, 2, 2))
    kernels = c.dims("upsample_kernel_sizes", default=(11, 7, 4, 4, 4, 4))
    dilations = c.raw("resblock_dilation_sizes")  # a pair for each block
    inner = c.dims("resblock_kernel_sizes", default=(3, 7, 11))
    inner = inner[: len(dilations) if isinstance(dilations, list) else 3]
    widths = [first // 2**i if i else first for i in range(min(len(rates), 64) + 1)]
    if widths[-1] < 1 or len(rates) > 64:
        raise c.error("upsample_rates", c.raw("upsample_rates"), "stages that halve the channels")
    steps = zip(widths, widths[1:], kernels, strict=False)
    ups = [nn.ModuleList([nn.Conv(*step, dims=1, transposed=True)]) for step in steps]

    def snake(channels: int) -> nn.Module:
        """x + sin²(αx) / β between resampling filters that are computed, not learned."""
        scale = nn.Weight(channels, component=Component.OTHER)
        act = nn.Module("Qwen2_5OmniSnakeBeta", alpha=scale, beta=scale)
        return nn.Module("Qwen2_5OmniAntiAliasedActivation1d", act=act)

    def block(half: Dim, kernel: Dim) -> nn.Module:
        convs = [nn.Conv(half, half, kernel, dims=1)] * 3
        acts = nn.ModuleList([snake(half)] * 6)
        twice = dict.fromkeys(("convs1", "convs2"), nn.ModuleList(convs))
        return nn.Module("Qwen2_5OmniAMPBlock", {**twice, "activations": acts})

    return nn.Module(
        "Qwen2_5OmniToken2WavBigVGANModel",
        conv_pre=nn.Conv(mel, first, 7, dims=1),
        ups=nn.ModuleList(ups),
        resblocks=nn.Layers(block(half, kernel) for half in widths[1:] for kernel in inner),
        activation_post=snake(widths[-1]),
        conv_post=nn.Conv(widths[-1], 1, 7, dims=1, bias=False),
    )


def token2wav(c: ModelConfig) -> nn.Module:
    sections = {"dit": diffusion, "bigvgan": bigvgan}
    parts = {f"code2wav_{x}_model": make(c.section(f"{x}_config")) for x, make in sections.items()}
    return nn.Module("Qwen2_5OmniToken2WavModel", parts, part="audio")


register_part("qwen2_5_omni_token2wav", "Qwen2_5OmniToken2WavModel", token2wav, "audio")
register_part("qwen2_5_omni_dit", "Qwen2_5OmniToken2WavDiTModel", diffusion, "audio")
register_part("qwen2_5_omni_bigvgan", "Qwen2_5OmniToken2WavBigVGANModel", bigvgan, "audio")
