"""VideoPrism (Zhao et al. 2024). Source of shapes: transformers/models/videoprism.

A ViT within each frame, then one over the frames at each place; for whole videos further layers and
one vector that asks all of them. A text tower of the same layers ends in a class token.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.heads import classifier
from ..layers.vision import pair, plain_mlp, uneven_width
from ..trees.catalog import register
from ..trees.modules import (
    Buffer,
    Conv,
    Dropout,
    Embedding,
    LayerNorm,
    Layers,
    Linear,
    Module,
    Weight,
)


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=768)


def _heads(c: ModelConfig) -> Dim:
    return c.dim("num_attention_heads", default=12)


def _inner(c: ModelConfig) -> Dim:
    return c.dim("intermediate_size", default=3072)


def _norm(c: ModelConfig) -> Module:
    eps = c.number("layer_norm_eps", default=1e-6)
    return LayerNorm(_hidden(c), eps=eps, class_name="VideoPrismLayerNorm")


def _projections(
    c: ModelConfig, width: int, component: Component = Component.ATTENTION
) -> dict[str, Module]:
    h, bias = _hidden(c), c.flag("qkv_bias", default=True)
    return {
        "q_proj": Linear(h, width, bias=bias, kind="query", component=component),
        "k_proj": Linear(h, width, bias=bias, kind="key", component=component),
        "v_proj": Linear(h, width, bias=bias, kind="value", component=component),
        "o_proj": Linear(width, h, kind="output", component=component),
    }


def _layer(c: ModelConfig, act: str) -> Module:
    h = _hidden(c)
    width = uneven_width(c, h, _heads(c)) or h
    return Module(
        "VideoPrismLayer",
        attention=Module(
            "VideoPrismAttention", _projections(c, width), component=Component.ATTENTION
        ),
        layernorm_before=_norm(c),
        layernorm_after=_norm(c),
        mlp=plain_mlp("VideoPrismMLP", h, _inner(c), act=c.text("hidden_act", default=act)),
        dropout=Dropout(c.number("hidden_dropout_prob", default=0.0)),
    )


def _layers(c: ModelConfig, key: str, default: int, *, act: str = "gelu_python") -> Layers:
    return Layers.of(c.count(key, default=default), _layer(c, act))


def text_model(c: ModelConfig) -> Module:
    h, positions = _hidden(c), c.dim("max_position_embeddings", default=64)
    width = h + 1 if h % 2 else h  # half of it sines, half of it cosines
    return Module(
        "VideoPrismTextModel",
        embeddings=Module(
            "VideoPrismTextEmbeddings",
            cls_emb=Weight(1, 1, h, kind="class_token"),
            token_embedding=Embedding(c.dim("vocab_size", default=32000), h),
            position_embedding=Buffer(positions, width, kind="position"),
            position_ids=Buffer(1, positions, dtype="I64"),
            component=Component.EMBEDDING,
        ),
        layers=_layers(c, "num_hidden_layers", 12, act="relu"),
        layernorm=_norm(c),
        part="text",
    )


def vision_model(c: ModelConfig) -> Module:
    h, image = _hidden(c), pair(c, "image_size", default=288)
    tube = c.dims("tubelet_size", default=(1, 18, 18))
    if len(tube) != 3:
        raise c.error("tubelet_size", c.raw("tubelet_size"), "three sizes: frames, height, width")
    places = (image[0] // tube[1]) * (image[1] // tube[2])
    dropout = Dropout(c.number("hidden_dropout_prob", default=0.0))
    projection = Conv(
        c.dim("num_channels", default=3), h, tube, dims=3, stride=tube,
        component=Component.EMBEDDING, kind="patch",
    )  # fmt: skip
    return Module(
        "VideoPrismVisionModel",
        layernorm1=_norm(c),
        layernorm2=_norm(c),
        spatial_embeddings=Module(
            "VideoPrismSpatialEmbeddings",
            position_embeddings=Weight(1, places, h, kind="position"),
            patch_embeddings=Module("VideoPrismTubeletEmbeddings", projection=projection),
            dropout=dropout,
            component=Component.EMBEDDING,
        ),
        temporal_embeddings=Module(
            "VideoPrismTemporalEmbeddings",
            position_embeddings=Weight(1, c.dim("num_frames", default=16), h, kind="position"),
            dropout=dropout,
            component=Component.EMBEDDING,
        ),
        spatial_layers=_layers(c, "num_spatial_layers", 12),
        temporal_layers=_layers(c, "num_temporal_layers", 4),
        part="vision",
    )


def _pooling(c: ModelConfig) -> Module:
    head = _inner(c) // _heads(c)
    return Module(
        "VideoPrismMultiheadAttentionPoolingHead",
        {
            "per_dim_scale": Weight(head, kind="scale"),
            "pooling_attention_query": Weight(1, 1, _hidden(c), kind="query"),
            **_projections(c, _heads(c) * head, Component.HEAD),
        },
        component=Component.ATTENTION,
    )


def video_model(c: ModelConfig) -> Module:
    return Module(
        "VideoPrismVideoModel",
        vision_model=vision_model(c),
        auxiliary_layers=_layers(c, "num_auxiliary_layers", 2),
        head=_pooling(c),
        head_layernorm=_norm(c),
        part="vision",
    )


def video_classification(c: ModelConfig) -> Module:
    return Module(
        "VideoPrismForVideoClassification",
        vision_model=vision_model(c),
        head=_pooling(c),
        head_layernorm=_norm(c),
        classifier=classifier(_hidden(c), c.num_labels),
        part="vision",
    )


def both(c: ModelConfig) -> Module:
    return Module(
        "VideoPrismClipModel",
        video_model=video_model(c.section("vision_config")),
        text_model=text_model(c.section("text_config")),
    )


register(
    "videoprism", {"VideoPrismClipModel": both}, base="VideoPrismClipModel", category="multimodal"
)
register(
    "videoprism_vision_model",
    {
        "VideoPrismVisionModel": vision_model,
        "VideoPrismVideoModel": video_model,
        "VideoPrismForVideoClassification": video_classification,
    },
    base="VideoPrismVisionModel",
    base_prefix="vision_model",
    category="vision",
)
register(
    "videoprism_text_model",
    {"VideoPrismTextModel": text_model},
    base="VideoPrismTextModel",
    base_prefix="text_model",
    category="encoder",
)
