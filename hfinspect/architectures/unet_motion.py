"""UNetMotionModel and SparseControlNetModel: AnimateDiff and SparseCtrl (Guo et al. 2023).
Sources: diffusers/models/{unets/unet_motion_model,controlnets/controlnet_sparsectrl}.py."""

from functools import partial

from ..core.config import MAX_COUNT, ModelConfig
from ..layers.diffusion import middle_block, per_block, transformer_block, unet_end
from ..layers.unet_conditions import stem
from ..layers.unet_ladder import Ladder, condition_encoder, control_net, depths
from ..trees import Component, Dim, register
from ..trees.modules import Buffer, Conv, GroupNorm, Layers, Linear, Module, ModuleList

#: Keys of UNet2DConditionModel that neither class has, or only the other.
_FOREIGN = """class_embed_type num_class_embeds encoder_hid_dim encoder_hid_dim_type attention_type
    cross_attention_norm dual_cross_attention class_embeddings_concat time_embedding_type
    time_embedding_dim conv_in_kernel mid_block_type """
_OF_CONTROL = "only_cross_attention resnet_time_scale_shift attention_head_dim"
_DEPTH = "temporal_transformer_layers_per_block"
_HEADS = "motion_num_attention_heads"


def _plain(c: ModelConfig, *, control: bool) -> Ladder:
    """The same ladder in two dimensions."""
    dropped = _FOREIGN + ("time_cond_proj_dim" if control else _OF_CONTROL)
    if control or c.text("addition_embed_type") != "text_time":
        dropped += " addition_embed_type"
    values = {key: value for key, value in c.file_values.items() if key not in dropped.split()}
    if heads := values.pop("num_attention_heads", None):
        values["attention_head_dim"] = heads
    if control:
        values.setdefault("cross_attention_dim", 768)
    for side in ("Down", "Up"):
        key = f"{side.lower()}_block_types"
        known = f"{side}BlockMotion"
        for word in c.strings(key, default=()):
            if word not in (known, f"CrossAttn{known}"):
                raise c.error(key, word, f"{known} or CrossAttn{known}")
        if values.get(key) is not None:
            values[key] = [word.replace("Motion", "2D") for word in values[key]]
    if c.says("norm_num_groups") and not c.has("norm_num_groups"):
        raise c.error("norm_num_groups", None, "a number")
    return Ladder(ModelConfig(values, c.path))


def _motion_module(
    c: ModelConfig, width: Dim, heads: Dim, depth: int, *, twice: bool = True, middle: bool = False
) -> Module:
    """Blocks that look at the frames of their place, ``twice`` each; ``middle``: in no layer."""
    if not heads:
        raise c.error(_HEADS, 0, "at least 1")
    frames = c.dim("motion_max_seq_length", default=32)
    inner = heads * (width // heads)
    pe = Buffer(1, frames, inner, kind="position")
    places = Module("SinusoidalPositionalEmbedding", pe=pe, component=Component.EMBEDDING)
    blocks = [transformer_block(inner, second=twice, before=places)] * int(depth)
    return Module(
        "AnimateDiffTransformer3D",
        norm=GroupNorm(int(c.dim("norm_num_groups", default=32)), width, eps=1e-6),
        proj_in=Linear(width, inner, component=Component.PROJECTOR),
        transformer_blocks=Layers(blocks) if middle else ModuleList(blocks),
        proj_out=Linear(inner, width, component=Component.HEAD if middle else Component.MLP),
    )


def _moving(c: ModelConfig, ladder: Ladder, *, up: bool = False, twice: bool = True) -> Layers:
    """Rungs with a motion module next to each residual block."""
    blocks = ladder.way(up=up)
    count = len(ladder.channels)
    make_motion = partial(_motion_module, c)
    sizes = list(zip(ladder.channels, per_block(c, _HEADS, count, 8), strict=True))
    deep = depths(c, _DEPTH, count, up=up)
    for block, size, depth in zip(blocks, sizes[::-1] if up else sizes, deep, strict=True):
        resnets = len(block.inside("resnets").children)
        each = list(depth) if isinstance(depth, tuple) else [depth] * resnets
        if len(each) != resnets:
            raise c.error(_DEPTH, each, f"{resnets} entries, one per layer")
        modules = ModuleList(make_motion(*size, int(n), twice=twice) for n in each)
        block.adding(motion_modules=modules).called(block.class_name.replace("2D", "Motion"))
    return Layers(blocks)


def _middle(c: ModelConfig, ladder: Ladder, *, moving: bool) -> Module:
    width = ladder.channels[-1]
    count = int(c.count("mid_block_layers", default=1))
    depth = 1 if isinstance(ladder.depths[-1], tuple) else ladder.depths[-1]
    listed = partial(per_block, c, maximum=MAX_COUNT)
    deep = listed("transformer_layers_per_mid_block", count, depth)
    attentions = ladder.attentions(len(ladder.channels) - 1, count, deep, middle=True)
    kind = "UNetMidBlockCrossAttnMotion" if moving else "UNetMidBlock2DCrossAttn"
    block = middle_block(width, ladder.residual, attentions, kind=kind, resnets=count + 1)
    if moving:
        heads = per_block(c, _HEADS, len(ladder.channels), 8)[-1]
        over_time = listed("temporal_transformer_layers_per_mid_block", count, 1)
        modules = [_motion_module(c, width, heads, n, middle=True) for n in over_time]
        block.adding(motion_modules=ModuleList(modules))
    return block


def model(c: ModelConfig) -> Module:
    ladder = _plain(c, control=False)
    parts: dict[str, Module | None] = {
        **stem(ladder.c, ladder.channels[0]),
        "down_blocks": _moving(c, ladder),
        "up_blocks": _moving(c, ladder, up=True),
        "mid_block": _middle(c, ladder, moving=c.flag("use_motion_mid_block", default=True)),
        **unet_end(c, ladder.channels[0], ladder.residual),
    }
    return Module("UNetMotionModel", parts, part="vision")


def sparse_control(c: ModelConfig) -> Module:
    c.count("layers_per_block", default=2)  # one number here, not a list
    ladder = _plain(c, control=True)
    size = c.dim("conditioning_channels", default=4)
    first = ladder.channels[0]
    name = "SparseControlNetConditioningEmbedding"
    size = size + 1 if c.flag("concat_conditioning_mask", default=True) else size
    simple = c.flag("use_simplified_condition_embedding", default=True)
    condition = Conv(size, first, 3) if simple else condition_encoder(c, first, size).called(name)
    down = _moving(c, ladder, twice=False)
    middle = _middle(c, ladder, moving=False)
    return control_net("SparseControlNetModel", ladder, condition, down, middle)


_CLASSES = {"UNetMotionModel": model, "SparseControlNetModel": sparse_control}
register((), _CLASSES, category="diffusion", source="diffusers")
