"""SAM 3 (Carion et al. 2025) and SAM3-LiteText: everything in a picture that a text names.
Source of shapes: transformers/models/sam3 and sam3_lite_text.

A ViT's one map at four sizes, CLIP's text encoder (or a smaller one with convolutions), an encoder
in which both meet, a decoder of which each query finds one object, and masks from its maps.
"""

from functools import partial
from itertools import pairwise

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation
from ..layers.vision import clip_layer
from ..trees.catalog import auto_class, auto_model, register, register_part
from ..trees.modules import (
    Activation,
    BatchNorm,
    Conv,
    Embedding,
    GroupNorm,
    LayerNorm,
    Layers,
    Linear,
    Module,
    ModuleList,
    Parameter,
    Weight,
)

#: Groups of the norms between the steps that enlarge the map.
_GROUPS = 8
#: Of an image of more pixels a side, the table of positions is none that can be made.
_MAX_SIDE = 2**20
#: The sizes of the image encoder.
_VIT = (
    "hidden_size", "intermediate_size", "num_hidden_layers", "num_channels", "patch_size",
    "pretrain_image_size",
)  # fmt: skip
#: What Sam3Config makes of an absent text_config.
TEXT = {
    "model_type": "clip_text_model", "vocab_size": 49408, "hidden_size": 1024,
    "intermediate_size": 4096, "projection_dim": 512, "num_hidden_layers": 24,
    "num_attention_heads": 16, "max_position_embeddings": 32, "hidden_act": "gelu",
}  # fmt: skip


def _width(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=256)


# ---- the picture


