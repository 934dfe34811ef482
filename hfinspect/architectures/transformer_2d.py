"""Transformer2DModel: VQ-Diffusion (Gu et al. 2021), and DiT and PixArt under their old name.

Source of shapes: diffusers/models/transformers/transformer_2d.py. Over an image's channels, over
the words of a codebook, or over patches; of the latter diffusers makes the classes that DiT and
PixArt have by now (LegacyConfigMixin), and so does this file.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.diffusion import attention, feed_forward
from ..trees.catalog import builder, register
from ..trees.modules import Conv, Embedding, GroupNorm, LayerNorm, Layers, Linear, Module

_NAMED = {"ada_norm_zero": "DiTTransformer2DModel", "ada_norm_single": "PixArtTransformer2DModel"}
#: The class of each activation.
_GATES = {
    "geglu": "GEGLU", "gelu": "GELU", "gelu-approximate": "GELU",
    "geglu-approximate": "ApproximateGELU",
}  # fmt: skip


def _inner(c: ModelConfig) -> Dim:
    heads = c.dim("num_attention_heads", default=16)
    return heads * c.dim("attention_head_dim", default=88)


def _block(c: ModelConfig) -> Module:
    width, bias = _inner(c), c.flag("attention_bias", default=False)
    act = c.word("activation_fn", *_GATES)
    affine = c.flag("norm_elementwise_affine", default=True)
    norm = plain = LayerNorm(width, eps=c.number("norm_eps", default=1e-5), weight=affine)
    times = c.optional_dim("num_embeds_ada_norm")
    if times is not None:
        # Steps that have a table of their own, whatever norm_type says of it.
        table, linear = Embedding(times, width, kind="position"), Linear(width, 2 * width)
        norm = Module("AdaLayerNorm", emb=table, linear=linear, component=Component.NORM)
    context = c.optional_dim("cross_attention_dim")
    alone = c.flag("only_cross_attention", default=False)
    twice = c.flag("double_self_attention", default=False)
    looks = context is not None or twice
    across = attention(width, width, context=None if twice else context, bias=bias)
    return Module(
        "BasicTransformerBlock",
        norm1=norm,
        attn1=attention(width, width, context=context if alone else None, bias=bias),
        norm2=norm if looks else None,
        attn2=across if looks else None,
        norm3=plain,
        ff=feed_forward(width, gated=act == "geglu", act=_GATES[act]),
    )


def _words(c: ModelConfig, words: Dim) -> dict[str, Module]:
    width, side = _inner(c), c.dim("sample_size")
    places = Embedding(side, width, kind="position")
    if words < 2:
        raise c.error("num_vector_embeds", int(words), "2 at least")
    return {
        "latent_image_embedding": Module(
            "ImagePositionalEmbeddings",
            emb=Embedding(words, width),
            height_emb=places,
            width_emb=places,
            component=Component.EMBEDDING,
        ),
        "transformer_blocks": _blocks(c),
        "norm_out": LayerNorm(width),
        "out": Linear(width, words - 1, component=Component.HEAD),
    }


def _blocks(c: ModelConfig) -> Layers:
    return Layers.of(c.count("num_layers", default=1), _block(c))


def _channels(c: ModelConfig, channels: Dim) -> dict[str, Module]:
    width, out = _inner(c), c.dim("out_channels", default=channels)
    coming, leaving = Conv(channels, width, 1), Conv(width, out, 1, component=Component.HEAD)
    if c.flag("use_linear_projection", default=False):
        coming = Linear(channels, width, component=Component.PROJECTOR)
        leaving = Linear(width, out, component=Component.HEAD)
    return {
        "norm": GroupNorm(int(c.dim("norm_num_groups", default=32)), channels, eps=1e-6),
        "proj_in": coming,
        "transformer_blocks": _blocks(c),
        "proj_out": leaving,
    }


def model(c: ModelConfig) -> Module:
    kind = c.word("norm_type", "layer_norm", "ada_norm", *_NAMED)
    if kind in _NAMED:
        return builder(_NAMED[kind])(c)
    if c.has("patch_size"):
        raise c.error("norm_type", kind, f"of patches {' or '.join(_NAMED)}")
    if kind == "ada_norm" and not c.has("num_embeds_ada_norm"):
        raise c.missing("num_embeds_ada_norm")
    c.word("attention_type", "default")
    channels, words = c.optional_dim("in_channels"), c.optional_dim("num_vector_embeds")
    if (channels is None) == (words is None):
        raise c.error("in_channels", c.raw("in_channels"), "either it or num_vector_embeds")
    parts = _words(c, words) if words is not None else _channels(c, channels or Dim(0, "0"))
    return Module("Transformer2DModel", parts, part="vision")


register((), {"Transformer2DModel": model}, category="diffusion", source="diffusers")
