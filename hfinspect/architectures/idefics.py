"""IDEFICS (Laurençon et al. 2023), Flamingo made from a Llama. Source: transformers/models/idefics.

CLIP's image tower, a resampler of its patches (``use_resampler``), and between the layers of a
Llama others that attend to the image, opened by learned gates.  Words added to the vocabulary have
a table and a head of their own.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation, size, two_layer_mlp
from ..layers.decoders import Decoder, pre_norm
from ..layers.vision import clip_embeddings, clip_layers, clip_tower, narrowed_attention
from ..trees.catalog import register_pair
from ..trees.modules import (
    Activation,
    Embedding,
    LayerNorm,
    Layers,
    Linear,
    Module,
    ModuleList,
    Parameter,
    Weight,
)

_NAME = "Idefics"


# ---- image


_seen = size("embed_dim", "hidden_size", default=768)


def vision_model(c: ModelConfig) -> Module:
    d, name = _seen(c), f"{_NAME}Vision"
    seen = clip_embeddings(name, c, d, 14, old=False)
    layers = clip_layers(name, c, d, inner=5120, deep=32, act="gelu")
    return clip_tower(f"{name}Transformer", c, seen, layers)


def resampler(c: ModelConfig, d: Dim) -> Module:
    """Learned vectors that look at the patches: what is left of the image."""
    head = c.dim("resampler_head_dim", default=96)
    inner = c.dim("resampler_n_heads", default=16) * head
    attend = narrowed_attention(
        f"{_NAME}PerceiverAttention", d, inner, bias=False, out="output_proj"
    )
    attend.children |= {f"{at}_layer_norm": LayerNorm(d) for at in ("context", "latents")}
    if c.flag("qk_layer_norms_perceiver", default=False):
        attend.children |= {f"{at}_layer_norm": LayerNorm(head) for at in "qk"}
    forward = two_layer_mlp(f"{_NAME}MLP", d, d * 4, act="relu", bias=False, names=("fc", "c_proj"))
    forward.children["ln"] = LayerNorm(d)
    attend.component = forward.component = None  # all of it projects
    block = ModuleList([attend, forward])
    return Module(
        f"{_NAME}PerceiverResampler",
        latents=Weight(c.dim("resampler_n_latents", default=64), d),
        blocks=Layers.of(c.count("resampler_depth", default=6), block),
        layer_norm=LayerNorm(d),
        component=Component.PROJECTOR,
        part="projector",
    )


# ---- text


def _looking(d: Decoder, c: ModelConfig, context: Dim, *, normed: bool = False) -> Module:
    """Attention to what is ``context`` wide; ``normed``: queries and keys, each head's."""
    h, heads = d.width(c), c.dim("num_attention_heads", default=32)
    head = c.divided(h, heads, "hidden_size", "num_attention_heads")
    block = narrowed_attention(f"{d.name}Attention", h, seen=context, bias=False)
    block.children["rotary_emb"] = Activation(f"{d.name}RotaryEmbedding")
    block.children |= {f"{at}_layer_norm": d.norm(d, c, head) for at in "qk" if normed}
    return block


def _attention(d: Decoder, c: ModelConfig) -> Module:
    return _looking(d, c, d.width(c))


TEXT = Decoder(_NAME, attention=_attention, rotary=False, embedding="DecoupledEmbedding")


def _gate(c: ModelConfig) -> Parameter:
    vector = c.word("alpha_type", "float", "vector") == "vector"
    shape = (1, 1, TEXT.width(c)) if vector else (1,)
    return Weight(*shape, component=Component.ATTENTION, kind="gate")


def gated_layer(c: ModelConfig) -> Module:
    block, context = pre_norm(TEXT, c, "dense"), _seen(c.section("vision_config"))
    normed = c.flag("qk_layer_norms", default=False)
    del block.children["self_attn"]
    return Module(
        f"{_NAME}GatedCrossAttentionLayer",
        {
            "alpha_cross_attn": _gate(c),
            "alpha_dense": _gate(c),
            "cross_attn": _looking(TEXT, c, context, normed=normed),
            **block.children,
            "act_cross_attn": activation("tanh"),
            "act_dense": activation("tanh"),
        },
    )


def _added(c: ModelConfig) -> Dim:
    return c.dim("additional_vocab_size", default=0, minimum=0)


def model(c: ModelConfig) -> Module:
    vision, found = c.section("vision_config"), TEXT.model(c)
    if _added(c):
        more = Embedding(_added(c), TEXT.width(c))
        found.inside("embed_tokens").children["additional_embedding"] = more
    count = c.count("num_hidden_layers", default=32)
    gated = Layers.of(count // c.dim("cross_layer_interval", default=1), gated_layer(c))
    found.children |= {"vision_model": vision_model(vision), "gated_cross_attn_layers": gated}
    if c.flag("use_resampler", default=False):
        section = c.section("perceiver_config")
        found.children["perceiver_resampler"] = resampler(section, _seen(vision))
    return found


def generation(c: ModelConfig) -> Module:
    table = "model.embed_tokens" if c.tied(default=False) else None
    head = TEXT.words(c, f"{table}.weight" if table else None)
    head.class_name = f"{_NAME}DecoupledLinear"
    if _added(c):
        to = f"{table}.additional_embedding.weight" if table else None
        more = Linear(TEXT.width(c), _added(c), bias=False, tied_to=to)
        head.children["additional_fc"] = more
    return Module(f"{_NAME}ForVisionText2Text", model=model(c), lm_head=head)


register_pair("idefics", _NAME, generation, model, "multimodal", ending="ForVisionText2Text")
