"""RT-DETR and RT-DETRv2 (Zhao et al. 2023; Lv et al. 2024): a detector for real time.
Source of shapes: transformers/models/rt_detr and rt_detr_v2.

A ResNet with a deep stem, an encoder that attends to its coarsest maps only and mixes all of them
by convolutions, and Deformable DETR's decoder, whose queries are the encoder's best places.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.backbones import backbone
from ..layers.blocks import activation
from ..layers.deformable import label_scores, predictor, sampling_attention
from ..layers.vision import clip_attention, scaled
from ..trees.catalog import Builder, register
from ..trees.modules import (
    Activation,
    BatchNorm,
    Buffer,
    Conv,
    Embedding,
    LayerNorm,
    Layers,
    Linear,
    Module,
    ModuleList,
    Sequential,
)
from .detr import freeze

#: What the config classes make of an absent backbone_config.
BACKBONE = {"model_type": "rt_detr_resnet", "out_indices": [2, 3, 4]}


# ---- encoder


def conv_norm(
    name: str, inputs: int, outputs: int, kernel: int, act: str | None, *, groups: int = 1,
    component: Component = Component.CONV,
) -> Module:  # fmt: skip
    return Module(
        f"{name}ConvNormLayer",
        conv=Conv(inputs, outputs, kernel, groups=groups, bias=False, component=component),
        norm=BatchNorm(outputs),
        activation=activation(act) if act else Activation("Identity"),
    )


def fusion_block(name: str, c: ModelConfig, d: Dim) -> Module:
    """Two maps next to each other, three RepVGG blocks, one map."""
    inner = scaled(c, d, "hidden_expansion", default=1.0)
    act = c.text("activation_function", default="silu")
    rep = Module(
        f"{name}RepVggBlock",
        conv1=conv_norm(name, inner, inner, 3, None),
        conv2=conv_norm(name, inner, inner, 1, None),
        activation=activation(act),
    )
    last = conv_norm(name, inner, d, 1, act) if int(inner) != int(d) else Activation("Identity")
    return Module(
        f"{name}CSPRepLayer",
        conv1=conv_norm(name, 2 * d, inner, 1, act),
        conv2=conv_norm(name, 2 * d, inner, 1, act),
        bottlenecks=Sequential(rep, rep, rep),
        conv3=last,
    )


def attention_layer(name: str, c: ModelConfig, d: Dim, inner: Dim) -> Module:
    eps = c.number("layer_norm_eps", default=1e-5)
    return Module(
        f"{name}EncoderLayer",
        self_attn=clip_attention(f"{name}SelfAttention", d),
        self_attn_layer_norm=LayerNorm(d, eps=eps),
        fc1=Linear(d, inner, component=Component.MLP, kind="up"),
        fc2=Linear(inner, d, component=Component.MLP, kind="down"),
        final_layer_norm=LayerNorm(d, eps=eps),
    )


def _width(c: ModelConfig) -> Dim:
    return c.dim("encoder_hidden_dim", default=256)


def hybrid_encoder(name: str, c: ModelConfig) -> Module:
    d, act = _width(c), c.text("activation_function", default="silu")
    c.divided(
        d,
        c.dim("encoder_attention_heads", "num_attention_heads", default=8),
        "encoder_hidden_dim",
        "encoder_attention_heads",
    )
    layer = attention_layer(name, c, d, c.dim("encoder_ffn_dim", default=1024))
    attended = Module(
        f"{name}AIFILayer", layers=Layers.of(c.count("encoder_layers", default=1), layer)
    )
    steps = len(c.dims("encoder_in_channels", default=(512, 1024, 2048))) - 1
    fused = fusion_block(name, c, d)
    return Module(
        f"{name}HybridEncoder",
        encoder=ModuleList([attended] * len(c.dims("encode_proj_layers", default=(2,), minimum=0))),
        lateral_convs=ModuleList([conv_norm(name, d, d, 1, act)] * steps),
        fpn_blocks=ModuleList([fused] * steps),
        downsample_convs=ModuleList([conv_norm(name, d, d, 3, act)] * steps),
        pan_blocks=ModuleList([fused] * steps),
    )


# ---- decoder


def decoder_layer(name: str, c: ModelConfig, *, second: bool) -> Module:
    d, eps = c.dim("d_model", "hidden_size", default=256), c.number("layer_norm_eps", default=1e-5)
    heads, inner = (
        c.dim("decoder_attention_heads", default=8),
        c.dim("decoder_ffn_dim", default=1024),
    )
    c.divided(d, heads, "d_model", "decoder_attention_heads")
    levels = c.dim("decoder_n_levels" if second else "num_feature_levels", default=3)
    per_head = levels * c.dim("decoder_n_points", default=4)
    scale = Buffer(per_head) if second else None
    deformable = sampling_attention(name, d, heads * per_head, n_points_scale=scale)
    return Module(
        f"{name}DecoderLayer",
        self_attn=clip_attention(f"{name}SelfAttention", d),
        self_attn_layer_norm=LayerNorm(d, eps=eps),
        encoder_attn=deformable,
        encoder_attn_layer_norm=LayerNorm(d, eps=eps),
        fc1=Linear(d, inner, component=Component.MLP, kind="up"),
        fc2=Linear(inner, d, component=Component.MLP, kind="down"),
        final_layer_norm=LayerNorm(d, eps=eps),
    )


def _projections(c: ModelConfig, d: Dim) -> ModuleList:
    """The encoder's maps at the decoder's width, and further ones made from the last."""
    sizes = list(c.dims("decoder_in_channels", default=(256, 256, 256)))
    more = int(c.count("num_feature_levels", default=3, minimum=1)) - len(sizes)
    if not sizes and more:
        raise c.error("decoder_in_channels", [], "at least one width")
    inputs = [(size, 1) for size in sizes]
    inputs += [(sizes[-1] if i == 0 else d, 3) for i in range(more)]
    return ModuleList(projection(size, d, kernel) for size, kernel in inputs)


def projection(inputs: Dim, outputs: Dim, kernel: int) -> Module:
    return Sequential(
        Conv(inputs, outputs, kernel, bias=False, component=Component.PROJECTOR), BatchNorm(outputs)
    )


def model(name: str, c: ModelConfig, *, second: bool) -> Module:
    d, queries = c.dim("d_model", "hidden_size", default=256), c.dim("num_queries", default=300)
    section = c.section("backbone_config", default=BACKBONE)
    network, sizes = backbone(section, default_type="rt_detr_resnet")
    if c.flag("freeze_backbone_batch_norms", default=True):
        freeze(network, name)
    eps, noise = c.number("layer_norm_eps", default=1e-5), c.count("num_denoising", default=100)
    learned = c.flag("learn_initial_query", default=False)
    layers = Layers.of(c.count("decoder_layers", default=6), decoder_layer(name, c, second=second))
    return Module(
        f"{name}Model",
        backbone=Module(f"{name}ConvEncoder", model=network),
        encoder_input_proj=ModuleList(projection(size, _width(c), 1) for size in sizes),
        encoder=hybrid_encoder(name, c),
        denoising_class_embed=Embedding(c.num_labels + 1, d, kind="detection_token")
        if noise
        else None,
        weight_embedding=Embedding(queries, d, kind="detection_token") if learned else None,
        enc_output=Sequential(Linear(d, d), LayerNorm(d, eps=eps)),
        enc_score_head=label_scores(c, d),
        enc_bbox_head=predictor(name, (d, d, d, 4)),
        decoder_input_proj=_projections(c, d),
        decoder=Module(
            f"{name}Decoder",
            layers=layers,
            query_pos_head=positions(name, d),
        ),
        part="vision",
    )


def positions(name: str, d: Dim) -> Module:
    """A box as an embedding of positions, by two linear layers."""
    layers = ModuleList([Linear(4, 2 * d), Linear(2 * d, d)])
    return Module(f"{name}MLPPredictionHead", layers=layers, component=Component.HEAD)


def object_detection(name: str, c: ModelConfig, *, second: bool) -> Module:
    """Labels and boxes after every layer of the decoder, which holds them; the second version has
    them at the top as well, tied unless the config says otherwise."""
    d, count = (
        c.dim("d_model", "hidden_size", default=256),
        int(c.count("decoder_layers", default=6)),
    )
    root = Module(f"{name}ForObjectDetection", model=model(name, c, second=second), part="vision")

    def heads(tied_to: str | None = None) -> dict[str, Module]:
        labels = [
            label_scores(c, d, tied_to and f"{tied_to}.class_embed.{i}") for i in range(count)
        ]
        boxes = [
            predictor(name, (d, d, d, 4), tied_to and f"{tied_to}.bbox_embed.{i}")
            for i in range(count)
        ]
        return {"class_embed": ModuleList(labels), "bbox_embed": ModuleList(boxes)}

    decoder = root.inside("model", "decoder")
    decoder.children |= heads()
    if second:
        root.children |= heads("model.decoder" if c.tied(default=True) else None)
    return root


def classes(name: str, *, second: bool) -> dict[str, Builder]:
    return {
        f"{name}ForObjectDetection": lambda c: object_detection(name, c, second=second),
        f"{name}Model": lambda c: model(name, c, second=second),
    }


for model_type, prefix, is_second in (
    ("rt_detr", "RTDetr", False),
    ("rt_detr_v2", "RTDetrV2", True),
):
    register(
        model_type,
        classes(prefix, second=is_second),
        base=f"{prefix}Model",
        base_prefix="model",
        category="vision",
    )
