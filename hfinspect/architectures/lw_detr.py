"""LW-DETR and RF-DETR (Chen et al. 2024; Robinson et al. 2025): some of a ViT's layers next to each
other in place of DETR's encoder, and queries of which training has many groups. RF-DETR's ViT is
a trace; its files keep the names of its first release. Source: transformers/models/{lw,rf}_detr."""

from functools import partial

from ..layers import deformable
from ..layers.backbones import backbone
from ..layers.blocks import activation, size, two_layer_mlp
from ..layers.composing import respelled
from ..layers.deformable import conv_norm, label_scores, predictor, up_down
from ..layers.vision import narrowed_attention, scaled, uneven_width
from ..trees import Builder, Component, Dim, ModelConfig, register, register_part
from ..trees import modules as nn
from . import vitdet

_LW = "LwDetr"
_RF = "RfDetr"
_P = Component.PROJECTOR
#: What the config classes make of an absent backbone_config, where it changes a shape.
BACKBONES = {
    _LW: {
        "model_type": "lw_detr_vit",
        "hidden_size": 192,
        "num_hidden_layers": 10,
        "out_indices": [2, 4, 5, 9],
    },
    _RF: {
        "model_type": "rf_detr_dinov2",
        "num_attention_heads": 6,
        "hidden_size": 384,
        "out_features": ["stage2", "stage5", "stage8", "stage11"],
        "num_register_tokens": 0,
        "image_size": 518,
    },
}
_d = size("d_model", default=256)


def vit(c: ModelConfig) -> nn.Module:
    """ViTDet's embeddings; a factor of each channel before both sums, and keys without a bias."""
    name = f"{_LW}ViT"
    h = c.dim("hidden_size", default=768)
    inner = scaled(c, h, "mlp_ratio", default=4)
    act = c.text("hidden_act", default="gelu")
    wide = uneven_width(c, h, c.dim("num_attention_heads", default=12))
    look = narrowed_attention(f"{name}Attention", h, wide, bias=c.flag("qkv_bias", default=True))
    keys = nn.Linear(h, wide, bias=False, kind="key")
    output = nn.Linear(wide, h, kind="output")
    norm = nn.LayerNorm(h, eps=c.number("layer_norm_eps", default=1e-6))
    parts: dict[str, nn.Module | nn.Parameter] = {
        "attention": look.adding(k_proj=keys, o_proj=output),
        "intermediate": two_layer_mlp(f"{name}Mlp", h, inner, act=act),
        **{f"layernorm_{at}": norm for at in ("before", "after")},
        **{f"gamma_{i}": nn.Weight(h, kind="layer_scale") for i in (1, 2)},
    }
    layer = nn.Module(f"{name}Layer", parts)
    count = c.count("num_hidden_layers", default=12)
    encoder = nn.Module(f"{name}Encoder", layer=nn.Layers.of(count, layer))
    embeddings = vitdet.embeddings(c, name)
    return nn.Module(f"{name}Backbone", embeddings=embeddings, encoder=encoder, part="vision")


def _norm(name: str, width: Dim | int, eps: float | None = None) -> nn.Module:
    return nn.LayerNorm(width, eps=eps, class_name=f"{name}LayerNorm")


def squeezed(name: str, c: ModelConfig, inputs: Dim) -> nn.Module:
    """One convolution in two halves, blocks that follow each other, and all that they give."""
    d = _d(c)
    count = c.count("c2f_num_blocks", default=3)
    act = c.text("activation_function")
    half = scaled(c, d, "hidden_expansion", default=0.5)
    first, block = (("conv", "bottlenecks"), ("cv", "m"))[name == _RF]

    def to(inputs: Dim, outputs: Dim, kernel: int) -> nn.Module:
        """What mixes the channels of a point in RF-DETR is a convolution like any other."""
        if name == _LW:
            return conv_norm(name, inputs, outputs, kernel, act or "silu", component=_P)
        at = Component.CONV if kernel == 1 else _P
        conv = nn.Conv(inputs, outputs, kernel, bias=False, component=at)
        return nn.Module(f"{name}ConvNormLayer", conv=conv, bn=_norm(name, outputs))

    rep = nn.Module(f"{name}RepVggBlock", {f"{first}{i}": to(half, half, 3) for i in (1, 2)})
    ends = {f"{first}1": to(inputs, 2 * half, 1), f"{first}2": to((2 + count) * half, d, 1)}
    return nn.Module(f"{name}C2FLayer", {**ends, block: nn.ModuleList([rep] * int(count))})


