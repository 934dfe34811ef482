"""Mask2Former (Cheng et al. 2022): a pixel decoder of deformable attention over three maps, and
queries that attend to masked parts of the picture. Source: transformers/models/mask2former."""

import math
from functools import partial

from ..layers.backbones import backbone
from ..layers.blocks import activation, size
from ..layers.deformable import detector_layer, eps, heads, in_groups, sampling_attention, up_down
from ..layers.heads import classifier, register_headed
from ..layers.vision import clip_attention, multihead_attention
from ..trees import Component, ModelConfig
from ..trees import modules as nn

_NAME = "Mask2Former"
#: How many of the backbone's maps attention looks at, and points of each.
_LEVELS = 3
_POINTS = 4
hidden = size("hidden_dim", "hidden_size", default=256)


def pixel_level(c: ModelConfig, name: str, *keys: str, **more: list[int]) -> nn.Module:
    """The backbone and what is made of its maps: attention to points of three of them, and further
    ones by the steps between the finest of these and the finest of all. ``keys`` are the family's
    own for the width, that of the masks and the strides; ``more`` those of an absent backbone."""
    width, mask, strides = keys
    usual = {"model_type": "swin", "out_features": [f"stage{i}" for i in range(1, 5)], **more}
    section = c.section("backbone_config", default=usual)
    network, sizes = backbone(section, default_type="swin", least=_LEVELS)
    d = c.dim(width, default=256)
    at = f"{name}PixelDecoderEncoder"
    to = in_groups(c, d, width)
    projected = partial(to, bias=True, component=Component.PROJECTOR)
    inner = c.dim("encoder_feedforward_dim", default=1024)
    points = heads(c, "num_attention_heads", d, width) * _LEVELS * _POINTS
    look = sampling_attention(at, d, points)
    layer = detector_layer(f"{at}Layer", d, inner, look, eps=eps(c))
    layers = nn.Layers.of(c.count("encoder_layers", default=6), layer)
    steps = c.dims(strides, default=(4, 8, 16, 32), least=1)[-_LEVELS:]
    common = int(c.dim("common_stride", default=4))
    # Below zero it counts from the end of the list, as the library's own slice does.
    finer = sizes[: int(math.log2(min(steps)) - math.log2(common))]
    parts: dict[str, nn.Module | nn.Parameter] = {
        "level_embed": nn.Weight(_LEVELS, d, component=Component.EMBEDDING, kind="position"),
        "input_projections": nn.ModuleList(map(projected, sizes[: -_LEVELS - 1 : -1])),
        "encoder": nn.Module(f"{at}Only", layers=layers),
        "mask_projection": nn.Conv(d, c.dim(mask, default=256), 1, component=Component.PROJECTOR),
        **{f"adapter_{i}": to(size) for i, size in enumerate(finer, 1)},
        **{f"layer_{i}": to(d, 3, act=True) for i in range(1, len(finer) + 1)},
    }
    decoder = nn.Module(f"{name}PixelDecoder", parts)
    return nn.Module(f"{name}PixelLevelModule", encoder=network, decoder=decoder)


def mask_head(c: ModelConfig, d: int, name: str, block: str) -> nn.Module:
    """Three linear layers from a query to the weights of its mask."""
    at = Component.HEAD
    out = c.dim("mask_feature_size", default=256)
    layers = [
        nn.Sequential(nn.Linear(d, width, component=at), nn.Activation(act), class_name=block)
        for width, act in ((d, "ReLU"), (d, "ReLU"), (out, "Identity"))
    ]
    return nn.ModuleList(layers, class_name=f"{name}MLPPredictionHead", component=at)


def model(c: ModelConfig) -> nn.Module:
    keys = "feature_size", "mask_feature_size", "feature_strides"
    d = hidden(c)
    inputs = c.dim("feature_size", default=256)
    apart = int(inputs) != int(d) or c.flag("enforce_input_projection", default=False)
    projection = nn.Conv(inputs, d, 1, component=Component.PROJECTOR) if apart else nn.Sequential()
    embedder = mask_head(c, d, _NAME, f"{_NAME}PredictionBlock")
    deep = c.count("decoder_layers", "num_hidden_layers", default=10, minimum=1)
    queries = c.dim("num_queries", default=100)
    inner = c.dim("dim_feedforward", default=2048)
    heads(c, "num_attention_heads", d, "hidden_dim")
    self_attn = clip_attention(f"{_NAME}Attention", d)
    normed = nn.LayerNorm(d)
    act = activation(c.text("activation_function", default="relu"))
    layer = {"self_attn": self_attn, "activation_fn": act, "self_attn_layer_norm": normed}
    layer |= {"cross_attn": multihead_attention(d), "cross_attn_layer_norm": normed}
    layer |= {**up_down(d, inner), "final_layer_norm": normed}
    block = nn.Module(f"{_NAME}MaskedAttentionDecoderLayer", layer)
    # One less than the config says: the queries themselves predict first.
    decoder = nn.Module(f"{_NAME}MaskedAttentionDecoder", layers=nn.Layers.of(deep - 1, block))
    predicting = nn.Module(f"{_NAME}MaskPredictor", mask_embedder=embedder)
    transformer = nn.Module(
        f"{_NAME}TransformerModule",
        position_embedder=nn.Activation(f"{_NAME}SinePositionEmbedding"),
        queries_embedder=nn.Embedding(queries, d, kind="position"),
        queries_features=nn.Embedding(queries, d, kind="detection_token"),
        input_projections=nn.ModuleList([projection] * _LEVELS),
        decoder=decoder.adding(layernorm=normed, mask_predictor=predicting),
        level_embed=nn.Embedding(_LEVELS, d, kind="position"),
    )
    pixels = pixel_level(c, _NAME, *keys, depths=[2, 2, 18, 2])
    parts = {"pixel_level_module": pixels, "transformer_module": transformer}
    return nn.Module(f"{_NAME}Model", parts, part="vision")


def criterion(c: ModelConfig, name: str, scale: nn.Parameter | None = None) -> nn.Module:
    """The loss keeps a weight for each label and for none, and perhaps a learned ``scale``."""
    return nn.Module(f"{name}Loss", logit_scale=scale, empty_weight=nn.Buffer(c.num_labels + 1))


register_headed(
    "mask2former",
    _NAME,
    "ForUniversalSegmentation",
    model,
    class_predictor=lambda c: classifier(hidden(c), c.num_labels + 1),
    criterion=partial(criterion, name=_NAME),
)
