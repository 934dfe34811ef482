"""Sapiens 2 (Meta 2026). Source of shapes: transformers/models/sapiens2/modeling_sapiens2.py.

A ViT of people: RMS norms, rotary positions, a gated MLP, and grouped heads in all but the first
and last layers. Heads enlarge the last map by transposed convolutions or pixel shuffles. Files keep
the names of Meta's code (conversion_mapping.py), which says what the parts of a head are called
only as far as the released models go; more of them are refused.
"""

from functools import partial

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation, rms_norms, size
from ..layers.vision import Pair, pair, patch_conv
from ..trees.catalog import Builder, register
from ..trees.handed_on import MAX_STAGES
from ..trees.modules import Activation, Conv, Layers, Linear, Module, Weight

_hidden = size("hidden_size", default=1024)
_norm = rms_norms("Sapiens2RMSNorm", 1e-6)
_heads = size("num_attention_heads", default=16)


def _groups(c: ModelConfig) -> list[Dim]:
    """Heads of keys and values of each layer."""
    count, heads = int(c.count("num_hidden_layers", default=24)), _heads(c)
    if c.has("num_key_value_heads_per_layer"):
        found = c.dims("num_key_value_heads_per_layer")
        if len(found) < count:
            key = "num_key_value_heads_per_layer"
            raise c.error(key, c.raw(key), f"{count} entries, one per layer")
        return list(found[:count])
    first = c.count("num_first_full_attention_layers", default=8)
    last = count - int(c.count("num_last_full_attention_layers", default=8))
    fewer = c.dim("num_key_value_attention_heads", default=8)
    return [heads if i < first or i >= last else fewer for i in range(count)]


def _attention(c: ModelConfig, groups: Dim) -> Module:
    h = _hidden(c)
    head = h // _heads(c)
    normed = c.flag("use_qk_norm", default=True)

    def linear(inputs: Dim, outputs: Dim, flag: str, kind: str) -> Module:
        return Linear(inputs, outputs, bias=c.flag(flag, default=True), kind=kind)

    return Module(
        "Sapiens2Attention",
        wq=linear(h, h, "query_bias", "query"),
        proj=linear(h, h, "proj_bias", "output"),
        wk=linear(h, groups * head, "key_bias", "key"),
        wv=linear(h, groups * head, "value_bias", "value"),
        q_norm=_norm(c, head) if normed else None,
        k_norm=_norm(c, head) if normed else None,
        gamma=Module("Sapiens2LayerScale", weight=Weight(h, kind="scale")),
        component=Component.ATTENTION,
    )


def _layer(c: ModelConfig, groups: Dim) -> Module:
    h, inner = _hidden(c), c.dim("intermediate_size", default=4096)
    bias, gated = c.flag("mlp_bias", default=True), c.flag("use_gated_mlp", default=True)
    return Module(
        "Sapiens2Layer",
        ln1=_norm(c, h),
        attn=_attention(c, groups),
        ln2=_norm(c, h),
        ffn=Module(
            "Sapiens2GatedMLP" if gated else "Sapiens2MLP",
            w12=Linear(h, 2 * inner if gated else inner, bias=bias, kind="gate_up"),
            w3=Linear(inner, h, bias=bias, kind="down"),
            act_fn=activation(c.text("hidden_act", default="silu")),
            component=Component.MLP,
        ),
    )


def model(c: ModelConfig, *, name: str = "Sapiens2Model") -> Module:
    h, masked = _hidden(c), c.flag("use_mask_token", default=False)
    groups = _groups(c)
    kinds = {count: _layer(c, count) for count in groups}
    registers = c.dim("num_register_tokens", default=8, minimum=0)
    patch = pair(c, "patch_size", default=16)
    kept = Weight(1, 1, h, kind="mask_token", component=Component.EMBEDDING) if masked else None
    return Module(
        name,
        cls_token=Weight(1, 1, h, kind="class_token", component=Component.EMBEDDING),
        embeddings=Module("Sapiens2Embeddings", mask_token=kept) if kept else None,
        storage_tokens=Weight(
            1, registers, h, kind="register_token", component=Component.EMBEDDING
        ),
        patch_embed=Module(
            "Sapiens2Embeddings",
            projection=patch_conv(c.dim("num_channels", default=3), h, patch),
            component=Component.EMBEDDING,
        ),
        blocks=Layers(kinds[count] for count in groups),
        ln1=_norm(c, h),
        part="vision",
    )


# ---- heads


def _sizes(s: ModelConfig, what: str, default: int) -> tuple[tuple[Dim, Dim], ...]:
    """Channels and kernel of each convolution of a kind."""
    channels = s.dims(f"{what}_out_channels", default=())
    kernel = s.dim(f"{what}_kernel_size", default=default)
    kernels = s.dims(f"{what}_kernel_sizes", default=()) or (kernel,) * len(channels)
    if len(kernels) != len(channels) or len(channels) > MAX_STAGES:
        key = f"{what}_kernel_sizes"
        raise s.error(key, s.raw(key), f"{len(channels)} entries, at most {MAX_STAGES}")
    return tuple(zip(channels, kernels, strict=True))


