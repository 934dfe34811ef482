"""UNetMotionModel and SparseControlNetModel: AnimateDiff and SparseCtrl (Guo et al. 2023).

Sources of shapes: diffusers/models/unets/unet_motion_model.py and
models/controlnets/controlnet_sparsectrl.py. The ladder of unet_2d_condition.py, with a transformer
over the frames next to each residual block.
"""

from typing import Any

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.diffusion import middle_block, per_block, transformer_block, unet_end
from ..layers.unet_conditions import stem
from ..trees.catalog import register
from ..trees.modules import Buffer, Conv, GroupNorm, Layers, Linear, Module, ModuleList
from .controlnet import condition_encoder, controls
from .unet_2d_condition import Plan, attentions, depths, down_blocks, plan, up_blocks

#: Keys of UNet2DConditionModel that neither class has.
_FOREIGN = frozenset(
    """class_embed_type num_class_embeds encoder_hid_dim encoder_hid_dim_type attention_type
    cross_attention_norm dual_cross_attention class_embeddings_concat time_embedding_type
    time_embedding_dim conv_in_kernel mid_block_type""".split()
)
_DEPTH = "temporal_transformer_layers_per_block"


def _plain(c: ModelConfig, *, control: bool) -> ModelConfig:
    """The config of the same ladder in two dimensions."""
    dropped = set(_FOREIGN)
    if not control:
        dropped |= {"only_cross_attention", "resnet_time_scale_shift", "attention_head_dim"}
        if c.text("addition_embed_type") != "text_time":
            dropped.add("addition_embed_type")
    else:
        dropped |= {"addition_embed_type", "time_cond_proj_dim"}
    kept = {key: value for key, value in c.given.items() if key not in dropped}
    if heads := kept.pop("num_attention_heads", None):
        kept["attention_head_dim"] = heads
    if control:
        kept.setdefault("cross_attention_dim", 768)
    for side in ("Down", "Up"):
        key, known = f"{side.lower()}_block_types", f"{side}BlockMotion"
        for word in c.strings(key, default=()):
            if word not in (known, f"CrossAttn{known}"):
                raise c.error(key, word, f"{known} or CrossAttn{known}")
        if key in kept and kept[key] is not None:
            kept[key] = [word.replace("Motion", "2D") for word in kept[key]]
    if "norm_num_groups" in kept and kept["norm_num_groups"] is None:
        raise c.error("norm_num_groups", None, "a number")
    return ModelConfig(kept, c.path)


