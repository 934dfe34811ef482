"""SAM 3's trackers (Carion et al. 2025): SAM 2's prompts and masks behind SAM 3's image encoder, on
videos with a memory of earlier frames. Files hold the tracker under ``tracker_model`` and its image
encoder as the detector's. Source: transformers/models/sam3_tracker and its siblings."""

import math
from functools import partial
from itertools import pairwise

from ..layers.blocks import activation, size
from ..layers.deformable import up_down
from ..layers.vision import narrowed_attention
from ..trees import Component, Dim, ModelConfig, auto_model, register
from ..trees import modules as nn
from . import sam, sam2, sam3

_IMAGE = "Sam3Tracker"
_VIDEO = "Sam3TrackerVideo"
width = size("memory_attention_hidden_size", default=256)


def rope_attention(c: ModelConfig, context: int | None = None) -> nn.Module:
    """Keys and values of a ``context`` where that is another width."""
    d = width(c)
    down = c.dim("memory_attention_downsample_rate", default=1)
    inner = d // down if int(down) != 1 else d
    return narrowed_attention("Sam2RoPEAttention", d, inner, context=context)


def memory_encoder(c: ModelConfig, channels: Dim) -> nn.Module:
    """Masks, as small as the image's map, and this to one, mixed by ConvNeXt's blocks."""
    at = "mask_downsampler"
    stride = c.dim("mask_downsampler_stride", default=2, minimum=2)
    total = c.dim(f"{at}_total_stride", default=16)
    kernel = c.dim(f"{at}_kernel_size", default=3)
    act = activation(c.text(f"{at}_hidden_act", default="gelu"))
    widths = [Dim(1)]
    for _ in range(int(math.log2(total) // math.log2(stride))):
        widths.append(widths[-1] * stride * stride)  # the channels of the pixels that are joined

    def layer(inputs: Dim, outputs: Dim) -> nn.Module:
        conv = nn.Conv(inputs, outputs, kernel)
        norm = sam.norm("Sam2", outputs)
        return nn.Module("Sam2MaskDownSamplerLayer", conv=conv, layer_norm=norm, activation=act)

    last = nn.Conv(widths[-1], c.dim(f"{at}_embed_dim", default=256), 1)
    parts = {"layers": nn.Layers(layer(*both) for both in pairwise(widths)), "activation": act}
    smaller = nn.Module("Sam2MaskDownSampler", parts, final_conv=last, component=Component.CONV)
    d, e = (c.dim(f"memory_{of}", default=256) for of in ("encoder_hidden_size", "fuser_embed_dim"))
    mixing = partial(nn.Linear, component=Component.CONV)
    inner = c.dim("memory_fuser_intermediate_dim", default=1024)
    wide = nn.Conv(e, e, c.dim("memory_fuser_kernel_size", default=7), groups=e)
    convs = {"depthwise_conv": wide, "layer_norm": sam.norm("Sam2", e)}
    convs["activation"] = activation(c.text("memory_fuser_hidden_act", default="gelu"))
    convs |= {"pointwise_conv1": mixing(e, inner), "pointwise_conv2": mixing(inner, e)}
    scale = nn.Weight(e, kind="scale", component=Component.OTHER)
    block = nn.Module("Sam2MemoryFuserCXBlock", convs, scale=scale, component=Component.CONV)
    blocks = nn.Layers.of(c.count("memory_fuser_num_layers", default=2), block)
    return nn.Module(
        "Sam2MemoryEncoder",
        mask_downsampler=smaller,
        feature_projection=nn.Conv(d, d, 1, component=Component.EMBEDDING),
        memory_fuser=nn.Module("Sam2MemoryFuser", layers=blocks),
        position_encoding=nn.Activation("Sam2PositionEmbeddingSine"),
        projection=nn.Conv(d, channels, 1),
    )


def memory(c: ModelConfig, layer: nn.Module, depth: int = 2) -> dict[str, nn.Module | nn.Parameter]:
    """What a tracker has for videos; in each ``layer`` a frame looks at what is kept of others."""
    d = c.section("vision_config").dim("fpn_hidden_size", default=256)
    channels = c.dim("memory_encoder_output_channels", default=64)
    learned = partial(nn.Weight, component=Component.EMBEDDING)
    hidden = c.flag("enable_occlusion_spatial_embedding", default=True)
    projected = nn.Linear(d, channels, component=Component.PROJECTOR)
    if not c.flag("enable_temporal_pos_encoding_for_object_pointers", default=True):
        projected = nn.Activation("Identity")
    layers = nn.Layers.of(c.count("memory_attention_num_layers", default=depth), layer)
    looking = {"layers": layers, "layer_norm": nn.LayerNorm(width(c))}
    looking["rotary_emb"] = nn.Activation("Sam2VisionRotaryEmbedding")
    return {
        "memory_attention": nn.Module("Sam2MemoryAttention", looking),
        "memory_encoder": memory_encoder(c, channels),
        "no_memory_positional_encoding": learned(1, 1, d),
        "memory_temporal_positional_encoding": learned(
            c.dim("num_maskmem", default=7), 1, 1, channels
        ),
        "no_object_pointer": learned(1, d),
        "mask_downsample": nn.Conv(1, 1, 4),
        "object_pointer_proj": sam2.forward((d, d, d), 3, at=Component.PROJECTOR),
        "temporal_positional_encoding_projection_layer": projected,
        **({"occlusion_spatial_embedding_parameter": learned(1, channels)} if hidden else {}),
    }


def parts(name: str, c: ModelConfig, kind: str = "") -> nn.Module:
    """Everything but the image encoder, unless there is one of a ``kind``."""
    if name == _IMAGE:
        return sam2.prompted(c, name)
    d = width(c)
    at = "memory_attention_feed_forward_hidden"
    children: dict[str, nn.Module] = {
        "self_attn": rope_attention(c),
        "cross_attn_image": rope_attention(c, 64),  # no key of the config
        **up_down(d, c.dim(f"{at}_size", default=2048), "linear1", "linear2"),
        **{f"layer_norm{i}": nn.LayerNorm(d) for i in (1, 2, 3)},
        "activation": activation(c.text(f"{at}_act", default="relu")),
    }
    layer = nn.Module("Sam2MemoryAttentionLayer", children)
    return sam2.prompted(c, name, kind, **memory(c, layer, 4))


def model(name: str, c: ModelConfig) -> nn.Module:
    """The tracker of a whole sam3_video as well."""
    if c.has("tracker_config") or c.model_type == "sam3_video":
        c = c.section("tracker_config")
    tower = auto_model(c.section("vision_config"), default_type="sam3_vision_model", part="vision")
    encoder = nn.Module(tower.class_name, backbone=tower["backbone"])
    detector = nn.Module("Sam3Model", vision_encoder=encoder)
    tracker = parts(name, c).adding(detector_model=detector, tracker_neck=tower["neck"])
    return nn.Module(f"{name}Model", tracker_model=tracker, part="vision")


def detector_and_tracker(c: ModelConfig) -> nn.Module:
    detector = c.section("detector_config")
    tracked = c.section("tracker_config").of_type("sam3_tracker_video")
    return nn.Module(
        "Sam3VideoModel",
        detector_model=auto_model(detector, default_type="sam3", part="vision"),
        tracker_model=nn.Module(f"{_VIDEO}Model", tracker_model=parts(_VIDEO, tracked)),
        tracker_neck=sam3.neck(detector.section("vision_config")),
        part="vision",
    )


#: Released files, which hold detector and tracker, spell the tracker's parts so.
_ALIASES = {
    "detector_model.vision_encoder.": "tracker_model.detector_model.vision_encoder.",
    "tracker_neck.": "tracker_model.tracker_neck.",
}
for model_type, prefix in (("sam3_tracker", _IMAGE), ("sam3_tracker_video", _VIDEO)):
    classes = {f"{prefix}Model": partial(model, prefix)}
    register(model_type, classes, aliases=_ALIASES, category="vision")
register(
    "sam3_video",
    {"Sam3VideoModel": detector_and_tracker, f"{_IMAGE}Model": partial(model, _IMAGE)},
    aliases={"tracker_model.": "tracker_model.tracker_model."},
    category="multimodal",
)
