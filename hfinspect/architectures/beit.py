"""BEiT (Bao et al. 2021), a ViT with relative positions instead of, or next to, absolute ones; for
segmentation UPerNet, whose modules files name as earlier versions of the code did.
Source of shapes: transformers/models/beit/modeling_beit.py."""

from functools import partial

from ..layers import vision
from ..layers.blocks import size
from ..layers.heads import to_words
from ..layers.pyramids import normed, plain_head, uper_head
from ..trees import Component, ModelConfig
from ..trees import modules as nn

_hidden = size("hidden_size", default=768)
_heads = size("num_attention_heads", default=12)


def _norm(c: ModelConfig) -> nn.Module:
    return nn.LayerNorm(_hidden(c), eps=c.number("layer_norm_eps", default=1e-12))


def _positions(c: ModelConfig) -> nn.Module:
    """One bias per head and offset of two patches: (2·h - 1)·(2·w - 1), 3 for the class token."""
    image = vision.pair(c, "image_size", default=224)
    patch = vision.pair(c, "patch_size", default=16)
    rows = image[0] // patch[0]
    columns = image[1] // patch[1]
    positions = rows * columns + 1
    offsets = (2 * rows - 1) * (2 * columns - 1) + 3
    table = nn.Weight(offsets, _heads(c), kind="relative_position")
    # Older files hold which offset each pair of positions has.
    index = nn.Buffer(positions, positions, dtype="I64", saved=False)
    parts = {"relative_position_bias_table": table, "relative_position_index": index}
    return nn.Module("BeitRelativePositionBias", parts, component=Component.ATTENTION)


def model(c: ModelConfig, *, pooling: bool = True) -> nn.Module:
    h = _hidden(c)
    off = partial(c.flag, default=False)
    width = vision.uneven_width(c, h, _heads(c)) or h
    attention = vision.google_attention("Beit", h, qkv_bias=True, key_bias=False, width=width)
    if off("use_relative_position_bias"):
        attention.inside("attention").adding(relative_position_bias=_positions(c))
    layer = vision.google_layer(c, "Beit", h, attention)
    if c.number("layer_scale_init_value", default=0.1) > 0:
        factors = {f"lambda_{i}": nn.Weight(h, kind="scale") for i in (1, 2)}
        layer.children = {**factors, **layer.children}
    mean = c.flag("use_mean_pooling", default=True)
    masked = off("use_mask_token")
    placed = off("use_absolute_position_embeddings")
    shared = _positions(c) if off("use_shared_relative_position_bias") else None
    layers = nn.Layers.of(c.count("num_hidden_layers", default=12), layer)
    embeddings = vision.google_embeddings(c, "Beit", h, masked=masked, placed=placed)
    encoder = nn.Module("BeitEncoder", relative_position_bias=shared, layer=layers)
    last = nn.Activation("Identity") if mean else _norm(c)
    parts = {"embeddings": embeddings, "encoder": encoder, "layernorm": last}
    pooler = nn.Module("BeitPooler", layernorm=_norm(c) if mean else None) if pooling else None
    return nn.Module("BeitModel", parts, pooler=pooler, part="vision")


conv_layer = normed("BeitConvLayer", "conv", "bn")


def _pyramid(c: ModelConfig) -> dict[str, nn.Module]:
    """Feature maps of four layers, each twice as fine as the next: 3 transposed convolutions."""
    h = _hidden(c)
    double = nn.Conv(h, h, 2, stride=2, transposed=True)
    finest = nn.Sequential(double, nn.BatchNorm(h), nn.Activation("GELU"), double)
    return {"fpn1": finest, "fpn2": nn.Sequential(double)}


def semantic_segmentation(c: ModelConfig) -> nn.Module:
    h = _hidden(c)
    parts = {"beit": model(c, pooling=False), **_pyramid(c)}
    parts["decode_head"] = uper_head("BeitUperHead", c, h, [h] * 4, conv_layer)
    if c.flag("use_auxiliary_head", default=True):
        parts["auxiliary_head"] = plain_head("BeitFCNHead", c, h, conv_layer)
    return nn.Module("BeitForSemanticSegmentation", {**parts}, part="vision")


def backbone(c: ModelConfig) -> nn.Module:
    refined = _pyramid(c) if c.flag("add_fpn", default=False) else {}
    inner = model(c, pooling=False)
    # A norm after the layers, where there is one, keeps the prefix that files leave out elsewhere.
    beit = nn.Module("BeitModel", layernorm=inner.children.pop("layernorm"))
    # And so does the table that layers share.
    table = inner.inside("encoder").children.pop("relative_position_bias", None)
    if table:
        beit.adding(encoder=nn.Module("BeitEncoder", relative_position_bias=table))
    return nn.Module("BeitBackbone", {**inner.children, "beit": beit, **refined}, part="vision")


vision.register_seeing(
    "beit",
    "Beit",
    model,
    ForImageClassification={"classifier": lambda c: vision.labels_classifier(c, _hidden(c))},
    # Predicts the visual word of each hidden patch.
    ForMaskedImageModeling={
        "beit": partial(model, pooling=False),
        "layernorm": _norm,
        "lm_head": lambda c: to_words(_hidden(c), c.dim("vocab_size", default=8192), bias=True),
    },
    ForSemanticSegmentation=semantic_segmentation,
    Backbone=backbone,
)
