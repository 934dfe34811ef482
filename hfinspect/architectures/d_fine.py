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
from ..layers.blocks import activation, gated_mlp, size
from ..layers.deformable import layer_heads, predictor
from ..layers.deformable import width as _d
from ..layers.vision import MAX_RATIO, clip_attention
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
)
from . import rt_detr

_FINE, _DEIM, _P = "DFine", "Deimv2", Component.PROJECTOR
#: What the config classes make of an absent backbone_config.
BACKBONE = {"model_type": "hgnet_v2", "out_indices": [2, 3, 4]}


_e = size("encoder_hidden_dim", default=256)


def _eps(c: ModelConfig) -> float:
    return c.number("layer_norm_eps", default=1e-5)


def _conv(
    name: str, c: ModelConfig, inputs: int, outputs: int, kernel: int, *, act: bool = True,
    groups: int = 1,
) -> Module:  # fmt: skip
    word = c.text("activation_function", default="silu") if act else None
    return rt_detr.conv_norm(name, inputs, outputs, kernel, word, groups=groups)


def layers_of(name: str, *sizes: int) -> Module:
    """Linear layers from size to size, numbered, with an activation between them."""
    made = predictor(name, sizes, ending="")
    made.children["act"] = Activation("ReLU")
    return made


# ---- encoder


def _repeated(c: ModelConfig) -> int:
    depth = c.number("depth_mult", default=1.0)
    if not 0 <= depth <= MAX_RATIO:
        raise c.error("depth_mult", depth, f"0 to {MAX_RATIO:,}")
    return round(3 * depth)


def chain(name: str, c: ModelConfig, inputs: Dim, width: Dim) -> Module:
    """Two ways, one of them through RepVGG blocks; DEIMv2 splits what one convolution gives."""
    rep = Module(
        f"{name}RepVggBlock",
        conv1=_conv(name, c, width, width, 3, act=False),
        conv2=_conv(name, c, width, width, 1, act=False),
        activation=activation(c.text("activation_function", default="silu")),
    )
    blocks = ModuleList([rep] * _repeated(c))
    if name == _FINE:
        first = _conv(name, c, inputs, width, 1)
        parts = {"conv1": first, "conv2": first, "bottlenecks": blocks}
        return Module(f"{name}CSPRepLayer", {**parts, "conv3": Activation("Identity")})
    last = c.flag("encoder_has_trailing_conv", default=True)
    return Module(
        f"{name}CSPRepLayer",
        conv1=_conv(name, c, inputs, width * 2, 1),
        bottlenecks=blocks,
        conv2=_conv(name, c, width, width, 3) if last else Activation("Identity"),
    )


