"""LTX2Vocoder and LTX2VocoderWithBWE: from LTX-2's spectrogram to a wave (HiFi-GAN, BigVGAN).
Source of shapes: diffusers/pipelines/ltx2/vocoder.py. The second holds two vocoders, the later
one's keys with ``bwe_`` before them: it widens the band; fixed transforms stand between."""

from functools import partial

from ..core.config import MAX_COUNT, ModelConfig
from ..trees import Builder, Component, Dim, register
from ..trees.modules import Activation, Buffer, Conv, Module, ModuleList, Weight

_SNAKES = ("snakebeta", "snake")


def _snake(width: Dim, *, beta: bool) -> Module:
    return Module("SnakeBeta", alpha=Weight(width), beta=Weight(width) if beta else None)


def _smoothed(c: ModelConfig, act: Module, key: str) -> Module:
    """Between an upsampling and a downsampling, whose filters are buffers of a file."""
    ratio = c.dim(f"{key}antialias_ratio", default=2)
    size = 6 * ratio // 2 * 2 if c.says(f"{key}antialias_kernel_size") else 12
    size = c.dim(f"{key}antialias_kernel_size", default=size)
    up, down = (Module(f"{x}Sample1d", filter=Buffer(1, 1, size)) for x in ("Up", "Down"))
    return Module("AntiAliasAct1d", upsample=up, act=act, downsample=down)


def vocoder(
    c: ModelConfig, key: str, width: int, kernels: tuple[int, ...], *, wide: bool = True
) -> Module:
    """Each upsampling halves the channels; behind it stands a residual block for each kernel."""
    usual = "snakebeta" if wide else "leaky_relu"
    bias = c.flag(f"{key}final_bias", default=not wide)
    name = c.word(f"{key}act_fn", *_SNAKES, "leaky_relu", default=usual)
    smooth = c.flag(f"{key}antialias", default=wide)
    if smooth and name == "leaky_relu":
        raise c.error(f"{key}antialias", True, "false with leaky_relu")
    sizes = c.dims(f"{key}upsample_kernel_sizes", default=kernels, least=1)
    c.dims(f"{key}upsample_factors", default=kernels, count=len(sizes))
    around = c.dims(f"{key}resnet_kernel_sizes", default=(3, 7, 11))
    dilated = c.raw(f"{key}resnet_dilations")
    dilated = [[1, 3, 5]] * 3 if dilated is None else dilated  # how many convolutions a block has
    is_full = isinstance(dilated, (list, tuple)) and len(dilated) == len(around)
    if not is_full or not all(
        isinstance(x, (list, tuple)) and len(x) <= MAX_COUNT for x in dilated
    ):
        raise c.error(f"{key}resnet_dilations", dilated, f"{len(around)} lists, one a kernel")
    channels = first = c.dim(f"{key}hidden_channels", default=width)
    ups = []
    blocks = []
    for size in sizes:
        half = channels // 2
        ups.append(Conv(channels, half, size, dims=1, transposed=True))
        step = _snake(half, beta=name == "snakebeta") if name in _SNAKES else None
        step = _smoothed(c, step, key) if step and smooth else step or Activation("LeakyReLU")
        for kernel, rates in zip(around, dilated, strict=True):
            convs = ModuleList([Conv(half, half, kernel, dims=1)] * len(rates))
            acts = ModuleList([step] * len(rates))
            blocks.append(Module("ResBlock", convs1=convs, acts1=acts, convs2=convs, acts2=acts))
        channels = half
    last = _snake(channels, beta=True)
    last.component = Component.OTHER
    return Module(
        "LTX2Vocoder",
        conv_in=Conv(c.dim(f"{key}in_channels", default=128), first, 7, dims=1),
        upsamplers=ModuleList(ups),
        resnets=ModuleList(blocks),
        act_out=_smoothed(c, last, key) if name in _SNAKES else Activation("LeakyReLU"),
        conv_out=Conv(channels, c.dim(f"{key}out_channels", default=2), 7, dims=1, bias=bias),
        component=Component.CONV,
    )


def widened(c: ModelConfig) -> Module:
    bins = (size := c.dim("filter_length", default=512)) // 2 + 1
    basis = Buffer(2 * bins, 1, size)
    mels = Buffer(c.dim("num_mel_channels", default=64), bins)
    transform = Module("CausalSTFT", forward_basis=basis, inverse_basis=basis)
    return Module(
        "LTX2VocoderWithBWE",
        vocoder=vocoder(c, "", 1536, (11, 4, 4, 4, 4, 4)),
        bwe_generator=vocoder(c, "bwe_", 512, (12, 11, 4, 4, 4)),
        mel_stft=Module("MelSTFT", stft_fn=transform, mel_basis=mels),
        resampler=Activation("UpSample1d"),
    )


_alone = partial(vocoder, key="", width=1024, kernels=(16, 15, 8, 4, 4), wide=False)
_CLASSES: dict[str, Builder] = {"LTX2Vocoder": _alone, "LTX2VocoderWithBWE": widened}
register((), _CLASSES, category="diffusion", source="diffusers")
