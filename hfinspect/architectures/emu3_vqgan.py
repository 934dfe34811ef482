"""Emu3's image codec (BAAI 2024; transformers/models/emu3). A VQ-GAN with convolutions over time;
what the latent says of each place shifts and scales the decoder's norms (spatial norm)."""

from ..core.records import dataclass
from ..layers.blocks import size
from ..layers.composing import renamed, respelled
from ..layers.vision import clip_attention
from ..layers.vqgan import Codec
from ..trees import Component, Dim, ModelConfig, register_part
from ..trees.modules import BatchNorm, Conv, Embedding, Layers, Module, ModuleList

_MAX_LEVELS = 16  # each of them halves: these would be images of half a million pixels' width
_NAME = "Emu3VQVAE"
_TIMES = "channel_multiplier"
_latent = size("latent_channels", default=4)
_codes = size("embed_dim", default=4)


@dataclass(frozen=True)
class _Half(Codec):
    """``hidden`` is the width of attention, ``places`` that of the latent which norms look at."""

    hidden: int = 1024
    places: Dim | None = None

    def norm(self, width: int) -> Module:
        plain = super().norm(width)
        if self.places is None:
            return plain
        look = Conv(self.places, width, 1, component=None)
        parts = {"norm_layer": plain, "conv_y": look, "conv_b": look}
        return Module(f"{_NAME}SpatialNorm", parts, component=Component.NORM)

    def attention(self, _width: int) -> Module:
        return clip_attention(f"{_NAME}AttentionBlock", self.hidden)

    def rung(self, i: int, before: int, blocks: int, moves: str | None) -> Module:
        rung = super().rung(i, before, blocks, moves)
        norms = [self.norm(self.widths[i]) for _ in rung.inside("attn").children]
        moved = rung.children.pop(moves) if moves else None
        return rung.adding(attn_norms=ModuleList(norms), **{moves or "": moved})

    def middle_block(self) -> Module:
        block = super().middle_block()
        norm = self.norm(self.widths[-1])
        last = block.children.pop("block_2")
        plain = self.places is None
        norm = norm.called(f"{_NAME}GroupNorm") if plain else norm
        return block.called(f"{_NAME}MiddleBlock").adding(attn_norm=norm, block_2=last)


def _over_time(inputs: Dim, outputs: Dim, kernel: tuple[int, int, int]) -> Module:
    return Module(f"{_NAME}Conv3d", conv=Conv(inputs, outputs, kernel, dims=3))


def _half(c: ModelConfig, *, up: bool) -> Module:
    base = c.dim("base_channels", default=256)
    factors = c.dims(_TIMES, default=(1, 2, 2, 4))
    if not 1 <= len(factors) <= _MAX_LEVELS:
        raise c.miscounted(_TIMES, len(factors), f"1 to {_MAX_LEVELS}")
    attends = {int(a) for a in c.dims("attn_resolutions", default=(3,), minimum=0)}
    latent = _latent(c)
    count = int(c.count("num_res_blocks", default=2))
    out = 2 * latent if c.flag("double_latent", default=False) else latent
    moves, thick, width = ("Up", 3, latent) if up else ("Down", 4, out)
    # The way up is listed from the finest resolution on.
    codec = _Half(
        _NAME,
        base,
        [base * factor for factor in factors],
        count,
        latent,
        out,
        attends.__contains__,
        inputs=c.dim("in_channels", default=3),
        stack=lambda rungs: Layers(rungs[::-1] if up else rungs),
        hidden=c.dim("hidden_size", default=1024),
        places=_codes(c) if up else None,
    )
    half = codec.decoder(c.dim("out_channels", default=3)) if up else codec.encoder()
    side = moves.lower()
    renamed(half, f"{_NAME}Conv", f"{_NAME}EncoderConv")
    respelled(half, {side: f"{side}_block.{side}", "mid": "middle_block"}, f"{_NAME}{moves}Block")
    # What changes the number of frames, as often as it halves, and residual blocks over time.
    halvings = int(c.dim("temporal_downsample_factor", default=4)).bit_length() - 1
    norm = BatchNorm(width, dims=3)
    conv = _over_time(width, width, (3, 3, 3))
    twice = {"norm1": norm, "conv1": conv, "norm2": norm, "conv2": conv}
    block = Module(f"{_NAME}TemporalResnetBlock", twice)
    moved = Module(f"{_NAME}Temporal{moves}sample", conv=_over_time(width, width, (thick, 3, 3)))
    timed = {"time_conv": [moved] * halvings, "time_res_stack": [block] * count}
    over_time = {at: ModuleList(row) for at, row in timed.items()}
    rest = half.children
    parts = {**over_time, **rest} if up else {**rest, **over_time}
    return Module(half.class_name, parts, component=Component.CONV)


def model(c: ModelConfig) -> Module:
    book = Embedding(c.dim("codebook_size", default=32768), _codes(c))
    return Module(
        _NAME,
        encoder=_half(c, up=False),
        decoder=_half(c, up=True),
        quantize=Module(f"{_NAME}VectorQuantizer", embedding=book),
        quant_conv=_over_time(_latent(c), _codes(c), (3, 1, 1)),
        post_quant_conv=_over_time(_codes(c), _latent(c), (3, 1, 1)),
        part="vision",
    )


register_part("emu3_vqgan", _NAME, model, "vision")
