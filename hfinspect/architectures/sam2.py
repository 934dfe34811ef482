"""SAM 2 (Ravi et al. 2024), on images: Hiera in place of SAM's ViT. The decoder of masks is SAM's
with finer features of the image and a score for whether there is an object at all. Source:
transformers/models/sam2/modeling_sam2.py."""

from functools import partial

from ..core.config import MAX_COUNT
from ..layers.blocks import fused_attention
from ..layers.composing import renamed
from ..layers.vision import pair, patch_conv, scaled
from ..trees import Component, Dim, ModelConfig, auto_model, register_part
from ..trees import modules as nn
from . import sam

forward = partial(sam.forward, act="relu")


def hiera(c: ModelConfig) -> nn.Module:
    h = c.dim("hidden_size", default=96)
    eps = c.number("layer_norm_eps", default=1e-6)
    act = c.text("hidden_act", default="gelu")
    channels = c.dim("num_channels", default=3)

    def block(inputs: Dim, outputs: Dim) -> nn.Module:
        """Wider after the attention where a stage begins."""
        inner = scaled(c, outputs, "mlp_ratio", default=4.0)
        shortcut = nn.Linear(inputs, outputs, component=Component.PROJECTOR)
        qkv = nn.Linear(inputs, outputs * 3, kind="qkv")
        look = fused_attention("Sam2MultiScaleAttention", outputs).adding(qkv=qkv)
        parts = {"layer_norm1": nn.LayerNorm(inputs, eps=eps), "attn": look}
        parts["layer_norm2"] = nn.LayerNorm(outputs, eps=eps)
        parts["mlp"] = forward((outputs, inner, outputs), act=act)
        parts |= {"proj": shortcut} if int(inputs) != int(outputs) else {}
        return nn.Module("Sam2MultiScaleBlock", parts)

    depths = c.dims("blocks_per_stage", default=(1, 2, 7, 2), minimum=0, maximum=MAX_COUNT)
    stages = partial(c.dims, least=max(len(depths), 1))
    widths = stages("embed_dim_per_stage", default=(96, 192, 384, 768))
    side = stages("window_size_per_stage", default=(8, 4, 14, 7))[0]
    grid = c.dims(key := "window_positional_embedding_background_size", default=(7, 7))
    if len(grid) == 1 and not isinstance(c.raw(key), list):
        grid *= 2
    blocks: list[nn.Module] = []
    for before, width, depth in zip((widths[0], *widths), widths, depths, strict=False):
        blocks += [block(before, width), *[block(width, width)] * (int(depth) - 1)][: int(depth)]
    patch = pair(c, key := "patch_kernel_size", default=7)
    if isinstance(c.raw(key), list):
        c.dims(key, count=2)  # of one, torch would make a filter of one axis
    table = partial(nn.Weight, 1, h, component=Component.EMBEDDING, kind="position")
    patches = nn.Module("Sam2PatchEmbeddings", projection=patch_conv(channels, h, patch))
    tables = {"pos_embed": table(*grid), "pos_embed_window": table(side, side)}
    root = nn.Module("Sam2HieraDetModel", tables, patch_embed=patches, part="vision")
    return root.adding(blocks=nn.Layers(blocks))


def necked(c: ModelConfig, name: str = "Sam2", widest: int = 768, **usual: object) -> nn.Module:
    """A backbone, the ``usual`` where its section says nothing, and its maps at one width."""
    usual = usual or {"model_type": "sam2_hiera_det_model"}
    out = c.dim("fpn_hidden_size", default=256)
    kernel = c.dim("fpn_kernel_size", default=1)
    sizes = c.dims("backbone_channel_list", default=[widest >> i for i in range(4)])
    neck = nn.Module(
        f"{name}VisionNeck",
        position_encoding=nn.Activation(f"{name}SinePositionEmbedding"),
        convs=nn.ModuleList(nn.Conv(width, out, kernel) for width in sizes),
        component=Component.CONV,
    )
    section = c.section("backbone_config", default=usual)
    kind = str(usual["model_type"])
    network = auto_model(section, default_type=kind, part="vision")
    return nn.Module(f"{name}VisionModel", backbone=network, neck=neck, part="vision")


def prompted(
    c: ModelConfig, name: str = "Sam2", kind: str = "", **memory: nn.Module | nn.Parameter | None
) -> nn.Module:
    """The parts of an image, those of a ``memory`` and, of this ``kind``, an image encoder."""
    vision = c.section("vision_config")
    prompts = c.section("prompt_encoder_config")
    width = vision.dim("fpn_hidden_size", default=256)
    d = prompts.dim("hidden_size", default=256)
    queries = c.section("mask_decoder_config")
    table = nn.Buffer(2, d // 2, kind="position")
    shared = nn.Module("Sam2PositionalEmbedding", positional_embedding=table)
    points = nn.Embedding(prompts.dim("num_point_embeddings", default=4), d)
    h = queries.dim("hidden_size", default=256)
    convs = {"conv_s0": nn.Conv(h, h // 8, 1), "conv_s1": nn.Conv(h, h // 4, 1)}
    masks = sam.mask_decoder(queries, "Sam2").adding(activation=nn.Activation("GELU"), **convs)
    score = forward((h, h, 1), 3, at=Component.HEAD)
    masks.adding(obj_score_token=nn.Embedding(1, h), pred_obj_score_head=score)
    prompt = sam.prompts("Sam2", prompts, shared, points)
    parts = {"shared_image_embedding": shared, "prompt_encoder": prompt, "mask_decoder": masks}
    memoryless = nn.Weight(1, 1, width, component=Component.EMBEDDING)
    root = nn.Module("Sam2Model", parts, no_memory_embedding=memoryless, part="vision")
    root.adding(**memory)
    tower = auto_model(vision, default_type=kind, part="vision") if kind else None
    return renamed(root, "Sam2", name).adding(vision_encoder=tower)


model = partial(prompted, kind="sam2_vision_model")
register_part("sam2", "Sam2Model", model, "vision")
register_part("sam2_vision_model", "Sam2VisionModel", necked, "vision")
register_part("sam2_hiera_det_model", "Sam2HieraDetModel", hiera, "vision")
