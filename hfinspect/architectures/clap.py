"""CLAP's tower of sounds (Wu et al. 2022). Source: transformers/models/clap/modeling_clap.py.

Swin over spectrograms, followed by two matrices into the space that texts share. Files hold window
indices that are computed elsewhere. The model of both, and the tower of texts, are traces.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation
from ..layers.composing import with_defaults
from ..layers.encoders import hidden
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
    Sequential,
    Weight,
)

_AUDIO = {
    "window_size": 8, "num_mel_bins": 64, "spec_size": 256, "hidden_act": "gelu", "patch_size": 4,
    "hidden_size": 768, "depths": (2, 2, 6, 2), "num_attention_heads": (4, 8, 16, 32),
    "patch_embed_input_channels": 1, "patch_embeds_hidden_size": 96, "layer_norm_eps": 1e-5,
}  # fmt: skip


def _fusion_path(width: Dim, inner: Dim, *, pooled: bool) -> Module:
    parts = [
        Conv(width, inner, 1, component=Component.ATTENTION),
        BatchNorm(inner),
        Activation("ReLU"),
        Conv(inner, width, 1, component=Component.ATTENTION),
        BatchNorm(width),
    ]
    return Sequential(*([Activation("AdaptiveAvgPool2d")] if pooled else []), *parts)


def patch_embed(c: ModelConfig) -> Module:
    """One convolution to patches; long clips (``enable_fusion``) have another and a gate."""
    width, channels = c.dim("patch_embeds_hidden_size"), c.dim("patch_embed_input_channels")
    high, wide = pair(c, "patch_size", default=4)
    fused = c.flag("enable_fusion", default=False)
    mapped = fused and c.text("fusion_type") == "channel_map"
    inner = width // c.dim("aff_block_r", default=4)
    seen = channels * 4 if mapped else channels
    normed = c.flag("enable_patch_layer_norm", default=True)
    fusion = Module(
        "ClapAudioAFFBlock",
        local_att=_fusion_path(width, inner, pooled=False),
        global_att=_fusion_path(width, inner, pooled=True),
        sigmoid=Activation("Sigmoid"),
        component=Component.CONV,
    )
    return Module(
        "ClapAudioPatchEmbed",
        proj=Conv(seen, width, (high, wide), component=Component.EMBEDDING, kind="patch"),
        norm=LayerNorm(width) if normed else Activation("Identity"),
        fusion_model=fusion if fused else None,
        mel_conv2d=Conv(channels, width, (high, wide * 3), kind="patch") if fused else None,
    )


def _layer(c: ModelConfig, width: Dim, heads: Dim) -> Module:
    """q, k, v and a bias per head for every offset within a window: (2·w - 1)²."""
    window, bias = c.dim("window_size"), c.flag("qkv_bias", default=True)
    c.divided(width, heads, "width of the stage", "num_heads")
    area, side = window * window, 2 * window - 1
    own = Module(
        "ClapAudioSelfAttention",
        relative_position_bias_table=Weight(side * side, heads, kind="relative_position"),
        relative_position_index=Buffer(area, area, dtype="I64"),
        query=Linear(width, width, bias=bias, kind="query"),
        key=Linear(width, width, bias=bias, kind="key"),
        value=Linear(width, width, bias=bias, kind="value"),
    )
    return window_layer(c, "ClapAudio", width, own)


def _merging(width: Dim) -> Module:
    """Four neighbours side by side, then projected to twice the width: 8·W² weights."""
    return Module(
        "ClapAudioPatchMerging",
        reduction=Linear(4 * width, 2 * width, bias=False, component=Component.CONV),
        norm=LayerNorm(4 * width),
    )


def audio_model(c: ModelConfig) -> Module:
    depths, heads = stage_depths(c, (2, 2, 6, 2)), c.dims("num_attention_heads")
    if not depths or len(heads) < len(depths):
        raise c.miscounted("num_attention_heads", len(heads), f"{len(depths)}: one a stage")
    width, stages = c.dim("patch_embeds_hidden_size"), []
    for i, depth in enumerate(depths):
        down = _merging(width) if i < len(depths) - 1 else None
        blocks = ModuleList([_layer(c, width, heads[i])] * int(depth))
        stages.append(Module("ClapAudioStage", blocks=blocks, downsample=down))
        if down is not None:
            width = 2 * width
    encoder = Module(
        "ClapAudioEncoder",
        patch_embed=patch_embed(c),
        layers=Layers(stages),
        batch_norm=BatchNorm(c.dim("num_mel_bins")),
        norm=LayerNorm(width),
        avgpool=Activation("AdaptiveAvgPool1d"),
    )
    return Module("ClapAudioModel", audio_encoder=encoder, part="audio")


def with_projection(c: ModelConfig) -> Module:
    out = c.dim("projection_dim", default=512)
    way = Module(
        "ClapProjectionLayer",
        linear1=Linear(hidden(c), out),
        activation=activation(c.text("projection_hidden_act", default="relu")),
        linear2=Linear(out, out),
        component=Component.PROJECTOR,
        part="projector",
    )
    parts = {"audio_model": audio_model(c), "audio_projection": way}
    return Module("ClapAudioModelWithProjection", {**parts})


_CLASSES = {"ClapAudioModel": audio_model, "ClapAudioModelWithProjection": with_projection}
register("clap_audio_model", with_defaults(_AUDIO, _CLASSES), category="audio")
