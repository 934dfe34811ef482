"""StableCascadeUNet: both stages of Stable Cascade (Pernias et al. 2023, Würstchen). Source of
shapes: diffusers/models/unets/unet_stable_cascade.py."""

from collections.abc import Sequence
from functools import partial

from ..core.config import MAX_COUNT, ModelConfig
from ..layers.cascade import ROW, bare_norm, ends, level, resized
from ..layers.diffusion import per_block, widths
from ..trees import Component, Dim, register
from ..trees import modules as nn


def _way(c: ModelConfig, channels: Sequence[Dim], *, up: bool) -> dict[str, nn.Module]:
    """The levels down, or ``up`` again; lists of the config are in the order of the way."""
    side = "up" if up else "down"
    count = len(channels)
    key = "block_types_per_layer"
    condition = c.dim("conditioning_dim", default=2048)
    numbers = partial(c.dims, minimum=0, maximum=MAX_COUNT, count=count)
    layers = numbers(f"{side}_num_layers_per_block", default=(24, 8) if up else (8, 24))
    repeats = numbers(f"{side}_blocks_repeat_mappers", default=(1, 1))
    heads = per_block(c, "num_attention_heads", count, 32)
    listed = c.raw(key) or [ROW] * count
    if not isinstance(listed, list) or len(listed) != count:
        raise c.error(key, listed, f"{count} lists, one per level")
    each = ModelConfig({f"{key}[{i}]": names for i, names in enumerate(listed)}, c.path)
    rows = [each.strings(at) for at in each.file_values]
    if unknown := {name for names in rows for name in names} - {*ROW}:
        raise c.error(key, sorted(unknown), f"some of {', '.join(ROW)}")
    embedded = c.dim("timestep_ratio_embedding_dim", default=64)
    times = c.strings("timestep_conditioning_type", default=("sca", "crp"))
    make_level = partial(level, c, embedded=embedded, times=times)
    switched = c.has(key := "switch_level")
    if switched and (count_given := len(c.flags(key))) < count - 1:
        raise c.miscounted(key, count_given, f"at least {count - 1}")
    levels = list[nn.Module]()
    scalers = list[nn.Module]()
    mappers = list[nn.Module]()
    for i, deep, repeated in zip(range(count)[:: -1 if up else 1], layers, repeats, strict=True):
        width = channels[i]
        wider = up and i < count - 1
        blocks = make_level(rows[i], int(deep), width, condition, heads=heads[i], wider=wider)
        levels.append(nn.ModuleList(blocks))
        change = resized(channels[i - 1], width, up=up, switched=switched)
        scalers.append(change if i else nn.Activation("Identity"))
        mappers.append(nn.ModuleList([nn.Conv(width, width, 1)] * max(int(repeated) - 1, 0)))
    changes = nn.ModuleList(scalers)
    again = {f"{side}_repeat_mappers": nn.ModuleList(mappers)}
    return {f"{side}_blocks": nn.Layers(levels), f"{side}_{side}scalers": changes, **again}


def model(c: ModelConfig) -> nn.Module:
    channels = widths(c, default=(2048, 2048))
    first = channels[0]
    area = c.dim("patch_size", default=1) ** 2
    to = Component.PROJECTOR
    width = c.dim("conditioning_dim", default=2048)
    tokens = c.dim("clip_seq", default=4)
    inputs, outputs = (c.dim(f"{x}_channels", default=16) * area for x in ("in", "out"))

    def image(inputs: Dim | None) -> nn.Module | None:
        if inputs is None:
            return None
        into = nn.Conv(inputs, 4 * first, 1)
        act = nn.Activation("GELU")
        out = (4 * first, first, 1)
        return nn.Sequential(into, act, nn.Conv(*out), bare_norm(first), component=to)

    def linear(inputs: Dim | None, outputs: Dim) -> nn.Module | None:
        return None if inputs is None else nn.Linear(inputs, outputs, component=to)

    pooled = c.dim("clip_text_pooled_in_channels", default=1280)
    end = ends(inputs, first, outputs)
    parts: dict[str, nn.Module | None] = {
        "effnet_mapper": image(c.optional_dim("effnet_in_channels")),
        "pixels_mapper": image(c.optional_dim("pixel_mapper_in_channels")),
        "clip_txt_pooled_mapper": linear(pooled, width * tokens),
        "clip_txt_mapper": linear(c.optional_dim("clip_text_in_channels"), width),
        "clip_img_mapper": linear(c.optional_dim("clip_image_in_channels"), width * tokens),
        "clip_norm": bare_norm(width),
        "embedding": end["embedding"],
        **_way(c, channels, up=False),
        **_way(c, channels, up=True),
        "clf": end["clf"],
    }
    return nn.Module("StableCascadeUNet", parts, part="vision")


register((), {"StableCascadeUNet": model}, category="diffusion", source="diffusers")
