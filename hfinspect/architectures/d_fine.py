"""D-FINE and DEIMv2 (Peng et al. 2024; Huang et al. 2025): RT-DETR that
predicts where a box's edges may lie. Source of shapes: transformers/models/d_fine and deimv2.

A backbone, RT-DETR's encoder with longer chains of blocks, and a decoder whose heads give a
distribution for each edge and refine it layer by layer. DEIMv2 has gated MLPs and RMS norms, and
may see with DINOv3, whose one map convolutions of the picture complete.
"""

from functools import partial

from ..core.components import Component
from ..core.config import ModelConfig, exact
from ..core.dims import Dim, named
from ..layers import deformable
from ..layers.blocks import gated_mlp, size
from ..layers.deformable import conv_norm, layer_heads
from ..layers.deformable import width as _d
from ..layers.vision import clip_attention, ratio_of
from ..trees.catalog import auto_class, register_pair
from ..trees.modules import (
    Activation,
    Buffer,
    LayerNorm,
    Layers,
    Linear,
    Module,
    ModuleList,
    RMSNorm,
    Weight,
    each_module,
)
from . import rt_detr
from .rt_detr import width_inside as _e

_FINE, _DEIM, _P = "DFine", "Deimv2", Component.PROJECTOR
#: What the config classes make of an absent backbone_config.
BACKBONE = {"model_type": "hgnet_v2", "out_indices": [2, 3, 4]}


def _act(c: ModelConfig) -> str | None:
    return c.text("activation_function", default="silu")


def layers_of(name: str, *sizes: int) -> Module:
    """Linear layers from size to size, numbered, with an activation between them."""
    return deformable.predictor(name, sizes, ending="").adding(act=Activation("ReLU"))


def _box(name: str) -> str:
    """The class of a small network that says where a box is."""
    return f"{name}MLPPredictionHead" if name == _FINE else f"{name}MLP"


def chain(name: str, c: ModelConfig, inputs: Dim, width: Dim) -> Module:
    """Two ways, one of them through RepVGG blocks; DEIMv2 splits what one convolution gives."""
    to, rep = partial(conv_norm, name, act=_act(c)), rt_detr.rep_block(name, width, _act(c))
    blocks = ModuleList([rep] * round(3 * ratio_of(c, "depth_mult", default=1.0)))
    nothing, first = Activation("Identity"), to(inputs, width, 1)
    parts = {"conv1": first, "conv2": first, "bottlenecks": blocks, "conv3": nothing}
    if name == _DEIM:
        last = c.flag("encoder_has_trailing_conv", default=True)
        parts = {"conv1": to(inputs, width * 2, 1), "bottlenecks": blocks}
        parts["conv2"] = to(width, width, 3) if last else nothing
    return Module(f"{name}CSPRepLayer", parts)


