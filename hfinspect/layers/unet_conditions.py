"""What a UNet is given in addition to its input: the time, and conditions of many kinds.

Source: diffusers/models/unets/unet_2d_condition.py (the _set_... methods) and models/embeddings.py.
"""

from __future__ import annotations

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..trees.modules import (
    Activation,
    Conv,
    Embedding,
    LayerNorm,
    Linear,
    Module,
    Parameter,
    Sequential,
    Weight,
)
from .diffusion import timestep_embedding


def time_width(c: ModelConfig, first: Dim) -> Dim:
    """The width of the time's embedding: twice or four times the ``first`` channels."""
    fourier = c.text("time_embedding_type", default="positional") == "fourier"
    return c.dim("time_embedding_dim", default=first * (2 if fourier else 4))


def text_projection(c: ModelConfig) -> Module | None:
    """From the text encoder's width to the cross-attention's."""
    form = c.text("encoder_hid_dim_type")
    if form is None and not c.has("encoder_hid_dim"):
        return None
    width, to = c.dim("encoder_hid_dim"), c.dim("cross_attention_dim", default=1280)
    if form in (None, "text_proj"):
        return Linear(width, to, component=Component.PROJECTOR)
    if form == "text_image_proj":
        return Module(
            "TextImageProjection",
            image_embeds=Linear(to, 10 * to),
            text_proj=Linear(width, to),
            component=Component.PROJECTOR,
        )
    if form == "image_proj":
        return Module(
            "ImageProjection",
            image_embeds=Linear(width, 32 * to),
            norm=LayerNorm(to),
            component=Component.PROJECTOR,
        )
    raise c.error("encoder_hid_dim_type", form, "text_proj, text_image_proj or image_proj")


def class_embedding(c: ModelConfig, first: Dim) -> Module | None:
    """What makes a vector of the time's width T of a class: a table (classes, T) or linear layers
    to T; None where the UNet takes no class."""
    form, time = c.text("class_embed_type"), time_width(c, first)
    if form is None:
        count = c.optional_dim("num_class_embeds")
        return None if count is None else Embedding(count, time)
    if form == "timestep":
        return timestep_embedding(_sinusoids(c, first), time)
    if form == "identity":
        return Activation("Identity")
    width = c.dim("projection_class_embeddings_input_dim")
    if form == "projection":
        return timestep_embedding(width, time)
    if form == "simple_projection":
        return Linear(width, time, component=Component.EMBEDDING)
    raise c.error("class_embed_type", form, "timestep, identity, projection or simple_projection")


def _sinusoids(c: ModelConfig, first: Dim) -> Dim:
    fourier = c.text("time_embedding_type", default="positional") == "fourier"
    return time_width(c, first) if fourier else first


def added_embedding(c: ModelConfig, first: Dim) -> Module | None:
    """What else is said next to the time: SDXL's sizes and pooled text, Kandinsky's images."""
    form, time = c.text("addition_embed_type"), time_width(c, first)
    if form is None:
        return None
    if form == "text_time":
        return timestep_embedding(c.dim("projection_class_embeddings_input_dim"), time)
    if form == "text":
        width = c.dim("encoder_hid_dim", "cross_attention_dim", default=1280)
        pool = Module(
            "AttentionPooling",
            positional_embedding=Weight(1, width, component=Component.EMBEDDING),
            k_proj=Linear(width, width),
            q_proj=Linear(width, width),
            v_proj=Linear(width, width),
            component=Component.ATTENTION,
        )
        return Module(
            "TextTimeEmbedding",
            norm1=LayerNorm(width),
            pool=pool,
            proj=Linear(width, time),
            norm2=LayerNorm(time),
            component=Component.EMBEDDING,
        )
    if form == "text_image":
        width = c.dim("cross_attention_dim", default=1280)
        return Module(
            "TextImageTimeEmbedding",
            text_proj=Linear(width, time, component=Component.PROJECTOR),
            text_norm=LayerNorm(time),
            image_proj=Linear(width, time, component=Component.PROJECTOR),
            component=Component.EMBEDDING,
        )
    if form == "image":
        return Module(
            "ImageTimeEmbedding",
            image_proj=Linear(c.dim("encoder_hid_dim"), time, component=Component.PROJECTOR),
            image_norm=LayerNorm(time),
            component=Component.EMBEDDING,
        )
    if form == "image_hint":
        return Module(
            "ImageHintTimeEmbedding",
            image_proj=Linear(c.dim("encoder_hid_dim"), time, component=Component.PROJECTOR),
            image_norm=LayerNorm(time),
            input_hint_block=_hint_encoder(),
            component=Component.EMBEDDING,
        )
    raise c.error("addition_embed_type", form, "text, text_image, text_time, image or image_hint")


def _hint_encoder() -> Module:
    """Convolutions of a hint in pixels down to the latents' four channels, 8 times smaller."""
    steps = ((3, 16, 1), (16, 16, 1), (16, 32, 2), (32, 32, 1), (32, 96, 2), (96, 96, 1),
             (96, 256, 2), (256, 4, 1))  # fmt: skip
    made: list[Module] = []
    for inputs, outputs, stride in steps:
        step = Conv(inputs, outputs, 3, stride=stride, component=Component.EMBEDDING)
        made += [step, Activation("SiLU")]
    return Sequential(*made[:-1])


def position_net(c: ModelConfig, context: Dim) -> Module | None:
    """GLIGEN's objects: text (and image) next to sine and cosine of 8 frequencies of 4 corners."""
    form = c.text("attention_type", default="default")
    if form == "default":
        return None
    corners = 8 * 2 * 4

    def perceptron() -> Module:
        return Sequential(
            Linear(context + corners, 512), Activation("SiLU"), Linear(512, 512),
            Activation("SiLU"), Linear(512, context),
        )  # fmt: skip

    kinds = ("text", "image") if form == "gated-text-image" else ("",)
    children: dict[str, Module | Parameter | None] = {
        "linears" + (kind and f"_{kind}"): perceptron() for kind in kinds
    }
    for kind in kinds:
        children[f"null_{kind or 'positive'}_feature"] = Weight(context)
    children["null_position_feature"] = Weight(corners)
    return Module("GLIGENTextBoundingboxProjection", children, component=Component.EMBEDDING)


def stem(c: ModelConfig, first: Dim) -> dict[str, Module | None]:
    """The input convolution and the embeddings of time and conditions."""
    fourier = c.text("time_embedding_type", default="positional") == "fourier"
    time = time_width(c, first)
    # Frequencies drawn at random once and kept: a parameter that is not trained.
    frequencies = Module(
        "GaussianFourierProjection", weight=Weight(time // 2), component=Component.EMBEDDING
    )
    return {
        "conv_in": Conv(
            c.dim("in_channels", default=4), first, int(c.dim("conv_in_kernel", default=3))
        ),
        "time_proj": frequencies if fourier else Activation("Timesteps"),
        "time_embedding": timestep_embedding(
            _sinusoids(c, first), time, condition=c.optional_dim("time_cond_proj_dim")
        ),
        "encoder_hid_proj": text_projection(c),
        "class_embedding": class_embedding(c, first),
        "add_embedding": added_embedding(c, first),
    }
