"""What diffusers' families share: residual blocks, attention, transformer blocks, time embeddings.

Sources: diffusers/models/{resnet,attention,attention_processor,embeddings}.py and
models/transformers/transformer_2d.py. A setting that names a block this catalog does not build is
a ConfigError, since its tensors would be a guess.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..core.config import MAX_DIM
from ..core.records import dataclass
from ..trees import Component, Dim, ModelConfig
from ..trees import modules as nn


def per_block(
    c: ModelConfig, key: str, count: int, default: int, *, minimum: int = 0, maximum: int = MAX_DIM
) -> tuple[Dim, ...]:
    """A number for each of ``count`` blocks: one for all, or a list as long as they are."""
    if not isinstance(c.raw(key), (list, tuple)):
        return (c.dim(key, default=default, minimum=minimum, maximum=maximum),) * count
    return c.dims(key, minimum=minimum, maximum=maximum, count=count)


def timestep_embedding(width: int, embedded: int, *, condition: int | None = None) -> nn.Module:
    """Two linear layers on top of sinusoids (which have no tensors)."""
    return nn.Module(
        "TimestepEmbedding",
        linear_1=nn.Linear(width, embedded),
        cond_proj=None if condition is None else nn.Linear(condition, width, bias=False),
        act=nn.Activation("SiLU"),
        linear_2=nn.Linear(embedded, embedded),
        component=Component.EMBEDDING,
    )


def widths(c: ModelConfig, *, default: tuple[int, ...]) -> tuple[Dim, ...]:
    """``block_out_channels``: at least one."""
    return c.dims("block_out_channels", default=default, least=1)


@dataclass(frozen=True)
class Residual:
    """What all residual blocks of a model have in common; ``time`` None: no time embedding."""

    time: int | None = None
    groups: int = 32
    eps: float = 1e-5
    scale_shift: bool = False


def timed(c: ModelConfig, time: int) -> Residual:
    """Those of a UNet whose time's embedding is so wide."""
    shift = c.word("resnet_time_scale_shift", "default", "scale_shift") == "scale_shift"
    groups = c.dim("norm_num_groups", default=32)
    return Residual(time, groups, c.number("norm_eps", default=1e-5), shift)


def resnet_block(inputs: int, outputs: int, shared: Residual) -> nn.Module:
    """Two 3x3 convolutions, 9·I·O + 9·O², a projection of the time, a 1x1 shortcut if I ≠ O."""
    modulated = 2 * outputs if shared.scale_shift else outputs
    return nn.Module(
        "ResnetBlock2D",
        norm1=nn.GroupNorm(shared.groups, inputs, eps=shared.eps),
        conv1=nn.Conv(inputs, outputs, 3),
        time_emb_proj=None if shared.time is None else nn.Linear(shared.time, modulated),
        norm2=nn.GroupNorm(shared.groups, outputs, eps=shared.eps),
        dropout=nn.Dropout(0.0),
        conv2=nn.Conv(outputs, outputs, 3),
        nonlinearity=nn.Activation("SiLU"),
        conv_shortcut=nn.Conv(inputs, outputs, 1) if int(inputs) != int(outputs) else None,
        component=Component.CONV,
    )


def resnet_row(inputs: Sequence[int], outputs: int, shared: Residual) -> list[nn.Module]:
    """One block per width that comes in; equal ones are one object."""
    return nn.once(inputs, lambda width: resnet_block(width, outputs, shared))


def going_down(channels: Sequence[Dim], i: int, layers: int) -> list[Dim]:
    """Widths that come into the residual blocks of rung ``i``: that of the rung above, then its
    own."""
    return [channels[max(i - 1, 0)], *[channels[i]] * (layers - 1)][:layers]


def going_up(channels: Sequence[Dim], i: int, layers: int) -> list[Dim]:
    """The same on the way up, where each block gets an output of the way down as well; the last
    one gets that of the rung above."""
    below = channels[min(i + 1, len(channels) - 1)]
    above = channels[max(i - 1, 0)]
    inner = [channels[i]] * (layers - 1)
    return [a + b for a, b in zip([below, *inner], [*inner, above], strict=True)]


def block_types(
    c: ModelConfig, key: str, count: int, default: tuple[str, ...], known: Sequence[str] = ()
) -> tuple[str, ...]:
    """Class names of the rungs; a ConfigError names one that is not ``known``, or none of the
    ``default`` ones."""
    names = c.strings(key, default=default, count=count)
    for name in names:
        if name not in (known or default):
            raise c.error(key, name, f"one of {', '.join(sorted(known or set(default)))}")
    return names


