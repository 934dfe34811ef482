"""Sapiens 2 (Meta 2026), a ViT of people. Source: transformers/models/sapiens2. Files keep the
names of Meta's code (conversion_mapping.py), which says what the parts of a head are called only as
far as the released models go; more of them are refused."""

import math
from functools import partial

from ..layers.blocks import activation, rms_norms, size
from ..layers.composing import FormPart, composed
from ..layers.multimodal import linear_row
from ..layers.vision import pair, patch_conv
from ..trees import Builder, Component, Dim, ModelConfig, register
from ..trees.backbone_stages import MAX_STAGES
from ..trees.modules import Activation, Conv, Layers, Linear, Module, ModuleList, Sequential, Weight

_hidden = size("hidden_size", default=1024)
_norm = rms_norms("Sapiens2RMSNorm", 1e-6)
_heads = size("num_attention_heads", default=16)
#: Channels and kernel of each convolution of a kind.
DimPairs = tuple[tuple[Dim, Dim], ...]


def _layer(c: ModelConfig, groups: Dim) -> Module:
    h = _hidden(c)
    head = _hidden(c) // _heads(c)
    inner = c.dim("intermediate_size", default=4096)
    bias = c.flag("mlp_bias", default=True)
    gated = c.flag("use_gated_mlp", default=True)
    normed = _norm(c, head) if c.flag("use_qk_norm", default=True) else None
    rows = {"wq": "query", "proj": "output", "wk": "key", "wv": "value"}
    linears: dict[str, Module] = {}
    for name, kind in rows.items():
        biased = c.flag("proj_bias" if name == "proj" else f"{kind}_bias", default=True)
        outputs = h if name in ("wq", "proj") else groups * head
        linears[name] = Linear(h, outputs, biased, kind=kind)
    linears |= {"q_norm": normed, "k_norm": normed} if normed else {}
    linears["gamma"] = Module("Sapiens2LayerScale", weight=Weight(h, kind="scale"))
    attention = Module("Sapiens2Attention", linears, component=Component.ATTENTION)
    act = activation(c.text("hidden_act", default="silu"))
    wide = 2 * inner if gated else inner
    both = Linear(h, wide, bias, kind="gate_up"), Linear(inner, h, bias, kind="down")
    parts = {"w12": both[0], "w3": both[1], "act_fn": act}
    mlp = Module("Sapiens2GatedMLP" if gated else "Sapiens2MLP", parts, component=Component.MLP)
    return Module("Sapiens2Layer", ln1=_norm(c, h), attn=attention, ln2=_norm(c, h), ffn=mlp)


def model(c: ModelConfig, *, name: str = "Sapiens2Model") -> Module:
    h = _hidden(c)
    heads = _heads(c)
    to = Component.EMBEDDING
    count = int(c.count("num_hidden_layers", default=24))
    key = "num_key_value_heads_per_layer"
    if c.has(key):
        groups = list(c.dims(key, least=count)[:count])
    else:
        first = c.count("num_first_full_attention_layers", default=8)
        last = count - int(c.count("num_last_full_attention_layers", default=8))
        fewer = c.dim("num_key_value_attention_heads", default=8)
        groups = [heads if i < first or i >= last else fewer for i in range(count)]
    kinds = {count: _layer(c, count) for count in groups}
    registers = c.dim("num_register_tokens", default=8, minimum=0)
    patches = patch_conv(c.dim("num_channels", default=3), h, pair(c, "patch_size", default=16))
    token = Weight(1, 1, h, kind="mask_token")
    masked = Module("Sapiens2Embeddings", mask_token=token, component=to)
    return Module(
        name,
        cls_token=Weight(1, 1, h, kind="class_token", component=to),
        embeddings=masked if c.flag("use_mask_token", default=False) else None,
        storage_tokens=Weight(1, registers, h, kind="register_token", component=to),
        patch_embed=Module("Sapiens2Embeddings", projection=patches, component=to),
        blocks=Layers(kinds[count] for count in groups),
        ln1=_norm(c, h),
        part="vision",
    )


