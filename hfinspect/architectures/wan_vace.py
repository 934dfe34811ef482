"""Wan VACE and Wan Animate: video from video, masks, poses and faces (Wan 2025).

Sources of shapes: diffusers/models/transformers/transformer_wan_vace.py and
transformer_wan_animate.py. Wan's blocks; VACE has further ones that hand on what the condition
shows, Animate looks at the motion of a face between some of them.
"""

from math import prod

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim, named
from ..layers.diffusion import attention, feed_forward, text_projection, timestep_embedding
from ..trees.catalog import register
from ..trees.modules import (
    Activation,
    Conv,
    LayerNorm,
    Layers,
    Linear,
    Module,
    ModuleList,
    RMSNorm,
    Weight,
)


def _inner(c: ModelConfig) -> Dim:
    heads = c.dim("num_attention_heads", default=40)
    return heads * c.dim("attention_head_dim", default=128)


def _added(c: ModelConfig) -> Dim | None:
    return c.optional_dim("added_kv_proj_dim")


def _attention(c: ModelConfig, added: Dim | None = None) -> Module:
    width, eps = _inner(c), c.number("eps", default=1e-6)
    block = attention(width, width, bias=True, class_name="WanAttention")
    block.children |= {
        "norm_q": RMSNorm(width, eps=eps),
        "norm_k": RMSNorm(width, eps=eps),
    }
    if added is not None:
        block.children |= {
            "add_k_proj": Linear(added, width, kind="key"),
            "add_v_proj": Linear(added, width, kind="value"),
            "norm_added_k": RMSNorm(width, eps=eps),
        }
    return block


def _block(c: ModelConfig, name: str = "WanTransformerBlock") -> Module:
    width, eps = _inner(c), c.number("eps", default=1e-6)
    normed = c.flag("cross_attn_norm", default=True)
    bare = LayerNorm(width, eps=eps, weight=False, class_name="FP32LayerNorm")
    return Module(
        name,
        scale_shift_table=Weight(1, 6, width),
        norm1=bare,
        attn1=_attention(c),
        attn2=_attention(c, _added(c)),
        norm2=LayerNorm(width, eps=eps, class_name="FP32LayerNorm")
        if normed
        else Activation("Identity"),
        ffn=feed_forward(width, gated=False, inner=c.dim("ffn_dim", default=13824)),
        norm3=bare,
    )


def _patch(c: ModelConfig) -> tuple[Dim, ...]:
    found = c.dims("patch_size", default=(1, 2, 2))
    if len(found) != 3:
        raise c.error("patch_size", c.raw("patch_size"), "three sizes: frames, height, width")
    return found


def _patches(c: ModelConfig, channels: Dim) -> Module:
    patch = _patch(c)
    return Conv(
        channels, _inner(c), patch, dims=3, stride=patch,
        component=Component.EMBEDDING, kind="patch",
    )  # fmt: skip


def _conditions(c: ModelConfig, image: Dim | None) -> Module:
    width = _inner(c)
    seen = None
    if image is not None:
        places = c.optional_dim("pos_embed_seq_len")
        widened = feed_forward(image, gated=False, inner=image, out=width)
        widened.component = Component.EMBEDDING
        seen = Module(
            "WanImageEmbedding",
            pos_embed=None if places is None else Weight(1, places, image, kind="position"),
            norm1=LayerNorm(image, class_name="FP32LayerNorm"),
            ff=widened,
            norm2=LayerNorm(width, class_name="FP32LayerNorm"),
        )
    return Module(
        "WanTimeTextImageEmbedding",
        time_embedder=timestep_embedding(c.dim("freq_dim", default=256), width),
        time_proj=Linear(width, 6 * width),
        text_embedder=text_projection(c.dim("text_dim", default=4096), width),
        image_embedder=seen,
        component=Component.EMBEDDING,
    )


def _ends(c: ModelConfig, out: Dim) -> dict[str, Module]:
    width = _inner(c)
    pixels = prod(_patch(c)[1:], start=_patch(c)[0])
    return {
        "norm_out": LayerNorm(width, weight=False, class_name="FP32LayerNorm"),
        "proj_out": Linear(width, out * pixels, component=Component.HEAD),
    }


# ---- VACE


def _handing_on(c: ModelConfig, *, first: bool) -> Module:
    width = _inner(c)
    block = _block(c, "WanVACETransformerBlock")
    block.children |= {"proj_out": Linear(width, width, component=Component.MLP)}
    if first:
        block.children |= {"proj_in": Linear(width, width, component=Component.PROJECTOR)}
    return block


def vace(c: ModelConfig) -> Module:
    count = c.count("num_layers", default=40)
    seen = c.dims("vace_layers", default=(0, 5, 10, 15, 20, 25, 30, 35), minimum=0)
    if 0 not in seen or max(seen) >= count:
        raise c.error("vace_layers", c.raw("vace_layers"), f"0 and others below {int(count)}")
    channels = c.dim("in_channels", default=16)
    later = [_handing_on(c, first=False)] * (len(seen) - 1)
    return Module(
        "WanVACETransformer3DModel",
        {
            "scale_shift_table": Weight(1, 2, _inner(c)),
            "patch_embedding": _patches(c, channels),
            "vace_patch_embedding": _patches(c, c.dim("vace_in_channels", default=96)),
            "condition_embedder": _conditions(c, c.optional_dim("image_dim")),
            "blocks": Layers.of(count, _block(c)),
            "vace_blocks": Layers([_handing_on(c, first=True), *later]),
            **_ends(c, _out(c, channels)),
        },
        part="vision",
    )


