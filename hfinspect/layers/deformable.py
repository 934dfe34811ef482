"""What detectors with deformable attention share (Zhu et al. 2020, Deformable DETR).

Scales of the image at one width, queries that look at a few points of each scale, and the small
networks that predict boxes.  Sources: transformers/models/{deformable_detr,grounding_dino}.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise

from ..trees import Component, Dim, ModelConfig
from ..trees import modules as nn
from . import composing
from .blocks import activation
from .heads import classifier

#: GroupNorm of what the backbone hands on.
GROUPS = 32


def width(c: ModelConfig) -> Dim:
    """``d_model``, the width of the detector."""
    return c.dim("d_model", "hidden_size", default=256)


def levels(c: ModelConfig) -> Dim:
    """How many scales of the image the detector looks at."""
    return c.count("num_feature_levels", default=4, minimum=1)


def heads(c: ModelConfig, key: str, d: Dim, of: str = "d_model", *, default: int = 8) -> Dim:
    """How many heads share the width ``d``, which is that of the key ``of``. Raises ConfigError
    where they cannot."""
    count = c.dim(key, default=default)
    c.divided(d, count, of, key)
    return count


def eps(c: ModelConfig) -> float:
    """Of every norm."""
    return c.number("layer_norm_eps", default=1e-5)


def norm(c: ModelConfig, width: int) -> nn.Module:
    """A norm of that width: 2·D numbers."""
    return nn.LayerNorm(width, eps=eps(c))


def group_normed(
    d: int,
    inputs: int,
    kernel: int = 1,
    *,
    bias: bool = False,
    component: Component = Component.CONV,
    act: bool = False,
    class_name: str = "Sequential",
) -> nn.Module:
    """A convolution to ``d`` channels and a norm of groups of them, ``act``: and a ReLU."""
    pair = [nn.Conv(inputs, d, kernel, bias=bias, component=component), nn.GroupNorm(GROUPS, d)]
    return nn.Sequential(*pair, *[nn.Activation("ReLU")] * act, class_name=class_name)


def in_groups(c: ModelConfig, size: Dim, key: str) -> Callable[..., nn.Module]:
    """What makes such convolutions to the width under ``key``. Raises ConfigError for one that
    group norms cannot share."""
    if int(size) % GROUPS:
        raise c.error(key, int(size), f"a multiple of {GROUPS}")
    return partial(group_normed, size)


def projections(
    c: ModelConfig,
    sizes: Sequence[Dim],
    d: Dim,
    component: Component = Component.CONV,
    *,
    alone: bool = True,
) -> nn.ModuleList:
    """Each scale at the model's width; scales that the backbone has not are made from its last.
    One level is the last scale ``alone``, where the class has that."""
    projection = partial(in_groups(c, d, "d_model"), bias=True, component=component)
    count = int(levels(c))
    if not sizes:
        raise c.error("backbone_config", "no stages", "a backbone that hands on at least one")
    if count == 1 and alone:
        return nn.ModuleList([projection(sizes[-1])])
    if count < len(sizes):
        raise c.error("num_feature_levels", count, f"at least {len(sizes)}")
    inputs = [sizes[-1], *[d] * (count - len(sizes))]
    smaller = [projection(size, 3) for size in inputs[: count - len(sizes)]]
    return nn.ModuleList([*(projection(size) for size in sizes), *smaller])


def positions(c: ModelConfig, name: str) -> nn.Module:
    """Learned positions of rows and columns, or sines, which have no tensors."""
    if c.word("position_embedding_type", "sine", "learned") == "sine":
        return nn.Activation(f"{name}SinePositionEmbedding")
    table = nn.Embedding(50, width(c) // 2, kind="position")
    parts = {"row_embeddings": table, "column_embeddings": table}
    return nn.Module(f"{name}LearnedPositionEmbedding", parts)


def deformable_attention(c: ModelConfig, name: str, side: str) -> nn.Module:
    """Per head, scale and point two offsets and a weight."""
    d = width(c)
    shared = heads(c, f"{side}_attention_heads", d)
    points = shared * levels(c) * c.dim(f"{side}_n_points", default=4)
    return sampling_attention(name, d, points, attn=nn.Activation("MultiScaleDeformableAttention"))


def sampling_attention(
    name: str, d: Dim, points: Dim, **before: nn.Module | nn.Parameter | None
) -> nn.Module:
    """Two offsets and a weight for each of the ``points`` that all heads look at together."""
    offsets = nn.Linear(d, points * 2)
    weights = nn.Linear(d, points)
    parts = {"sampling_offsets": offsets, "attention_weights": weights}
    parts |= {f"{kind}_proj": nn.Linear(d, d, kind=kind) for kind in ("value", "output")}
    called = f"{name}MultiscaleDeformableAttention"
    return nn.Module(called, {**before, **parts}, component=Component.ATTENTION)


def label_scores(c: ModelConfig, d: Dim, tied_to: str | None = None) -> nn.Module:
    """A score for each label; ``tied_to`` is another of the same sizes."""
    return composing.tied_to(classifier(d, c.num_labels), tied_to)


def predictor(
    name: str,
    sizes: Sequence[int],
    tied_to: str | None = None,
    *,
    ending: str = "MLPPredictionHead",
) -> nn.Module:
    """Linear layers from size to size; ``tied_to`` is another of the same sizes."""
    layers = nn.ModuleList(nn.Linear(*both) for both in pairwise(sizes))
    head = nn.Module(f"{name}{ending}", layers=layers, component=Component.HEAD)
    return composing.tied_to(head, tied_to)


def layer_heads(
    c: ModelConfig,
    d: Dim,
    count: int,
    boxes: Callable[[int, str | None], nn.Module],
    tied_to: str | None = None,
) -> dict[str, nn.Module]:
    """Labels and boxes after each of ``count`` layers; ``tied_to`` is what holds the same heads.
    ``boxes`` makes those of a layer, from its number and from the name that they are tied to."""
    at = tied_to and f"{tied_to}."
    labels = [label_scores(c, d, at and f"{at}class_embed.{i}") for i in range(count)]
    box_heads = [boxes(i, at and f"{at}bbox_embed.{i}") for i in range(count)]
    return {"class_embed": nn.ModuleList(labels), "bbox_embed": nn.ModuleList(box_heads)}


def up_down(d: int, inner: int, *names: str) -> dict[str, nn.Module]:
    """The two matrices of an MLP that a layer holds itself, 2·D·I weights: ``fc1`` and ``fc2``, or
    under the ``names`` given."""
    (up, down) = names or ("fc1", "fc2")
    to = partial(nn.Linear, component=Component.MLP)
    return {up: to(d, inner, kind="up"), down: to(inner, d, kind="down")}


def conv_norm(
    name: str,
    inputs: int,
    outputs: int,
    kernel: int,
    act: str | None,
    *,
    groups: int = 1,
    component: Component = Component.CONV,
) -> nn.Module:
    """A convolution without a bias, its batch norm and an activation. Source:
    transformers/models/rt_detr/modeling_rt_detr.py, RTDetrConvNormLayer."""
    return nn.Module(
        f"{name}ConvNormLayer",
        conv=nn.Conv(inputs, outputs, kernel, groups=groups, bias=False, component=component),
        norm=nn.BatchNorm(outputs),
        activation=activation(act),
    )


def detector_layer(
    class_name: str,
    d: int,
    inner: int,
    attention: nn.Module,
    cross: nn.Module | None = None,
    *,
    eps: float | None = None,
    act: nn.Module | None = None,
) -> nn.Module:
    """A layer of DETR: attention, in decoders ``cross`` attention to the picture, and an MLP, 2·D·I
    weights, each with a norm after it. Source: transformers/models/detr/modeling_detr.py."""
    norm = nn.LayerNorm(d, eps=eps)
    layer = nn.Module(class_name, self_attn=attention, self_attn_layer_norm=norm)
    if cross:
        layer.adding(encoder_attn=cross, encoder_attn_layer_norm=norm)
    return layer.adding(activation_fn=act, **up_down(d, inner), final_layer_norm=norm)


def first_and_rest(c: ModelConfig, layer: Callable[..., nn.Module]) -> nn.Layers:
    """The decoder's layers, of which the ``first`` is another."""
    count = int(c.count("decoder_layers", default=6))
    rest = [layer(c, first=False)] * (count - 1)
    return nn.Layers([layer(c, first=True), *rest] if count else [])


def named_attention(name: str, d: int, dropout: float | None = None) -> nn.Module:
    """Query, key, value and output by their whole names: 4·D² weights and 4·D biases."""
    kinds = {"query": "query", "key": "key", "value": "value", "out_proj": "output"}
    looks = {at: nn.Linear(d, d, kind=kind) for at, kind in kinds.items()}
    root = nn.Module(f"{name}MultiheadAttention", looks, component=Component.ATTENTION)
    return root.adding(dropout=None if dropout is None else nn.Dropout(dropout))
