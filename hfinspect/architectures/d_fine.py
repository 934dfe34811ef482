"""D-FINE and DEIMv2 (Peng et al. 2024; Huang et al. 2025): RT-DETR whose heads give a distribution
for each edge of a box. DEIMv2 has gated MLPs and RMS norms, and may see with DINOv3, whose one map
convolutions of the picture complete. Source of shapes: transformers/models/d_fine and deimv2."""

from functools import partial

from ..layers import deformable
from ..layers.blocks import gated_mlp
from ..layers.deformable import conv_norm, layer_heads
from ..layers.deformable import width as _d
from ..layers.vision import clip_attention, ratio_of
from ..trees import Component, Dim, ModelConfig, auto_class, exact, named, register_pair
from ..trees import modules as nn
from . import rt_detr
from .rt_detr import width_inside as _e

_FINE = "DFine"
_DEIM = "Deimv2"
_NOTHING = nn.Activation("Identity")


def mlp(name: str, *sizes: int, ending: str = "MLP") -> nn.Module:
    """Linear layers from size to size, with an activation between them."""
    return deformable.predictor(name, sizes, ending=ending).adding(act=nn.Activation("ReLU"))


def fusion(name: str, c: ModelConfig, act: str | None) -> nn.Module:
    """Two chains, and all that they give. A chain has two ways, one of them through RepVGG blocks;
    DEIMv2 splits what one convolution gives."""
    e = _e(c)
    ratio = ratio_of(c, "hidden_expansion", default=1.0)
    to = partial(conv_norm, name, act=act)
    half = e // 2
    wide = e * 2
    if ratio != 1:
        meaning = f"hidden_expansion = {ratio:g} times {int(e)}, halved"
        spelled = "hidden_expansion * encoder_hidden_dim / 2"
        half = named(round(ratio * int(e) // 2), spelled, meaning)
    deep = ratio_of(c, "depth_mult", default=1.0)
    rep = rt_detr.rep_block(name, half, act)
    blocks = {"bottlenecks": nn.ModuleList([rep] * round(3 * deep))}
    between = to(half, half, 3)

    def chain(inputs: Dim) -> nn.Module:
        ways = {"conv1": to(inputs, half, 1), "conv2": to(inputs, half, 1)}
        if name == _FINE:
            return nn.Module(f"{name}CSPRepLayer", {**ways, **blocks, "conv3": _NOTHING})
        ends = between if c.flag("encoder_has_trailing_conv", default=True) else _NOTHING
        parts = {"conv1": to(inputs, half * 2, 1), **blocks, "conv2": ends}
        return nn.Module(f"{name}CSPRepLayer", parts)

    first = chain(e)
    second = chain(half)
    last = to(wide + 2 * half, e, 1)
    if name == _DEIM:
        parts = {"conv1": to(e, wide, 1), "csp_rep1": first, "csp_rep2": second, "conv2": last}
        return nn.Module(f"{name}RepNCSPELAN5", parts)
    parts = {"conv1": to(wide, wide, 1), "csp_rep1": first, "conv2": between, "csp_rep2": second}
    return nn.Module(f"{name}RepNCSPELAN4", {**parts, "conv3": between, "conv4": last})


def encoder(name: str, c: ModelConfig, lite: bool) -> nn.Module:
    """A lite one has no attention, and two fusions in all."""
    e = _e(c)
    maps = c.dims("encoder_in_channels", default=(512, 1024, 2048))
    fused = fusion(name, c, act := c.text("activation_function", default="silu"))
    if lite:
        flat = conv_norm(name, e, e, 1, act)
        pool = nn.Activation("AvgPool2d")
        inward = nn.ModuleList(conv_norm(name, width, e, 1, None) for width in maps)
        down = {"down_pool1": pool, "down_conv1": flat, "down_pool2": pool, "down_conv2": flat}
        mixing = {"bi_fusion_conv": flat, "fpn_block": fused, "pan_block": fused}
        return nn.Module(f"{name}LiteEncoder", {"input_proj": inward, **down, **mixing})
    flat = conv_norm(name, e, e, 1, None)
    halved = conv_norm(name, e, e, 3, None, groups=e)
    smaller = nn.Module(f"{name}SCDown", conv1=flat, conv2=halved)
    deim = name == _DEIM
    attended = {"aifi" if deim else "encoder": rt_detr.attended(name, c, listed=deim)}
    mixing = rt_detr.mixed(len(maps) - 1, flat, fused, smaller)
    return nn.Module(f"{name}HybridEncoder", {**attended, **mixing})


def decoder_layer(name: str, c: ModelConfig) -> nn.Module:
    d = _d(c)
    inner = c.dim("decoder_ffn_dim", default=1024)
    deim = name == _DEIM
    levels = c.count("num_feature_levels", default=3, minimum=1)
    key = "decoder_n_points"
    if isinstance(c.raw(key), list):
        first, *rest = c.dims(key, minimum=0, count=levels)
        points = sum(rest, start=first)  # of one head, all levels together
    else:
        points = levels * c.count(key, default=4, minimum=1)
    all_points = deformable.heads(c, "decoder_attention_heads", d) * points
    normed = nn.RMSNorm(d, class_name=f"{name}RMSNorm") if deim else deformable.norm(c, d)
    weights = nn.Linear(2 * d, 2 * d, component=Component.ATTENTION, kind="gate")
    gate = nn.Module(f"{name}Gate", gate=weights, norm=normed if deim else nn.LayerNorm(d))
    gated = not deim or c.flag("use_gateway", default=True)
    fed = {"mlp": gated_mlp(f"{name}SwiGLUFFN", d, inner // 2, bias=True)}
    look = deformable.sampling_attention(name, d, all_points, num_points_scale=nn.Buffer(points))
    out = "o_proj" if deim else "out_proj"
    parts = {
        "self_attn": clip_attention(f"{name}SelfAttention", d, out=out),
        "self_attn_layer_norm": normed,
        "encoder_attn": look.without("value_proj", "output_proj"),
        **(fed if deim else deformable.up_down(d, inner)),
        "final_layer_norm": normed,
        **({"gateway": gate} if gated else {"encoder_attn_layer_norm": normed}),
    }
    return nn.Module(f"{name}DecoderLayer", parts)


def _last(c: ModelConfig) -> tuple[int, int]:
    """How many layers the decoder has, and the one whose boxes count."""
    count = int(c.count("decoder_layers", default=6))
    index = int(c.number("eval_idx", default=-1))
    return count, index if index >= 0 else count + index


def backbone(name: str, c: ModelConfig, lite: bool, levels: int) -> dict[str, nn.Module]:
    """The backbone and its maps at the encoder's width. DINOv3 has one map of everything, next to
    which stand three of the picture itself."""
    e = _e(c)
    section = c.section("backbone_config")
    if name == _DEIM and section.model_type == "dinov3_vit":
        to = partial(conv_norm, _DEIM, act=None)
        wide = section.dim("hidden_size", default=384)
        width = c.dim("spatial_tuning_adapter_inplanes", default=16)
        parts = {"stem_conv": to(3, width, 3, act="gelu"), "stem_pool": nn.Activation("MaxPool2d")}
        for i, (before, after) in enumerate(((1, 2), (2, 4), (4, 4)), 2):
            parts[f"conv{i}"] = to(before * width, after * width, 3)
        gelu = nn.Activation("GELU")
        encoder = nn.Module(
            f"{_DEIM}DINOv3ConvEncoder",
            backbone=auto_class(section, "Backbone", part="vision"),
            spatial_tuning_adapter=nn.Module(f"{_DEIM}SpatialTuningAdapter", parts, act_fn=gelu),
            fusion_proj=nn.ModuleList(to(wide + width * factor, e, 1) for factor in (2, 4, 4)),
        )
        return {"conv_encoder": encoder}
    network, sizes = rt_detr.backbone_of(name, c, "hgnet_v2")
    if name == _DEIM:
        inward = partial(conv_norm, name, kernel=1, act=None, component=Component.PROJECTOR)
        maps = nn.ModuleList(_NOTHING if lite else inward(size, e) for size in sizes)
        return {"conv_encoder": network.adding(encoder_input_proj=maps)}
    if len(sizes) < levels:
        raise c.error("decoder_in_channels", levels, f"at most {len(sizes)} widths")
    maps = nn.ModuleList(rt_detr.projection(size, e) for size in sizes[:levels])
    return {"backbone": network, "encoder_input_proj": maps}


def model(name: str, c: ModelConfig) -> nn.Module:
    fine = name == _FINE
    d = _d(c)
    (count, last) = _last(c)
    widths = c.dims("decoder_in_channels", default=(256, 256, 256), least=1)
    lite = not fine and c.text("encoder_type", default="hybrid") == "lite"
    box = partial(mlp, name, ending="MLPPredictionHead" if fine else "MLP")
    bins = 4 * (c.dim("top_prob_values", default=4) + 1)
    inner = c.dim("lqe_hidden_dim", default=64)
    deep = int(c.count("lqe_layers", default=2))
    quality = nn.Module(f"{name}LQE", reg_conf=mlp(name, bins, *[inner] * (deep - 1), 1))
    length = max(count, 0) + max(count - last - 1, 0)
    scale = nn.Weight(1, kind="scale")
    places = box(4, *((2 * d, d) if fine else (d, d, d)))
    before = mlp(name, d, d, d, 4)
    parts = {"layers": nn.Layers.of(length, decoder_layer(name, c)), "query_pos_head": places}
    decoder = nn.Module(f"{name}Decoder", parts, reg_scale=scale, pre_bbox_head=before, up=scale)
    decoder.adding(lqe_layers=nn.ModuleList([quality] * count))
    # The encoder's maps at the decoder's width, where that is another than that of the last.
    more = int(c.count("num_feature_levels", default=3, minimum=1)) - len(widths)
    to = partial(rt_detr.projection, widths[-1], d)
    if not fine:
        to = partial(conv_norm, name, widths[-1], d, act=None, component=Component.PROJECTOR)
    same = int(d) == int(widths[-1])
    kernels = [1] * len(widths) + [3] * more
    return nn.Module(
        f"{name}Model",
        backbone(name, c, lite, len(widths))
        | {"encoder": encoder(name, c, lite), **rt_detr.guesses(c, box(d, d, d, 4))},
        decoder=decoder,
        decoder_input_proj=nn.ModuleList(_NOTHING if same else to(kernel) for kernel in kernels),
        part="vision",
    )


def object_detection(name: str, c: ModelConfig) -> nn.Module:
    """Labels and edges after every layer, which the decoder holds and the top as well."""
    d = _d(c)
    (count, last) = _last(c)
    if not 0 <= last < count:
        raise c.error("eval_idx", c.raw("eval_idx"), "the index of a layer")
    scale = ratio_of(c, "layer_scale", default=1.0)
    wide = d if scale == 1 else exact(round(scale * int(d)))
    bins = 4 * (c.dim("max_num_bins", default=32) + 1)
    shared = name == _DEIM and c.flag("share_bbox_head", default=False)
    if shared and not c.tied():
        raise c.error("tie_word_embeddings", False, "true where share_bbox_head is")
    widths = [d] * count if shared else [d] * (last + 1) + [wide] * max(count - last - 1, 0)

    def edges(i: int, tied_to: str | None) -> nn.Module:
        if shared and i and tied_to is None:
            tied_to = "model.decoder.bbox_embed.0"
        return deformable.predictor(name, (*[widths[i]] * 3, bins), tied_to, ending="MLP")

    base = model(name, c)
    base.inside("decoder").children |= layer_heads(c, d, count, edges)
    tops = layer_heads(c, d, count, edges, "model.decoder" if c.tied() else None)
    return nn.Module(f"{name}ForObjectDetection", {"model": base, **tops}, part="vision")


for model_type, prefix in (("d_fine", _FINE), ("deimv2", _DEIM)):
    detector = partial(object_detection, prefix)
    base = partial(model, prefix)
    register_pair(model_type, prefix, detector, base, "vision", ending="ForObjectDetection")