def fusion(name: str, c: ModelConfig) -> Module:
    """Two chains one after the other, and all that they give next to each other."""
    e, ratio = _e(c), c.number("hidden_expansion", default=1.0)
    if not 0 <= ratio <= MAX_RATIO:
        raise c.error("hidden_expansion", ratio, f"0 to {MAX_RATIO:,}")
    half = e // 2
    if ratio != 1:
        meaning = f"hidden_expansion = {ratio:g} times {int(e)}, halved"
        half = named(
            round(ratio * int(e) // 2), "hidden_expansion * encoder_hidden_dim / 2", meaning
        )
    wide = e * 2
    first, second = chain(name, c, e, half), chain(name, c, half, half)
    last = _conv(name, c, wide + 2 * half, e, 1)
    if name == _FINE:
        between = _conv(name, c, half, half, 3)
        return Module(
            f"{name}RepNCSPELAN4",
            conv1=_conv(name, c, wide, wide, 1),
            csp_rep1=first,
            conv2=between,
            csp_rep2=second,
            conv3=between,
            conv4=last,
        )
    parts = {"conv1": _conv(name, c, e, wide, 1), "csp_rep1": first, "csp_rep2": second}
    return Module(f"{name}RepNCSPELAN5", {**parts, "conv2": last})


def attention_layer(name: str, c: ModelConfig) -> Module:
    e, inner = _e(c), c.dim("encoder_ffn_dim", default=1024)
    heads = c.dim("encoder_attention_heads", "num_attention_heads", default=8)
    c.divided(e, heads, "encoder_hidden_dim", "encoder_attention_heads")
    norms = [LayerNorm(e, eps=_eps(c)) for _ in range(2)]
    look = {"self_attn": attention(name, e), "self_attn_layer_norm": norms[0]}
    last = {**forward(name, e, inner), "final_layer_norm": norms[1]}
    return Module(f"{name}EncoderLayer", {**look, **last})


def attention(name: str, d: Dim) -> Module:
    made = clip_attention(f"{name}SelfAttention", d)
    if name == _DEIM:
        made.children["o_proj"] = made.children.pop("out_proj")
    return made


def forward(name: str, d: Dim, inner: Dim) -> dict[str, Module]:
    """Two linear layers; D-FINE's files name them one by one."""
    up = Linear(d, inner, component=Component.MLP, kind="up")
    down = Linear(inner, d, component=Component.MLP, kind="down")
    if name == _FINE:
        return {"fc1": up, "fc2": down}
    return {"mlp": Module(f"{name}MLP", layers=ModuleList([up, down]), component=Component.MLP)}


def hybrid_encoder(name: str, c: ModelConfig) -> Module:
    e, widths = _e(c), c.dims("encoder_in_channels", default=(512, 1024, 2048))
    layers = Layers.of(c.count("encoder_layers", default=1), attention_layer(name, c))
    attended = Module(f"{name}AIFILayer", layers=layers)
    projected = c.dims("encode_proj_layers", default=(2,), minimum=0)
    flat = _conv(name, c, e, e, 1, act=False)
    halved = Module(f"{name}SCDown", conv1=flat, conv2=_conv(name, c, e, e, 3, act=False, groups=e))
    return Module(
        f"{name}HybridEncoder",
        {
            "encoder" if name == _FINE else "aifi": ModuleList([attended] * len(projected)),
            **rt_detr.mixed(len(widths) - 1, lateral=flat, fused=fusion(name, c), smaller=halved),
        },
    )


def lite_encoder(c: ModelConfig) -> Module:
    """No attention, and two fusions in all."""
    e, name = _e(c), _DEIM
    widths = c.dims("encoder_in_channels", default=(512, 1024, 2048))
    flat, fused = _conv(name, c, e, e, 1), fusion(name, c)
    pool = Activation("AvgPool2d")
    return Module(
        f"{name}LiteEncoder",
        input_proj=ModuleList(_conv(name, c, width, e, 1, act=False) for width in widths),
        down_pool1=pool,
        down_conv1=flat,
        down_pool2=pool,
        down_conv2=flat,
        bi_fusion_conv=flat,
        fpn_block=fused,
        pan_block=fused,
    )


# ---- decoder


def _points(c: ModelConfig) -> Dim:
    """Of one head, all levels together."""
    levels = c.count("num_feature_levels", default=3, minimum=1)
    if not isinstance(c.raw("decoder_n_points"), list):
        return levels * c.count("decoder_n_points", default=4, minimum=1)
    found = c.dims("decoder_n_points", minimum=0)
    if len(found) != int(levels):
        raise c.error("decoder_n_points", c.raw("decoder_n_points"), f"{levels} entries")
    total = found[0]
    for more in found[1:]:
        total = total + more
    return total


def decoder_layer(name: str, c: ModelConfig) -> Module:
    d, inner, points = _d(c), c.dim("decoder_ffn_dim", default=1024), _points(c)
    heads, deim = c.dim("decoder_attention_heads", default=8), name == _DEIM
    c.divided(d, heads, "d_model", "decoder_attention_heads")

    def norm() -> Module:
        made = RMSNorm(d, class_name=f"{name}RMSNorm")
        return made if deim else LayerNorm(d, eps=_eps(c))

    gate = Module(
        f"{name}Gate",
        gate=Linear(2 * d, 2 * d, component=Component.ATTENTION, kind="gate"),
        norm=norm() if deim else LayerNorm(d),
    )
    gated = not deim or c.flag("use_gateway", default=True)
    mlp = gated_mlp(f"{name}SwiGLUFFN", d, inner // 2, bias=True)
    return Module(
        f"{name}DecoderLayer",
        {
            "self_attn": attention(name, d),
            "self_attn_layer_norm": norm(),
            "encoder_attn": Module(
                f"{name}MultiscaleDeformableAttention",
                num_points_scale=Buffer(points),
                sampling_offsets=Linear(d, heads * points * 2),
                attention_weights=Linear(d, heads * points),
                component=Component.ATTENTION,
            ),
            **({"mlp": mlp} if deim else forward(name, d, inner)),
            "final_layer_norm": norm(),
            **({"gateway": gate} if gated else {"encoder_attn_layer_norm": norm()}),
        },
    )


def _last(c: ModelConfig) -> tuple[int, int]:
    """How many layers the decoder has, and the one whose boxes count."""
    count = int(c.count("decoder_layers", default=6))
    index = int(c.number("eval_idx", default=-1))
    return count, index if index >= 0 else count + index


def decoder(name: str, c: ModelConfig) -> Module:
    d, head = _d(c), f"{name}MLP"
    count, last = _last(c)
    length = max(count, 0) + max(count - last - 1, 0)
    kept = 4 * (c.dim("top_prob_values", default=4) + 1)
    inner, depth = c.dim("lqe_hidden_dim", default=64), int(c.count("lqe_layers", default=2))
    sizes = [kept, *[inner] * (depth - 1), 1]
    quality = Module(f"{name}LQE", reg_conf=layers_of(head, *sizes))
    places = (
        layers_of(f"{name}MLPPredictionHead", 4, 2 * d, d)
        if name == _FINE
        else layers_of(head, 4, d, d, d)
    )
    return Module(
        f"{name}Decoder",
        layers=Layers.of(length, decoder_layer(name, c)),
        query_pos_head=places,
        reg_scale=Weight(1, kind="scale"),
        pre_bbox_head=layers_of(head, d, d, d, 4),
        up=Weight(1, kind="scale"),
        lqe_layers=ModuleList([quality] * count),
    )


# ---- together


def adapter(c: ModelConfig) -> Module:
    """Three maps of the picture itself, for a backbone that has one of everything."""
    name, width = _DEIM, c.dim("spatial_tuning_adapter_inplanes", default=16)

    def step(inputs: Dim, outputs: Dim) -> Module:
        return rt_detr.conv_norm(name, inputs, outputs, 3, None)

    return Module(
        f"{name}SpatialTuningAdapter",
        stem_conv=rt_detr.conv_norm(name, 3, width, 3, "gelu"),
        stem_pool=Activation("MaxPool2d"),
        conv2=step(width, 2 * width),
        conv3=step(2 * width, 4 * width),
        conv4=step(4 * width, 4 * width),
        act_fn=Activation("GELU"),
    )


def conv_encoder(c: ModelConfig) -> Module:
    """DEIMv2's backbone, whose maps come to the encoder's width."""
    name, e, lite = _DEIM, _e(c), c.text("encoder_type", default="hybrid") == "lite"
    section = c.section("backbone_config", default=BACKBONE)
    if section.model_type == "dinov3_vit":
        width = c.dim("spatial_tuning_adapter_inplanes", default=16)
        wide = section.dim("hidden_size", default=384)
        sizes = [wide + width * factor for factor in (2, 4, 4)]
        return Module(
            f"{name}DINOv3ConvEncoder",
            backbone=auto_class(section, "Backbone", part="vision"),
            spatial_tuning_adapter=adapter(c),
            fusion_proj=ModuleList(_conv(name, c, size, e, 1, act=False) for size in sizes),
        )
    found, sizes_seen = rt_detr.seen(name, c, BACKBONE)
    projections = [
        Activation("Identity") if lite else rt_detr.conv_norm(name, size, e, 1, None, component=_P)
        for size in sizes_seen
    ]
    found.children["encoder_input_proj"] = ModuleList(projections)
    return found


def seen(c: ModelConfig) -> dict[str, Module]:
    """D-FINE's backbone, and its maps at the encoder's width."""
    (network, sizes), wanted = rt_detr.seen(_FINE, c, BACKBONE), len(_inputs(c))
    if len(sizes) < wanted:
        raise c.error("decoder_in_channels", wanted, f"at most {len(sizes)} widths")
    maps = ModuleList(rt_detr.projection(size, _e(c), 1) for size in sizes[:wanted])
    return {"backbone": network, "encoder_input_proj": maps}


def _inputs(c: ModelConfig) -> tuple[Dim, ...]:
    found = c.dims("decoder_in_channels", default=(256, 256, 256))
    if not found:
        raise c.error("decoder_in_channels", [], "at least one width")
    return found


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
            made.append(rt_detr.conv_norm(name, widths[-1], d, kernel, None, component=_P))
    return ModuleList(made)


def model(name: str, c: ModelConfig) -> Module:
    d, lite = _d(c), name == _DEIM and c.text("encoder_type", default="hybrid") == "lite"
    box = f"{name}MLPPredictionHead" if name == _FINE else f"{name}MLP"
    return Module(
        f"{name}Model",
        {
            **(seen(c) if name == _FINE else {"conv_encoder": conv_encoder(c)}),
            "encoder": lite_encoder(c) if lite else hybrid_encoder(name, c),
            **rt_detr.guesses(c, layers_of(box, d, d, d, 4)),
            "decoder": decoder(name, c),
            "decoder_input_proj": projections(name, c),
        },
        part="vision",
    )


def object_detection(name: str, c: ModelConfig) -> Module:
    """Labels and edges after every layer, which the decoder holds and the top as well, tied unless
    the config says otherwise."""
    d, (count, last) = _d(c), _last(c)
    if last < 0:
        raise c.error("eval_idx", c.raw("eval_idx"), "the index of a layer")
    scale = c.number("layer_scale", default=1.0)
    if not 0 < scale <= MAX_RATIO:
        raise c.error("layer_scale", scale, f"above 0 and at most {MAX_RATIO:,}")
    wide = d if scale == 1 else exact(round(scale * int(d)))
    bins = 4 * (c.dim("max_num_bins", default=32) + 1)
    shared = name == _DEIM and c.flag("share_bbox_head", default=False)
    if shared and not c.tied(default=True):
        raise c.error("tie_word_embeddings", False, "true where share_bbox_head is")
    widths = [d] * count if shared else [d] * (last + 1) + [wide] * max(count - last - 1, 0)

    def edges(i: int, tied_to: str | None) -> Module:
        if shared and i and tied_to is None:
            tied_to = "model.decoder.bbox_embed.0"
        return predictor(name, (*[widths[i]] * 3, bins), tied_to, ending="MLP")

    base = model(name, c)
    base.inside("decoder").children |= layer_heads(c, d, count, edges)
    tops = layer_heads(c, d, count, edges, "model.decoder" if c.tied(default=True) else None)
    return Module(f"{name}ForObjectDetection", {"model": base, **tops}, part="vision")


for model_type, prefix in (("d_fine", _FINE), ("deimv2", _DEIM)):
    whole, base = partial(object_detection, prefix), partial(model, prefix)
    register_pair(model_type, prefix, whole, base, "vision", ending="ForObjectDetection")
