"""RT-DETR and RT-DETRv2 (Zhao et al. 2023; Lv et al. 2024): an encoder that attends to its coarsest
maps only and mixes all of them by convolutions, and Deformable DETR's decoder, whose queries are
the encoder's best places. Source of shapes: transformers/models/rt_detr and rt_detr_v2."""

from functools import partial

from ..layers import deformable
from ..layers.backbones import backbone
from ..layers.blocks import activation, size
from ..layers.deformable import conv_norm, eps, layer_heads, predictor, width
from ..layers.vision import clip_attention, scaled
from ..trees import Component, Dim, ModelConfig, register_pair
from ..trees import modules as nn
from .detr import freeze

_SECOND = "RTDetrV2"
width_inside = size("encoder_hidden_dim", default=256)


def rep_block(name: str, width: Dim, act: str | None) -> nn.Module:
    """Two convolutions next to each other (RepVGG: Ding et al. 2021): 10·W² weights."""
    wide, point = (conv_norm(name, width, width, kernel, None) for kernel in (3, 1))
    return nn.Module(f"{name}RepVggBlock", conv1=wide, conv2=point, activation=activation(act))


def fusion_block(name: str, c: ModelConfig, d: Dim, act: str | None) -> nn.Module:
    """Two maps next to each other, three RepVGG blocks, one map."""
    inner = scaled(c, d, "hidden_expansion", default=1.0)
    rep = rep_block(name, inner, act)
    first = conv_norm(name, 2 * d, inner, 1, act)
    last = conv_norm(name, inner, d, 1, act) if int(inner) != int(d) else nn.Activation("Identity")
    parts = {"conv1": first, "conv2": first, "bottlenecks": nn.Sequential(rep, rep, rep)}
    return nn.Module(f"{name}CSPRepLayer", parts, conv3=last)


def mixed(steps: int, flat: nn.Module, fused: nn.Module, less: nn.Module) -> dict[str, nn.Module]:
    """The maps mixed from coarse to fine and back, ``steps`` times each."""
    back = {"downsample_convs": less, "pan_blocks": fused}
    parts = {"lateral_convs": flat, "fpn_blocks": fused, **back}
    return {name: nn.ModuleList([module] * steps) for name, module in parts.items()}


def attended(name: str, c: ModelConfig, *, listed: bool = False) -> nn.Module:
    """Attention within each map; ``listed``: files have an MLP's matrices in a list, and o_proj."""
    d = width_inside(c)
    inner = c.dim("encoder_ffn_dim", default=1024)
    heads = c.dim("encoder_attention_heads", "num_attention_heads", default=8)
    c.divided(d, heads, "encoder_hidden_dim", "encoder_attention_heads")
    look = clip_attention(f"{name}SelfAttention", d, out="o_proj" if listed else "out_proj")
    layer = deformable.detector_layer(f"{name}EncoderLayer", d, inner, look, eps=eps(c))
    if listed:
        both = nn.ModuleList(layer.inside(at) for at in ("fc1", "fc2"))
        mlp = nn.Module(f"{name}MLP", layers=both, component=Component.MLP)
        layer = layer.without("fc1", "fc2").adding(mlp=mlp)
    layers = nn.Layers.of(c.count("encoder_layers", default=1), layer)
    projected = c.dims("encode_proj_layers", default=(2,), minimum=0)
    return nn.ModuleList([nn.Module(f"{name}AIFILayer", layers=layers)] * len(projected))


def projection(inputs: int, outputs: int, kernel: int = 1) -> nn.Module:
    """A map at another width, with a batch norm."""
    conv = nn.Conv(inputs, outputs, kernel, bias=False, component=Component.PROJECTOR)
    return nn.Sequential(conv, nn.BatchNorm(outputs))


