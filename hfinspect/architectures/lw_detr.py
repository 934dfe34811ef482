"""LW-DETR and RF-DETR (Chen et al. 2024; Robinson et al. 2025): a ViT in place of DETR's encoder.
Source of shapes: transformers/models/lw_detr and rf_detr.

Some of the ViT's layers next to each other, squeezed to one width, and a shallow decoder, of whose
queries training has many groups. RF-DETR's ViT is DINOv2 in windows; its files keep the names of
its first release, and so may draw masks.
"""

from functools import partial

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.backbones import hands_on
from ..layers.blocks import activation, gated_mlp, gated_width, size, two_layer_mlp
from ..layers.deformable import label_scores, predictor, sampling_attention
from ..layers.vision import narrowed_attention, pair, patch_conv, patch_count, plain_mlp, scaled
from ..trees.catalog import register, register_pair, register_part
from ..trees.handed_on import chosen_stages, stage_names
from ..trees.modules import (
    BatchNorm,
    Conv,
    Embedding,
    LayerNorm,
    Layers,
    Linear,
    Module,
    ModuleList,
    Sequential,
    Weight,
)

_LW, _RF = "LwDetr", "RfDetr"
_P = Component.PROJECTOR
#: What the config classes make of an absent backbone_config.
BACKBONES = {
    _LW: {"image_size": 1024, "hidden_size": 192, "num_hidden_layers": 10,
          "window_block_indices": [0, 1, 3, 6, 7, 9], "out_indices": [2, 4, 5, 9]},
    _RF: {"num_attention_heads": 6, "out_features": ["stage2", "stage5", "stage8", "stage11"],
          "hidden_size": 384, "num_register_tokens": 0, "image_size": 518},
}  # fmt: skip
_TYPES = {_LW: "lw_detr_vit", _RF: "rf_detr_dinov2"}


# ---- the ViTs


_hidden = size("hidden_size", default=768)


