"""ZoeDepth (Bhat et al. 2023): DPT over BEiT for the order of depths, and a head that turns it into
metres: bins, moved by attractors. With several sets of bins, a small transformer chooses among
them. Source of shapes: transformers/models/zoedepth/modeling_zoedepth.py."""

from collections.abc import Callable, Iterable
from functools import partial

from ..layers.blocks import activation, size
from ..layers.deformable import named_attention, up_down
from ..layers.reassembling import depth_head, fused_width
from ..trees import Component, Dim, ModelConfig, auto_class, config_defaults, register
from ..trees import modules as nn
from .dpt import neck

_NAME = "ZoeDepth"
_LEVELS = 4
_narrow = size("bottleneck_features", default=256)
_relative = size("num_relative_features", default=32)
_conv = partial(nn.Conv, component=Component.HEAD)


def _two(ending: str, act: str, inputs: int, middle: int, outputs: int) -> nn.Module:
    """Two 1x1 convolutions, ``act`` behind the second."""
    first = {"conv1": _conv(inputs, middle, 1), "act1": nn.Activation("ReLU")}
    last = {"conv2": _conv(middle, outputs, 1), "act2": nn.Activation(act)}
    return nn.Module(f"{_NAME}{ending}", {**first, **last})


def _projector(inputs: int, middle: int, outputs: int) -> nn.Module:
    convs = {"conv1": _conv(inputs, middle, 1), "conv2": _conv(middle, outputs, 1)}
    return nn.Module(f"{_NAME}Projector", convs, act=nn.Activation("ReLU"))


def _softmax(inputs: int, factor: int) -> nn.Module:
    middle = inputs // factor
    to = partial(nn.Conv, kernel=1, component=Component.MLP)
    acts = nn.Activation("GELU"), nn.Activation("Softplus")
    mlp = nn.Sequential(to(inputs, middle), acts[0], to(middle, 4), acts[1])
    return nn.Module(f"{_NAME}ConditionalLogBinomialSoftmax", mlp=mlp)


def _chooser(c: ModelConfig) -> dict[str, nn.Module]:
    """Layers of attention that choose among sets of bins."""
    at = "patch_transformer"
    count = c.count("num_patch_transformer_layers")
    h = c.dim(f"{at}_hidden_size")
    inner = c.dim(f"{at}_intermediate_size")
    drop = nn.Dropout(0.1)
    c.divided(h, c.dim(key := f"{at}_num_attention_heads"), f"{at}_hidden_size", key)
    up, down = up_down(h, inner, "linear1", "linear2").items()
    layer = dict([("self_attn", named_attention(_NAME, h, 0.1)), up, ("dropout", drop), down])
    layer |= {f"norm{i}": nn.LayerNorm(h) for i in (1, 2)}
    layer |= {"dropout1": drop, "dropout2": drop, "activation": activation("relu")}
    block = nn.Module(f"{_NAME}TransformerEncoderLayer", layer)
    patches = nn.Conv(_narrow(c), h, 1, component=Component.EMBEDDING)
    looking = {"transformer_encoder": nn.Layers.of(count, block), "embedding_convPxP": patches}
    scoring = {"linear1": nn.Linear(128, 128), "activation": nn.Activation("ReLU")}
    return {
        at: nn.Module(f"{_NAME}PatchTransformerEncoder", looking),
        "mlp_classifier": nn.Module(f"{_NAME}MLPClassifier", scoring, linear2=nn.Linear(128, 2)),
    }


def metric_head(c: ModelConfig) -> nn.Module:
    items = c.raw("bin_configurations") or [{"n_bins": 64}]
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise c.error("bin_configurations", items, "a list of objects")
    bins = [ModelConfig(item, f"{c.path}bin_configurations[{i}].") for i, item in enumerate(items)]
    e = c.dim("bin_embedding_dim", default=128)
    inner = _narrow(c)
    several = len(bins) > 1
    normed = c.word("bin_centers_type", "softplus", "normed") == "normed"
    act, name = ("ReLU", "AttractorLayer") if normed else ("Softplus", "AttractorLayerUnnormed")

    def attractors(points: Iterable[int]) -> nn.Module:
        """What attracts the centres of the bins; normed points have a strength each as well."""
        return nn.ModuleList(_two(name, act, e, e, 2 * n if normed else n) for n in points)

    seeds = partial(_two, "SeedBinRegressor", act, inner)
    head = Component.HEAD
    points = c.dims("num_attractors", default=(16, 8, 4, 1), least=0 if several else _LEVELS)
    middle = e // 2 if several else Dim(128, "128")
    shared = {
        "conv2": _conv(inner, inner, 1),
        **(_chooser(c) if several else {}),
        "seed_projector": _projector(inner, middle, e),
        "projectors": nn.ModuleList([_projector(fused_width(c), middle, e)] * _LEVELS),
    }
    if not several:
        shared["seed_bin_regressor"] = seeds(256, bins[0].dim("n_bins"))
        shared["attractors"] = attractors(points[:_LEVELS])
        shared["conditional_log_binomial"] = _softmax(_relative(c) + 1 + e, 2)
        return nn.Module(f"{_NAME}MetricDepthEstimationHead", shared, component=head)
    names = [each.text("name", default="") or "" for each in bins]
    if not all(names) or any("." in name for name in names):
        raise c.error("bin_configurations", names, "a name for each")
    # Attractors of several sets have as many points as there should be bins, and the reverse.
    sets: dict[str, Callable[[ModelConfig], nn.Module]] = {
        "seed_bin_regressors": lambda each: seeds(e // 2, each.dim("n_bins")),
        "attractors": lambda _: attractors([16] * len(points)),
        "conditional_log_binomial": lambda _: _softmax(_relative(c) + e, 4),
    }
    for at, of in sets.items():
        shared[at] = nn.Module("ModuleDict", dict(zip(names, map(of, bins), strict=True)))
    return nn.Module(f"{_NAME}MultipleMetricDepthEstimationHeads", shared, component=head)


def model(config: ModelConfig) -> nn.Module:
    section = config.section("backbone_config", default=config_defaults("zoedepth"))
    c = config.with_values(backbone_config=section.file_values)
    added = c.flag("add_projection", default=False)
    more = {"projection": _conv(256, 256, 3)} if added else {}
    up = nn.Activation("Upsample")
    network = auto_class(section.of_type("beit"), "Backbone", default_type="beit", part="vision")
    ordering = depth_head(f"{_NAME}Relative", fused_width(c), _relative(c), **more, upsample=up)
    heads = {"relative_head": ordering, "metric_head": metric_head(c)}
    parts = {"backbone": network, "neck": neck(c, _NAME), **heads}
    return nn.Module(f"{_NAME}ForDepthEstimation", parts, part="vision")


register("zoedepth", {f"{_NAME}ForDepthEstimation": model}, category="vision")
