"""OmDet-Turbo (Zhao et al. 2024): a detector of what a text names. RT-DETR's encoder over Swin's
maps, CLIP's text encoder, and a decoder that attends to the task's words and to points of the maps.
Source of shapes: transformers/models/omdet_turbo/modeling_omdet_turbo.py."""

from functools import partial

from ..layers import deformable
from ..layers.backbones import maps_of_timm, older_backbone
from ..layers.blocks import activation, size, two_layer_mlp
from ..layers.deformable import eps, heads, norm
from ..trees import Component, ModelConfig, auto_class, auto_model, register_part
from ..trees.modules import Embedding, Layers, Linear, Module, ModuleList, Sequential, Weight
from . import rt_detr

_NAME = "OmDetTurbo"
_e = size("encoder_hidden_dim", "d_model", default=256)
_boxes = partial(deformable.predictor, _NAME, ending="MLP")


def encoder(c: ModelConfig, maps: tuple[int, ...]) -> Module:
    e = _e(c)
    inner = c.dim("encoder_dim_feedforward", default=2048)
    heads(c, "encoder_attention_heads", e)
    act = activation(c.text("encoder_feedforward_activation", default="relu"))
    look = deformable.named_attention(_NAME, e)
    layer = deformable.detector_layer(f"{_NAME}EncoderLayer", e, inner, look, eps=eps(c), act=act)
    layers = Layers.of(c.count("encoder_layers", default=1), layer)
    projected = c.dims("encoder_projection_indices", default=(2,), minimum=0)
    between = c.text("conv_norm_activation", default="gelu")
    flat, smaller = (deformable.conv_norm(_NAME, e, e, kernel, between) for kernel in (1, 3))
    fused = rt_detr.fusion_block(_NAME, c, e, c.text("csp_activation", default="silu"))
    inward = ModuleList(rt_detr.projection(w, e) for w in maps)
    encoders = ModuleList([Module(f"{_NAME}Encoder", layers=layers)] * len(projected))
    mixing = rt_detr.mixed(len(maps) - 1, flat, fused, smaller)
    parts = {"channel_projection_layers": inward, "encoder": encoders, **mixing}
    return Module(f"{_NAME}HybridEncoder", parts)


def decoder(c: ModelConfig) -> Module:
    d = c.dim("decoder_hidden_dim", default=256)
    wide = _e(c)
    two = ("linear1", "linear2")
    heads(c, "decoder_num_heads", d, "decoder_hidden_dim")
    levels = c.count("num_feature_levels", default=3)
    points = heads(c, "decoder_num_heads", wide) * levels * c.dim("decoder_num_points", default=4)
    layer = {"self_attn": deformable.named_attention(_NAME, d), "norm1": norm(c, d)}
    layer["cross_attn"] = deformable.sampling_attention(_NAME, wide, points)
    inner = deformable.up_down(d, c.dim("decoder_dim_feedforward", default=2048), *two)
    act = activation(c.text("decoder_activation", default="relu"))
    layer |= {"norm2": norm(c, d), **inner, "act": act, "norm3": norm(c, d)}
    block = Module(f"{_NAME}DeformableTransformerDecoderLayer", layer)
    count = c.count("decoder_num_layers", default=6)
    queries = c.dim("num_queries", default=900)
    classes = c.dim("class_embed_dim", default=512)
    widths = c.dims("vision_features_channels", default=(256, 256, 256))
    to = Linear(classes, d, component=Component.PROJECTOR)
    learned = c.flag("learn_initial_query", default=False)
    scores = Linear(classes, d, component=Component.HEAD)
    boxes = _boxes((d, d, d, 4))
    task = c.dim("task_encoder_hidden_dim", default=1024)
    mlp = two_layer_mlp(f"{_NAME}MLPWithDropout", classes, task, names=two)
    normed = Module(f"{_NAME}ResidualLayer", norm1=norm(c, classes))
    return Module(
        f"{_NAME}Decoder",
        channel_projection_layers=ModuleList(rt_detr.projection(size, d) for size in widths),
        task_encoder=Module(f"{_NAME}TaskEncoder", mlp=mlp, res1=normed),
        task_project=to if int(classes) != int(d) else None,
        layers=Layers.of(count, block),
        tgt_embed=Embedding(queries, d, kind="detection_token") if learned else None,
        query_position_head=_boxes((4, 2 * d, d)),
        encoder_vision_features=Sequential(Linear(d, d, component=Component.EMBEDDING), norm(c, d)),
        encoder_class_head=scores,
        encoder_bbox_head=boxes,
        decoder_class_head=ModuleList([scores] * int(count)),
        decoder_bbox_head=ModuleList([boxes] * int(count)),
    )


def model(c: ModelConfig) -> Module:
    maps = c.dims("encoder_in_channels", default=(192, 384, 768))
    name = "swin_tiny_patch4_window7_224"
    section = older_backbone(c, lambda name: name.startswith("swin_"), name, out_indices=[1, 2, 3])
    if section.kind == "timm_backbone":
        if not section.has("backbone"):
            raise section.missing("backbone")
        name = str(section.raw("backbone"))
        channels = section.dim("num_channels", default=3)
        network = Module("TimmBackbone", _backbone=maps_of_timm(section, name, int(channels)))
    else:
        usual = {"model_type": "swin", "image_size": 640, "out_indices": [2, 3, 4]}
        section = c.section("backbone_config", default=usual)
        network = auto_class(section, "Backbone", default_type="swin", part="vision")
    norms = ModuleList(norm(c, size) for size in maps)
    vision = Module(f"{_NAME}VisionBackbone", vision_backbone=network, layer_norms=norms)
    sizes = (c.dim(f"text_projection_{at}_dim", default=512) for at in ("in", "out"))
    to = Weight(*sizes, component=Component.PROJECTOR)
    text = auto_model(c.section("text_config"), default_type="clip_text_model", part="text")
    words = Module(f"{_NAME}LanguageBackbone", text_projection=to, model=text)
    backbones = {"vision_backbone": vision, "language_backbone": words}
    parts = {**backbones, "encoder": encoder(c, maps), "decoder": decoder(c)}
    return Module(f"{_NAME}ForObjectDetection", parts, part="vision")


register_part("omdet-turbo", f"{_NAME}ForObjectDetection", model, "multimodal")
