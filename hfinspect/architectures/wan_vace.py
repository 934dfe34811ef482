"""Wan VACE and Wan Animate: video from video, masks, poses and faces (Wan 2025). Sources of shapes:
diffusers/models/transformers/transformer_wan_{vace,animate}.py. Wan's own tree is a trace."""

from itertools import pairwise
from math import prod

from ..trees import Component, Dim, ModelConfig, builder, named, register
from ..trees.modules import Conv, Layers, Linear, Module, ModuleList, RMSNorm, Weight

#: What both have of Wan's own keys, but for channels and patches.
_KEYS = """num_attention_heads attention_head_dim text_dim freq_dim ffn_dim num_layers
    cross_attn_norm eps image_dim added_kv_proj_dim pos_embed_seq_len""".split()


def _inner(c: ModelConfig) -> Dim:
    return c.dim("num_attention_heads", default=40) * c.dim("attention_head_dim", default=128)


def _patches(c: ModelConfig, channels: Dim) -> Module:
    patch = c.dims("patch_size", default=(1, 2, 2), count=3)
    to = Component.EMBEDDING
    return Conv(channels, _inner(c), patch, dims=3, stride=patch, component=to, kind="patch")


def _wan(c: ModelConfig, name: str, channels: Dim, latents: Dim, **more: Module) -> Module:
    """Wan's own tree, which is a trace, and what it has ``more``. ``out_channels`` that are 0 or
    null mean as many as the ``latents`` have."""
    values = {key: value for key, value in c.file_values.items() if key in _KEYS}
    root = builder("WanTransformer3DModel")(ModelConfig(values, c.path))
    empty = c.says("out_channels") and not c.raw("out_channels")
    out = latents if empty else c.dim("out_channels", default=16)
    shape = (patches := _patches(c, channels)).tensor().shape
    proj = Linear(_inner(c), out * prod(shape[3:], start=shape[2]), component=Component.HEAD)
    root.adding(patch_embedding=patches, proj_out=proj, **more).part = "vision"
    return root.called(name)


def vace(c: ModelConfig) -> Module:
    """The blocks of the condition hand on what they find; the first takes the video as well."""
    count = c.count("num_layers", default=40)
    width = _inner(c)
    layers = c.dims("vace_layers", default=(0, 5, 10, 15, 20, 25, 30, 35), minimum=0)
    if 0 not in layers or max(layers) >= count:
        raise c.error("vace_layers", c.raw("vace_layers"), f"0 and others below {int(count)}")
    channels = c.dim("in_channels", default=16)
    patches = _patches(c, c.dim("vace_in_channels", default=96))
    root = _wan(c, "WanVACETransformer3DModel", channels, channels, vace_patch_embedding=patches)
    parts = root.inside("blocks", "0").children
    name = "WanVACETransformerBlock"
    out, into = (Linear(width, width, component=to) for to in (Component.MLP, Component.PROJECTOR))
    later = [Module(name, parts, proj_out=out)] * (len(layers) - 1)
    first = Module(name, parts, proj_out=out, proj_in=into)
    return root.adding(vace_blocks=Layers([first, *later]))


def _motion_encoder(c: ModelConfig) -> Module:
    size = int(c.dim("motion_encoder_size", default=512, maximum=1 << 16))
    if size & (size - 1):
        raise c.error("motion_encoder_size", size, "a power of 2")

    def conv(inputs: int, outputs: int, kernel: int, *, act: bool = True) -> Module:
        bias = Module("FusedLeakyReLU", bias=Weight(outputs)) if act else None
        return Module("MotionConv2d", weight=Weight(outputs, inputs, kernel, kernel), act_fn=bias)

    def block(width: Dim, outputs: Dim) -> Module:
        parts = {"conv1": conv(width, width, 3), "conv2": conv(width, outputs, 3)}
        parts["conv_skip"] = conv(width, outputs, 1, act=False)
        return Module("MotionEncoderResBlock", parts)

    style = c.dim("motion_style_dim", default=512)
    motion = c.dim("motion_dim", default=20)
    sizes = [size, *(1 << power for power in range(size.bit_length() - 2, 1, -1))]
    if c.has(key := "motion_encoder_channel_sizes"):
        widths = [c.section(key).dim(str(x)) for x in sizes]
    elif 4 <= size <= 1024:
        meant = "a number of the model's code"
        widths = [named(min(512, 16384 // x), f"channels at {x}", meant) for x in sizes]
    else:
        raise c.error("motion_encoder_size", size, "a power of 2 from 4 to 1024")
    biased = [{"weight": Weight(size, style), "bias": Weight(size)} for size in (style, motion)]
    linear, last = (Module("MotionLinear", parts) for parts in biased)
    return Module(
        "WanAnimateMotionEncoder",
        motion_synthesis_weight=Weight(c.dim("motion_encoder_dim", default=512), motion),
        conv_in=conv(3, widths[0], 1),
        res_blocks=ModuleList(block(*pair) for pair in pairwise(widths)),
        conv_out=conv(widths[-1], style, 4, act=False),
        motion_network=ModuleList([*[linear] * 4, last]),
        component=Component.CONV,
    )


def animate(c: ModelConfig) -> Module:
    absent = [c.says(key) and not c.has(key) for key in ("in_channels", "latent_channels")]
    if all(absent):
        raise c.missing("latent_channels")
    channels = c.dim("in_channels", default=36)
    latents = c.dim("latent_channels", default=16)
    if absent[0]:
        channels = 2 * latents + 4
    elif absent[1]:
        latents = (channels - 4) // 2
    elif channels != 2 * latents + 4:
        raise c.error("in_channels", int(channels), f"2 * latent_channels + 4 = {2 * latents + 4}")
    images = c if c.says("image_dim") else c.with_defaults(image_dim=1280)
    inputs = c.dim("motion_encoder_dim", default=512)
    width = _inner(c)
    hidden = c.dim("face_encoder_hidden_dim", default=1024)
    wide = hidden * c.dim("face_encoder_num_heads", default=4)
    norm = RMSNorm(c.dim("attention_head_dim", default=128), eps=c.number("eps", default=1e-6))
    kinds = ("query", "key", "value")
    conv = Conv(hidden, hidden, 3, dims=1, stride=2)
    parts = {f"to_{kind[0]}": Linear(width, width, kind=kind) for kind in kinds}
    parts |= {"to_out": Linear(width, width, kind="output"), "norm_q": norm, "norm_k": norm}
    look = Module("WanAnimateFaceBlockCrossAttention", parts, component=Component.ATTENTION)
    more: dict[str, Module] = {
        "pose_patch_embedding": _patches(c, latents),
        "motion_encoder": _motion_encoder(c),
        "face_encoder": Module(
            "WanAnimateFaceEncoder",
            padding_tokens=Weight(1, 1, 1, width, component=Component.EMBEDDING),
            conv1_local=Conv(inputs, wide, 3, dims=1),
            conv2=conv,
            conv3=conv,
            out_proj=Linear(hidden, width, component=Component.CONV),
        ),
    }
    looks = c.count("num_layers", default=40) // c.dim("inject_face_latents_blocks", default=5)
    if looks:
        more["face_adapter"] = ModuleList([look] * int(looks))
    return _wan(images, "WanAnimateTransformer3DModel", channels, latents, **more)


_CLASSES = {"WanVACETransformer3DModel": vace, "WanAnimateTransformer3DModel": animate}
register((), _CLASSES, category="diffusion", source="diffusers")
