"""TimeSformer (Bertasius et al. 2021). Source: transformers/models/timesformer.

ViT over frames, with a table of times next to that of positions; each layer attends over time
first, then over space ("divided_space_time"), or over both at once.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation
from ..layers.vision import labels_classifier, pair, patch_conv, patch_count
from ..trees.catalog import register
from ..trees.modules import Dropout, LayerNorm, Layers, Linear, Module, Weight

_KINDS = ("divided_space_time", "space_only", "joint_space_time")


def hidden_size(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=768)


def _norm(c: ModelConfig) -> Module:
    return LayerNorm(hidden_size(c), eps=c.number("layer_norm_eps", default=1e-6))


def kind(c: ModelConfig) -> str:
    found = c.text("attention_type", default=_KINDS[0]) or ""
    if found not in _KINDS:
        raise c.error("attention_type", found, f"one of {', '.join(_KINDS)}")
    return found


def embeddings(c: ModelConfig) -> Module:
    h, frames = hidden_size(c), c.dim("num_frames", default=8)
    image, patch = pair(c, "image_size", default=224), pair(c, "patch_size", default=16)
    timed = kind(c) != "space_only"
    return Module(
        "TimesformerEmbeddings",
        cls_token=Weight(1, 1, h, kind="class_token"),
        position_embeddings=Weight(1, patch_count(image, patch) + 1, h, kind="position"),
        time_embeddings=Weight(1, frames, h, kind="position") if timed else None,
        patch_embeddings=Module(
            "TimesformerPatchEmbeddings",
            projection=patch_conv(c.dim("num_channels", default=3), h, patch),
        ),
        component=Component.EMBEDDING,
    )


def attention(c: ModelConfig) -> Module:
    h, bias = hidden_size(c), c.flag("qkv_bias", default=True)
    return Module(
        "TimeSformerAttention",
        attention=Module("TimesformerSelfAttention", qkv=Linear(h, 3 * h, bias=bias, kind="qkv")),
        output=Module(
            "TimesformerSelfOutput", dense=Linear(h, h, kind="output"), dropout=Dropout(0.0)
        ),
        component=Component.ATTENTION,
    )


def layer(c: ModelConfig) -> Module:
    h, inner = hidden_size(c), c.dim("intermediate_size", default=3072)
    divided = kind(c) == "divided_space_time"
    return Module(
        "TimesformerLayer",
        attention=attention(c),
        intermediate=Module(
            "TimesformerIntermediate",
            dense=Linear(h, inner, kind="up"),
            intermediate_act_fn=activation(c.text("hidden_act", default="gelu")),
            component=Component.MLP,
        ),
        output=Module(
            "TimesformerOutput", dense=Linear(inner, h, kind="down"), component=Component.MLP
        ),
        layernorm_before=_norm(c),
        layernorm_after=_norm(c),
        temporal_layernorm=_norm(c) if divided else None,
        temporal_attention=attention(c) if divided else None,
        temporal_dense=Linear(h, h) if divided else None,
    )


def model(c: ModelConfig) -> Module:
    layers = Layers.of(c.count("num_hidden_layers", default=12), layer(c))
    return Module(
        "TimesformerModel",
        embeddings=embeddings(c),
        encoder=Module("TimesformerEncoder", layer=layers),
        layernorm=_norm(c),
        part="vision",
    )


def video_classification(c: ModelConfig) -> Module:
    return Module(
        "TimesformerForVideoClassification",
        timesformer=model(c),
        classifier=labels_classifier(c, hidden_size(c)),
        part="vision",
    )


register(
    "timesformer",
    {"TimesformerForVideoClassification": video_classification, "TimesformerModel": model},
    base="TimesformerModel",
    base_prefix="timesformer",
    category="vision",
)
