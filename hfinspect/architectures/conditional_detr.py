"""Conditional DETR (Meng et al. 2021). Source: transformers/models/conditional_detr.

DETR (detr.py) whose decoder projects contents and positions apart; file names are those of the
first release: projections next to the attention that they belong to.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.composing import renamed
from ..layers.deformable import label_scores, predictor, width
from ..trees.catalog import register
from ..trees.modules import LayerNorm, Layers, Linear, Module
from . import detr

_NAME = "ConditionalDetr"
#: Of self-attention and cross-attention: projection, its kind.
_PARTS = {
    "qcontent_proj": "query", "qpos_proj": "query", "kcontent_proj": "key", "kpos_proj": "key",
    "v_proj": "value",
}  # fmt: skip


def _projections(d: Dim, prefix: str, *, first: bool) -> dict[str, Module]:
    """The positions of the queries are added in the first layer alone."""
    return {
        f"{prefix}_{name}": Linear(d, d, component=Component.ATTENTION, kind=kind)
        for name, kind in _PARTS.items()
        if first or (prefix, name) != ("ca", "qpos_proj")
    }


def decoder_layer(c: ModelConfig, *, first: bool) -> Module:
    d, inner = width(c), c.dim("decoder_ffn_dim", default=2048)

    def attention(kind: str) -> Module:
        out = Linear(d, d, kind="output")
        return Module(f"{_NAME}Decoder{kind}Attention", out_proj=out, component=Component.ATTENTION)

    sine = Linear(d, d, component=Component.ATTENTION, kind="query")
    return Module(
        f"{_NAME}DecoderLayer",
        {
            **_projections(d, "sa", first=True),
            "self_attn": attention("Self"),
            "self_attn_layer_norm": LayerNorm(d),
            **_projections(d, "ca", first=first),
            "ca_qpos_sine_proj": sine,
            "encoder_attn": attention("Cross"),
            "encoder_attn_layer_norm": LayerNorm(d),
            "fc1": Linear(d, inner, component=Component.MLP, kind="up"),
            "fc2": Linear(inner, d, component=Component.MLP, kind="down"),
            "final_layer_norm": LayerNorm(d),
        },
    )


def model(c: ModelConfig) -> Module:
    """DETR's with another decoder and 300 queries."""
    d, count = width(c), int(c.count("decoder_layers", default=6))
    root = detr.model(c.with_defaults(num_queries=300))
    rest = decoder_layer(c, first=False)
    root.children["decoder"] = Module(
        f"{_NAME}Decoder",
        layers=Layers([decoder_layer(c, first=True), *[rest] * (count - 1)] if count else []),
        layernorm=LayerNorm(d),
        query_scale=predictor(_NAME, (d, d, d)),
        ref_point_head=predictor(_NAME, (d, d, 2)),
    )
    return renamed(root, "Detr", _NAME)


def object_detection(c: ModelConfig) -> Module:
    """As many classes as labels: each is decided on its own."""
    d = width(c)
    return Module(
        f"{_NAME}ForObjectDetection",
        model=model(c),
        class_labels_classifier=label_scores(c, d),
        bbox_predictor=predictor(_NAME, (d, d, d, 4)),
        part="vision",
    )


def segmentation(c: ModelConfig) -> Module:
    root = renamed(detr.segmentation(c), "Detr", _NAME)
    del root.children["detr"]
    root.children = {"conditional_detr": object_detection(c), **root.children}
    return root


register(
    "conditional_detr",
    {
        f"{_NAME}ForObjectDetection": object_detection,
        f"{_NAME}Model": model,
        f"{_NAME}ForSegmentation": segmentation,
    },
    base_prefix="model",
    category="vision",
)