@dataclass(frozen=True)
class Rung:
    """A rung of a UNet: its class, its number from the widest image on, the widths that come into
    its residual blocks and the one that they make. The ``last`` of a way keeps the resolution."""

    kind: str
    i: int
    coming: Sequence[Dim]
    width: Dim
    up: bool = False
    last: bool = False

    def sampler(self, shared: Residual | None = None) -> dict[str, nn.Module]:
        """What changes the resolution at the end: a convolution, or a residual block like all
        others where ``shared`` says what these are."""
        if self.last:
            return {}
        name, stride = ("upsample", 1) if self.up else ("downsample", 2)
        conv = nn.Conv(self.width, self.width, 3, stride=stride)
        step = nn.Module(f"{name.title()}2D", conv=conv)
        if shared is not None:
            step = resnet_block(self.width, self.width, shared)
        return {f"{name}rs": nn.ModuleList([step], component=Component.CONV)}

    def block(
        self, shared: Residual, attentions: Sequence[nn.Module] = (), *, residual: bool = False
    ) -> nn.Module:
        """Residual blocks, attentions next to them, and what changes the resolution; ``residual``:
        that is one, too."""
        return nn.Module(
            self.kind,
            {
                "attentions": nn.ModuleList(attentions) if attentions else None,
                "resnets": nn.ModuleList(resnet_row(self.coming, self.width, shared)),
                **self.sampler(shared if residual else None),
            },
        )


def middle_block(
    width: Dim,
    shared: Residual,
    attentions: Sequence[nn.Module] = (),
    *,
    kind: str = "UNetMidBlock2D",
    resnets: int = 2,
) -> nn.Module:
    """Residual blocks, and attention after the first."""
    return Rung(kind, 0, [width] * resnets, width, last=True).block(shared, attentions)


def rungs(
    c: ModelConfig,
    channels: Sequence[Dim],
    layers: Sequence[int],
    default: tuple[str, ...],
    known: Sequence[str] = (),
    *,
    up: bool = False,
) -> list[Rung]:
    """The rungs of a UNet from the widest image on, or ``up`` from the narrowest, with one residual
    block more than the ``layers`` of each. Their classes are those of the config; those on the way
    up are called like the ones of the way down, which are given, with Up for Down."""
    side, order = ("up", -1) if up else ("down", 1)
    usual, known_kinds = (
        tuple(kind.replace("Down", side.title()) for kind in kinds)
        for kinds in (default[::order], known)
    )
    kinds = block_types(c, f"{side}_block_types", len(channels), usual, known_kinds)
    numbers = range(len(channels))
    return [
        Rung(kind, i, going_up(channels, i, layers[i] + 1), channels[i], up=True, last=i == 0)
        if up
        else Rung(kind, i, going_down(channels, i, layers[i]), channels[i], last=i == numbers[-1])
        for kind, i in zip(kinds, numbers[::order], strict=True)
    ]


def unet_end(
    c: ModelConfig, first: Dim, shared: Residual, *, outputs: int = 4, kernel: int = 3
) -> dict[str, nn.Module | None]:
    """The last norm, activation and convolution; null groups mean neither norm nor activation."""
    bare = c.says("norm_num_groups") and not c.has("norm_num_groups")
    return {
        "conv_norm_out": None if bare else nn.GroupNorm(shared.groups, first, eps=shared.eps),
        "conv_act": None if bare else nn.Activation("SiLU"),
        "conv_out": nn.Conv(first, c.dim("out_channels", default=outputs), kernel),
    }