def attention(c: ModelConfig, name: str, *, key_bias: bool, inside: bool) -> Module:
    """``inside`` a detector, whose files nest the projections as older ViTs do."""
    h, heads = _hidden(c), c.dim("num_attention_heads", default=12)
    wide = heads * c.dim("head_dim", default=h // heads) if c.has("head_dim") else None
    inner = h if wide is None and not h % heads else wide or heads * (h // heads)
    bias = c.flag("qkv_bias", default=True)
    query, key, value = (
        Linear(h, inner, bias=bias and (kind != "key" or key_bias), kind=kind)
        for kind in ("query", "key", "value")
    )
    output = Linear(inner, h, kind="output")
    parts: dict[str, Module] = {"q_proj": query, "k_proj": key, "v_proj": value, "o_proj": output}
    if inside:
        three = Module("Module", query=query, key=key, value=value)
        last = output if name.startswith(_LW) else Module("Module", dense=output)
        parts = {"attention": three, "output": last}
    return Module(f"{name}Attention", dict(parts), component=Component.ATTENTION)


def _norm(c: ModelConfig) -> Module:
    return LayerNorm(_hidden(c), eps=c.number("layer_norm_eps", default=1e-6))


def vit(c: ModelConfig, *, inside: bool = False) -> Module:
    """LW-DETR's, with a learned factor of each channel before both sums."""
    name, h = f"{_LW}ViT", _hidden(c)
    image, patch = pair(c, "pretrain_image_size", default=224), pair(c, "patch_size", default=16)
    inner, act = scaled(c, h, "mlp_ratio", default=4), c.text("hidden_act", default="gelu")
    placed = c.flag("use_absolute_position_embeddings", default=True)
    layer = Module(
        f"{name}Layer",
        attention=attention(c, name, key_bias=False, inside=inside),
        intermediate=two_layer_mlp(f"{name}Mlp", h, inner, act=act),
        layernorm_before=_norm(c),
        layernorm_after=_norm(c),
        gamma_1=Weight(h, kind="layer_scale"),
        gamma_2=Weight(h, kind="layer_scale"),
    )
    return Module(
        f"{name}Backbone",
        embeddings=Module(
            f"{name}Embeddings",
            position_embeddings=Weight(1, patch_count(image, patch) + 1, h, kind="position")
            if placed
            else None,
            projection=patch_conv(c.dim("num_channels", default=3), h, patch),
            component=Component.EMBEDDING,
        ),
        encoder=Module(
            f"{name}Encoder", layer=Layers.of(c.count("num_hidden_layers", default=12), layer)
        ),
        part="vision",
    )


def dinov2(c: ModelConfig, *, inside: bool = False) -> Module:
    """RF-DETR's: DINOv2's, without a join of its gated MLP's matrices."""
    name, h = f"{_RF}Dinov2", _hidden(c)
    image, patch = pair(c, "image_size", default=224), pair(c, "patch_size", default=14)
    inner, act = scaled(c, h, "mlp_ratio", default=4), c.text("hidden_act", default="gelu")
    masked = c.flag("use_mask_token", default=True)
    mlp = (
        gated_mlp(f"{name}SwiGLUFFN", h, gated_width(inner), bias=True)
        if c.flag("use_swiglu_ffn", default=False)
        else plain_mlp(f"{name}MLP", h, inner, act=act)
    )
    scale = Module(f"{name}LayerScale", lambda1=Weight(h, kind="scale"))
    layer = Module(
        f"{name}Layer",
        norm1=_norm(c),
        attention=attention(c, name, key_bias=True, inside=inside),
        layer_scale1=scale,
        norm2=_norm(c),
        mlp=mlp,
        layer_scale2=scale,
    )
    patches = patch_conv(c.dim("num_channels", default=3), h, patch)
    return Module(
        f"{name}Backbone",
        embeddings=Module(
            f"{name}Embeddings",
            cls_token=Weight(1, 1, h, kind="class_token"),
            mask_token=Weight(1, h, kind="mask_token") if masked else None,
            patch_embeddings=Module(f"{name}PatchEmbeddings", projection=patches),
            position_embeddings=Weight(1, patch_count(image, patch) + 1, h, kind="position"),
            component=Component.EMBEDDING,
        ),
        encoder=Module(
            f"{name}Encoder", layer=Layers.of(c.count("num_hidden_layers", default=12), layer)
        ),
        layernorm=_norm(c),
        part="vision",
    )


def _maps(c: ModelConfig) -> tuple[Dim, ...]:
    """One width for each layer that is handed on."""
    count = int(c.count("num_hidden_layers", default=12))
    chosen = chosen_stages(c, stage_names(count))
    return tuple(_hidden(c) for _ in chosen)


# ---- to one width


_d = size("d_model", default=256)


def convolution(
    name: str, inputs: int, outputs: int, kernel: int, act: str | None, *, inside: bool = False
) -> Module:
    """With a batch norm, or RF-DETR's norm over the channels; ``inside`` a stage, what mixes the
    channels of a point is a convolution like any other."""
    component = Component.CONV if inside and kernel == 1 else _P
    conv = Conv(inputs, outputs, kernel, bias=False, component=component)
    if name == _RF:
        norm = LayerNorm(outputs, class_name=f"{_RF}LayerNorm")
        return Module(f"{_RF}ConvNormLayer", conv=conv, bn=norm)
    return Module(
        f"{_LW}ConvNormLayer", conv=conv, norm=BatchNorm(outputs), activation=activation(act)
    )


def squeezed(name: str, c: ModelConfig, inputs: Dim) -> Module:
    """One convolution in two halves, blocks that follow each other, and all that they give."""
    d, count = _d(c), c.count("c2f_num_blocks", default=3)
    half, act = scaled(c, d, "hidden_expansion", default=0.5), c.text("activation_function")
    first, block = (("conv", "bottlenecks"), ("cv", "m"))[name == _RF]
    to = partial(convolution, name, act=act or "silu", inside=name == _RF)
    rep = {f"{first}{i}": to(half, half, 3) for i in (1, 2)}
    return Module(
        f"{name}C2FLayer",
        {
            f"{first}1": to(inputs, 2 * half, 1),
            f"{first}2": to((2 + count) * half, d, 1),
            block: ModuleList([Module(f"{name}RepVggBlock", dict(rep))] * int(count)),
        },
    )


def _sampling(h: Dim, scale: float) -> tuple[list[Module], Dim]:
    """The map at another size, and its width then."""
    if scale == 0.5:
        return [convolution(_LW, h, h, 3, "relu")], h
    if scale != 2:
        return [], h
    if h > 512:
        half, quarter = h // 2, h // 4
        up = Conv(half, quarter, 2, stride=2, transposed=True, component=_P)
        return [convolution(_LW, h, half, 1, "relu"), up], quarter
    return [Conv(h, h // 2, 2, stride=2, transposed=True, component=_P)], h // 2


def _scales(c: ModelConfig) -> list[float]:
    found = c.raw("projector_scale_factors")
    found = [] if found is None else found
    if not isinstance(found, list) or len(found) > 100:
        raise c.error("projector_scale_factors", found, "a list")
    for scale in found:
        if isinstance(scale, bool) or scale not in (0.5, 1, 2):
            raise c.error("projector_scale_factors", scale, "0.5, 1 or 2")
    return found


def projector(c: ModelConfig, sizes: tuple[Dim, ...]) -> Module:
    """LW-DETR's maps at several scales, the layers of each next to each other."""
    scales = []
    for scale in _scales(c):
        sampled = [_sampling(size, scale) for size in sizes]
        layers = [Module(f"{_LW}SamplingLayer", layers=ModuleList(made)) for made, _ in sampled]
        scales.append(
            Module(
                f"{_LW}ScaleProjector",
                sampling_layers=ModuleList(layers),
                projector_layer=squeezed(_LW, c, sampled[-1][1] * len(sizes)),
                layer_norm=LayerNorm(_d(c), class_name=f"{_LW}LayerNorm"),
            )
        )
    return Module(f"{_LW}MultiScaleProjector", scale_layers=ModuleList(scales), component=_P)


def conv_encoder(name: str, c: ModelConfig) -> Module:
    section = c.section("backbone_config", default=BACKBONES[name])
    if section.model_type not in (None, _TYPES[name]):
        raise section.error("model_type", section.model_type, _TYPES[name])
    if c.has("backbone") and not c.has("backbone_config"):
        raise c.error("backbone", c.raw("backbone"), "null: a backbone_config in its place")
    sizes = _maps(section)
    if not sizes:
        raise section.error("out_features", [], "at least one stage")
    if name == _LW:
        network = vit(section, inside=True)
        return Module(f"{_LW}ConvEncoder", backbone=network, projector=projector(c, sizes))
    last = LayerNorm(_d(c), class_name=f"{_RF}LayerNorm")
    stage = Sequential(squeezed(_RF, c, sizes[0] * len(sizes)), last)
    encoder = Module("Module", encoder=dinov2(section, inside=True))
    scale = Module(f"{_RF}ScaleProjector", stages=Layers([stage]), component=_P)
    return ModuleList([Module(f"{_RF}ConvEncoder", encoder=encoder, projector=scale)])


# ---- decoder


def _self_attention(name: str, c: ModelConfig) -> Module:
    d, heads = _d(c), c.dim("decoder_self_attention_heads", default=8)
    even = not c.has("head_dim") and not d % heads
    inner = d if even else heads * c.dim("head_dim", default=d // heads)
    bias = c.flag("attention_bias", default=True)
    if name == _RF:
        return Module(
            f"{_RF}Attention",
            in_proj_weight=Weight(3 * inner, d, kind="qkv"),
            in_proj_bias=Weight(3 * inner, kind="qkv") if bias else None,
            out_proj=Linear(inner, d, bias=bias, kind="output"),
            component=Component.ATTENTION,
        )
    return narrowed_attention(f"{_LW}Attention", d, inner, bias=bias)


def decoder_layer(name: str, c: ModelConfig) -> Module:
    d, inner = _d(c), c.dim("decoder_ffn_dim", default=2048)
    heads = c.dim("decoder_cross_attention_heads", default=16)
    c.divided(d, heads, "d_model", "decoder_cross_attention_heads")
    levels = c.count("num_feature_levels", default=len(_scales(c)) if name == _LW else 1)
    points = heads * levels * c.dim("decoder_n_points", default=4)
    parts: dict[str, Module] = {
        "self_attn": _self_attention(name, c),
        "self_attn_layer_norm": LayerNorm(d),
        "cross_attn": sampling_attention(name, d, points),
        "cross_attn_layer_norm": LayerNorm(d),
        "layer_norm": LayerNorm(d),
    }
    up = Linear(d, inner, component=Component.MLP, kind="up")
    down = Linear(inner, d, component=Component.MLP, kind="down")
    if name == _LW:
        mlp = Module(f"{_LW}MLP", fc1=up, fc2=down, component=Component.MLP)
        return Module(f"{_LW}DecoderLayer", {**parts, "mlp": mlp})
    for i, key in enumerate(("self_attn_layer_norm", "cross_attn_layer_norm", "layer_norm"), 1):
        parts[f"norm{i}"] = parts.pop(key)
    return Module(f"{_RF}DecoderLayer", {**parts, "linear1": up, "linear2": down})


def model(name: str, c: ModelConfig) -> Module:
    """RF-DETR's files keep decoder and first guesses under ``transformer``."""
    d, groups = _d(c), c.count("group_detr", default=13)
    queries, count = c.dim("num_queries", default=300) * groups, int(groups)
    rf = name == _RF
    places = predictor(name, (2 * d, d, d))
    layers = Layers.of(c.count("decoder_layers", default=3), decoder_layer(name, c))
    decoder = Module(
        f"{name}Decoder",
        {"layers": layers, "norm" if rf else "layernorm": LayerNorm(d), "ref_point_head": places},
    )
    guesses: dict[str, Module] = {
        "decoder": decoder,
        "enc_output": ModuleList([Linear(d, d)] * count),
        "enc_output_norm": ModuleList([LayerNorm(d)] * count),
        "enc_out_bbox_embed": ModuleList([predictor(name, (d, d, d, 4))] * count),
        "enc_out_class_embed": ModuleList([label_scores(c, d)] * count),
    }
    table = Embedding(queries, 4, kind="position")
    return Module(
        f"{name}Model",
        {
            "backbone": conv_encoder(name, c),
            "refpoint_embed" if rf else "reference_point_embed": table,
            "query_feat": Embedding(queries, d, kind="detection_token"),
            **({"transformer": Module("Module", dict(guesses))} if rf else guesses),
        },
        part="vision",
    )


def _heads(name: str, c: ModelConfig) -> dict[str, Module]:
    d = _d(c)
    return {"class_embed": label_scores(c, d), "bbox_embed": predictor(name, (d, d, d, 4))}


def object_detection(c: ModelConfig) -> Module:
    return Module(
        f"{_LW}ForObjectDetection", {"model": model(_LW, c), **_heads(_LW, c)}, part="vision"
    )


def flat_detection(c: ModelConfig) -> Module:
    """RF-DETR's files keep model and heads next to each other."""
    children = {**model(_RF, c).children, **_heads(_RF, c)}
    return Module(f"{_RF}ForObjectDetection", dict(children), part="vision")


def segmentation(c: ModelConfig) -> Module:
    """Masks: queries against a map that one block for each layer of the decoder sharpens."""
    d, inner = _d(c), c.dim("intermediate_size", default=1024)
    act = activation(c.text("segmentation_head_activation_function", default="gelu"))
    head = Component.HEAD
    block = Module(
        f"{_RF}SegmentationBlock",
        norm=LayerNorm(d, eps=1e-6, class_name=f"{_RF}LayerNorm"),
        act=act,
        dwconv=Conv(d, d, 3, groups=d),
        pwconv1=Linear(d, d, component=Component.CONV),
    )
    root = flat_detection(c)
    root.class_name = f"{_RF}ForInstanceSegmentation"
    layers = Sequential(Linear(d, inner), act, Linear(inner, d), component=head)
    root.children["segmentation_head"] = Module(
        "Module",
        blocks=Layers.of(c.count("decoder_layers", default=3), block),
        spatial_features_proj=Conv(d, d, 1, component=head),
        query_features_block=Module(
            f"{_RF}SegmentationMLPBlock", norm_in=LayerNorm(d), layers=layers
        ),
        query_features_proj=Linear(d, d, component=head),
        bias=Weight(1),
        component=head,
    )
    return root


register_pair(
    "lw_detr", _LW, object_detection, partial(model, _LW), "vision", ending="ForObjectDetection"
)
register(
    "rf_detr",
    {
        f"{_RF}ForObjectDetection": flat_detection,
        f"{_RF}ForInstanceSegmentation": segmentation,
        f"{_RF}Model": partial(model, _RF),
    },
    category="vision",
)
register_part("lw_detr_vit", f"{_LW}ViTBackbone", vit, "vision")
register_part("rf_detr_dinov2", f"{_RF}Dinov2Backbone", dinov2, "vision")
for backbone_type in _TYPES.values():
    hands_on(backbone_type, _maps)
