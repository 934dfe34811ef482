"""EdgeTAM (Zhou et al. 2025): SAM 2 with a backbone of timm; on videos the memory is resampled to a
few latents before a frame attends to it. Source: transformers/models/edgetam and edgetam_video."""

from functools import partial

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import two_layer_mlp
from ..layers.composing import renamed
from ..layers.vision import narrowed_attention
from ..trees.catalog import auto_model, register, register_part
from ..trees.modules import Activation, LayerNorm, Layers, Linear, Module, Parameter, Weight
from . import sam2, sam3_tracker

_IMAGE, _VIDEO = "EdgeTam", "EdgeTamVideo"
#: What EdgeTamVisionConfig makes of an absent backbone_config.
BACKBONE = {
    "model_type": "timm_wrapper",
    "model_args": {"in_chans": 3, "features_only": True, "out_indices": [0, 1, 2, 3]},
}


def vision_model(c: ModelConfig) -> Module:
    """The backbone's maps at one width."""
    section = c.section("backbone_config", default=BACKBONE)
    return sam2.necked(_IMAGE, c, section, "timm_wrapper", (384, 192, 96, 48))


def _memory_layer(c: ModelConfig) -> Module:
    d, inner = sam3_tracker.width(c), c.dim("memory_attention_mlp_hidden_size", default=2048)
    act = c.text("memory_attention_mlp_hidden_act", default="relu") or "relu"
    name, names = f"{_VIDEO}MemoryAttention", ("up_proj", "down_proj")
    attend, look = (
        sam3_tracker.rope_attention(_VIDEO, c, seen).called(f"{_VIDEO}RoPE{kind}Attention")
        for kind, seen in (("Self", None), ("Cross", 64))
    )
    mlp = two_layer_mlp(f"{name}MLP", d, inner, act=act, names=names, act_name="act_fn")
    looks, norms = {"self_attn": attend, "cross_attn_image": look, "mlp": mlp}, (1, 2, 3)
    return Module(f"{name}Layer", {**looks, **{f"layer_norm{i}": LayerNorm(d) for i in norms}})


def perceiver(c: ModelConfig) -> Module:
    """Latents that read the memory: some of all of it, some of a part of the map each."""
    d = c.dim("perceiver_resampler_hidden_size", default=64)
    inner = c.dim("perceiver_resampler_mlp_intermediate_size", default=256)
    heads = c.dim("perceiver_resampler_num_attention_heads", default=1)
    wide = heads * c.dim("perceiver_resampler_attention_head_dim", default=64)

    def latents(key: str) -> Parameter | None:
        count: Dim = c.dim(key, default=256, minimum=0)
        return Weight(count, d) if count else None

    attend = narrowed_attention(f"{_VIDEO}PerceiverAttention", d, wide, bias=False)
    attend.component = None
    mlp = Module(
        f"{_VIDEO}PerceiverMLP",
        layer_norm=LayerNorm(d),
        up_proj=Linear(d, inner, bias=False, kind="up"),
        down_proj=Linear(inner, d, bias=False, kind="down"),
        act_fn=Activation("GELU"),
    )
    norms = {f"layer_norm_{at}": LayerNorm(d) for at in ("input", "latents", "self")}
    looks = {"cross_attention": attend, "mlp": mlp, "self_attention": attend, "self_mlp": mlp}
    layer = Module(f"{_VIDEO}PerceiverEncoderLayer", {**looks, **norms})
    return Module(
        f"{_VIDEO}PerceiverResampler",
        latents_1d=latents("perceiver_resampler_num_latents"),
        latents_2d=latents("perceiver_resampler_num_latents_2d"),
        positional_encoding=Activation(f"{_VIDEO}PositionEmbeddingSine"),
        layers=Layers.of(c.count("perceiver_resampler_num_layers", default=2), layer),
        layer_norm=LayerNorm(d),
        component=Component.PROJECTOR,
    )


def model(name: str, default_type: str, c: ModelConfig) -> Module:
    vision = c.section("vision_config")
    d = vision.dim("fpn_hidden_size", default=256)
    root = sam2.prompted(c, d)
    seen = auto_model(vision, default_type=default_type, part="vision")
    if name == _VIDEO:
        memory = sam3_tracker.memory(name, c, d, _memory_layer(c))
        root.adding(**memory, spatial_perceiver=perceiver(c))
    return renamed(root, "Sam2", name).adding(vision_encoder=seen)


register_part("edgetam", f"{_IMAGE}Model", partial(model, _IMAGE, "edgetam_vision_model"), "vision")
register_part("edgetam_vision_model", f"{_IMAGE}VisionModel", vision_model, "vision")
register(
    "edgetam_video",
    {f"{name}Model": partial(model, name, "sam2_vision_model") for name in (_VIDEO, _IMAGE)},
    category="vision",
)