def _scales(c: ModelConfig) -> list[float]:
    factors = [] if c.raw(key := "projector_scale_factors") is None else c.raw(key)
    listed = isinstance(factors, list) and len(factors) <= 100
    if not listed or any(isinstance(n, bool) or n not in (0.5, 1, 2) for n in factors):
        raise c.error(key, factors, "a list of 0.5, 1 and 2")
    return list(factors)


def projector(c: ModelConfig, sizes: tuple[Dim, ...]) -> nn.Module:
    """LW-DETR's maps at several scales, the layers of each next to each other."""
    up = partial(nn.Conv, kernel=2, stride=2, transposed=True, component=_P)
    to = partial(conv_norm, _LW, act="relu", component=_P)

    def sampled(scale: float, h: Dim) -> tuple[list[nn.Module], Dim]:
        """The map at another size, and its width then."""
        if scale != 2:
            return [to(h, h, 3)] * (scale == 0.5), h
        half = h // 2
        return ([up(h, half)], half) if h <= 512 else ([to(h, half, 1), up(half, h // 4)], h // 4)

    def at(scale: float) -> nn.Module:
        rows, widths = zip(*(sampled(scale, size) for size in sizes), strict=True)
        layers = (nn.Module(f"{_LW}SamplingLayer", layers=nn.ModuleList(row)) for row in rows)
        mixed = squeezed(_LW, c, widths[-1] * len(sizes))
        parts = {"sampling_layers": nn.ModuleList(layers), "projector_layer": mixed}
        return nn.Module(f"{_LW}ScaleProjector", parts, layer_norm=_norm(_LW, _d(c)))

    scales = nn.ModuleList(map(at, _scales(c)))
    return nn.Module(f"{_LW}MultiScaleProjector", scale_layers=scales, component=_P)


def conv_encoder(name: str, c: ModelConfig) -> nn.Module:
    """The ViT as files of detectors have it: its projections where older ViTs have them."""
    default_type = str(BACKBONES[name]["model_type"])
    section = c.section("backbone_config", default=BACKBONES[name]).of_type(default_type)
    network, sizes = backbone(section, default_type=default_type)
    if not sizes:
        raise section.error("out_features", [], "at least one stage")
    older = {"q_proj": "attention.query", "k_proj": "attention.key", "v_proj": "attention.value"}
    output = "output" if name == _LW else "output.dense"
    respelled(network, {**older, "o_proj": output}, "Module")
    if name == _LW:
        return nn.Module(f"{name}ConvEncoder", backbone=network, projector=projector(c, sizes))
    stage = nn.Sequential(squeezed(name, c, sizes[0] * len(sizes)), _norm(name, _d(c)))
    scale = nn.Module(f"{name}ScaleProjector", stages=nn.Layers([stage]), component=_P)
    encoder = nn.Module("Module", encoder=network)
    return nn.ModuleList([nn.Module(f"{name}ConvEncoder", encoder=encoder, projector=scale)])


def decoder_layer(name: str, c: ModelConfig) -> nn.Module:
    d = _d(c)
    inner = c.dim("decoder_ffn_dim", default=2048)
    wide = uneven_width(c, d, c.dim("decoder_self_attention_heads", default=8))
    bias = c.flag("attention_bias", default=True)
    levels = c.count("num_feature_levels", default=len(_scales(c)) if name == _LW else 1)
    look = deformable.heads(c, "decoder_cross_attention_heads", d, default=16)
    points = look * levels * c.dim("decoder_n_points", default=4)
    if name == _LW:
        self_attn = narrowed_attention(f"{name}Attention", d, wide, bias=bias)
        norms = ["self_attn_layer_norm", "cross_attn_layer_norm", "layer_norm"]
        forward = {"mlp": nn.Module(f"{name}MLP", up_down(d, inner), component=Component.MLP)}
    else:
        looks = {"in_proj_weight": nn.Weight(3 * wide, d, kind="qkv")}
        looks |= {"in_proj_bias": nn.Weight(3 * wide, kind="qkv")} if bias else {}
        self_attn = nn.Module(f"{name}Attention", looks, component=Component.ATTENTION)
        self_attn.adding(out_proj=nn.Linear(wide, d, bias, kind="output"))
        norms = ["norm1", "norm2", "norm3"]
        forward = up_down(d, inner, "linear1", "linear2")
    parts = {"self_attn": self_attn, "cross_attn": deformable.sampling_attention(name, d, points)}
    parts |= {norm: nn.LayerNorm(d) for norm in norms}
    return nn.Module(f"{name}DecoderLayer", {**parts, **forward})


def model(name: str, c: ModelConfig) -> nn.Module:
    """RF-DETR's files keep decoder and first guesses under ``transformer``."""
    d = _d(c)
    groups = c.count("group_detr", default=13)
    rf = name == _RF
    queries = c.dim("num_queries", default=300) * groups
    deep = c.count("decoder_layers", default=3)
    normed, table = ("norm", "refpoint_embed") if rf else ("layernorm", "reference_point_embed")
    parts = {"layers": nn.Layers.of(deep, decoder_layer(name, c)), normed: nn.LayerNorm(d)}
    points = predictor(name, (2 * d, d, d))
    proposed = {"enc_output": nn.Linear(d, d), "enc_output_norm": nn.LayerNorm(d)}
    proposed["enc_out_bbox_embed"] = predictor(name, (d, d, d, 4))
    proposed["enc_out_class_embed"] = label_scores(c, d)
    guesses = {key: nn.ModuleList([head] * int(groups)) for key, head in proposed.items()}
    decoder = nn.Module(f"{name}Decoder", parts, ref_point_head=points)
    inner: dict[str, nn.Module] = {"decoder": decoder, **guesses}
    parts = {
        "backbone": conv_encoder(name, c),
        table: nn.Embedding(queries, 4, kind="position"),
        "query_feat": nn.Embedding(queries, d, kind="detection_token"),
        **({"transformer": nn.Module("Module", inner)} if rf else inner),
    }
    return nn.Module(f"{name}Model", parts, part="vision")


def object_detection(name: str, c: ModelConfig, **more: nn.Module) -> nn.Module:
    """RF-DETR's files keep model and heads next to each other."""
    d = _d(c)
    base = model(name, c)
    heads = {"class_embed": label_scores(c, d), "bbox_embed": predictor(name, (d, d, d, 4))}
    parts = {"model": base} if name == _LW else base.children
    return nn.Module(f"{name}ForObjectDetection", {**parts, **heads, **more}, part="vision")


def segmentation(c: ModelConfig) -> nn.Module:
    """Masks: queries against a map that one block for each layer of the decoder sharpens."""
    d = _d(c)
    inner = c.dim("intermediate_size", default=1024)
    act = activation(c.text("segmentation_head_activation_function", default="gelu"))
    mixing = nn.Linear(d, d, component=Component.CONV)
    convs = {"dwconv": nn.Conv(d, d, 3, groups=d), "pwconv1": mixing}
    block = nn.Module(f"{_RF}SegmentationBlock", {"norm": _norm(_RF, d, 1e-6), "act": act, **convs})
    layers = nn.Sequential(nn.Linear(d, inner), act, nn.Linear(inner, d))
    at = Component.HEAD
    queries = nn.Module(f"{_RF}SegmentationMLPBlock", norm_in=nn.LayerNorm(d), layers=layers)
    blocks = nn.Layers.of(c.count("decoder_layers", default=3), block)
    parts = {"blocks": blocks, "spatial_features_proj": nn.Conv(d, d, 1, component=at)}
    parts |= {"query_features_block": queries, "query_features_proj": nn.Linear(d, d)}
    head = nn.Module("Module", parts, bias=nn.Weight(1), component=at)
    root = object_detection(_RF, c, segmentation_head=head)
    return root.called(f"{_RF}ForInstanceSegmentation")


for model_type, prefix in (("lw_detr", _LW), ("rf_detr", _RF)):
    detector = partial(object_detection, prefix)
    base = partial(model, prefix)
    classes: dict[str, Builder] = {f"{prefix}ForObjectDetection": detector, f"{prefix}Model": base}
    classes |= {f"{_RF}ForInstanceSegmentation": segmentation} if prefix == _RF else {}
    register(model_type, classes, base_prefix="model" if prefix == _LW else "", category="vision")
register_part("lw_detr_vit", f"{_LW}ViTBackbone", vit, "vision")
