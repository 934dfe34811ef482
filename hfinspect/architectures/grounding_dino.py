"""Grounding DINO (Liu et al. 2023): an encoder that attends within a text, between text and image,
and to points of the image. Without ``two_stage`` transformers 5 cannot build it: shapes are as its
code says. Source: transformers/models/grounding_dino."""

from collections.abc import Callable
from functools import partial

from ..layers import deformable
from ..layers.backbones import backbone
from ..layers.blocks import activation
from ..layers.deformable import norm, predictor, projections, width
from ..trees import Component, ModelConfig, auto_model, register_pair
from ..trees.modules import Activation, Embedding, Layers, Linear, Module, ModuleList, Weight
from .detr import freeze

_NAME = "GroundingDino"
_COMPARED = "GroundingDinoContrastiveEmbedding"


def encoder_layer(c: ModelConfig, attention: Module, act: Module) -> Module:
    """Text and image attend to each other, at half the width of the MLP."""
    d = width(c)
    inner = c.dim("encoder_ffn_dim", default=2048)
    sides = ("vision", "text")
    half = inner // 2
    looks = {f"{side}_proj": Linear(d, half) for side in sides}
    looks |= {f"values_{side}_proj": Linear(d, half, kind="value") for side in sides}
    looks |= {f"out_{side}_proj": Linear(half, d, kind="output") for side in sides}
    scales = {f"{side}_param": Weight(d) for side in sides}
    fused = {f"layer_norm_{side}": norm(c, d) for side in sides}
    mixed = Module(f"{_NAME}BiMultiHeadAttention", looks, component=Component.ATTENTION)
    norms = {f"layer_norm_{at}": norm(c, d) for at in ("before", "after")}
    enhanced = {"self_attn": attention, **deformable.up_down(d, half), **norms}
    look = deformable.deformable_attention(c, _NAME, "encoder")
    eps = deformable.eps(c)
    name = f"{_NAME}DeformableLayer"
    return Module(
        f"{_NAME}EncoderLayer",
        text_enhancer_layer=Module(f"{_NAME}TextEnhancerLayer", enhanced, activation=act),
        fusion_layer=Module(f"{_NAME}FusionLayer", {**scales, **fused}, attn=mixed),
        deformable_layer=deformable.detector_layer(name, d, inner, look, eps=eps, act=act),
    )


def decoder(c: ModelConfig, attention: Module, act: Module) -> Module:
    d = width(c)
    look = deformable.deformable_attention(c, _NAME, "decoder")
    looks = {"self_attn": attention, "encoder_attn_text": attention, "encoder_attn": look}
    layer = {"self_attn": attention, "activation_fn": act}
    for at, attended in looks.items():
        layer |= {at: attended, f"{at}_layer_norm": norm(c, d)}
    inner = deformable.up_down(d, c.dim("decoder_ffn_dim", default=2048))
    layer |= {**inner, "final_layer_norm": norm(c, d)}
    block = Module(f"{_NAME}DecoderLayer", layer)
    count = c.count("decoder_layers", default=6)
    points = predictor(_NAME, (c.dim("query_dim", default=4, minimum=2) // 2 * d, d, d))
    parts = {"layer_norm": norm(c, d), "layers": Layers.of(count, block)}
    return Module(f"{_NAME}Decoder", parts, reference_points_head=points)


def model(c: ModelConfig, *, inside: bool = False, proposes: bool = False) -> Module:
    """``inside`` a class with heads, where what the encoder's output goes through is not one, which
    stands there if the family ``proposes`` or ``two_stage`` says so."""
    d = width(c)
    first = c.flag("two_stage", default=True)
    kind = Component.PROJECTOR
    usual = {"model_type": "swin", "out_indices": [2, 3, 4]}
    text = c.section("text_config")
    network, sizes = backbone(c.section("backbone_config", default=usual), default_type="swin")
    freeze(network)
    convs = Module(f"{_NAME}ConvEncoder", model=network)
    positions = deformable.positions(c, _NAME)
    queries = c.dim("num_queries", default=900)
    wide = text.dim("hidden_size", default=768)
    words = auto_model(text, default_type="bert", part="text")
    words.children.pop("pooler", None)
    embeds = c.flag("embedding_init_target", default=True) or not first
    attention = deformable.named_attention(_NAME, d, c.number("attention_dropout", default=0.0))
    act = activation(c.text("activation_function", default="relu"))
    layers = Layers.of(c.count("encoder_layers", default=6), encoder_layer(c, attention, act))
    root = Module(
        f"{_NAME}Model",
        backbone=Module(f"{_NAME}ConvModel", conv_encoder=convs, position_embedding=positions),
        input_proj_vision=projections(c, sizes, d, kind, alone=not proposes),
        text_backbone=words,
        text_projection=Linear(wide, d, component=kind),
        query_position_embeddings=Embedding(queries, d, kind="position") if embeds else None,
        encoder=Module(f"{_NAME}Encoder", layers=layers),
        decoder=decoder(c, attention, act),
        level_embed=Weight(deformable.levels(c), d, component=Component.EMBEDDING, kind="position"),
        part="vision",
    )
    if not first and not proposes:
        return root.adding(reference_points=Embedding(queries, 4, kind="position"))
    output = Linear(d, d, component=None if inside else Component.HEAD)
    boxes = predictor(_NAME, (d, d, d, 4))
    root.adding(enc_output=output, enc_output_norm=norm(c, d), encoder_output_bbox_embed=boxes)
    return root.adding(encoder_output_class_embed=Activation(_COMPARED))


def layer_heads(
    c: ModelConfig, model: Module, kind: str, key: str, head: Callable[[str | None], Module]
) -> ModuleList:
    """A head after each layer of the decoder, which holds them too; where shared they are one."""
    tied = c.tied()
    name = f"{kind}_embed"
    every = range(c.count("decoder_layers", default=6))
    shared = tied and c.flag(f"decoder_{key}_embed_share", default=True)
    names = [f"{name}.{0 if shared else i}" for i in every]
    model.inside("decoder").children[name] = ModuleList(head(at if tied else None) for at in names)
    return ModuleList(head(names[i] if shared and i else None) for i in every)


def object_detection(c: ModelConfig, *, proposes: bool = False) -> Module:
    base = model(c, inside=True, proposes=proposes)
    boxes = layer_heads(c, base, "bbox", "bbox", partial(predictor, _NAME, [*[width(c)] * 3, 4]))
    words = ModuleList([Activation(_COMPARED)] * len(boxes.children))
    parts = {"model": base, "bbox_embed": boxes, "class_embed": words}
    return Module(f"{_NAME}ForObjectDetection", parts, part="vision")


_ENDING = "ForObjectDetection"
register_pair("grounding-dino", _NAME, object_detection, model, "multimodal", ending=_ENDING)
