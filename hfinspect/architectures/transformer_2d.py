"""Transformer2DModel: VQ-Diffusion (Gu et al. 2021), and DiT and PixArt, which have classes of
their own by now. Source: diffusers/models/transformers/transformer_2d.py."""

from functools import partial

from ..layers.diffusion import attention, feed_forward
from ..trees import Component, ModelConfig, builder, register
from ..trees.modules import Conv, Embedding, GroupNorm, LayerNorm, Layers, Linear, Module

_NAMED = {"ada_norm_zero": "DiTTransformer2DModel", "ada_norm_single": "PixArtTransformer2DModel"}
#: The class of each activation.
_GATES = dict.fromkeys(("geglu", "gelu", "gelu-approximate"), "GELU")
_GATES |= {"geglu": "GEGLU", "geglu-approximate": "ApproximateGELU"}


def model(c: ModelConfig) -> Module:
    kind = c.word("norm_type", "layer_norm", "ada_norm", *_NAMED)
    if kind in _NAMED:
        return builder(_NAMED[kind])(c)
    if c.has("patch_size"):
        raise c.error("norm_type", kind, f"of patches {' or '.join(_NAMED)}")
    c.word("attention_type", "default")
    heads = c.dim("num_attention_heads", default=16)
    width = heads * c.dim("attention_head_dim", default=88)
    act = c.word("activation_fn", *_GATES)
    look = partial(attention, width, width, bias=c.flag("attention_bias", default=False))
    affine = c.flag("norm_elementwise_affine", default=True)
    norm = plain = LayerNorm(width, eps=c.number("norm_eps", default=1e-5), weight=affine)
    context = c.optional_dim("cross_attention_dim")
    times = "num_embeds_ada_norm"
    if kind == "ada_norm" or c.has(times):
        # Steps that have a table of their own, whatever norm_type says of it.
        table = Embedding(c.dim(times), width, kind="position")
        linear = Linear(width, 2 * width)
        norm = Module("AdaLayerNorm", emb=table, linear=linear, component=Component.NORM)
    alone = c.flag("only_cross_attention", default=False)
    twice = c.flag("double_self_attention", default=False)
    steps = {"norm1": norm, "attn1": look(context=context if alone else None)}
    if context is not None or twice:
        steps |= {"norm2": norm, "attn2": look(context=None if twice else context)}
    mlp = feed_forward(width, gated=act == "geglu", act=_GATES[act])
    block = Module("BasicTransformerBlock", {**steps, "norm3": plain, "ff": mlp})
    blocks = Layers.of(c.count("num_layers", default=1), block)
    if c.has("in_channels") == c.has("num_vector_embeds"):
        raise c.error("in_channels", c.raw("in_channels"), "either it or num_vector_embeds")
    if c.has("num_vector_embeds"):
        places = Embedding(c.dim("sample_size"), width, kind="position")
        words = c.dim("num_vector_embeds", minimum=2)
        head = Component.HEAD
        tables = {"emb": Embedding(words, width), "height_emb": places, "width_emb": places}
        image = Module("ImagePositionalEmbeddings", {**tables}, component=Component.EMBEDDING)
        first = {"latent_image_embedding": image}
        last = {"norm_out": LayerNorm(width), "out": Linear(width, words - 1, component=head)}
    else:
        channels = c.dim("in_channels")
        groups = int(c.dim("norm_num_groups", default=32))
        outputs = c.dim("out_channels", default=channels)
        coming = Conv(channels, width, 1)
        leaving = Conv(width, outputs, 1)
        if c.flag("use_linear_projection", default=False):
            coming = Linear(channels, width)
            leaving = Linear(width, outputs)
            coming.component = Component.PROJECTOR
        leaving.component = Component.HEAD
        first = {"norm": GroupNorm(groups, channels, eps=1e-6), "proj_in": coming}
        last = {"proj_out": leaving}
    parts = {**first, "transformer_blocks": blocks, **last}
    return Module("Transformer2DModel", parts, part="vision")


register((), {"Transformer2DModel": model}, category="diffusion", source="diffusers")
