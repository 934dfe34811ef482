"""GroupViT (Xu et al. 2022). Source of shapes: transformers/models/groupvit/modeling_groupvit.py.

CLIP's text tower next to a ViT whose stages gather patches into fewer and fewer groups: learned
group tokens attend to the patches, and each patch is assigned to one of them.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim, named
from ..layers.vision import (
    MAX_RATIO,
    bounded,
    clip_attention,
    clip_encoder,
    clip_layer,
    pair,
    patch_conv,
    patch_count,
    plain_mlp,
    text_embeddings,
)
from ..trees.catalog import register, register_part
from ..trees.modules import (
    Activation,
    BatchNorm,
    Dropout,
    LayerNorm,
    Layers,
    Linear,
    Module,
    ModuleList,
    Sequential,
    Weight,
)
from .clip import text_section, vision_section


def _norm(c: ModelConfig, width: Dim) -> Module:
    return LayerNorm(width, eps=c.number("layer_norm_eps", default=1e-5))


def _layer(c: ModelConfig, width: Dim, inner: int, act: str) -> Module:
    return clip_layer(
        "GroupViT",
        width,
        c.dim("intermediate_size", default=inner),
        eps=c.number("layer_norm_eps", default=1e-5),
        act=c.text("hidden_act", default=act),
    )


def _heads(c: ModelConfig, width: Dim, default: int) -> None:
    heads = c.dim("num_attention_heads", default=default)
    c.divided(width, heads, "hidden_size", "num_attention_heads")


# ---- text


def _text_width(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=256)


def text_transformer(c: ModelConfig) -> Module:
    h = _text_width(c)
    _heads(c, h, 4)
    layer = _layer(c, h, 1024, "quick_gelu")
    return Module(
        "GroupViTTextTransformer",
        embeddings=text_embeddings("GroupViT", c, h),
        encoder=clip_encoder("GroupViTText", c.count("num_hidden_layers", default=12), layer),
        final_layer_norm=_norm(c, h),
        part="text",
    )


def text_model(config: ModelConfig) -> Module:
    c = text_section(config)
    return Module("GroupViTTextModel", text_model=text_transformer(c), part="text")


# ---- vision


def _width(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=384)


def _mlp(c: ModelConfig, inputs: int, inner: int, outputs: int, *, mixer: bool = False) -> Module:
    act = c.text("hidden_act", default="gelu")
    block = plain_mlp("GroupViTMixerMLP" if mixer else "GroupViTMLP", inputs, inner, act=act)
    block.children["fc2"] = Linear(inner, outputs, kind="down")
    return block


def _ratios(c: ModelConfig) -> tuple[Dim, Dim]:
    """Widths of the MLP over tokens and of that over channels."""
    given = c.raw("assign_mlp_ratio")
    values = (0.5, 4) if given is None else given
    values = values if isinstance(values, (list, tuple)) else (values, values)
    if len(values) != 2 or not all(
        isinstance(v, (int, float)) and not isinstance(v, bool) and 0 < v <= MAX_RATIO
        for v in values
    ):
        raise c.error("assign_mlp_ratio", given, "two numbers above 0")
    h = _width(c)
    tokens, channels = (
        named(int(v * int(h)), f"int(assign_mlp_ratio[{i}] * hidden_size)", f"{v} * {int(h)}")
        for i, v in enumerate(values)
    )
    return tokens, channels


def _assignment(c: ModelConfig, groups: Dim, outputs: Dim) -> Module:
    h, (tokens, channels) = _width(c), _ratios(c)
    assign = clip_attention("GroupViTAssignAttention", h)
    assign.children["proj"] = assign.children.pop("out_proj")
    across = Module(
        "GroupViTCrossAttentionLayer",
        attn=clip_attention("GroupViTAttention", h),
        norm2=_norm(c, h),
        mlp=_mlp(c, h, c.dim("intermediate_size", default=1536), h),
        norm_post=_norm(c, h),
    )
    return Module(
        "GroupViTTokenAssign",
        norm_tokens=_norm(c, h),
        mlp_inter=_mlp(c, groups, tokens, outputs, mixer=True),
        norm_post_tokens=_norm(c, h),
        norm_x=_norm(c, h),
        pre_assign_attn=across,
        assign=assign,
        norm_new_x=_norm(c, h),
        mlp_channels=_mlp(c, h, channels, h),
    )


def _stage(c: ModelConfig, depth: Dim, before: Dim | None, groups: Dim, outputs: Dim) -> Module:
    h = _width(c)
    layer = _layer(c, h, 1536, "gelu")
    mixed = None
    if before and groups:
        mixer = _mlp(c, before, h // 2, groups, mixer=True)
        mixer.component = Component.PROJECTOR
        mixed = Sequential(_norm(c, h), mixer)
    return Module(
        "GroupViTStage",
        group_token=Weight(1, groups, h, kind="register_token", component=Component.EMBEDDING)
        if groups
        else None,
        layers=ModuleList([layer] * int(depth)),
        downsample=_assignment(c, groups, outputs) if groups else None,
        group_projector=mixed,
    )


def _stages(c: ModelConfig) -> Layers:
    depths = bounded(c, "depths", c.dims("depths", default=(6, 3, 3), minimum=0))
    groups = c.dims("num_group_tokens", default=(64, 8, 0), minimum=0)
    outputs = c.dims("num_output_groups", default=(64, 8, 8), minimum=0)
    for key, found in (("num_group_tokens", groups), ("num_output_groups", outputs)):
        if len(found) < len(depths):
            raise c.error(key, c.raw(key), f"{len(depths)} entries, one per stage")
    return Layers(
        _stage(c, depth, outputs[i - 1] if i else None, groups[i], outputs[i])
        for i, depth in enumerate(depths)
    )


def vision_transformer(c: ModelConfig) -> Module:
    h = _width(c)
    _heads(c, h, 6)
    image, patch = pair(c, "image_size", default=224), pair(c, "patch_size", default=16)
    return Module(
        "GroupViTVisionTransformer",
        embeddings=Module(
            "GroupViTVisionEmbeddings",
            position_embeddings=Weight(1, patch_count(image, patch), h, kind="position"),
            patch_embeddings=Module(
                "GroupViTPatchEmbeddings",
                projection=patch_conv(c.dim("num_channels", default=3), h, patch),
            ),
            dropout=Dropout(c.number("dropout", default=0.0)),
            layernorm=_norm(c, h),
            component=Component.EMBEDDING,
        ),
        encoder=Module("GroupViTVisionEncoder", stages=_stages(c)),
        layernorm=_norm(c, h),
        part="vision",
    )


def vision_model(config: ModelConfig) -> Module:
    c = vision_section(config)
    return Module("GroupViTVisionModel", vision_model=vision_transformer(c), part="vision")


# ---- both


def _projection(c: ModelConfig, width: Dim) -> Module:
    inner = c.dim("projection_intermediate_dim", default=4096)
    return Sequential(
        Linear(width, inner),
        BatchNorm(inner, dims=1),
        Activation("ReLU"),
        Linear(inner, c.dim("projection_dim", default=256)),
        component=Component.PROJECTOR,
    )


def both(c: ModelConfig) -> Module:
    text, vision = (c.section(f"{key}_dict", key) for key in ("text_config", "vision_config"))
    return Module(
        "GroupViTModel",
        logit_scale=Weight(kind="scale"),
        text_model=text_transformer(text),
        vision_model=vision_transformer(vision),
        visual_projection=_projection(c, _width(vision)),
        text_projection=_projection(c, _text_width(text)),
    )


register("groupvit", {"GroupViTModel": both}, base="GroupViTModel", category="multimodal")
register_part("groupvit_text_model", "GroupViTTextModel", text_model, "encoder")
register_part("groupvit_vision_model", "GroupViTVisionModel", vision_model, "vision")