def _sizes(s: ModelConfig, what: str, kernel: int, most: int, least: int | None = None) -> DimPairs:
    """As many as in the released models at ``most``; ``least`` where the key must be there."""
    none = () if least is None else None
    channels = s.dims(f"{what}_out_channels", default=none, least=least or 0)
    usual = s.dim(f"{what}_kernel_size", default=kernel)
    key = f"{what}_kernel_sizes"
    kernels = s.dims(key, default=()) or (usual,) * len(channels)
    if len(kernels) != len(channels) or len(channels) > most:
        raise s.error(key, s.raw(key), f"{len(channels)} entries, at most {most}")
    return tuple(zip(channels, kernels, strict=True))


def _convolutions(inputs: Dim, sizes: DimPairs, shuffled: bool | None = None) -> dict[str, Module]:
    """Parts 0, 3, 6 ... of a Sequential, in which norm and activation follow each; transposed ones
    where nothing is ``shuffled``."""
    children = dict[str, Module]()
    up = shuffled is False
    to = partial(Conv, bias=not up, transposed=up, component=Component.HEAD)
    for i, (channels, kernel) in enumerate(sizes):
        children[str(3 * i)] = to(inputs, 4 * channels if shuffled else channels, kernel)
        inputs = channels
    return children


def _scale(c: ModelConfig, s: ModelConfig) -> dict[str, Module]:
    """How far away everything is, as one number."""
    sizes = _sizes(s, "scale_conv", 1, 3)
    if not sizes:
        return {}
    image = pair(c, "image_size", default=224)
    patch = pair(c, "patch_size", default=16)
    side = [int(pixels) // int(step) for pixels, step in zip(image, patch, strict=True)]
    for kernel in (int(kernel) for _, kernel in sizes):
        side = [(n + (kernel - 1) // 2 * 2 - kernel) // 2 + 1 for n in side]
    flat = s.dim("scale_final_input_size", default=math.prod(side) * int(sizes[-1][0]))
    row = linear_row((flat, *s.dims("scale_final_hidden_sizes", least=2)[:2], 1), "SiLU").children
    final = {"0": Activation("Flatten"), **{str(int(i) + 1): part for i, part in row.items()}}
    convs = Module("Sequential", _convolutions(_hidden(c), sizes))
    return {"scale_conv_layers": convs, "scale_final_layer": Module("Sequential", final)}


#: Of each class: what the last convolution is called, and how many of the others have names:
#: transposed ones in a row (None: any number of blocks), and those after them.
_CLASSES: dict[str, tuple[str, int | None, int]] = {
    "SemanticSegmentation": ("conv_seg", 4, 2),
    "PoseEstimation": ("conv_pose", 2, 3),
    "NormalEstimation": ("conv_normal", None, 3),
    "PointmapEstimation": ("conv_pointmap", None, 3),
    "ImageMatting": ("conv_matting", None, 3),
}


def _head(c: ModelConfig, task: str) -> Module:
    s = c.section("head_config")
    h = _hidden(c)
    last, rows, most = _CLASSES[task]
    shuffled = s.flag("use_pixel_shuffle", default=False)
    larger = _sizes(s, "upsample", 4, rows or MAX_STAGES, 1)
    after = _sizes(s, "conv", 1, most, 0)
    if rows and shuffled:
        raise s.error("use_pixel_shuffle", True, f"false in {task}")
    up = _convolutions(h, larger, shuffled)
    to = Component.HEAD
    parts = {"input_conv": Sequential(Conv(h, h, 3, component=to))} if shuffled else {}
    blocks = {"upsample_blocks": ModuleList(map(Sequential, up.values()))}
    parts |= {"deconv_layers": Module("Sequential", up)} if rows else blocks
    parts["conv_layers"] = Module("Sequential", _convolutions(larger[-1][0], after))
    parts[last] = Conv((*larger, *after)[-1][0], c.num_labels, 1, component=to)
    parts |= _scale(c, s) if task == "PointmapEstimation" else {}
    return Module("Sapiens2Head", parts, component=to)


_BUILT: dict[str, Builder | dict[str, FormPart]] = {"Sapiens2Model": model}
_BUILT["Sapiens2Backbone"] = partial(model, name="Sapiens2Backbone")
for task in _CLASSES:
    _BUILT[f"Sapiens2For{task}"] = {"backbone": model, "decode_head": partial(_head, task=task)}
register("sapiens2", composed(_BUILT, part="vision"), category="vision")