def model(name: str, c: ModelConfig) -> nn.Module:
    d = width(c)
    e = width_inside(c)
    (network, sizes) = backbone_of(name, c, "rt_detr_resnet")
    act = c.text("activation_function", default="silu")
    deep = c.count("decoder_layers", default=6)
    flat, smaller = (conv_norm(name, e, e, kernel, act) for kernel in (1, 3))
    steps = len(c.dims("encoder_in_channels", default=(512, 1024, 2048))) - 1
    mixing = mixed(steps, flat, fusion_block(name, c, e, act), smaller)
    levels = c.dim("decoder_n_levels" if name == _SECOND else "num_feature_levels", default=3)
    per_head = levels * c.dim("decoder_n_points", default=4)
    points = deformable.heads(c, "decoder_attention_heads", d) * per_head
    scale = nn.Buffer(per_head) if name == _SECOND else None
    cross = deformable.sampling_attention(name, d, points, n_points_scale=scale)
    look = clip_attention(f"{name}SelfAttention", d)
    inner = c.dim("decoder_ffn_dim", default=1024)
    layer = deformable.detector_layer(f"{name}DecoderLayer", d, inner, look, cross, eps=eps(c))
    places = predictor(name, (4, 2 * d, d))
    # Further maps are made from the encoder's last.
    maps = c.dims("decoder_in_channels", default=(256, 256, 256), least=1)
    more = max(int(c.count("num_feature_levels", default=3, minimum=1)) - len(maps), 0)
    further = [projection(size, d, 3) for size in (maps[-1], *[d] * more)[:more]]
    parts = {
        "backbone": network,
        "encoder_input_proj": nn.ModuleList(projection(size, e) for size in sizes),
        "encoder": nn.Module(f"{name}HybridEncoder", {"encoder": attended(name, c), **mixing}),
        **guesses(c, predictor(name, (d, d, d, 4))),
        "decoder_input_proj": nn.ModuleList([*(projection(size, d) for size in maps), *further]),
    }
    decoder = nn.Module(f"{name}Decoder", layers=nn.Layers.of(deep, layer), query_pos_head=places)
    return nn.Module(f"{name}Model", parts, decoder=decoder, part="vision")


def backbone_of(name: str, c: ModelConfig, kind: str) -> tuple[nn.Module, tuple[Dim, ...]]:
    """The backbone, with frozen norms unless the config says otherwise, and its maps' widths."""
    section = c.section("backbone_config", default={"model_type": kind, "out_indices": [2, 3, 4]})
    network, sizes = backbone(section, default_type=kind)
    if c.flag("freeze_backbone_batch_norms", default=True):
        freeze(network, name)
    return nn.Module(f"{name}ConvEncoder", model=network), sizes


def guesses(c: ModelConfig, boxes: nn.Module) -> dict[str, nn.Module]:
    """What the encoder's best places say, and the queries that training adds."""
    d = width(c)
    learned = c.flag("learn_initial_query", default=False)
    tables = {
        "denoising_class_embed": c.count("num_denoising", default=100) and c.num_labels + 1,
        "weight_embedding": c.dim("num_queries", default=300) if learned else 0,
    }
    embeddings = {k: nn.Embedding(n, d, kind="detection_token") for k, n in tables.items() if n}
    embeddings["enc_output"] = nn.Sequential(nn.Linear(d, d), deformable.norm(c, d))
    return {**embeddings, "enc_score_head": deformable.label_scores(c, d), "enc_bbox_head": boxes}


def object_detection(name: str, c: ModelConfig) -> nn.Module:
    """Labels and boxes after every layer, which the decoder holds; in V2 the top as well."""
    d = width(c)
    count = int(c.count("decoder_layers", default=6))
    base = model(name, c)
    sizes = (d, d, d, 4)
    make_heads = partial(layer_heads, c, d, count, lambda _, at: predictor(name, sizes, at))
    base.inside("decoder").children |= make_heads()
    tops = make_heads("model.decoder" if c.tied() else None) if name == _SECOND else {}
    return nn.Module(f"{name}ForObjectDetection", {"model": base, **tops}, part="vision")


for model_type, prefix in (("rt_detr", "RTDetr"), ("rt_detr_v2", _SECOND)):
    detector = partial(object_detection, prefix)
    base = partial(model, prefix)
    register_pair(model_type, prefix, detector, base, "vision", ending="ForObjectDetection")
