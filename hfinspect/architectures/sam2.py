"""SAM 2 (Ravi et al. 2024), on images: Hiera in place of SAM's ViT. The decoder of masks is SAM's
with finer features of the image and a score for whether there is an object at all. Source:
transformers/models/sam2/modeling_sam2.py."""

from collections.abc import Sequence
from functools import partial

from ..core.components import Component
from ..core.config import MAX_COUNT, ModelConfig
from ..core.dims import Dim
from ..layers.blocks import fused_attention
from ..layers.vision import pair, patch_conv, scaled
from ..trees import modules as nn
from ..trees.catalog import auto_model, register_part
from . import sam

forward = partial(sam.forward, act="relu")


def block(c: ModelConfig, inputs: Dim, outputs: Dim) -> nn.Module:
    """Wider after the attention where a stage begins."""
    eps = c.number("layer_norm_eps", default=1e-6)
    inner = scaled(c, outputs, "mlp_ratio", default=4.0)
    act = c.text("hidden_act", default="gelu")
    shortcut = nn.Linear(inputs, outputs, component=Component.PROJECTOR)
    look = fused_attention("Sam2MultiScaleAttention", outputs)
    return nn.Module(
        "Sam2MultiScaleBlock",
        layer_norm1=nn.LayerNorm(inputs, eps=eps),
        attn=look.adding(qkv=nn.Linear(inputs, outputs * 3, kind="qkv")),
        layer_norm2=nn.LayerNorm(outputs, eps=eps),
        mlp=forward((outputs, inner, outputs), act=act),
        proj=shortcut if int(inputs) != int(outputs) else None,
    )


def hiera(c: ModelConfig) -> nn.Module:
    h = c.dim("hidden_size", default=96)
    depths = c.dims("blocks_per_stage", default=(1, 2, 7, 2), minimum=0, maximum=MAX_COUNT)
    stages = max(len(depths), 1)
    widths = c.dims("embed_dim_per_stage", default=(96, 192, 384, 768), least=stages)
    side = c.dims("window_size_per_stage", default=(8, 4, 14, 7), least=stages)[0]
    grid = c.dims("window_positional_embedding_background_size", default=(7, 7))
    if c.has("window_positional_embedding_background_size") and len(grid) == 1:
        grid *= 1 if isinstance(c.raw("window_positional_embedding_background_size"), list) else 2
    blocks: list[nn.Module] = []
    for stage, depth in enumerate(depths):
        before, width = widths[max(stage - 1, 0)], widths[stage]
        rest = [block(c, width, width)] * (int(depth) - 1)
        blocks += [block(c, before, width), *rest] if depth else []
    patch = pair(c, "patch_kernel_size", default=7)
    listed = c.raw("patch_kernel_size")
    if isinstance(listed, list) and len(listed) != 2:  # torch would make a filter of one axis
        raise c.error("patch_kernel_size", listed, "two sizes")
    channels = c.dim("num_channels", default=3)

    def table(*sizes: int) -> nn.Parameter:
        return nn.Weight(1, h, *sizes, component=Component.EMBEDDING, kind="position")

    return nn.Module(
        "Sam2HieraDetModel",
        pos_embed=table(*grid),
        pos_embed_window=table(side, side),
        patch_embed=nn.Module("Sam2PatchEmbeddings", projection=patch_conv(channels, h, patch)),
        blocks=nn.Layers(blocks),
        part="vision",
    )


def vision_model(c: ModelConfig) -> nn.Module:
    section = c.section("backbone_config")
    return necked("Sam2", c, section, "sam2_hiera_det_model", (768, 384, 192, 96))


def necked(
    name: str, c: ModelConfig, section: ModelConfig, kind: str, widths: Sequence[int]
) -> nn.Module:
    """A backbone, of ``kind`` where its section says nothing, and its maps at one width."""
    out, kernel = c.dim("fpn_hidden_size", default=256), c.dim("fpn_kernel_size", default=1)
    sizes = c.dims("backbone_channel_list", default=widths)
    return nn.Module(
        f"{name}VisionModel",
        backbone=auto_model(section, default_type=kind, part="vision"),
        neck=nn.Module(
            f"{name}VisionNeck",
            position_encoding=nn.Activation(f"{name}SinePositionEmbedding"),
            convs=nn.ModuleList(nn.Conv(width, out, kernel) for width in sizes),
            component=Component.CONV,
        ),
        part="vision",
    )


def frequencies(c: ModelConfig) -> nn.Module:
    half = c.dim("hidden_size", default=256) // 2
    return nn.Module(
        "Sam2PositionalEmbedding", positional_embedding=nn.Buffer(2, half, kind="position")
    )


def mask_decoder(c: ModelConfig) -> nn.Module:
    d, depth = c.dim("hidden_size", default=256), c.count("num_hidden_layers", default=2)
    # As deep as the transformer (Sam2TwoWayAttentionBlock).
    mlp = forward((d, c.dim("mlp_dim", default=2048), d), depth=depth)
    looks = [sam.narrower("Sam2", c, rate) for rate in (1, None, None)]
    return sam.decoder("Sam2", c, looks, mlp, forward).adding(
        activation=nn.Activation("GELU"),
        conv_s0=nn.Conv(d, d // 8, 1),
        conv_s1=nn.Conv(d, d // 4, 1),
        obj_score_token=nn.Embedding(1, d),
        pred_obj_score_head=forward((d, d, 1), depth=3, component=Component.HEAD),
    )


def prompted(c: ModelConfig, d: Dim) -> nn.Module:
    """Everything but the image encoder, whose width is ``d``."""
    prompts = c.section("prompt_encoder_config")
    count = prompts.dim("num_point_embeddings", default=4)
    points = nn.Embedding(count, prompts.dim("hidden_size", default=256))
    return nn.Module(
        "Sam2Model",
        shared_image_embedding=frequencies(prompts),
        prompt_encoder=sam.prompts("Sam2", prompts, frequencies(prompts), points),
        mask_decoder=mask_decoder(c.section("mask_decoder_config")),
        no_memory_embedding=nn.Weight(1, 1, d, component=Component.EMBEDDING),
        part="vision",
    )


def model(c: ModelConfig) -> nn.Module:
    vision = c.section("vision_config")
    seen = auto_model(vision, default_type="sam2_vision_model", part="vision")
    return prompted(c, vision.dim("fpn_hidden_size", default=256)).adding(vision_encoder=seen)


register_part("sam2", "Sam2Model", model, "vision")
register_part("sam2_vision_model", "Sam2VisionModel", vision_model, "vision")
register_part("sam2_hiera_det_model", "Sam2HieraDetModel", hiera, "vision")
