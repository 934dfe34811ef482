"""SAM 3's trackers (Carion et al. 2025): SAM 2's prompts and masks behind SAM 3's image encoder, on
videos with a memory of earlier frames. Files hold the tracker under ``tracker_model`` and its image
encoder as the detector's. Source: transformers/models/sam3_tracker, sam3_tracker_video,
sam3_video."""

import math
from functools import partial
from itertools import pairwise

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation, size
from ..layers.composing import renamed
from ..layers.deformable import up_down
from ..layers.vision import narrowed_attention
from ..trees.catalog import auto_model, register
from ..trees.modules import Activation, Conv, LayerNorm, Layers, Linear, Module, Parameter, Weight
from . import sam, sam2, sam3

#: The width of what a frame's memory gives (Sam3TrackerVideoMemoryAttentionLayer).
_SEEN = 64
_IMAGE, _VIDEO = "Sam3Tracker", "Sam3TrackerVideo"
width = size("memory_attention_hidden_size", default=256)
_kept = size("memory_encoder_output_channels", default=64)


def rope_attention(name: str, c: ModelConfig, seen: int | None = None) -> Module:
    """Keys and values of what is ``seen`` where that is another width."""
    d, down = width(c), c.dim("memory_attention_downsample_rate", default=1)
    inner = d // down if int(down) != 1 else d
    return narrowed_attention(f"{name}RoPEAttention", d, inner, seen=seen)


def _memory_layer(name: str, c: ModelConfig) -> Module:
    """A frame looks at itself and at what is kept of others."""
    d, inner = width(c), c.dim("memory_attention_feed_forward_hidden_size", default=2048)
    act = c.text("memory_attention_feed_forward_hidden_act", default="relu")
    return Module(
        f"{name}MemoryAttentionLayer",
        {
            "self_attn": rope_attention(name, c),
            "cross_attn_image": rope_attention(name, c, _SEEN),
            **up_down(d, inner, "linear1", "linear2"),
            **{f"layer_norm{i}": LayerNorm(d) for i in (1, 2, 3)},
            "activation": activation(act),
        },
    )


def memory_encoder(name: str, c: ModelConfig) -> Module:
    """Masks and the image's map to one, mixed by ConvNeXt's blocks. Masks become as small as the
    map; each step has the channels of the pixels that it joins."""
    stride = c.dim("mask_downsampler_stride", default=2, minimum=2)
    whole = c.dim("mask_downsampler_total_stride", default=16)
    kernel = c.dim("mask_downsampler_kernel_size", default=3)
    act = activation(c.text("mask_downsampler_hidden_act", default="gelu"))

    def layer(inputs: Dim, outputs: Dim) -> Module:
        conv, norm = Conv(inputs, outputs, kernel), sam.norm(name, outputs)
        return Module(f"{name}MaskDownSamplerLayer", conv=conv, layer_norm=norm, activation=act)

    widths = [Dim(1)]
    for _ in range(int(math.log2(whole) // math.log2(stride))):
        widths.append(widths[-1] * stride * stride)
    smaller = Module(
        f"{name}MaskDownSampler",
        layers=Layers(layer(*both) for both in pairwise(widths)),
        activation=act,
        final_conv=Conv(widths[-1], c.dim("mask_downsampler_embed_dim", default=256), 1),
        component=Component.CONV,
    )
    d = c.dim("memory_encoder_hidden_size", default=256)
    e = c.dim("memory_fuser_embed_dim", default=256)
    inner = c.dim("memory_fuser_intermediate_dim", default=1024)
    block = Module(
        f"{name}MemoryFuserCXBlock",
        depthwise_conv=Conv(e, e, c.dim("memory_fuser_kernel_size", default=7), groups=e),
        layer_norm=sam.norm(name, e),
        activation=activation(c.text("memory_fuser_hidden_act", default="gelu")),
        pointwise_conv1=Linear(e, inner, component=Component.CONV),
        pointwise_conv2=Linear(inner, e, component=Component.CONV),
        scale=Weight(e, kind="scale", component=Component.OTHER),
        component=Component.CONV,
    )
    count = c.count("memory_fuser_num_layers", default=2)
    return Module(
        f"{name}MemoryEncoder",
        mask_downsampler=smaller,
        feature_projection=Conv(d, d, 1, component=Component.EMBEDDING),
        memory_fuser=Module(f"{name}MemoryFuser", layers=Layers.of(count, block)),
        position_encoding=Activation(f"{name}PositionEmbeddingSine"),
        projection=Conv(d, _kept(c), 1),
    )


def memory(
    name: str, c: ModelConfig, d: Dim, layer: Module, *, depth: int = 2
) -> dict[str, Module | Parameter | None]:
    """What a tracker has for videos, next to an image's parts; ``d`` is the image's width,
    ``layer`` that in which a frame looks at what is kept."""
    kept, frames = _kept(c), c.dim("num_maskmem", default=7)
    projected = Linear(d, kept, component=Component.PROJECTOR)
    if not c.flag("enable_temporal_pos_encoding_for_object_pointers", default=True):
        projected = Activation("Identity")
    hidden = c.flag("enable_occlusion_spatial_embedding", default=True)
    learned = partial(Weight, component=Component.EMBEDDING)
    looking = {
        "layers": Layers.of(c.count("memory_attention_num_layers", default=depth), layer),
        "layer_norm": LayerNorm(width(c)),
        "rotary_emb": Activation(f"{name}VisionRotaryEmbedding"),
    }
    return {
        "memory_attention": Module(f"{name}MemoryAttention", looking),
        "memory_encoder": memory_encoder(name, c),
        "no_memory_positional_encoding": learned(1, 1, d),
        "memory_temporal_positional_encoding": learned(frames, 1, 1, kept),
        "no_object_pointer": learned(1, d),
        "mask_downsample": Conv(1, 1, 4),
        "object_pointer_proj": sam2.forward((d, d, d), depth=3, component=Component.PROJECTOR),
        "temporal_positional_encoding_projection_layer": projected,
        "occlusion_spatial_embedding_parameter": learned(1, kept) if hidden else None,
    }


def parts(name: str, c: ModelConfig) -> Module:
    """Everything but the image encoder."""
    d = c.section("vision_config").dim("fpn_hidden_size", default=256)
    root = sam2.prompted(c, d)
    if name.endswith("Video"):
        root.adding(**memory("Sam2", c, d, _memory_layer("Sam2", c), depth=4))
    return renamed(root, "Sam2", name)


def model(name: str, c: ModelConfig) -> Module:
    """The tracker of a whole sam3_video as well."""
    if c.has("tracker_config") or c.model_type == "sam3_video":
        c = c.section("tracker_config")
    root = parts(name, c)
    seen = auto_model(c.section("vision_config"), default_type="sam3_vision_model", part="vision")
    network, neck = seen["backbone"], seen.children.pop("neck")
    encoder = Module(seen.class_name, backbone=network)
    detector = Module("Sam3Model", vision_encoder=encoder)
    whole = root.adding(detector_model=detector, tracker_neck=neck)
    return Module(f"{name}Model", tracker_model=whole, part="vision")


def detector_and_tracker(c: ModelConfig) -> Module:
    found = c.section("detector_config")
    tracked = c.section("tracker_config").of_type("sam3_tracker_video")
    return Module(
        "Sam3VideoModel",
        detector_model=auto_model(found, default_type="sam3", part="vision"),
        tracker_model=Module(f"{_VIDEO}Model", tracker_model=parts(_VIDEO, tracked)),
        tracker_neck=sam3.neck(found.section("vision_config")),
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