def _conv(inputs: int, outputs: int, kernel: int, *, deconv: bool = False) -> Module:
    return Conv(
        inputs, outputs, kernel, bias=not deconv, transposed=deconv, component=Component.HEAD
    )


def _in_row(inputs: Dim, sizes: tuple[tuple[Dim, Dim], ...], **kwargs: bool) -> Module:
    """Convolutions 0, 3, 6 ... of a Sequential, in which norm and activation follow each."""
    widths = (inputs, *(channels for channels, _ in sizes))
    parts = {
        str(3 * i): _conv(widths[i], channels, kernel, **kwargs)
        for i, (channels, kernel) in enumerate(sizes)
    }
    return Module("Sequential", parts)


def _in_blocks(inputs: Dim, sizes: tuple[tuple[Dim, Dim], ...], *, shuffled: bool) -> Module:
    widths = (inputs, *(channels for channels, _ in sizes))
    blocks = {
        str(i): Module(
            "Sequential",
            {"0": _conv(widths[i], 4 * size if shuffled else size, kernel, deconv=not shuffled)},
        )
        for i, (size, kernel) in enumerate(sizes)
    }
    return Module("ModuleList", blocks)


def _scale(c: ModelConfig, s: ModelConfig) -> dict[str, Module]:
    """How far away everything is, as one number."""
    sizes = _sizes(s, "scale_conv", 1)
    if not sizes:
        return {}
    _no_more(s, "scale_conv_out_channels", len(sizes), 3)
    side: Pair = pair(c, "image_size", default=224)
    patch = pair(c, "patch_size", default=16)
    height, width = int(side[0]) // int(patch[0]), int(side[1]) // int(patch[1])
    for _, kernel in sizes:
        padding = (int(kernel) - 1) // 2
        height = (height + 2 * padding - int(kernel)) // 2 + 1
        width = (width + 2 * padding - int(kernel)) // 2 + 1
    flat = s.dim("scale_final_input_size", default=height * width * int(sizes[-1][0]))
    inner = s.dims("scale_final_hidden_sizes")
    if len(inner) < 2:
        raise s.error("scale_final_hidden_sizes", s.raw("scale_final_hidden_sizes"), "two sizes")
    final = {
        "0": Activation("Flatten"),
        "1": Linear(flat, inner[0]),
        "2": Activation("SiLU"),
        "3": Linear(inner[0], inner[1]),
        "4": Activation("SiLU"),
        "5": Linear(inner[1], 1),
    }
    return {
        "scale_conv_layers": _in_row(_hidden(c), sizes),
        "scale_final_layer": Module("Sequential", final),
    }


def _no_more(s: ModelConfig, key: str, count: int, most: int) -> None:
    if count > most:
        raise s.error(key, count, f"at most {most}, as in the released models")


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
    s, h = c.section("head_config"), _hidden(c)
    last, rows, most = _CLASSES[task]
    shuffled = s.flag("use_pixel_shuffle", default=False)
    if not s.has("upsample_out_channels"):
        raise s.missing("upsample_out_channels")
    if not s.has("conv_out_channels"):
        raise s.missing("conv_out_channels")
    larger, after = _sizes(s, "upsample", 4), _sizes(s, "conv", 1)
    if not larger:
        raise s.error("upsample_out_channels", [], "one size at least")
    if rows is not None:
        _no_more(s, "upsample_out_channels", len(larger), rows)
        if shuffled:
            raise s.error("use_pixel_shuffle", True, f"false in {last.replace('conv_', '')}")
    _no_more(s, "conv_out_channels", len(after), most)
    upsampled = (
        {"upsample_blocks": _in_blocks(h, larger, shuffled=shuffled)}
        if rows is None
        else {"deconv_layers": _in_row(h, larger, deconv=True)}
    )
    width = after[-1][0] if after else larger[-1][0]
    labels = _conv(width, c.num_labels, 1)
    parts = {
        "input_conv": Module("Sequential", {"0": _conv(h, h, 3)}) if shuffled else None,
        **upsampled,
        "conv_layers": _in_row(larger[-1][0], after),
        last: labels,
        **(_scale(c, s) if task == "PointmapEstimation" else {}),
    }
    return Module("Sapiens2Head", parts, component=Component.HEAD)


def _with_head(task: str) -> Builder:
    return lambda c: Module(
        f"Sapiens2For{task}", backbone=model(c), decode_head=_head(c, task), part="vision"
    )


register(
    "sapiens2",
    {
        "Sapiens2Model": model,
        "Sapiens2Backbone": partial(model, name="Sapiens2Backbone"),
        **{f"Sapiens2For{task}": _with_head(task) for task in _CLASSES},
    },
    category="vision",
)
