"""SAM 3 (Carion et al. 2025) and SAM3-LiteText: everything in a picture that a text names. Encoder,
decoder and masks are traces, as is the smaller text encoder. Source: transformers/models/sam3 and
sam3_lite_text."""

from functools import partial

from ..layers.blocks import size
from ..layers.vision import narrowed_attention, plain_mlp
from ..trees import Component, ModelConfig, auto_class, auto_model, builder, register_part
from ..trees import modules as nn
from ..trees.config_defaults import config_defaults

_CLIP = "clip_text_model"
#: What Sam3Config makes of an absent text_config.
TEXT = {"model_type": _CLIP, **config_defaults("sam3")}

_width = size("hidden_size", default=256)


def neck(c: ModelConfig) -> nn.Module:
    """The map at several sizes: larger by convolutions, smaller by pooling."""
    section = c.section("backbone_config").of_type("sam3_vit_model")
    d = section.dim("hidden_size", default=1024)
    out = c.dim("fpn_hidden_size", default=256)
    half = d // 2
    quarter = d // 4
    larger = partial(nn.Conv, kernel=2, stride=2, transposed=True)
    twice = [larger(d, half), nn.Activation("GELU"), larger(half, quarter)]
    pool = "MaxPool2d"
    up = {4: (twice, quarter), 2: (twice[:1], half), 1: ([], d), 0.5: ([nn.Activation(pool)], d)}
    scales = [*up] if c.raw(key := "scale_factors") is None else c.raw(key)
    listed = isinstance(scales, list) and len(scales) <= 100
    if not listed or any(isinstance(scale, bool) or scale not in [*up] for scale in scales):
        raise c.error(key, scales, "a list of 4, 2, 1 and 0.5")
    layers = []
    for upscaling, width in (up[scale] for scale in scales):
        convs = {"proj1": nn.Conv(width, out, 1), "proj2": nn.Conv(out, out, 3)}
        layer = nn.Module("Sam3FPNLayer", scale_layers=nn.ModuleList(upscaling))
        layers.append(layer.adding(**convs))
    parts = {"position_encoding": nn.Activation("Sam3SinePositionEmbedding")}
    parts["fpn_layers"] = nn.ModuleList(layers)
    return nn.Module("Sam3VisionNeck", parts, component=Component.CONV, part="vision")


def vision_model(c: ModelConfig) -> nn.Module:
    section = c.section("backbone_config")
    sizes = "hidden_size intermediate_size num_hidden_layers num_channels patch_size".split()
    for key in (*sizes, "pretrain_image_size"):  # of which a trace would not say which it is
        if section.says(key) and not section.has(key):
            raise section.error(key, None, "a size")
        section.dim(key, default=1, maximum=2**20)  # more is no size of a table that can be made
    network = auto_model(section, default_type="sam3_vit_model", part="vision")
    return nn.Module("Sam3VisionModel", backbone=network, neck=neck(c), part="vision")


def geometry_encoder(name: str, c: ModelConfig) -> nn.Module:
    """Points and boxes, with what the picture shows there."""
    d = _width(c)
    inner = c.dim("intermediate_size", default=2048)
    look = narrowed_attention(f"{name}Attention", d)
    norm = nn.LayerNorm(d)
    to = Component.EMBEDDING
    mlp = plain_mlp(f"{name}MLP", d, inner, act=c.text("hidden_act", default="relu"))
    layer = {"layer_norm1": norm, "self_attn": look, "cross_attn": look, "layer_norm2": norm}
    block = nn.Module(f"{name}GeometryEncoderLayer", layer, mlp=mlp, layer_norm3=norm)
    return nn.Module(
        f"{name}GeometryEncoder",
        position_encoding=nn.Activation(f"{name}SinePositionEmbedding"),
        label_embed=nn.Embedding(2, d, kind="segment"),
        cls_embed=nn.Embedding(1, d, kind="class_token"),
        boxes_direct_project=nn.Linear(4, d, component=to),
        boxes_pool_project=nn.Conv(d, d, c.dim("roi_size", default=7), component=to),
        boxes_pos_enc_project=nn.Linear(d + 2, d, component=to),
        vision_layer_norm=norm,
        final_proj=nn.Linear(d, d, component=Component.PROJECTOR),
        prompt_layer_norm=norm,
        layers=nn.Layers.of(c.count("num_layers", default=3), block),
        output_layer_norm=norm,
        part="vision",
    )


def model(name: str, config: ModelConfig) -> nn.Module:
    """The detector of a whole sam3_video as well."""
    video = config.has("detector_config") or config.model_type == "sam3_video"
    c = config.section("detector_config") if video else config
    vision = c.section("vision_config")
    queries = c.section("detr_decoder_config")
    lite = name != "Sam3"
    to = partial(nn.Linear, component=Component.PROJECTOR)
    text = c.section("text_config", default={} if lite else TEXT)
    if lite:
        words = builder("Sam3LiteTextTextModel")(text)
        pixels = auto_model(vision, default_type="sam3_vision_model", part="vision")
    else:
        words = auto_class(text.of_type(_CLIP), "WithProjection", default_type=_CLIP, part="text")
        pixels = vision_model(vision)
    encoder = c.section("detr_encoder_config")
    wide = text.dim("hidden_size", default=512)
    d = _width(queries)
    inner = queries.dim("intermediate_size", default=2048)
    mlp = {"layer1": nn.Linear(d, inner), "layer2": nn.Linear(inner, d)}
    read = nn.Module(f"{name}DecoderMLP", mlp, component=Component.MLP)
    parts = {"text_mlp": read, "text_mlp_out_norm": nn.LayerNorm(d)}
    parts |= {"text_proj": to(d, d), "query_proj": to(d, d)}
    scoring = nn.Module(f"{name}DotProductScoring", parts, component=Component.HEAD)
    return nn.Module(
        f"{name}Model",
        vision_encoder=pixels,
        text_encoder=words,
        text_projection=to(wide, _width(encoder)),
        geometry_encoder=geometry_encoder(name, c.section("geometry_encoder_config")),
        detr_encoder=builder(f"{name}DetrEncoder")(encoder),
        detr_decoder=builder(f"{name}DetrDecoder")(queries),
        mask_decoder=builder(f"{name}MaskDecoder")(c.section("mask_decoder_config")),
        dot_product_scoring=scoring,
        part="vision",
    )


register_part("sam3_vision_model", "Sam3VisionModel", vision_model, "vision")
for model_type, prefix in (("sam3", "Sam3"), ("sam3_lite_text", "Sam3LiteText")):
    # Files of a video model hold the detector under this name.
    build = partial(model, prefix)
    register_part(model_type, f"{prefix}Model", build, prefix="detector_model")
