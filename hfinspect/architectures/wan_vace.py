"""Wan VACE and Wan Animate: video from video, masks, poses and faces (Wan 2025).

Sources of shapes: diffusers/models/transformers/transformer_wan_vace.py and
transformer_wan_animate.py. Wan's blocks; VACE has further ones that hand on what the condition
shows, Animate looks at the motion of a face between some of them.
"""

from math import prod

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim, named
from ..trees.catalog import builder, register
from ..trees.modules import Conv, Layers, Linear, Module, ModuleList, RMSNorm, Weight

#: What both have of Wan's own keys, but for channels and patches.
_KEYS = frozenset(
    """num_attention_heads attention_head_dim text_dim freq_dim ffn_dim num_layers cross_attn_norm
    eps image_dim added_kv_proj_dim pos_embed_seq_len""".split()
)


def _inner(c: ModelConfig) -> Dim:
    heads = c.dim("num_attention_heads", default=40)
    return heads * c.dim("attention_head_dim", default=128)


def _patch(c: ModelConfig) -> tuple[Dim, ...]:
    """Of frames, height and width."""
    return c.dims("patch_size", default=(1, 2, 2), count=3)


def _patches(c: ModelConfig, channels: Dim) -> Module:
    patch = _patch(c)
    to = Component.EMBEDDING
    return Conv(channels, _inner(c), patch, dims=3, stride=patch, component=to, kind="patch")


def _wan(c: ModelConfig, name: str, channels: Dim, latents: Dim, more: dict[str, Module]) -> Module:
    """Wan's own tree, which is a trace, and what it has ``more``. ``out_channels`` that are 0 or
    null mean as many as the ``latents`` have."""
    kept = {key: value for key, value in c.given.items() if key in _KEYS}
    root = builder("WanTransformer3DModel")(ModelConfig(kept, c.path))
    empty = c.says("out_channels") and not c.raw("out_channels")
    out = latents if empty else c.dim("out_channels", default=16)
    pixels = prod(_patch(c)[1:], start=_patch(c)[0])
    return Module(
        name,
        {
            **root.children,
            "patch_embedding": _patches(c, channels),
            "proj_out": Linear(_inner(c), out * pixels, component=Component.HEAD),
            **more,
        },
        part="vision",
    )


# ---- VACE


def _handing_on(block: Module, width: Dim, *, first: bool) -> Module:
    """A block of Wan that also hands on what it found; the first takes the video as well."""
    parts = {"proj_out": Linear(width, width, component=Component.MLP)}
    if first:
        parts["proj_in"] = Linear(width, width, component=Component.PROJECTOR)
    return Module("WanVACETransformerBlock", {**block.children, **parts})


def vace(c: ModelConfig) -> Module:
    count = c.count("num_layers", default=40)
    seen = c.dims("vace_layers", default=(0, 5, 10, 15, 20, 25, 30, 35), minimum=0)
    if 0 not in seen or max(seen) >= count:
        raise c.error("vace_layers", c.raw("vace_layers"), f"0 and others below {int(count)}")
    channels, condition = c.dim("in_channels", default=16), c.dim("vace_in_channels", default=96)
    more: dict[str, Module] = {"vace_patch_embedding": _patches(c, condition)}
    root = _wan(c, "WanVACETransformer3DModel", channels, channels, more)
    block, width = root.inside("blocks", "0"), _inner(c)
    later = [_handing_on(block, width, first=False)] * (len(seen) - 1)
    root.children["vace_blocks"] = Layers([_handing_on(block, width, first=True), *later])
    return root


# ---- Animate

_PROJECTIONS = {"q": "query", "k": "key", "v": "value", "out": "output"}
#: Channels of the motion encoder at each size of its maps.
_MOTION = {4: 512, 8: 512, 16: 512, 32: 512, 64: 256, 128: 128, 256: 64, 512: 32, 1024: 16}


def _motion_conv(inputs: int, outputs: int, kernel: int, *, act: bool = True) -> Module:
    activated = Module("FusedLeakyReLU", bias=Weight(outputs))
    return Module(
        "MotionConv2d",
        weight=Weight(outputs, inputs, kernel, kernel),
        act_fn=activated if act else None,
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
        convs = {
            "conv1": _motion_conv(width, width, 3),
            "conv2": _motion_conv(width, outputs, 3),
            "conv_skip": _motion_conv(width, outputs, 1, act=False),
        }
        blocks.append(Module("MotionEncoderResBlock", convs))
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
        {
            **{f"to_{x}": Linear(width, width, kind=kind) for x, kind in _PROJECTIONS.items()},
            **{f"norm_{x}": RMSNorm(head, eps=eps) for x in "qk"},
        },
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
    more = {
        "pose_patch_embedding": _patches(c, latents),
        "motion_encoder": _motion_encoder(c),
        "face_encoder": _face_encoder(c),
    }
    if count >= every:
        more["face_adapter"] = ModuleList([_face_attention(c)] * (count // every))
    images = c if c.says("image_dim") else c.with_defaults(image_dim=1280)
    return _wan(images, "WanAnimateTransformer3DModel", channels, latents, more)


register(
    (),
    {"WanVACETransformer3DModel": vace, "WanAnimateTransformer3DModel": animate},
    category="diffusion",
    source="diffusers",
)
