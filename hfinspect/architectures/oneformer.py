"""OneFormer (Jain et al. 2023): Mask2Former's pixel decoder; queries that first read the task's
text; for training also an encoder of texts about the picture. Source:
transformers/models/oneformer."""

from itertools import pairwise

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import size
from ..layers.deformable import heads, norm, up_down
from ..layers.heads import classifier
from ..layers.vision import clip_attention, multihead_attention
from ..trees import modules as nn
from ..trees.catalog import register_pair
from .mask2former import criterion, pixel_level

_NAME = "OneFormer"
#: How many of the backbone's maps attention looks at.
_LEVELS = 3
#: What OneFormerConfig makes of an absent backbone_config.
BACKBONE = {"model_type": "swin", "out_features": ["stage1", "stage2", "stage3", "stage4"]}

_hidden = size("hidden_dim", "hidden_size", default=256)
_text_width = size("text_encoder_width", default=256)


def _mlp(sizes: list[Dim], component: Component) -> nn.Module:
    """Linear layers from size to size, each in a block of its own."""
    blocks = [
        nn.Sequential(nn.Linear(*both, component=component), class_name="PredictionBlock")
        for both in pairwise(sizes)
    ]
    return nn.Module(
        f"{_NAME}MLPPredictionHead", layers=nn.Sequential(*blocks, component=component)
    )


def layers(c: ModelConfig, part: str) -> tuple[nn.Module, nn.Module]:
    """That in which queries look at the picture, and that in which they first read the task."""
    d, inner = _hidden(c), c.dim("dim_feedforward", default=2048)
    heads(c, "num_attention_heads", d, "hidden_dim")
    own, look, normed = clip_attention(f"{_NAME}Attention", d), multihead_attention(d), norm(c, d)
    feed = up_down(d, inner, "linear1", "linear2")
    query = nn.Module(
        f"{part}Layer",
        cross_attn=nn.Module(f"{part}CrossAttentionLayer", multihead_attn=look, norm=normed),
        self_attn=nn.Module(f"{part}SelfAttentionLayer", self_attn=own, norm=normed),
        ffn=nn.Module(f"{part}FFNLayer", {**feed, "norm": normed}),
    )
    parts = {"self_attn": look, "multihead_attn": look, **feed}
    norms = {f"norm{i}": normed for i in (1, 2, 3)}
    return query, nn.Module(f"{part}QueryTransformerDecoderLayer", {**parts, **norms})


def decoder(c: ModelConfig) -> nn.Module:
    d, seen, part = _hidden(c), c.dim("conv_dim", default=256), f"{_NAME}TransformerDecoder"
    query, task = layers(c, part)
    tasks = nn.Layers.of(c.count("query_dec_layers", default=2), task)
    reading = nn.Module(f"{part}QueryTransformerDecoder", layers=tasks, norm=norm(c, d))
    deep = c.count("decoder_layers", "num_hidden_layers", default=10, minimum=1)
    return nn.Module(
        part,
        query_transformer=nn.Module(f"{part}QueryTransformer", decoder=reading),
        decoder_norm=norm(c, d),
        # One less than the config says: the queries themselves predict first.
        layers=nn.Layers.of(deep - 1, query),
        query_input_projection=nn.Conv(seen, d, 1, component=Component.PROJECTOR),
        class_embed=classifier(d, c.num_labels + 1),
        mask_embed=_mlp([d, d, d, c.dim("mask_dim", default=256)], Component.EMBEDDING),
    )


def text_encoder(c: ModelConfig) -> nn.Module:
    d, length = _text_width(c), c.dim("text_encoder_context_length", default=77)
    layer = nn.Module(
        f"{_NAME}TextTransformerLayer",
        self_attn=multihead_attention(d),
        layer_norm1=norm(c, d),
        mlp=nn.Module(f"{_NAME}TextMLP", {**up_down(d, 4 * d)}),
        layer_norm2=norm(c, d),
    )
    deep = c.count("text_encoder_num_layers", default=6)
    read = nn.Module(
        f"{_NAME}TextTransformer", layers=nn.Layers.of(deep, layer, class_name="Sequential")
    )
    return nn.Module(
        f"{_NAME}TextEncoder",
        transformer=read,
        positional_embedding=nn.Weight(length, d, component=Component.EMBEDDING, kind="position"),
        ln_final=norm(c, d),
        token_embedding=nn.Embedding(c.dim("text_encoder_vocab_size", default=49408), d),
    )


def text_mapper(c: ModelConfig) -> nn.Module:
    d, out = _text_width(c), _hidden(c)
    between = int(c.count("text_encoder_proj_layers", default=2, minimum=1))
    projected = _mlp([d, *[out] * between], Component.PROJECTOR)
    parts = {"text_encoder": text_encoder(c), "text_projector": projected}
    own = c.count("text_encoder_n_ctx", default=16)
    parts |= {"prompt_ctx": nn.Embedding(own, d, kind="position")} if own else {}
    return nn.Module(f"{_NAME}TextMapper", parts, part="text")


def model(c: ModelConfig) -> nn.Module:
    """Its projections of the maps stand in a plain list: torch does not see them."""
    d, training = _hidden(c), c.flag("is_training", default=False)
    task = _mlp([c.dim("task_seq_len", default=77), d, d], Component.HEAD)
    queries = nn.Module(
        f"{_NAME}TransformerModule",
        position_embedder=nn.Activation(f"{_NAME}SinePositionEmbedding"),
        queries_embedder=nn.Embedding(c.dim("num_queries", default=150), d, kind="position"),
        decoder=decoder(c),
        level_embed=nn.Embedding(_LEVELS, d, kind="position"),
    )
    keys = {"width": "conv_dim", "mask": "mask_dim", "strides": "strides"}
    return nn.Module(
        f"{_NAME}Model",
        pixel_level_module=pixel_level(c, _NAME, BACKBONE, **keys),
        transformer_module=queries,
        task_encoder=nn.Module(f"{_NAME}TaskModel", task_mlp=task),
        text_mapper=text_mapper(c) if training else None,
        part="vision",
    )


def universal_segmentation(c: ModelConfig) -> nn.Module:
    scaled = "contrastive_temperature" not in c.values or c.has("contrastive_temperature")
    scale = nn.Parameter((), dtype="F64", kind="scale") if scaled else None
    parts = {"model": model(c), "criterion": criterion(c, _NAME, scale)}
    return nn.Module(f"{_NAME}ForUniversalSegmentation", parts, part="vision")


register_pair(
    "oneformer", _NAME, universal_segmentation, model, "vision", ending="ForUniversalSegmentation"
)