def motion_module(
    c: ModelConfig,
    width: Dim,
    heads: Dim,
    depth: int,
    *,
    twice: bool = True,
    layers: type[ModuleList] = ModuleList,
) -> Module:
    """Blocks that look at the frames of their place, ``twice`` each. ``layers`` as in
    transformer_2d."""
    if not heads:
        raise c.error("motion_num_attention_heads", 0, "at least 1")
    frames, inner = c.dim("motion_max_seq_length", default=32), heads * (width // heads)
    places = Module(
        "SinusoidalPositionalEmbedding",
        pe=Buffer(1, frames, inner, kind="position"),
        component=Component.EMBEDDING,
    )
    block = transformer_block(inner, second=twice, before=places)
    return Module(
        "AnimateDiffTransformer3D",
        norm=GroupNorm(int(c.dim("norm_num_groups", default=32)), width, eps=1e-6),
        proj_in=Linear(width, inner, component=Component.PROJECTOR),
        transformer_blocks=layers([block] * int(depth)),
        proj_out=Linear(
            inner, width, component=Component.HEAD if layers is Layers else Component.MLP
        ),
    )


def _moving(
    c: ModelConfig,
    blocks: list[Module],
    widths: tuple[Dim, ...],
    heads: tuple[Dim, ...],
    deep: tuple[Any, ...],
    *,
    twice: bool = True,
) -> Layers:
    """Rungs with a motion module next to each residual block."""
    for block, width, count, depth in zip(blocks, widths, heads, deep, strict=True):
        resnets = len(block.inside("resnets").children)
        each = list(depth) if isinstance(depth, tuple) else [depth] * resnets
        if len(each) != resnets:
            raise c.error(_DEPTH, each, f"{resnets} entries, one per layer")
        block.class_name = block.class_name.replace("2D", "Motion")
        modules = [motion_module(c, width, count, int(n), twice=twice) for n in each]
        block.children["motion_modules"] = ModuleList(modules)
    return Layers(blocks)


def _middle(c: ModelConfig, p: Plan, heads: Dim, *, moving: bool) -> Module:
    width, count = p.channels[-1], int(c.count("mid_block_layers", default=1))
    depth: Any = p.depths[-1] if not isinstance(p.depths[-1], tuple) else 1
    deep = _listed(c, "transformer_layers_per_mid_block", depth, count)
    seen = attentions(c, p, len(p.channels) - 1, count, deep, middle=True)
    kind = "UNetMidBlockCrossAttnMotion" if moving else "UNetMidBlock2DCrossAttn"
    block = middle_block(width, p.residual, seen, kind=kind, resnets=count + 1)
    if moving:
        over_time = _listed(c, "temporal_transformer_layers_per_mid_block", 1, count)
        modules = [motion_module(c, width, heads, n, layers=Layers) for n in over_time]
        block.children["motion_modules"] = ModuleList(modules)
    return block


def _listed(c: ModelConfig, key: str, default: int, count: int) -> tuple[int, ...]:
    if not isinstance(c.raw(key), (list, tuple)):
        return (int(c.count(key, default=default)),) * count
    return tuple(int(n) for n in c.dims(key, minimum=0, count=count))


def model(c: ModelConfig) -> Module:
    plain = _plain(c, control=False)
    p = plan(plain)
    count, first = len(p.channels), p.channels[0]
    heads = per_block(c, "motion_num_attention_heads", count, 8)
    deep = depths(c, _DEPTH, count)
    turned = f"reverse_{_DEPTH}"
    upward = depths(c, turned, count) if c.has(turned) else deep[::-1]
    moving = c.flag("use_motion_mid_block", default=True)
    return Module(
        "UNetMotionModel",
        {
            **stem(plain, first),
            "down_blocks": _moving(c, down_blocks(plain, p), p.channels, heads, deep),
            "up_blocks": _moving(c, up_blocks(plain, p), p.channels[::-1], heads[::-1], upward),
            "mid_block": _middle(c, p, heads[-1], moving=moving),
            **unet_end(c, first, p.residual),
        },
        part="vision",
    )


def _condition(c: ModelConfig, width: Dim) -> Module:
    channels = c.dim("conditioning_channels", default=4)
    if c.flag("concat_conditioning_mask", default=True):
        channels = channels + 1
    if c.flag("use_simplified_condition_embedding", default=True):
        return Conv(channels, width, 3)
    encoder = condition_encoder(c, width, channels)
    encoder.class_name = "SparseControlNetConditioningEmbedding"
    return encoder


def sparse_control(c: ModelConfig) -> Module:
    c.count("layers_per_block", default=2)  # one number here, not a list
    plain = _plain(c, control=True)
    p = plan(plain)
    count, first = len(p.channels), p.channels[0]
    heads = per_block(c, "motion_num_attention_heads", count, 8)
    blocks, deep = down_blocks(plain, p), depths(c, _DEPTH, count)
    return Module(
        "SparseControlNetModel",
        {
            **stem(plain, first),
            "controlnet_cond_embedding": _condition(c, first),
            "down_blocks": _moving(c, blocks, p.channels, heads, deep, twice=False),
            **controls(p),
            "mid_block": _middle(c, p, heads[-1], moving=False),
        },
        part="vision",
    )


register(
    (),
    {"UNetMotionModel": model, "SparseControlNetModel": sparse_control},
    category="diffusion",
    source="diffusers",
)
