"""CLAP's tower of sounds (Wu et al. 2022). Source: transformers/models/clap/modeling_clap.py.

Swin over spectrograms, followed by two matrices into the space that texts share. Files hold window
indices that are computed elsewhere. The model of both, and the tower of texts, are traces.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.blocks import activation, size
from ..layers.multimodal import projector
from ..layers.vision import pair, stage_depths, window_layer
from ..trees.catalog import register
from ..trees.modules import (
    Activation,
    BatchNorm,
    Buffer,
    Conv,
    LayerNorm,
    Layers,
    Linear,
    Module,
    ModuleList,
    Parameter,
    Sequential,
    Weight,
)

_width = size("patch_embeds_hidden_size", default=96)


def patch_embed(c: ModelConfig) -> Module:
    """One convolution to patches; long clips (``enable_fusion``) have another and a gate."""
    width, channels = _width(c), c.dim("patch_embed_input_channels", default=1)
    (high, wide), to = pair(c, "patch_size", default=4), Component.ATTENTION
    fused = c.flag("enable_fusion", default=False)
    mapped = fused and c.text("fusion_type") == "channel_map"
    inner = width // c.dim("aff_block_r", default=4)
    normed = c.flag("enable_patch_layer_norm", default=True)
    path = [
        Conv(width, inner, 1, component=to), BatchNorm(inner), Activation("ReLU"),
        Conv(inner, width, 1, component=to), BatchNorm(width),
    ]  # fmt: skip
    fusion = Module(
        "ClapAudioAFFBlock",
        local_att=Sequential(*path),
        global_att=Sequential(Activation("AdaptiveAvgPool2d"), *path),
        sigmoid=Activation("Sigmoid"),
        component=Component.CONV,
    )
    seen = channels * 4 if mapped else channels
    return Module(
        "ClapAudioPatchEmbed",
        proj=Conv(seen, width, (high, wide), component=Component.EMBEDDING, kind="patch"),
        norm=LayerNorm(width) if normed else Activation("Identity"),
        fusion_model=fusion if fused else None,
        mel_conv2d=Conv(channels, width, (high, wide * 3), kind="patch") if fused else None,
    )


def audio_model(c: ModelConfig) -> Module:
    depths = stage_depths(c, (2, 2, 6, 2))
    heads = c.dims("num_attention_heads", default=(4, 8, 16, 32), least=len(depths))
    width, window, stages = _width(c), c.dim("window_size", default=8), []
    area, side, bias = window * window, 2 * window - 1, c.flag("qkv_bias", default=True)
    for i, (depth, count) in enumerate(zip(depths, heads, strict=False)):
        c.divided(width, count, "width of the stage", "num_heads")
        wide, last = 4 * width, i == len(depths) - 1
        # A bias per head for every offset within a window: (2·w - 1)².
        parts: dict[str, Module | Parameter] = {
            "relative_position_bias_table": Weight(side * side, count, kind="relative_position"),
            "relative_position_index": Buffer(area, area, dtype="I64"),
            **{x: Linear(width, width, bias=bias, kind=x) for x in ("query", "key", "value")},
        }
        layer = window_layer(c, "ClapAudio", width, Module("ClapAudioSelfAttention", parts))
        # Four neighbours side by side, then projected to twice the width: 8·W² weights.
        down = Module(
            "ClapAudioPatchMerging",
            reduction=Linear(wide, 2 * width, bias=False, component=Component.CONV),
            norm=LayerNorm(wide),
        )
        blocks = ModuleList([layer] * int(depth))
        stages.append(Module("ClapAudioStage", blocks=blocks, downsample=None if last else down))
        width = width if last else 2 * width
    encoder = Module(
        "ClapAudioEncoder",
        patch_embed=patch_embed(c),
        layers=Layers(stages),
        batch_norm=BatchNorm(c.dim("num_mel_bins", default=64)),
        norm=LayerNorm(width),
        avgpool=Activation("AdaptiveAvgPool1d"),
    )
    return Module("ClapAudioModel", audio_encoder=encoder, part="audio")


def with_projection(c: ModelConfig) -> Module:
    out = c.dim("projection_dim", default=512)
    way = projector(
        "ClapProjectionLayer",
        linear1=Linear(c.dim("hidden_size", default=768), out),
        activation=activation(c.text("projection_hidden_act", default="relu")),
        linear2=Linear(out, out),
    )
    name = "ClapAudioModelWithProjection"
    return Module(name, audio_model=audio_model(c), audio_projection=way)


_CLASSES = {"ClapAudioModel": audio_model, "ClapAudioModelWithProjection": with_projection}
register("clap_audio_model", _CLASSES, category="audio")
