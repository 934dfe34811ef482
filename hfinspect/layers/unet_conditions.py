"""What a UNet is given in addition to its input: the time, and conditions of many kinds.

Source: diffusers/models/unets/unet_2d_condition.py (the _set_... methods) and models/embeddings.py.
"""

from __future__ import annotations

from itertools import pairwise

from ..trees import Component, Dim, ModelConfig
from ..trees import modules as nn
from .diffusion import timestep_embedding


def _fourier(c: ModelConfig) -> bool:
    """Whether random frequencies, and not those of a table of sines, make channels of the time."""
    return c.word("time_embedding_type", "positional", "fourier") == "fourier"


def time_width(c: ModelConfig, first: Dim) -> Dim:
    """The width of the time's embedding: twice or four times the ``first`` channels."""
    return c.dim("time_embedding_dim", default=first * (2 if _fourier(c) else 4))


def text_projection(c: ModelConfig) -> nn.Module | None:
    """From the text encoder's width to the cross-attention's."""
    if not c.has("encoder_hid_dim_type", "encoder_hid_dim"):
        return None
    form = c.word("encoder_hid_dim_type", "text_proj", "text_image_proj", "image_proj")
    width = c.dim("encoder_hid_dim")
    to = c.dim("cross_attention_dim", default=1280)
    kind = Component.PROJECTOR
    if form == "text_proj":
        return nn.Linear(width, to, component=kind)
    if form == "text_image_proj":
        both = {"image_embeds": nn.Linear(to, 10 * to), "text_proj": nn.Linear(width, to)}
        return nn.Module("TextImageProjection", both, component=kind)
    images = {"image_embeds": nn.Linear(width, 32 * to), "norm": nn.LayerNorm(to)}
    return nn.Module("ImageProjection", images, component=kind)


def class_embedding(c: ModelConfig, first: Dim) -> nn.Module | None:
    """What makes a vector of the time's width T of a class: a table (classes, T) or linear layers
    to T; None where the UNet takes no class."""
    time = time_width(c, first)
    if not c.has("class_embed_type"):
        count = c.optional_dim("num_class_embeds")
        return None if count is None else nn.Embedding(count, time)
    form = c.word("class_embed_type", "timestep", "identity", "projection", "simple_projection")
    if form == "timestep":
        return timestep_embedding(_sinusoids(c, first), time)
    if form == "identity":
        return nn.Activation("Identity")
    width = c.dim("projection_class_embeddings_input_dim")
    simple = nn.Linear(width, time, component=Component.EMBEDDING)
    return timestep_embedding(width, time) if form == "projection" else simple


def _sinusoids(c: ModelConfig, first: Dim) -> Dim:
    return time_width(c, first) if _fourier(c) else first


def added_embedding(c: ModelConfig, first: Dim) -> nn.Module | None:
    """What else is said next to the time: SDXL's sizes and pooled text, Kandinsky's images."""
    if not c.has("addition_embed_type"):
        return None
    form = c.word("addition_embed_type", "text", "text_image", "text_time", "image", "image_hint")
    time = time_width(c, first)
    if form == "text_time":
        return timestep_embedding(c.dim("projection_class_embeddings_input_dim"), time)
    if form == "text":
        return _text_embedding(c.dim("encoder_hid_dim", "cross_attention_dim", default=1280), time)
    words = form == "text_image"
    norm = nn.LayerNorm(time)
    width = c.dim("cross_attention_dim", default=1280) if words else c.dim("encoder_hid_dim")
    look = nn.Linear(width, time, component=Component.PROJECTOR)
    parts = {"image_proj": look, "image_norm": norm}
    if words:
        parts = {"text_proj": look, "text_norm": norm, "image_proj": look}
    elif form == "image_hint":
        parts["input_hint_block"] = _hint_encoder()
    name = f"{form.title().replace('_', '')}TimeEmbedding"
    return nn.Module(name, parts, component=Component.EMBEDDING)


def _text_embedding(width: Dim, time: Dim) -> nn.Module:
    projections = {f"{x}_proj": nn.Linear(width, width) for x in "kqv"}
    place = nn.Weight(1, width, component=Component.EMBEDDING)
    pool: dict[str, nn.Module | nn.Parameter] = {"positional_embedding": place, **projections}
    return nn.Module(
        "TextTimeEmbedding",
        norm1=nn.LayerNorm(width),
        pool=nn.Module("AttentionPooling", pool, component=Component.ATTENTION),
        proj=nn.Linear(width, time),
        norm2=nn.LayerNorm(time),
        component=Component.EMBEDDING,
    )


def _hint_encoder() -> nn.Module:
    """Convolutions of a hint in pixels down to the latents' four channels, 8 times smaller."""
    sizes = pairwise((3, 16, 16, 32, 32, 96, 96, 256, 4))
    layers = list[nn.Module]()
    for size, stride in zip(sizes, (1, 1, 2, 1, 2, 1, 2, 1), strict=True):
        step = nn.Conv(*size, 3, stride=stride, component=Component.EMBEDDING)
        layers += [step, nn.Activation("SiLU")]
    return nn.Sequential(*layers[:-1])


def position_net(c: ModelConfig, context: Dim) -> nn.Module | None:
    """GLIGEN's objects: text (and image) next to sine and cosine of 8 frequencies of 4 corners."""
    form = c.text("attention_type", default="default")
    if form == "default":
        return None
    corners = 8 * 2 * 4
    act = nn.Activation("SiLU")
    into = nn.Linear(context + corners, 512)
    out = nn.Linear(512, context)
    steps = (into, act, nn.Linear(512, 512), act, out)
    both = form == "gated-text-image"
    kinds = {"text": "_text", "image": "_image"} if both else {"positive": ""}
    linears = {f"linears{end}": nn.Sequential(*steps) for end in kinds.values()}
    nulls = {f"null_{kind}_feature": nn.Weight(context) for kind in kinds}
    nulls["null_position_feature"] = nn.Weight(corners)
    to = Component.EMBEDDING
    return nn.Module("GLIGENTextBoundingboxProjection", {**linears, **nulls}, component=to)


def stem(c: ModelConfig, first: Dim) -> dict[str, nn.Module | None]:
    """The input convolution and the embeddings of time and conditions."""
    time = time_width(c, first)
    # Frequencies drawn at random once and kept: a parameter that is not trained.
    drawn = {"weight": nn.Weight(time // 2)}
    kernel = int(c.dim("conv_in_kernel", default=3))
    frequencies = nn.Module("GaussianFourierProjection", drawn, component=Component.EMBEDDING)
    return {
        "conv_in": nn.Conv(c.dim("in_channels", default=4), first, kernel),
        "time_proj": frequencies if _fourier(c) else nn.Activation("Timesteps"),
        "time_embedding": timestep_embedding(
            _sinusoids(c, first), time, condition=c.optional_dim("time_cond_proj_dim")
        ),
        "encoder_hid_proj": text_projection(c),
        "class_embedding": class_embedding(c, first),
        "add_embedding": added_embedding(c, first),
    }
