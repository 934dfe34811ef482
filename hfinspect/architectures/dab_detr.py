"""DAB-DETR (Liu et al. 2022): DETR whose queries are boxes, which each layer of the decoder moves.
The activation has a tensor: PReLU's slope. Source of shapes: transformers/models/dab_detr."""

from functools import partial

from ..layers import deformable
from ..layers.blocks import size
from ..layers.composing import renamed
from ..layers.convolutions import rectifier
from ..layers.vision import clip_attention
from ..trees import Component, ModelConfig, register_pair
from ..trees.modules import Conv, Embedding, LayerNorm, Layers, Linear, Module
from . import detr

_NAME = "DabDetr"
_d = size("hidden_size", default=256)


def _act(c: ModelConfig) -> Module:
    return rectifier(c.text("activation_function", default="prelu"))


def decoder_layer(c: ModelConfig, *, first: bool) -> Module:
    """The positions of the queries are projected in the first layer alone, unless kept."""
    d = _d(c)
    has_positions = first or c.flag("keep_query_pos", default=False)
    deformable.heads(c, "decoder_attention_heads", d, "hidden_size")
    selves = ("query_content", "query_pos", "key_content", "key_pos", "value")
    cross = (*(part for part in selves if has_positions or part != "query_pos"), "query_pos_sine")
    layer: dict[str, Module] = {}
    for side, projected in (("self", selves), ("cross", cross)):
        at = f"{side}_attn"
        name = f"{_NAME}DecoderLayer{side.capitalize()}Attention"
        parts = {f"{at}_{part}_proj": Linear(d, d, kind=part.split("_")[0]) for part in projected}
        parts[at] = Module(f"{_NAME}Attention", output_proj=Linear(d, d, kind="output"))
        normed = {f"{at}_layer_norm": LayerNorm(d)}
        layer[at] = Module(name, {**parts, **normed}, component=Component.ATTENTION)
    inner = deformable.up_down(d, c.dim("decoder_ffn_dim", default=2048))
    parts = {"activation_fn": _act(c), **inner, "final_layer_norm": LayerNorm(d)}
    layer["mlp"] = Module(f"{_NAME}DecoderLayerFFN", parts)
    return Module(f"{_NAME}DecoderLayer", layer)


_mlp = partial(deformable.predictor, _NAME, ending="MLP")


def model(c: ModelConfig) -> Module:
    d = _d(c)
    coordinates = c.dim("query_dim", default=4, minimum=4, maximum=4)
    network, sizes = detr.backbone(c, 3)
    network = renamed(network, "Detr", _NAME).called(f"{_NAME}ConvModel")
    convs = network.inside("conv_encoder")
    if convs.inside("model").class_name == "FeatureListNet":  # others take timm's out of its case
        convs.adding(model=Module("TimmBackbone", _backbone=convs.inside("model")))
    patterns = c.count("num_patterns", default=0)
    queries = c.dim("num_queries", default=300)
    look = clip_attention("DetrAttention", d)
    inner = c.dim("encoder_ffn_dim", default=2048)
    deformable.heads(c, "encoder_attention_heads", d, "hidden_size")
    layer = deformable.detector_layer(f"{_NAME}EncoderLayer", d, inner, look, act=_act(c))
    layers = Layers.of(c.count("encoder_layers", default=6), layer)
    encoder = {"query_scale": _mlp((d, d, d)), "layers": layers}
    encoder |= {"norm": LayerNorm(d)} if c.flag("normalize_before", default=False) else {}
    decoder = {"layers": deformable.first_and_rest(c, decoder_layer), "layernorm": LayerNorm(d)}
    decoder |= {"query_scale": _mlp((d, d, d)), "ref_point_head": _mlp((2 * d, d, d))}
    return Module(
        f"{_NAME}Model",
        backbone=network,
        query_refpoint_embeddings=Embedding(queries, coordinates, kind="position"),
        input_projection=Conv(sizes[-1], d, 1, component=Component.PROJECTOR),
        encoder=Module(f"{_NAME}Encoder", encoder),
        decoder=Module(f"{_NAME}Decoder", decoder, ref_anchor_head=_mlp((d, d, 2))),
        patterns=Embedding(patterns, d, kind="detection_token") if patterns else None,
        part="vision",
    )


def object_detection(c: ModelConfig) -> Module:
    """The boxes' head is the decoder's as well, unless the config unties them."""
    d = _d(c)
    base = model(c)
    tied = "bbox_predictor" if c.tied() else None
    base.inside("decoder").adding(bbox_embed=_mlp((d, d, d, 4), tied))
    heads = {"class_embed": deformable.label_scores(c, d), "bbox_predictor": _mlp((d, d, d, 4))}
    return Module(f"{_NAME}ForObjectDetection", {"model": base, **heads}, part="vision")


register_pair("dab-detr", _NAME, object_detection, model, "vision", ending="ForObjectDetection")
