"""EdgeTAM (Zhou et al. 2025): SAM 2 with a backbone of timm; on videos the memory is resampled to a
few latents before a frame attends to it. Source: transformers/models/edgetam and edgetam_video."""

from functools import partial

from ..layers.blocks import two_layer_mlp
from ..layers.vision import narrowed_attention
from ..trees import Builder, Component, ModelConfig, register, register_part
from ..trees import modules as nn
from . import sam2, sam3_tracker

_IMAGE = "EdgeTam"
_VIDEO = "EdgeTamVideo"


def perceiver(c: ModelConfig) -> nn.Module:
    """Latents that read the memory: some of all of it, some of a part of the map each."""
    at = "perceiver_resampler"
    name = f"{_VIDEO}Perceiver"
    d = c.dim(f"{at}_hidden_size", default=64)
    heads = c.dim(f"{at}_num_attention_heads", default=1)
    inner = c.dim(f"{at}_mlp_intermediate_size", default=256)
    wide = heads * c.dim(f"{at}_attention_head_dim", default=64)
    counts = (c.dim(f"{at}_num_latents{of}", default=256, minimum=0) for of in ("", "_2d"))
    tables = [nn.Weight(count, d) if count else None for count in counts]
    attend = narrowed_attention(f"{name}Attention", d, wide, bias=False)
    attend.component = None
    up = nn.Linear(d, inner, False, kind="up")
    down = nn.Linear(inner, d, False, kind="down")
    parts = {"layer_norm": nn.LayerNorm(d), "up_proj": up, "down_proj": down}
    mlp = nn.Module(f"{name}MLP", parts, act_fn=nn.Activation("GELU"))
    norms = {f"layer_norm_{at}": nn.LayerNorm(d) for at in ("input", "latents", "self")}
    looks = {"cross_attention": attend, "mlp": mlp, "self_attention": attend, "self_mlp": mlp}
    layer = nn.Module(f"{name}EncoderLayer", {**looks, **norms})
    return nn.Module(
        f"{name}Resampler",
        {f"latents_{i}d": table for i, table in enumerate(tables, 1)},
        positional_encoding=nn.Activation(f"{_VIDEO}PositionEmbeddingSine"),
        layers=nn.Layers.of(c.count(f"{at}_num_layers", default=2), layer),
        layer_norm=nn.LayerNorm(d),
        component=Component.PROJECTOR,
    )


def video(c: ModelConfig) -> nn.Module:
    d = sam3_tracker.width(c)
    inner = c.dim("memory_attention_mlp_hidden_size", default=2048)
    act = c.text("memory_attention_mlp_hidden_act", default="relu") or "relu"
    attend, look = (
        sam3_tracker.rope_attention(c, context).called(f"{_VIDEO}RoPE{kind}Attention")
        for kind, context in (("Self", None), ("Cross", 64))
    )
    name = f"{_VIDEO}MemoryAttention"
    names = ("up_proj", "down_proj")
    mlp = two_layer_mlp(f"{name}MLP", d, inner, act=act, names=names, act_name="act_fn")
    parts = {f"layer_norm{i}": nn.LayerNorm(d) for i in (1, 2, 3)}
    parts = {"self_attn": attend, "cross_attn_image": look, "mlp": mlp, **parts}
    memory = sam3_tracker.memory(c, nn.Module(f"{name}Layer", parts))
    memory["spatial_perceiver"] = perceiver(c)
    return sam2.prompted(c, _VIDEO, "sam2_vision_model", **memory)


image = partial(sam2.prompted, name=_IMAGE)
timm = {"in_chans": 3, "features_only": True, "out_indices": [0, 1, 2, 3]}
necked = partial(sam2.necked, name=_IMAGE, widest=384, model_type="timm_wrapper", model_args=timm)
register_part("edgetam", f"{_IMAGE}Model", partial(image, kind="edgetam_vision_model"), "vision")
register_part("edgetam_vision_model", f"{_IMAGE}VisionModel", necked, "vision")
_CLASSES: dict[str, Builder] = {f"{_IMAGE}Model": partial(image, kind="sam2_vision_model")}
register("edgetam_video", {f"{_VIDEO}Model": video, **_CLASSES}, category="vision")