def _scaled(c: ModelConfig, d: Dim, scale: object, out: Dim) -> Module:
    """The map at one size: larger by convolutions, smaller by pooling."""
    half = d // 2
    up: dict[object, tuple[list[Module], Dim]] = {
        4.0: (
            [
                Conv(d, half, 2, stride=2, transposed=True),
                Activation("GELU"),
                Conv(half, d // 4, 2, stride=2, transposed=True),
            ],
            d // 4,
        ),
        2.0: ([Conv(d, half, 2, stride=2, transposed=True)], half),
        1.0: ([], d),
        0.5: ([Activation("MaxPool2d")], d),
    }
    if isinstance(scale, bool) or not isinstance(scale, (int, float)) or scale not in up:
        raise c.error("scale_factors", scale, "4, 2, 1 and 0.5")
    layers, inner = up[scale]
    return Module(
        "Sam3FPNLayer",
        scale_layers=ModuleList(layers),
        proj1=Conv(inner, out, 1),
        proj2=Conv(out, out, 3),
    )


def neck(c: ModelConfig) -> Module:
    scales, section = c.raw("scale_factors"), c.section("backbone_config")
    scales = [4.0, 2.0, 1.0, 0.5] if scales is None else scales
    if not isinstance(scales, list) or len(scales) > 100:
        raise c.error("scale_factors", scales, "a list")
    if section.model_type not in (None, "sam3_vit_model"):
        raise section.error("model_type", section.model_type, "sam3_vit_model")
    d, out = section.dim("hidden_size", default=1024), c.dim("fpn_hidden_size", default=256)
    return Module(
        "Sam3VisionNeck",
        position_encoding=Activation("Sam3SinePositionEmbedding"),
        fpn_layers=ModuleList(_scaled(c, d, scale, out) for scale in scales),
        component=Component.CONV,
        part="vision",
    )


def vision_model(c: ModelConfig) -> Module:
    section = c.section("backbone_config")
    for key in _VIT:  # of which a trace would not say which it is
        if section.says(key) and not section.has(key):
            raise section.error(key, None, "a size")
        section.dim(key, default=1, maximum=_MAX_SIDE)
    network = auto_model(section, default_type="sam3_vit_model", part="vision")
    return Module("Sam3VisionModel", backbone=network, neck=neck(c), part="vision")


# ---- blocks


def attention(name: str, c: ModelConfig) -> Module:
    d = _width(c)
    return Module(
        f"{name}Attention",
        q_proj=Linear(d, d, kind="query"),
        k_proj=Linear(d, d, kind="key"),
        v_proj=Linear(d, d, kind="value"),
        o_proj=Linear(d, d, kind="output"),
        component=Component.ATTENTION,
    )


def mlp(name: str, c: ModelConfig) -> Module:
    d, inner = _width(c), c.dim("intermediate_size", default=2048)
    return Module(
        f"{name}MLP",
        activation_fn=activation(c.text("hidden_act", default="relu")),
        fc1=Linear(d, inner, kind="up"),
        fc2=Linear(inner, d, kind="down"),
        component=Component.MLP,
    )


def small_mlp(name: str, *sizes: Dim | int, component: Component = Component.HEAD) -> Module:
    """Two or three linear layers."""
    pairs = pairwise(sizes)
    layers = {f"layer{i}": Linear(*pair) for i, pair in enumerate(pairs, 1)}
    return Module(f"{name}DecoderMLP", dict(layers), component=component)


def encoder_layer(name: str, c: ModelConfig) -> Module:
    """Attention of the picture, then to the text."""
    d = _width(c)
    return Module(
        name,
        layer_norm1=LayerNorm(d),
        self_attn=attention(_prefix(name), c),
        cross_attn=attention(_prefix(name), c),
        layer_norm2=LayerNorm(d),
        mlp=mlp(_prefix(name), c),
        layer_norm3=LayerNorm(d),
    )


def _prefix(name: str) -> str:
    return "Sam3LiteText" if name.startswith("Sam3LiteText") else "Sam3"


def _depth(c: ModelConfig, default: int) -> Dim:
    return c.count("num_layers", default=default)


def geometry_encoder(name: str, c: ModelConfig) -> Module:
    """Points and boxes, with what the picture shows there."""
    d, roi = _width(c), c.dim("roi_size", default=7)
    return Module(
        f"{name}GeometryEncoder",
        position_encoding=Activation(f"{name}SinePositionEmbedding"),
        label_embed=Embedding(2, d, kind="segment"),
        cls_embed=Embedding(1, d, kind="class_token"),
        boxes_direct_project=Linear(4, d, component=Component.EMBEDDING),
        boxes_pool_project=Conv(d, d, roi, component=Component.EMBEDDING),
        boxes_pos_enc_project=Linear(d + 2, d, component=Component.EMBEDDING),
        vision_layer_norm=LayerNorm(d),
        final_proj=Linear(d, d, component=Component.PROJECTOR),
        prompt_layer_norm=LayerNorm(d),
        layers=Layers.of(_depth(c, 3), encoder_layer(f"{name}GeometryEncoderLayer", c)),
        output_layer_norm=LayerNorm(d),
        part="vision",
    )


def detr_encoder(name: str, c: ModelConfig) -> Module:
    layers = Layers.of(_depth(c, 6), encoder_layer(f"{name}DetrEncoderLayer", c))
    return Module(f"{name}DetrEncoder", layers=layers, part="vision")


def detr_decoder(name: str, c: ModelConfig) -> Module:
    """Queries that look at each other, the text and the picture, and one more token that says
    whether there is anything at all."""
    d, queries = _width(c), c.dim("num_queries", default=200)
    heads = c.dim("num_attention_heads", default=8)
    looks: dict[str, Module] = {}
    for at in ("self_attn", "text_cross_attn", "vision_cross_attn"):
        looks |= {at: attention(name, c), f"{at}_layer_norm": LayerNorm(d)}
    layer = Module(
        f"{name}DetrDecoderLayer", {**looks, "mlp": mlp(name, c), "mlp_layer_norm": LayerNorm(d)}
    )

    def offsets() -> Module:
        return small_mlp(name, 2, d, heads, component=Component.ATTENTION)

    return Module(
        f"{name}DetrDecoder",
        layers=Layers.of(_depth(c, 6), layer),
        output_layer_norm=LayerNorm(d),
        box_head=small_mlp(name, d, d, d, 4),
        query_embed=Embedding(queries, d, kind="detection_token"),
        reference_points=Embedding(queries, 4, kind="position"),
        presence_token=Embedding(1, d, kind="detection_token"),
        presence_head=small_mlp(name, d, d, d, 1),
        presence_layer_norm=LayerNorm(d),
        ref_point_head=small_mlp(name, 2 * d, d, d),
        box_rpb_embed_x=offsets(),
        box_rpb_embed_y=offsets(),
        position_encoding=Activation(f"{name}SinePositionEmbedding"),
        part="vision",
    )


def mask_decoder(name: str, c: ModelConfig) -> Module:
    d, count = _width(c), int(c.count("num_upsampling_stages", default=3))
    c.divided(d, _GROUPS, "hidden_size", "hidden_size")
    return Module(
        f"{name}MaskDecoder",
        pixel_decoder=Module(
            f"{name}PixelDecoder",
            conv_layers=ModuleList([Conv(d, d, 3)] * count),
            norms=ModuleList([GroupNorm(_GROUPS, d)] * count),
        ),
        mask_embedder=Module(
            f"{name}MaskEmbedder",
            layers=ModuleList([Linear(d, d)] * 3),
            activation=Activation("ReLU"),
            component=Component.HEAD,
        ),
        instance_projection=Conv(d, d, 1, component=Component.PROJECTOR),
        semantic_projection=Conv(d, 1, 1, component=Component.PROJECTOR),
        prompt_cross_attn=attention(name, c),
        prompt_cross_attn_norm=LayerNorm(d),
        part="vision",
    )


def scoring(name: str, c: ModelConfig) -> Module:
    """How well each query fits the text."""
    d, inner = _width(c), c.dim("intermediate_size", default=2048)
    return Module(
        f"{name}DotProductScoring",
        text_mlp=small_mlp(name, d, inner, d, component=Component.MLP),
        text_mlp_out_norm=LayerNorm(d),
        text_proj=Linear(d, d, component=Component.PROJECTOR),
        query_proj=Linear(d, d, component=Component.PROJECTOR),
        component=Component.HEAD,
    )


# ---- the smaller text encoder


def _mixer(c: ModelConfig, d: Dim) -> Module:
    """Convolutions along the text in place of attention."""
    name, kernel = "Sam3LiteText", c.dim("repmixer_kernel_size", default=11)
    inner = c.dim("intermediate_size", default=2048)

    def scale() -> Parameter:
        return Weight(d, 1, 1, kind="scale")

    def depthwise() -> Module:
        return Conv(d, d, (1, kernel), groups=d, bias=False)

    return Module(
        f"{name}RepMixerBlock",
        layer_scale=scale(),
        token_mixer=Module(
            f"{name}RepMixer",
            layer_scale=scale(),
            reference_batchnorm=BatchNorm(d),
            mixer=Module(
                f"{name}MobileOneBlock",
                batchnorm_skip=BatchNorm(d),
                conv=depthwise(),
                batchnorm_conv=BatchNorm(d),
            ),
        ),
        conv_feed_forward=Module(
            f"{name}ConvolutionalFeedForward",
            depthwise_conv=depthwise(),
            depthwise_batchnorm=BatchNorm(d),
            mlp=Module(
                f"{name}ConvMLP",
                activation_fn=activation(c.text("hidden_act", default="gelu")),
                fc1=Conv(d, inner, 1, component=Component.MLP, kind="up"),
                fc2=Conv(inner, d, 1, component=Component.MLP, kind="down"),
                component=Component.MLP,
            ),
        ),
    )


def text_model(c: ModelConfig) -> Module:
    """CLIP's, with convolutions in the first and the last layer."""
    name, d = "Sam3LiteTextText", c.dim("hidden_size", default=512)
    eps, count = c.number("layer_norm_eps", default=1e-5), int(_layers(c))
    c.divided(d, c.dim("num_attention_heads", default=8), "hidden_size", "num_attention_heads")
    mixed = {0, count - 1} if c.flag("use_repmixer_blocks", default=True) else set()
    attending = clip_layer(
        name,
        d,
        c.dim("intermediate_size", default=2048),
        eps=eps,
        act=c.text("hidden_act", default="gelu"),
    )
    mixer = _mixer(c, d)
    length = c.dim("max_position_embeddings", default=77)
    positions = Weight(1, 1, length, d, kind="position")
    return Module(
        f"{name}Model",
        embeddings=Module(
            f"{name}Embeddings",
            token_embedding=Embedding(c.dim("vocab_size", default=49408), d),
            position_embedding=Module(f"{name}PositionEmbedding", position_embedding=positions),
            component=Component.EMBEDDING,
        ),
        layers=Layers(mixer if i in mixed else attending for i in range(count)),
        final_layer_norm=LayerNorm(d, eps=eps),
        projection=Linear(
            d,
            c.dim("projection_dim", default=512),
            bias=False,
            component=Component.PROJECTOR,
        ),
        part="text",
    )


def _layers(c: ModelConfig) -> Dim:
    return c.count("num_hidden_layers", default=12)


# ---- together


def model(name: str, config: ModelConfig) -> Module:
    """The detector of a whole sam3_video as well."""
    video = config.has("detector_config") or config.model_type == "sam3_video"
    c = config.section("detector_config") if video else config
    vision, queries = c.section("vision_config"), c.section("detr_decoder_config")
    lite = name != "Sam3"
    text = c.section("text_config", default={} if lite else TEXT)
    if not lite and text.model_type not in (None, "clip_text_model"):
        raise text.error("model_type", text.model_type, "clip_text_model")
    words = (
        text_model(text)
        if lite
        else auto_class(text, "WithProjection", default_type="clip_text_model", part="text")
    )
    pixels = (
        auto_model(vision, default_type="sam3_vision_model", part="vision")
        if lite
        else vision_model(vision)
    )
    encoder = c.section("detr_encoder_config")
    return Module(
        f"{name}Model",
        vision_encoder=pixels,
        text_encoder=words,
        text_projection=Linear(
            text.dim("hidden_size", default=512), _width(encoder), component=Component.PROJECTOR
        ),
        geometry_encoder=geometry_encoder(name, c.section("geometry_encoder_config")),
        detr_encoder=detr_encoder(name, encoder),
        detr_decoder=detr_decoder(name, queries),
        mask_decoder=mask_decoder(name, c.section("mask_decoder_config")),
        dot_product_scoring=scoring(name, queries),
        part="vision",
    )


register_part("sam3_vision_model", "Sam3VisionModel", vision_model, "vision")
register_part("sam3_lite_text_text_model", "Sam3LiteTextTextModel", text_model, "encoder")
for model_type, prefix in (("sam3", "Sam3"), ("sam3_lite_text", "Sam3LiteText")):
    register(
        model_type,
        {f"{prefix}Model": partial(model, prefix)},
        base=f"{prefix}Model",
        # Files of a video model hold the detector under this name.
        base_prefix="detector_model",
        category="multimodal",
    )
    for ending, made, build in (
        ("detr_encoder", "DetrEncoder", detr_encoder),
        ("detr_decoder", "DetrDecoder", detr_decoder),
        ("mask_decoder", "MaskDecoder", mask_decoder),
    ):
        register_part(f"{model_type}_{ending}", f"{prefix}{made}", partial(build, prefix), "vision")