def attention(
    query: int,
    inner: int,
    *,
    context: int | None = None,
    bias: bool = False,
    groups: int | None = None,
    eps: float = 1e-5,
    head_norm: int | None = None,
    added: int | None = None,
    added_out: bool = True,
    class_name: str = "Attention",
) -> nn.Module:
    """q from the query's width, k and v from the context's, and out back to the query's.

    ``groups``: a norm before; ``head_norm``: RMS norms of q and k of that width; ``added``: a
    second stream of that width with q, k, v (and output) of its own, as in MMDiT.
    """
    source = query if context is None else context
    children: dict[str, nn.Module | None] = {
        "group_norm": nn.GroupNorm(groups, query, eps=eps) if groups is not None else None,
        "norm_q": nn.RMSNorm(head_norm) if head_norm is not None else None,
        "norm_k": nn.RMSNorm(head_norm) if head_norm is not None else None,
        "to_q": nn.Linear(query, inner, bias=bias, kind="query"),
        "to_k": nn.Linear(source, inner, bias=bias, kind="key"),
        "to_v": nn.Linear(source, inner, bias=bias, kind="value"),
        "to_out": nn.ModuleList([nn.Linear(inner, query, kind="output"), nn.Dropout(0.0)]),
    }
    if added is not None:
        children |= {
            "add_k_proj": nn.Linear(added, inner, kind="key"),
            "add_v_proj": nn.Linear(added, inner, kind="value"),
            "add_q_proj": nn.Linear(added, inner, kind="query"),
            "to_add_out": nn.Linear(inner, query, kind="output") if added_out else None,
            "norm_added_q": nn.RMSNorm(head_norm) if head_norm is not None else None,
            "norm_added_k": nn.RMSNorm(head_norm) if head_norm is not None else None,
        }
    return nn.Module(class_name, children, component=Component.ATTENTION)


def feed_forward(
    width: int, *, gated: bool, inner: int | None = None, bias: bool = True, act: str | None = None
) -> nn.Module:
    """Four times as wide inside, unless ``inner`` says otherwise: GEGLU (8·W² + 4·W²) or GELU
    (4·W² + 4·W²); ``act`` is the class of another activation."""
    inner = 4 * width if inner is None else inner
    up = nn.Linear(
        width, 2 * inner if gated else inner, bias=bias, kind="gate_up" if gated else "up"
    )
    project = nn.Module(act or ("GEGLU" if gated else "GELU"), proj=up)
    net = nn.ModuleList([project, nn.Dropout(0.0), nn.Linear(inner, width, bias=bias, kind="down")])
    return nn.Module("FeedForward", net=net, component=Component.MLP)


def transformer_block(
    width: int,
    *,
    context: int | None = None,
    first: int | None = None,
    second: bool = True,
    before: nn.Module | None = None,
    fuser: nn.Module | None = None,
) -> nn.Module:
    """Norms, attention, attention to the ``context`` (None: to itself once more, or not at all
    without ``second``) and a gated MLP. ``first`` is what the first attention looks at, if not at
    itself; ``before`` gives positions."""
    return nn.Module(
        "BasicTransformerBlock",
        pos_embed=before,
        norm1=nn.LayerNorm(width),
        attn1=attention(width, width, context=first),
        norm2=nn.LayerNorm(width) if second else None,
        attn2=attention(width, width, context=context) if second else None,
        norm3=nn.LayerNorm(width),
        ff=feed_forward(width, gated=True),
        fuser=fuser,
    )


def transformer_2d(
    channels: Dim,
    heads: Dim,
    depth: int,
    context: int,
    *,
    linear: bool = False,
    groups: int = 32,
    gated: bool = False,
    only_cross: bool = False,
    layers: type[nn.ModuleList] = nn.ModuleList,
) -> nn.Module:
    """Norm, projection in, ``depth`` blocks of self-, cross-attention and MLP, projection out.
    ``gated``: a look at objects after each block (GLIGEN). ``layers`` is Layers where no list
    around counts the layers already."""
    width = heads * (channels // heads)

    def project(inputs: int, outputs: int) -> nn.Module:
        if linear:
            return nn.Linear(inputs, outputs, component=Component.ATTENTION)
        return nn.Conv(inputs, outputs, 1, component=Component.ATTENTION)

    block = transformer_block(
        width,
        context=context,
        first=context if only_cross else None,
        fuser=_fuser(width, context) if gated else None,
    )
    return nn.Module(
        "Transformer2DModel",
        norm=nn.GroupNorm(groups, channels, eps=1e-6),
        proj_in=project(channels, width),
        transformer_blocks=layers([block] * int(depth)),
        proj_out=project(width, channels),
    )


def _fuser(width: int, context: int) -> nn.Module:
    return nn.Module(
        "GatedSelfAttentionDense",
        linear=nn.Linear(context, width, component=Component.ATTENTION),
        attn=attention(width, width),
        ff=feed_forward(width, gated=True),
        norm1=nn.LayerNorm(width),
        norm2=nn.LayerNorm(width),
        alpha_attn=nn.Weight(component=Component.ATTENTION),
        alpha_dense=nn.Weight(component=Component.ATTENTION),
    )