def _out(c: ModelConfig, channels: Dim) -> Dim:
    """``out_channels``; 0 and null mean as many as come in."""
    if c.says("out_channels") and not c.raw("out_channels"):
        return channels
    return c.dim("out_channels", default=16)


# ---- Animate

#: Channels of the motion encoder at each size of its maps.
_MOTION = {4: 512, 8: 512, 16: 512, 32: 512, 64: 256, 128: 128, 256: 64, 512: 32, 1024: 16}


def _activated(channels: int) -> Module:
    return Module("FusedLeakyReLU", bias=Weight(channels))


def _motion_conv(inputs: int, outputs: int, kernel: int, *, act: bool = True) -> Module:
    return Module(
        "MotionConv2d",
        weight=Weight(outputs, inputs, kernel, kernel),
        act_fn=_activated(outputs) if act else None,
        component=Component.CONV,
    )


def _motion_channels(c: ModelConfig, size: int) -> Dim:
    if c.has("motion_encoder_channel_sizes"):
        return c.section("motion_encoder_channel_sizes").dim(str(size))
    if size not in _MOTION:
        raise c.error("motion_encoder_size", size, "a power of 2 from 4 to 1024")
    return named(_MOTION[size], f"channels at {size}", "a number of the model's code")


def _motion_encoder(c: ModelConfig) -> Module:
    size = int(c.dim("motion_encoder_size", default=512, maximum=1 << 16))
    if size & (size - 1):
        raise c.error("motion_encoder_size", size, "a power of 2")
    style, motion = c.dim("motion_style_dim", default=512), c.dim("motion_dim", default=20)
    width, blocks = _motion_channels(c, size), list[Module]()
    first = _motion_conv(3, width, 1)
    for power in range(size.bit_length() - 1, 2, -1):
        outputs = _motion_channels(c, 1 << (power - 1))
        block = Module(
            "MotionEncoderResBlock",
            conv1=_motion_conv(width, width, 3),
            conv2=_motion_conv(width, outputs, 3),
            conv_skip=_motion_conv(width, outputs, 1, act=False),
        )
        blocks.append(block)
        width = outputs

    def linear(outputs: Dim) -> Module:
        return Module("MotionLinear", weight=Weight(outputs, style), bias=Weight(outputs))

    return Module(
        "WanAnimateMotionEncoder",
        motion_synthesis_weight=Weight(c.dim("motion_encoder_dim", default=512), motion),
        conv_in=first,
        res_blocks=ModuleList(blocks),
        conv_out=_motion_conv(width, style, 4, act=False),
        motion_network=ModuleList([*[linear(style)] * 4, linear(motion)]),
        component=Component.CONV,
    )


def _face_encoder(c: ModelConfig) -> Module:
    inputs, width = c.dim("motion_encoder_dim", default=512), _inner(c)
    hidden = c.dim("face_encoder_hidden_dim", default=1024)
    heads = c.dim("face_encoder_num_heads", default=4)
    return Module(
        "WanAnimateFaceEncoder",
        padding_tokens=Weight(1, 1, 1, width, component=Component.EMBEDDING),
        conv1_local=Conv(inputs, hidden * heads, 3, dims=1),
        conv2=Conv(hidden, hidden, 3, dims=1, stride=2),
        conv3=Conv(hidden, hidden, 3, dims=1, stride=2),
        out_proj=Linear(hidden, width, component=Component.CONV),
    )


def _face_attention(c: ModelConfig) -> Module:
    width, eps = _inner(c), c.number("eps", default=1e-6)
    head = c.dim("attention_head_dim", default=128)
    return Module(
        "WanAnimateFaceBlockCrossAttention",
        to_q=Linear(width, width, kind="query"),
        to_k=Linear(width, width, kind="key"),
        to_v=Linear(width, width, kind="value"),
        to_out=Linear(width, width, kind="output"),
        norm_q=RMSNorm(head, eps=eps),
        norm_k=RMSNorm(head, eps=eps),
        component=Component.ATTENTION,
    )


def animate(c: ModelConfig) -> Module:
    count = c.count("num_layers", default=40)
    every = c.dim("inject_face_latents_blocks", default=5)
    absent = [c.says(key) and not c.has(key) for key in ("in_channels", "latent_channels")]
    if all(absent):
        raise c.missing("latent_channels")
    channels, latents = c.dim("in_channels", default=36), c.dim("latent_channels", default=16)
    if absent[0]:
        channels = 2 * latents + 4
    elif absent[1]:
        latents = (channels - 4) // 2
    elif channels != 2 * latents + 4:
        raise c.error("in_channels", int(channels), f"2 * latent_channels + 4 = {2 * latents + 4}")
    image = None
    if not c.says("image_dim") or c.has("image_dim"):
        image = c.dim("image_dim", default=1280)
    return Module(
        "WanAnimateTransformer3DModel",
        {
            "scale_shift_table": Weight(1, 2, _inner(c)),
            "patch_embedding": _patches(c, channels),
            "pose_patch_embedding": _patches(c, latents),
            "condition_embedder": _conditions(c, image),
            "motion_encoder": _motion_encoder(c),
            "face_encoder": _face_encoder(c),
            "blocks": Layers.of(count, _block(c)),
            "face_adapter": ModuleList([_face_attention(c)] * (count // every))
            if count >= every
            else None,
            **_ends(c, _out(c, latents)),
        },
        part="vision",
    )


register(
    (),
    {"WanVACETransformer3DModel": vace, "WanAnimateTransformer3DModel": animate},
    category="diffusion",
    source="diffusers",
)