def fusion(name: str, c: ModelConfig) -> Module:
    """Two chains one after the other, and all that they give next to each other."""
    e, ratio = _e(c), ratio_of(c, "hidden_expansion", default=1.0)
    to, half, wide = partial(conv_norm, name, act=_act(c)), e // 2, e * 2
    if ratio != 1:
        meaning = f"hidden_expansion = {ratio:g} times {int(e)}, halved"
        size = round(ratio * int(e) // 2)
        half = named(size, "hidden_expansion * encoder_hidden_dim / 2", meaning)
    first, second = chain(name, c, e, half), chain(name, c, half, half)
    last, between = to(wide + 2 * half, e, 1), to(half, half, 3)
    if name == _DEIM:
        parts = {"conv1": to(e, wide, 1), "csp_rep1": first, "csp_rep2": second, "conv2": last}
        return Module(f"{name}RepNCSPELAN5", parts)
    parts = {"conv1": to(wide, wide, 1), "csp_rep1": first, "conv2": between, "csp_rep2": second}
    return Module(f"{name}RepNCSPELAN4", {**parts, "conv3": between, "conv4": last})


def _spelled(name: str, module: Module) -> Module:
    """DEIMv2's files list the matrices of an MLP and say o_proj."""
    for inner in each_module(module) if name == _DEIM else ():
        if "out_proj" in inner.children:
            inner.children["o_proj"] = inner.children.pop("out_proj")
        if "fc1" in inner.children:
            both = {str(i): inner.children.pop(f"fc{i + 1}") for i in range(2)}
            layers = Module("ModuleList", both)
            inner.children["mlp"] = Module(f"{name}MLP", layers=layers, component=Component.MLP)
    return module


def hybrid_encoder(name: str, c: ModelConfig) -> Module:
    e = _e(c)
    flat = conv_norm(name, e, e, 1, None)
    halved = Module(f"{name}SCDown", conv1=flat, conv2=conv_norm(name, e, e, 3, None, groups=e))
    mixing = rt_detr.mixed(len(rt_detr.seen_maps(c)) - 1, flat, fusion(name, c), halved)
    attended = {"encoder" if name == _FINE else "aifi": rt_detr.attended(name, c)}
    return _spelled(name, Module(f"{name}HybridEncoder", {**attended, **mixing}))


def lite_encoder(c: ModelConfig) -> Module:
    """No attention, and two fusions in all."""
    e, name, pool = _e(c), _DEIM, Activation("AvgPool2d")
    flat, fused = conv_norm(name, e, e, 1, _act(c)), fusion(name, c)
    maps = [conv_norm(name, width, e, 1, None) for width in rt_detr.seen_maps(c)]
    smaller = {"down_pool1": pool, "down_conv1": flat, "down_pool2": pool, "down_conv2": flat}
    mixing = {"bi_fusion_conv": flat, "fpn_block": fused, "pan_block": fused}
    return Module(f"{name}LiteEncoder", {"input_proj": ModuleList(maps), **smaller, **mixing})


def _points(c: ModelConfig) -> Dim:
    """Of one head, all levels together."""
    levels = c.count("num_feature_levels", default=3, minimum=1)
    if not isinstance(c.raw("decoder_n_points"), list):
        return levels * c.count("decoder_n_points", default=4, minimum=1)
    found = c.dims("decoder_n_points", minimum=0, count=levels)
    return sum(found[1:], start=found[0])


def decoder_layer(name: str, c: ModelConfig) -> Module:
    d, inner, points = _d(c), c.dim("decoder_ffn_dim", default=1024), _points(c)
    deim, all_points = name == _DEIM, deformable.heads(c, "decoder_attention_heads", d) * points
    normed = RMSNorm(d, class_name=f"{name}RMSNorm") if deim else deformable.norm(c, d)
    weights = Linear(2 * d, 2 * d, component=Component.ATTENTION, kind="gate")
    gate = Module(f"{name}Gate", gate=weights, norm=normed if deim else LayerNorm(d))
    gated = not deim or c.flag("use_gateway", default=True)
    mlp = gated_mlp(f"{name}SwiGLUFFN", d, inner // 2, bias=True)
    look = deformable.sampling_attention(name, d, all_points, num_points_scale=Buffer(points))
    look.children = {k: child for k, child in look.children.items() if "_proj" not in k}
    parts = {
        "self_attn": clip_attention(f"{name}SelfAttention", d),
        "self_attn_layer_norm": normed,
        "encoder_attn": look,
        **({"mlp": mlp} if deim else deformable.up_down(d, inner)),
        "final_layer_norm": normed,
        **({"gateway": gate} if gated else {"encoder_attn_layer_norm": normed}),
    }
    return _spelled(name, Module(f"{name}DecoderLayer", parts))


def _last(c: ModelConfig) -> tuple[int, int]:
    """How many layers the decoder has, and the one whose boxes count."""
    count = int(c.count("decoder_layers", default=6))
    index = int(c.number("eval_idx", default=-1))
    return count, index if index >= 0 else count + index


def decoder(name: str, c: ModelConfig) -> Module:
    d, head, (count, last) = _d(c), f"{name}MLP", _last(c)
    length = max(count, 0) + max(count - last - 1, 0)
    kept = 4 * (c.dim("top_prob_values", default=4) + 1)
    inner, depth = c.dim("lqe_hidden_dim", default=64), int(c.count("lqe_layers", default=2))
    quality = Module(f"{name}LQE", reg_conf=layers_of(head, kept, *[inner] * (depth - 1), 1))
    sizes = (2 * d, d) if name == _FINE else (d, d, d)
    return Module(
        f"{name}Decoder",
        layers=Layers.of(length, decoder_layer(name, c)),
        query_pos_head=layers_of(_box(name), 4, *sizes),
        reg_scale=Weight(1, kind="scale"),
        pre_bbox_head=layers_of(head, d, d, d, 4),
        up=Weight(1, kind="scale"),
        lqe_layers=ModuleList([quality] * count),
    )


_adapted = size("spatial_tuning_adapter_inplanes", default=16)


def adapter(c: ModelConfig) -> Module:
    """Three maps of the picture itself, for a backbone that has one of everything."""
    width, to = _adapted(c), partial(conv_norm, _DEIM, kernel=3, act=None)
    stem = {"stem_conv": to(3, width, act="gelu"), "stem_pool": Activation("MaxPool2d")}
    steps = enumerate(((1, 2), (2, 4), (4, 4)), 2)
    convs = {f"conv{i}": to(before * width, after * width) for i, (before, after) in steps}
    parts = {**stem, **convs, "act_fn": Activation("GELU")}
    return Module(f"{_DEIM}SpatialTuningAdapter", parts)


def conv_encoder(c: ModelConfig) -> Module:
    """DEIMv2's backbone, whose maps come to the encoder's width."""
    name, e = _DEIM, _e(c)
    section = c.section("backbone_config", default=BACKBONE)
    if section.model_type == "dinov3_vit":
        wide = section.dim("hidden_size", default=384)
        sizes = [wide + _adapted(c) * factor for factor in (2, 4, 4)]
        return Module(
            f"{name}DINOv3ConvEncoder",
            backbone=auto_class(section, "Backbone", part="vision"),
            spatial_tuning_adapter=adapter(c),
            fusion_proj=ModuleList(conv_norm(name, size, e, 1, None) for size in sizes),
        )
    found, sizes_seen = rt_detr.seen(name, c, BACKBONE)
    projections = [
        Activation("Identity") if _lite(c) else conv_norm(name, size, e, 1, None, component=_P)
        for size in sizes_seen
    ]
    return found.adding(encoder_input_proj=ModuleList(projections))


def _lite(c: ModelConfig) -> bool:
    return c.text("encoder_type", default="hybrid") == "lite"


def seen(c: ModelConfig) -> dict[str, Module]:
    """D-FINE's backbone, and its maps at the encoder's width."""
    (network, sizes), wanted = rt_detr.seen(_FINE, c, BACKBONE), len(_inputs(c))
    if len(sizes) < wanted:
        raise c.error("decoder_in_channels", wanted, f"at most {len(sizes)} widths")
    maps = ModuleList(rt_detr.projection(size, _e(c), 1) for size in sizes[:wanted])
    return {"backbone": network, "encoder_input_proj": maps}


def _inputs(c: ModelConfig) -> tuple[Dim, ...]:
    return c.dims("decoder_in_channels", default=(256, 256, 256), least=1)


def projections(name: str, c: ModelConfig) -> ModuleList:
    """The encoder's maps at the decoder's width, where that is another than that of the last."""
    d, widths = _d(c), _inputs(c)
    more = int(c.count("num_feature_levels", default=3, minimum=1)) - len(widths)
    made = []
    for kernel in [1] * len(widths) + [3] * more:
        if int(d) == int(widths[-1]):
            made.append(Activation("Identity"))
        elif name == _FINE:
            made.append(rt_detr.projection(widths[-1], d, kernel))
        else:
            made.append(conv_norm(name, widths[-1], d, kernel, None, component=_P))
    return ModuleList(made)


def model(name: str, c: ModelConfig) -> Module:
    d, lite = _d(c), name == _DEIM and _lite(c)
    parts = {
        **(seen(c) if name == _FINE else {"conv_encoder": conv_encoder(c)}),
        "encoder": lite_encoder(c) if lite else hybrid_encoder(name, c),
        **rt_detr.guesses(c, layers_of(_box(name), d, d, d, 4)),
        "decoder": decoder(name, c),
        "decoder_input_proj": projections(name, c),
    }
    return Module(f"{name}Model", parts, part="vision")


def object_detection(name: str, c: ModelConfig) -> Module:
    """Labels and edges after every layer, which the decoder holds and the top as well, tied unless
    the config says otherwise."""
    d, (count, last) = _d(c), _last(c)
    if not 0 <= last < count:
        raise c.error("eval_idx", c.raw("eval_idx"), "the index of a layer")
    scale = ratio_of(c, "layer_scale", default=1.0)
    wide = d if scale == 1 else exact(round(scale * int(d)))
    bins = 4 * (c.dim("max_num_bins", default=32) + 1)
    shared = name == _DEIM and c.flag("share_bbox_head", default=False)
    if shared and not c.tied(default=True):
        raise c.error("tie_word_embeddings", False, "true where share_bbox_head is")
    widths = [d] * count if shared else [d] * (last + 1) + [wide] * max(count - last - 1, 0)

    def edges(i: int, tied_to: str | None) -> Module:
        if shared and i and tied_to is None:
            tied_to = "model.decoder.bbox_embed.0"
        return deformable.predictor(name, (*[widths[i]] * 3, bins), tied_to, ending="MLP")

    base = model(name, c)
    base.inside("decoder").children |= layer_heads(c, d, count, edges)
    tops = layer_heads(c, d, count, edges, "model.decoder" if c.tied(default=True) else None)
    return Module(f"{name}ForObjectDetection", {"model": base, **tops}, part="vision")


for model_type, prefix in (("d_fine", _FINE), ("deimv2", _DEIM)):
    whole, base = partial(object_detection, prefix), partial(model, prefix)
    register_pair(model_type, prefix, whole, base, "vision", ending="ForObjectDetection")
