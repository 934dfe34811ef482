"""Codecs that turn images into rows of codes: VQ-GAN (Esser et al. 2021), as LlamaGen, Chameleon
and Janus have it. Residual blocks at each resolution, attention at some of them.

Source of shapes: transformers/models/{chameleon,janus}/modeling_*.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from ..core.records import dataclass
from ..trees import Component, Dim, ModelConfig
from ..trees.backbone_stages import MAX_STAGES
from ..trees.modules import Activation, Conv, Embedding, GroupNorm, Layers, Module, ModuleList


@dataclass(frozen=True)
class Codec:
    """Its sizes: ``widths`` of the resolutions, the finest first; ``base`` in front of them;
    ``blocks`` at each; ``latent`` channels of the coarsest, of which the encoder may make more
    (``encoded``). ``attends``: which resolutions have attention; ``middle``: so has the middle.
    ``stack``: the list of resolutions, whose numbers reports take for layers. ``name`` begins the
    names of the classes.
    """

    name: str
    base: int
    widths: Sequence[int]
    blocks: int
    latent: int
    encoded: int
    attends: Callable[[int], bool]
    middle: bool = True
    inputs: int = 3
    stack: Callable[[list[Module]], Module] = Layers

    def norm(self, width: int) -> Module:
        return GroupNorm(32, width, eps=1e-6)

    def _resnet(self, inner: int, out: int) -> Module:
        return Module(
            f"{self.name}ResnetBlock",
            norm1=self.norm(inner),
            conv1=Conv(inner, out, 3),
            norm2=self.norm(out),
            conv2=Conv(out, out, 3),
            nin_shortcut=Conv(inner, out, 1) if inner != out else None,
        )

    def attention(self, width: int) -> Module:
        parts = {at: Conv(width, width, 1, component=None) for at in ("q", "k", "v", "proj_out")}
        return Module(
            f"{self.name}AttnBlock",
            {"norm": self.norm(width), **parts},
            component=Component.ATTENTION,
        )

    def rung(self, i: int, before: int, blocks: int, moves: str | None) -> Module:
        """Resolution ``i``, which gets ``before`` channels, and the change to the next."""
        out = self.widths[i]
        row = [before, *[out] * blocks]
        looks = [self.attention(out)] * blocks if self.attends(i) else []
        resized = {}
        if moves:
            to = f"{self.name}Conv{moves.capitalize()}"
            resized[moves] = Module(to, conv=Conv(row[-1], row[-1], 3))
        residual = ModuleList(self._resnet(a, b) for a, b in pairwise(row))
        return Module("Module", {"block": residual, "attn": ModuleList(looks), **resized})

    def middle_block(self) -> Module:
        width = self.widths[-1]
        return Module(
            f"{self.name}MidBlock",
            block_1=self._resnet(width, width),
            attn_1=self.attention(width) if self.middle else Activation("Identity"),
            block_2=self._resnet(width, width),
        )

    def encoder(self) -> Module:
        """From the finest resolution to the coarsest."""
        before = (self.base, *self.widths)
        last = len(self.widths) - 1
        rungs = [
            self.rung(i, before[i], self.blocks, "downsample" if i < last else None)
            for i in range(last + 1)
        ]
        return Module(
            f"{self.name}Encoder",
            conv_in=Conv(self.inputs, self.base, 3),
            down=self.stack(rungs),
            mid=self.middle_block(),
            norm_out=self.norm(self.widths[-1]),
            conv_out=Conv(self.widths[-1], self.encoded, 3),
        )

    def decoder(self, outputs: int = 3) -> Module:
        """And back, each resolution with one block more."""
        before = (*self.widths[1:], self.widths[-1])
        last = len(self.widths) - 1
        rungs = [
            self.rung(i, before[i], self.blocks + 1, "upsample" if i else None)
            for i in reversed(range(last + 1))
        ]
        return Module(
            f"{self.name}Decoder",
            conv_in=Conv(self.latent, self.widths[-1], 3),
            mid=self.middle_block(),
            up=self.stack(rungs),
            norm_out=self.norm(self.widths[0]),
            conv_out=Conv(self.widths[0], outputs, 3),
        )


def codec(
    name: str, c: ModelConfig, attends: Callable[[int, int], bool], *, middle: bool = True
) -> Codec:
    """The sizes in a config; ``attends`` of a resolution's number and how many there are.

    Raises ConfigError for more resolutions or blocks than can be listed.
    """
    base = c.dim("base_channels", default=128)
    latent = c.dim("latent_channels", default=256)
    multiples = c.dims("channel_multiplier", default=(1, 1, 2, 2, 4), least=1, most=MAX_STAGES)
    blocks = int(c.count("num_res_blocks", default=2, minimum=1))
    doubled = c.flag("double_latent", default=False)
    return Codec(
        name,
        base,
        [base * multiple for multiple in multiples],
        blocks,
        latent,
        latent * 2 if doubled else latent,
        lambda i: attends(i, len(multiples)),
        middle,
        c.dim("in_channels", default=3),
    )


def quantized(
    name: str, latent: int, code: Dim, codes: Dim, encoder: Module, decoder: Module | None = None
) -> Module:
    """Encoder, a table of ``codes`` vectors as wide as ``code``, and a decoder if there is one."""
    return Module(
        name,
        encoder=encoder,
        quantize=Module(
            f"{name}VectorQuantizer", embedding=Embedding(codes, code, kind="codebook")
        ),
        quant_conv=Conv(latent, code, 1),
        post_quant_conv=Conv(code, latent, 1),
        decoder=decoder,
        component=Component.CONV,
        part="vq",
    )
