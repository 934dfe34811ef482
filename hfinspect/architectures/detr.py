"""DETR (Carion et al. 2020). Source: transformers/models/detr/modeling_detr.py. The ResNet's batch
norms are frozen: all their tensors are buffers. Without ``backbone_config`` it is timm's, whose
names are those of torchvision."""

from collections.abc import Sequence
from functools import partial
from itertools import pairwise

from ..layers.backbones import backbone as staged_backbone
from ..layers.backbones import older_backbone
from ..layers.blocks import activation
from ..layers.composing import renamed
from ..layers.deformable import detector_layer, positions, predictor, width
from ..layers.heads import classifier
from ..layers.vision import clip_attention
from ..trees import Builder, Component, Dim, ModelConfig, builder, register
from ..trees import modules as nn

#: The plain ResNets of timm, and by how much a block's output is wider than its inside.
RESNETS = {"resnet18": 1, "resnet34": 1, "resnet50": 4, "resnet101": 4, "resnet152": 4}


def freeze(root: nn.Module, name: str = "Detr") -> None:
    """Make batch norms frozen ones, of which nothing is trained: four buffers."""
    for module in nn.each_module(root):
        weight = module.children.get("weight")
        if module.class_name == "BatchNorm2d" and isinstance(weight, nn.Parameter):
            buffers = ("weight", "bias", "running_mean", "running_var")
            module.children = {key: nn.Buffer(*weight.shape) for key in buffers}
            module.class_name = f"{name}FrozenBatchNorm2d"
            module.detail = ""


def backbone(
    c: ModelConfig, channels: int | None = None, maps: Sequence[int] = (1, 2, 3, 4)
) -> tuple[nn.Module, tuple[Dim, ...]]:
    """The ResNet and the widths of what it hands on, the last of which DETR reads. What the config
    class makes of no ``backbone_config`` is mostly one of timm, with ``maps`` of ``channels`` (by
    default ``num_channels``)."""
    channel_count = c.raw("num_channels") if channels is None else channels
    usual = {"num_channels": channel_count, "out_indices": list(maps)}
    section = older_backbone(c, RESNETS.__contains__, "resnet50", **usual)
    if section.kind == "timm_backbone":
        if not section.has("backbone"):
            raise section.missing("backbone")
        name = str(section.raw("backbone"))
        inputs = section.dim("num_channels", default=3)
        if name not in RESNETS:
            raise section.unknown("backbone", name, " or ".join(RESNETS))
        network = builder(name)(ModelConfig({"num_classes": 0})).called("FeatureListNet")
        network.adding(conv1=nn.Conv(inputs, 64, 7, stride=2, bias=False))
        widths = [64, *(64 * 2**stage * RESNETS[name] for stage in range(4))]  # the stem's first
        handed = section.dims("out_indices", default=(-1,), minimum=-5, maximum=4)
        if not {4, -1} & set(map(int, handed)):  # what stands behind the last map is cut off
            raise section.error("out_indices", section.raw("out_indices"), "the last stage in it")
        sizes = tuple(Dim(widths[int(place)]) for place in handed)
    elif section.model_type in (None, "resnet"):
        network, handed = staged_backbone(section, default_type="resnet")
        sizes = handed or section.dims("hidden_sizes", default=(256, 512, 1024, 2048))[-1:]
    else:
        raise section.unknown("model_type", section.model_type, "resnet or timm_backbone")
    freeze(network)
    encoder = nn.Module("DetrConvEncoder", model=network)
    return nn.Module("DetrConvEncoder", conv_encoder=encoder, component=Component.CONV), sizes


def layers(c: ModelConfig, side: str, *count: str) -> nn.Layers:
    """Of the encoder or the decoder."""
    d = width(c)
    inner = c.dim(f"{side}_ffn_dim", default=2048)
    act = activation(c.text("activation_function", default="relu"))
    self_attn, cross = (clip_attention(f"Detr{kind}Attention", d) for kind in ("Self", "Cross"))
    looks = (self_attn, cross) if side == "decoder" else (self_attn,)
    layer = detector_layer(f"Detr{side.capitalize()}Layer", d, inner, *looks, act=act)
    return nn.Layers.of(c.count(f"{side}_layers", *count, default=6), layer)


def model(c: ModelConfig) -> nn.Module:
    d = width(c)
    queries = c.dim("num_queries", default=100)
    (network, sizes) = backbone(c)
    return nn.Module(
        "DetrModel",
        backbone=network,
        position_embedding=positions(c, "Detr"),
        query_position_embeddings=nn.Embedding(queries, d, kind="position"),
        input_projection=nn.Conv(sizes[-1], d, 1, component=Component.PROJECTOR),
        encoder=nn.Module("DetrEncoder", layers=layers(c, "encoder", "num_hidden_layers")),
        decoder=nn.Module("DetrDecoder", layers=layers(c, "decoder"), layernorm=nn.LayerNorm(d)),
        part="vision",
    )


def object_detection(
    c: ModelConfig, name: str = "Detr", build: Builder = model, none: int = 1
) -> nn.Module:
    """One class more than the labels: no object; ``none`` is 0 where each is decided on its own."""
    d = width(c)
    labels = classifier(d, c.num_labels + none if none else c.num_labels)
    heads = {"class_labels_classifier": labels, "bbox_predictor": predictor(name, (d, d, d, 4))}
    return nn.Module(f"{name}ForObjectDetection", {"model": build(c), **heads}, part="vision")


def register_detr(model_type: str, name: str, build: Builder, none: int) -> None:
    detecting = partial(object_detection, name=name, build=build, none=none)

    def segmentation(c: ModelConfig) -> nn.Module:
        """Masks from the attention of each query, sharpened by the backbone's earlier stages."""
        d = width(c)
        heads = c.dim("encoder_attention_heads", default=8)
        at = Component.HEAD
        to = partial(nn.Conv, component=at)
        sizes = backbone(c)[1]
        if len(sizes) < 3:
            raise c.error("backbone_config", "fewer than 3 outputs", "3 outputs of the backbone")
        inner = [d + heads, d + heads, d // 2, d // 4, d // 8, d // 16]
        drawn: dict[str, nn.Module] = {}
        for i, (inputs, outputs) in enumerate(pairwise(inner), 1):
            drawn[f"lay{i}"] = to(inputs, outputs, 3)
            drawn[f"gn{i}"] = nn.GroupNorm(min(8, int(outputs)), outputs)
        drawn["out_lay"] = to(inner[-1], 1, 3)
        for i, (size, current) in enumerate(zip(sizes[::-1][-3:], inner[2:5], strict=True), 1):
            drawn[f"adapter{i}"] = to(size, current, 1)
        look = {f"{of[0]}_linear": nn.Linear(d, d, kind=of) for of in ("query", "key")}
        attention = nn.Module("DetrMHAttentionMap", look, component=Component.ATTENTION)
        masks = nn.Module("DetrMaskHeadSmallConv", drawn, component=at)
        parts = {model_type: detecting(c), "mask_head": masks, "bbox_attention": attention}
        return renamed(nn.Module("DetrForSegmentation", parts, part="vision"), "Detr", name)

    classes: dict[str, Builder] = {f"{name}ForObjectDetection": detecting, f"{name}Model": build}
    classes[f"{name}ForSegmentation"] = segmentation
    register(model_type, classes, base_prefix="model", category="vision")


register_detr("detr", "Detr", model, 1)
