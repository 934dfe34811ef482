"""SD3Transformer2DModel: Stable Diffusion 3 and 3.5 (Esser et al. 2024, MMDiT): image and text side
by side. Source: diffusers/models/transformers/transformer_sd3.py."""

from functools import partial

from ..layers import diffusion
from ..layers.vision import patch_conv
from ..trees import Component, Dim, ModelConfig, register
from ..trees.modules import Activation, Buffer, LayerNorm, Layers, Linear, Module, once


def _modulation(class_name: str, width: int, parts: int) -> Module:
    """Adaptive norm: ``parts`` vectors (scale, shift, gate) from the time."""
    bare = LayerNorm(width, eps=1e-6, weight=False)
    linear = Linear(width, parts * width)
    children = {"silu": Activation("SiLU"), "linear": linear, "norm": bare}
    return Module(class_name, children, component=Component.NORM)


def block(c: ModelConfig, width: Dim, last: bool, dual: bool) -> Module:
    """``dual``: it looks at the image twice; the ``last`` makes nothing of the text."""
    normed = c.has("qk_norm") and bool(c.word("qk_norm", "rms_norm"))
    norm = c.dim("attention_head_dim", default=64) if normed else None
    six = _modulation("AdaLayerNormZero", width, 6)
    bare = LayerNorm(width, eps=1e-6, weight=False)
    mlp = diffusion.feed_forward(width, gated=False)
    look = partial(diffusion.attention, width, width, bias=True, head_norm=norm)
    of_text = {} if last else {"norm2_context": bare, "ff_context": mlp}
    parts = {
        "norm1": _modulation("SD35AdaLayerNormZeroX", width, 9) if dual else six,
        "norm1_context": _modulation("AdaLayerNormContinuous", width, 2) if last else six,
        "attn": look(added=width, added_out=not last),
        "attn2": look() if dual else None,
    }
    return Module("JointTransformerBlock", {**parts, "norm2": bare, "ff": mlp, **of_text})


def model(c: ModelConfig) -> Module:
    count = int(c.count("num_layers", default=18))
    heads = c.dim("num_attention_heads", default=18)
    width = heads * c.dim("attention_head_dim", default=64)
    patch = c.dim("patch_size", default=2)
    side = c.dim("pos_embed_max_size", default=96)
    pooled = c.dim("pooled_projection_dim", default=2048)
    inputs = c.dim("in_channels", default=16)
    texts = c.dim("joint_attention_dim", default=4096)
    captions = c.dim("caption_projection_dim", default=1152)
    # null: positions are computed for the size at hand.
    computed = c.says("pos_embed_max_size") and not c.has("pos_embed_max_size")
    positions = None if computed else Buffer(1, side * side, width, kind="position")
    patches = {"pos_embed": positions, "proj": patch_conv(inputs, width, (patch, patch))}
    usual = inputs if c.says("out_channels") else 16  # null: as many as come in
    pixels = patch * patch * c.dim("out_channels", default=usual)
    dual = {int(i) for i in c.dims("dual_attention_layers", default=(), minimum=0)}
    kinds = [(i == count - 1, i in dual) for i in range(count)]
    linears = {"linear_1": Linear(pooled, width), "act_1": Activation("SiLU")}
    linears["linear_2"] = Linear(width, width)
    to = Component.EMBEDDING
    embedders = {
        "time_proj": Activation("Timesteps"),
        "timestep_embedder": diffusion.timestep_embedding(256, width),
        "text_embedder": Module("PixArtAlphaTextProjection", linears, component=to),
    }
    return Module(
        "SD3Transformer2DModel",
        pos_embed=Module("PatchEmbed", patches, component=to),
        time_text_embed=Module("CombinedTimestepTextProjEmbeddings", embedders),
        context_embedder=Linear(texts, captions, component=Component.PROJECTOR),
        transformer_blocks=Layers(once(kinds, lambda kind: block(c, width, *kind))),
        norm_out=_modulation("AdaLayerNormContinuous", width, 2),
        proj_out=Linear(width, pixels, component=Component.HEAD),
        part="vision",
    )


register((), {"SD3Transformer2DModel": model}, category="diffusion", source="diffusers")
