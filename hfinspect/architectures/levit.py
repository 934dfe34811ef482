"""LeViT (Graham et al. 2021). Source of shapes: transformers/models/levit/modeling_levit.py.
Four convolutions, then three stages of attention and MLP in which batch norms follow every matrix;
between stages an attention with a quarter of the queries. Each attention has a bias per offset."""

from itertools import pairwise

from ..core.config import MAX_COUNT
from ..layers.vision import labels_classifier, register_seeing
from ..trees import Component, Dim, ModelConfig, config_defaults
from ..trees import modules as nn

_ACT = nn.Activation("Hardswish")
_PER_STAGE = config_defaults("levit")


def _sizes(c: ModelConfig) -> tuple[Dim, ...]:
    return c.dims("hidden_sizes", default=_PER_STAGE["hidden_sizes"])


def _normed(inputs: int, outputs: int, kind: str) -> nn.Module:
    linear = nn.Linear(inputs, outputs, bias=False, kind=kind)
    return nn.Module("MLPLayerWithBN", linear=linear, batch_norm=nn.BatchNorm(outputs, dims=1))


def _mlp(width: Dim, ratio: int) -> nn.Module:
    up = _normed(width, width * ratio, "up")
    down = _normed(width * ratio, width, "down")
    parts = {"linear_up": up, "activation": _ACT, "linear_down": down}
    module = nn.Module("LevitMLPLayer", parts, component=Component.MLP)
    return nn.Module("LevitResidualLayer", module=module)


def _attention(
    width: Dim, key: Dim, heads: Dim, ratio: Dim, side: Dim, after: Dim | None = None
) -> nn.Module:
    """Between stages the queries are fewer, and the output is as wide as what comes ``after``."""
    values = ratio * key * heads
    keys = key * heads
    if after is None:
        looks = {"queries_keys_values": _normed(width, values + 2 * key * heads, "qkv")}
    else:
        looks = {"keys_values": _normed(width, values + keys, "key_value")}
        looks["queries_subsample"] = nn.Activation("LevitSubsample")
        looks["queries"] = _normed(width, keys, "query")
    last = {"activation": _ACT, "projection": _normed(values, after or width, "output")}
    biases = {"attention_biases": nn.Weight(heads, side * side, kind="relative_position")}
    module = nn.Module("LevitAttention", {**biases, **looks, **last}, component=Component.ATTENTION)
    residual = nn.Module("LevitResidualLayer", module=module)
    return module.called("LevitAttentionSubsample") if after else residual


def _downs(c: ModelConfig, sizes: tuple[Dim, ...], first: Dim) -> list[tuple[Dim, ...]]:
    """Of the attention after each stage: widths of a key, heads, ratios of the values and of the
    MLP, and its stride; empty where there is none. A saved config has them."""
    if not c.says("down_ops"):
        return [(first, width // first, Dim(4), Dim(2), Dim(2)) for width in sizes[:2]]
    rows = c.raw("down_ops")
    if not isinstance(rows, list) or not all(isinstance(row, list) and row for row in rows):
        raise c.error("down_ops", rows, "a list of lists")
    steps: list[tuple[Dim, ...]] = []
    for kind, *numbers in rows:
        section = ModelConfig({"down_ops": numbers}, c.path)
        steps.append(section.dims("down_ops", minimum=0, count=5) if kind == "Subsample" else ())
        if steps[-1] and not (steps[-1][0] and steps[-1][-1]):
            raise c.error("down_ops", rows, "a first and a last number above 0")
    return steps


def model(c: ModelConfig) -> nn.Module:
    widths = _sizes(c)
    kernel = c.dim("kernel_size", default=3)
    if not widths or widths[0] < 8:
        raise c.error("hidden_sizes", c.raw("hidden_sizes"), "a first width of at least 8")
    width = widths[0]
    embeddings = nn.Module("LevitPatchEmbeddings", component=Component.EMBEDDING)
    rungs = pairwise((c.dim("num_channels", default=3), *(width // by for by in (8, 4, 2)), width))
    for i, (inputs, outputs) in enumerate(rungs, 1):
        conv = nn.Conv(inputs, outputs, kernel, bias=False)
        norm = nn.BatchNorm(outputs)
        module = nn.Module("LevitConvEmbeddings", convolution=conv, batch_norm=norm)
        act = None if i == 4 else _ACT
        embeddings.adding(**{f"embedding_layer_{i}": module, f"activation_layer_{i}": act})
    usual = (4, 4, 4)
    depths = c.dims("depths", default=usual, minimum=0, maximum=MAX_COUNT, least=1, most=3)
    per_stage = [
        c.dims(key, default=usual, least=len(depths), minimum=0 if key == "mlp_ratio" else 1)
        for key, usual in _PER_STAGE.items()
    ]
    downs = [*_downs(c, widths, per_stage[2][0]), (), (), ()]
    side = c.dim("image_size", default=224) // c.dim("patch_size", default=16)
    stages = []
    for i, depth in enumerate(depths):
        width, heads, key, ratio, wider = (numbers[i] for numbers in per_stage)
        block = [_attention(width, key, heads, ratio, side)]
        layers = (block + [_mlp(width, wider)] * bool(wider)) * int(depth)
        if downs[i]:
            after = c.dims("hidden_sizes", default=widths, least=i + 2)[i + 1]
            key, heads, ratio, inner, stride = downs[i]
            layers += [_attention(width, key, heads, ratio, side, after)]
            layers += [_mlp(after, inner)] * bool(inner)
            side = (side - 1) // stride + 1
        stages.append(nn.Module("LevitStage", layers=nn.ModuleList(layers)))
    encoder = nn.Module("LevitEncoder", stages=nn.Layers(stages))
    return nn.Module("LevitModel", patch_embeddings=embeddings, encoder=encoder, part="vision")


def _labels(c: ModelConfig) -> nn.Module:
    width = _sizes(c)[-1]
    head = labels_classifier(c, width)
    if "weight" not in head.children:
        return head
    parts = {"batch_norm": nn.BatchNorm(width, dims=1), "linear": head}
    return nn.Module("LevitClassificationLayer", parts, component=Component.HEAD)


_ONE = {"classifier": _labels}
# The second classifier learned from another model.
_TWO = {"ForImageClassificationWithTeacher": {**_ONE, "classifier_distill": _labels}}
register_seeing("levit", "Levit", model, ForImageClassification=_ONE, **_TWO)
