"""BEiT (Bao et al. 2021). Source of shapes: transformers/models/beit/modeling_beit.py.

A ViT without bias on the keys, with a scale per channel, and relative positions (per layer or
shared) instead of, or next to, absolute ones. For segmentation a pyramid of four feature maps goes
through UPerNet (Xiao et al. 2018), whose modules files name as earlier versions of the code did.
"""

from functools import partial

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.blocks import size
from ..layers.composing import Part, composed
from ..layers.heads import to_words
from ..layers.pyramids import normed, plain_head, uper_head
from ..layers.vision import (
    google_attention,
    google_embeddings,
    google_layer,
    labels_classifier,
    pair,
    uneven_width,
)
from ..trees.catalog import Builder, register
from ..trees.modules import (
    Activation,
    BatchNorm,
    Buffer,
    Conv,
    LayerNorm,
    Layers,
    Module,
    Parameter,
    Sequential,
    Weight,
)

_hidden = size("hidden_size", default=768)
_heads = size("num_attention_heads", default=12)


def _norm(c: ModelConfig) -> Module:
    return LayerNorm(_hidden(c), eps=c.number("layer_norm_eps", default=1e-12))


def relative_positions(c: ModelConfig) -> Module:
    """One bias per head and offset of two patches: (2·h - 1)·(2·w - 1), 3 for the class token."""
    image, patch = pair(c, "image_size", default=224), pair(c, "patch_size", default=16)
    rows, columns = image[0] // patch[0], image[1] // patch[1]
    seen, offsets = rows * columns + 1, (2 * rows - 1) * (2 * columns - 1) + 3
    return Module(
        "BeitRelativePositionBias",
        relative_position_bias_table=Weight(offsets, _heads(c), kind="relative_position"),
        # Older files hold which offset each pair of positions has.
        relative_position_index=Buffer(seen, seen, dtype="I64", saved=False),
        component=Component.ATTENTION,
    )


def layer(c: ModelConfig) -> Module:
    h = _hidden(c)
    width = uneven_width(c, h, _heads(c)) or h
    attention = google_attention("Beit", h, qkv_bias=True, key_bias=False, width=width)
    if c.flag("use_relative_position_bias", default=False):
        attention.inside("attention").children["relative_position_bias"] = relative_positions(c)
    made = google_layer(c, "Beit", h, attention)
    if c.number("layer_scale_init_value", default=0.1) > 0:
        factors = {f"lambda_{i}": Weight(h, kind="scale") for i in (1, 2)}
        made.children = {**factors, **made.children}
    return made


def model(c: ModelConfig, *, pooling: bool = True) -> Module:
    mean, masked = c.flag("use_mean_pooling", default=True), c.flag("use_mask_token", default=False)
    placed = c.flag("use_absolute_position_embeddings", default=False)
    shared = c.flag("use_shared_relative_position_bias", default=False)
    layers = Layers.of(c.count("num_hidden_layers", default=12), layer(c))
    return Module(
        "BeitModel",
        embeddings=google_embeddings(c, "Beit", _hidden(c), masked=masked, placed=placed),
        encoder=Module(
            "BeitEncoder",
            relative_position_bias=relative_positions(c) if shared else None,
            layer=layers,
        ),
        layernorm=Activation("Identity") if mean else _norm(c),
        pooler=Module("BeitPooler", layernorm=_norm(c) if mean else None) if pooling else None,
        part="vision",
    )


conv_layer = normed("BeitConvLayer", "conv", "bn")


def pyramid(c: ModelConfig) -> dict[str, Module]:
    """Feature maps of four layers, each twice as fine as the next: 3 transposed convolutions."""
    h = _hidden(c)
    double = Conv(h, h, 2, stride=2, transposed=True)
    return {
        "fpn1": Sequential(double, BatchNorm(h), Activation("GELU"), double),
        "fpn2": Sequential(double),
    }


def semantic_segmentation(c: ModelConfig) -> Module:
    h, parts = _hidden(c), {"beit": model(c, pooling=False), **pyramid(c)}
    parts["decode_head"] = uper_head("BeitUperHead", c, h, [h] * 4, conv_layer)
    if c.flag("use_auxiliary_head", default=True):
        parts["auxiliary_head"] = plain_head("BeitFCNHead", c, h, conv_layer)
    return Module("BeitForSemanticSegmentation", {**parts}, part="vision")


def backbone(c: ModelConfig) -> Module:
    refined = pyramid(c) if c.flag("add_fpn", default=False) else {}
    inner = model(c, pooling=False)
    # A norm after the layers, where there is one, keeps the prefix that files leave out elsewhere.
    kept: dict[str, Module | Parameter] = {"layernorm": inner.children.pop("layernorm")}
    encoder = inner.inside("encoder")
    if "relative_position_bias" in encoder.children:  # and so does the table that layers share
        table = encoder.children.pop("relative_position_bias")
        kept["encoder"] = Module("BeitEncoder", relative_position_bias=table)
    rest = Module("BeitModel", kept)
    return Module("BeitBackbone", {**inner.children, "beit": rest, **refined}, part="vision")


_CLASSES: dict[str, Builder | dict[str, Part]] = {
    "BeitForImageClassification": {
        "beit": model,
        "classifier": lambda c: labels_classifier(c, _hidden(c)),
    },
    "BeitModel": model,
    # Predicts the visual word of each hidden patch.
    "BeitForMaskedImageModeling": {
        "beit": partial(model, pooling=False),
        "layernorm": _norm,
        "lm_head": lambda c: to_words(_hidden(c), c.dim("vocab_size", default=8192), bias=True),
    },
    "BeitForSemanticSegmentation": semantic_segmentation,
    "BeitBackbone": backbone,
}
register("beit", composed(_CLASSES, part="vision"), base_prefix="beit", category="vision")
