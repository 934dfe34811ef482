"""CLAP's tower of sounds (Wu et al. 2022). Source: transformers/models/clap/modeling_clap.py.
Swin over spectrograms, followed by two matrices into the space that texts share. Files hold window
indices that are computed elsewhere. The model of both, and the tower of texts, are traces."""

from ..layers.blocks import activation, size
from ..layers.multimodal import two_linears
from ..layers.vision import pair, stage_depths, window_layer
from ..trees import Component, ModelConfig, register
from ..trees import modules as nn

_width = size("patch_embeds_hidden_size", default=96)


def _patches(c: ModelConfig) -> nn.Module:
    """One convolution to patches; long clips (``enable_fusion``) have another and a gate."""
    width = _width(c)
    channels = c.dim("patch_embed_input_channels", default=1)
    (high, wide) = pair(c, "patch_size", default=4)
    to = Component.ATTENTION
    inner = width // c.dim("aff_block_r", default=4)
    fused = c.flag("enable_fusion", default=False)
    inputs = channels * 4 if fused and c.text("fusion_type") == "channel_map" else channels
    normed = c.flag("enable_patch_layer_norm", default=True)
    reduction = nn.Conv(width, inner, 1, component=to), nn.BatchNorm(inner), nn.Activation("ReLU")
    path = *reduction, nn.Conv(inner, width, 1, component=to), nn.BatchNorm(width)
    pooled = nn.Sequential(nn.Activation("AdaptiveAvgPool2d"), *path)
    gate = {"local_att": nn.Sequential(*path), "global_att": pooled}
    gate["sigmoid"] = nn.Activation("Sigmoid")
    fusion = nn.Module("ClapAudioAFFBlock", gate, component=Component.CONV)
    return nn.Module(
        "ClapAudioPatchEmbed",
        proj=nn.Conv(inputs, width, (high, wide), component=Component.EMBEDDING, kind="patch"),
        norm=nn.LayerNorm(width) if normed else nn.Activation("Identity"),
        fusion_model=fusion if fused else None,
        mel_conv2d=nn.Conv(channels, width, (high, wide * 3), kind="patch") if fused else None,
    )


def audio_model(c: ModelConfig) -> nn.Module:
    depths = stage_depths(c, (2, 2, 6, 2))
    heads = c.dims("num_attention_heads", default=(4, 8, 16, 32), least=len(depths))
    width = _width(c)
    window = c.dim("window_size", default=8)
    stages = []
    area = window * window
    side = 2 * window - 1
    bias = c.flag("qkv_bias", default=True)
    for i, (depth, count) in enumerate(zip(depths, heads, strict=False)):
        c.divided(width, count, "width of the stage", "num_heads")
        wide = 4 * width
        last = i == len(depths) - 1
        # A bias per head for every offset within a window: (2·w - 1)².
        self_attention = nn.Module(
            "ClapAudioSelfAttention",
            relative_position_bias_table=nn.Weight(side * side, count, kind="relative_position"),
            relative_position_index=nn.Buffer(area, area, dtype="I64"),
        ).adding(**{x: nn.Linear(width, width, bias, kind=x) for x in ("query", "key", "value")})
        blocks = nn.ModuleList([window_layer(c, "ClapAudio", width, self_attention)] * int(depth))
        # Four neighbours next to each other, then projected to twice the width: 8·W² weights.
        halved = nn.Linear(wide, 2 * width, bias=False, component=Component.CONV)
        down = nn.Module("ClapAudioPatchMerging", reduction=halved, norm=nn.LayerNorm(wide))
        stages.append(nn.Module("ClapAudioStage", blocks=blocks, downsample=None if last else down))
        width = width if last else 2 * width
    parts = {"patch_embed": _patches(c), "layers": nn.Layers(stages)}
    norms = {"batch_norm": nn.BatchNorm(c.dim("num_mel_bins", default=64))}
    norms |= {"norm": nn.LayerNorm(width), "avgpool": nn.Activation("AdaptiveAvgPool1d")}
    encoder = nn.Module("ClapAudioEncoder", {**parts, **norms})
    return nn.Module("ClapAudioModel", audio_encoder=encoder, part="audio")


def with_projection(c: ModelConfig) -> nn.Module:
    out = c.dim("projection_dim", default=512)
    inputs = c.dim("hidden_size", default=768)
    act = activation(c.text("projection_hidden_act", default="relu"))
    names = "linear1", "activation", "linear2"
    way = two_linears("ClapProjectionLayer", c, inputs, out, out, act=act, names=names)
    parts = {"audio_model": audio_model(c), "audio_projection": way}
    return nn.Module("ClapAudioModelWithProjection", parts)


_CLASSES = {"ClapAudioModel": audio_model, "ClapAudioModelWithProjection": with_projection}
register("clap_audio_model", _CLASSES, category="audio")
