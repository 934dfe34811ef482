"""SAM 3 (Carion et al. 2025) and SAM3-LiteText: everything in a picture that a text names. Encoder,
decoder and masks are traces, as is the smaller text encoder. Source: transformers/models/sam3 and
sam3_lite_text."""

from functools import partial

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import size
from ..layers.vision import narrowed_attention, plain_mlp
from ..trees import modules as nn
from ..trees.catalog import auto_class, auto_model, builder, register, register_part

#: Of an image of more pixels a side, the table of positions is none that can be made.
_MAX_SIDE = 2**20
#: The sizes of the image encoder.
_VIT = (
    "hidden_size", "intermediate_size", "num_hidden_layers", "num_channels", "patch_size",
    "pretrain_image_size",
)  # fmt: skip
_CLIP = "clip_text_model"
#: What Sam3Config makes of an absent text_config.
TEXT = {
    "model_type": _CLIP, "vocab_size": 49408, "hidden_size": 1024,
    "intermediate_size": 4096, "projection_dim": 512, "num_hidden_layers": 24,
    "num_attention_heads": 16, "max_position_embeddings": 32, "hidden_act": "gelu",
}  # fmt: skip

_width = size("hidden_size", default=256)


def _scaled(c: ModelConfig, d: Dim, scale: object, out: Dim) -> nn.Module:
    """The map at one size: larger by convolutions, smaller by pooling."""
    half, quarter = d // 2, d // 4
    double = nn.Conv(d, half, 2, stride=2, transposed=True)
    again = nn.Conv(half, quarter, 2, stride=2, transposed=True)
    up: dict[object, tuple[list[nn.Module], Dim]] = {
        4.0: ([double, nn.Activation("GELU"), again], quarter),
        2.0: ([double], half),
        1.0: ([], d),
        0.5: ([nn.Activation("MaxPool2d")], d),
    }
    if isinstance(scale, bool) or not isinstance(scale, (int, float)) or scale not in up:
        raise c.error("scale_factors", scale, "4, 2, 1 and 0.5")
    layers, inner = up[scale]
    convolutions = {"proj1": nn.Conv(inner, out, 1), "proj2": nn.Conv(out, out, 3)}
    return nn.Module("Sam3FPNLayer", {"scale_layers": nn.ModuleList(layers), **convolutions})


def neck(c: ModelConfig) -> nn.Module:
    section = c.section("backbone_config").of_type("sam3_vit_model")
    scales = c.with_defaults(scale_factors=[4.0, 2.0, 1.0, 0.5]).raw("scale_factors")
    if not isinstance(scales, list) or len(scales) > 100:
        raise c.error("scale_factors", scales, "a list")
    d, out = section.dim("hidden_size", default=1024), c.dim("fpn_hidden_size", default=256)
    return nn.Module(
        "Sam3VisionNeck",
        position_encoding=nn.Activation("Sam3SinePositionEmbedding"),
        fpn_layers=nn.ModuleList(_scaled(c, d, scale, out) for scale in scales),
        component=Component.CONV,
        part="vision",
    )


def vision_model(c: ModelConfig) -> nn.Module:
    section = c.section("backbone_config")
    for key in _VIT:  # of which a trace would not say which it is
        if section.says(key) and not section.has(key):
            raise section.error(key, None, "a size")
        section.dim(key, default=1, maximum=_MAX_SIDE)
    network = auto_model(section, default_type="sam3_vit_model", part="vision")
    return nn.Module("Sam3VisionModel", backbone=network, neck=neck(c), part="vision")


def geometry_encoder(name: str, c: ModelConfig) -> nn.Module:
    """Points and boxes, with what the picture shows there."""
    d, inner, norm = _width(c), c.dim("intermediate_size", default=2048), nn.LayerNorm(_width(c))
    look = narrowed_attention(f"{name}Attention", d)
    mlp = plain_mlp(f"{name}MLP", d, inner, act=c.text("hidden_act", default="relu"))
    layer = {"layer_norm1": norm, "self_attn": look, "cross_attn": look, "layer_norm2": norm}
    block = nn.Module(f"{name}GeometryEncoderLayer", layer, mlp=mlp, layer_norm3=norm)
    return nn.Module(
        f"{name}GeometryEncoder",
        position_encoding=nn.Activation(f"{name}SinePositionEmbedding"),
        label_embed=nn.Embedding(2, d, kind="segment"),
        cls_embed=nn.Embedding(1, d, kind="class_token"),
        boxes_direct_project=nn.Linear(4, d, component=Component.EMBEDDING),
        boxes_pool_project=nn.Conv(
            d, d, c.dim("roi_size", default=7), component=Component.EMBEDDING
        ),
        boxes_pos_enc_project=nn.Linear(d + 2, d, component=Component.EMBEDDING),
        vision_layer_norm=nn.LayerNorm(d),
        final_proj=nn.Linear(d, d, component=Component.PROJECTOR),
        prompt_layer_norm=nn.LayerNorm(d),
        layers=nn.Layers.of(c.count("num_layers", default=3), block),
        output_layer_norm=nn.LayerNorm(d),
        part="vision",
    )


def scoring(name: str, c: ModelConfig) -> nn.Module:
    """How well each query fits the text."""
    d, inner = _width(c), c.dim("intermediate_size", default=2048)
    mlp = {"layer1": nn.Linear(d, inner), "layer2": nn.Linear(inner, d)}
    return nn.Module(
        f"{name}DotProductScoring",
        text_mlp=nn.Module(f"{name}DecoderMLP", mlp, component=Component.MLP),
        text_mlp_out_norm=nn.LayerNorm(d),
        text_proj=nn.Linear(d, d, component=Component.PROJECTOR),
        query_proj=nn.Linear(d, d, component=Component.PROJECTOR),
        component=Component.HEAD,
    )


def model(name: str, config: ModelConfig) -> nn.Module:
    """The detector of a whole sam3_video as well."""
    video = config.has("detector_config") or config.model_type == "sam3_video"
    c = config.section("detector_config") if video else config
    vision, queries = c.section("vision_config"), c.section("detr_decoder_config")
    lite = name != "Sam3"
    text = c.section("text_config", default={} if lite else TEXT)
    if lite:
        words = builder("Sam3LiteTextTextModel")(text)
        pixels = auto_model(vision, default_type="sam3_vision_model", part="vision")
    else:
        words = auto_class(text.of_type(_CLIP), "WithProjection", default_type=_CLIP, part="text")
        pixels = vision_model(vision)
    encoder, wide = c.section("detr_encoder_config"), text.dim("hidden_size", default=512)
    return nn.Module(
        f"{name}Model",
        vision_encoder=pixels,
        text_encoder=words,
        text_projection=nn.Linear(wide, _width(encoder), component=Component.PROJECTOR),
        geometry_encoder=geometry_encoder(name, c.section("geometry_encoder_config")),
        detr_encoder=builder(f"{name}DetrEncoder")(encoder),
        detr_decoder=builder(f"{name}DetrDecoder")(queries),
        mask_decoder=builder(f"{name}MaskDecoder")(c.section("mask_decoder_config")),
        dot_product_scoring=scoring(name, queries),
        part="vision",
    )


register_part("sam3_vision_model", "Sam3VisionModel", vision_model, "vision")
for model_type, prefix in (("sam3", "Sam3"), ("sam3_lite_text", "Sam3LiteText")):
    register(
        model_type,
        {f"{prefix}Model": partial(model, prefix)},
        base=f"{prefix}Model",
        # Files of a video model hold the detector under this name.
        base_prefix="detector_model",
        category="multimodal",
    )
