"""IDEFICS (Laurençon et al. 2023), Flamingo made from a Llama. Source: transformers/models/idefics.
CLIP's tower, a resampler of its patches, and between a Llama's layers others that attend to the
image, opened by gates. Words added to the vocabulary have a table and a head of their own."""

from ..layers.blocks import activation, two_layer_mlp
from ..layers.decoders import Decoder, pre_norm
from ..layers.multimodal import projector
from ..layers.vision import clip_embeddings, clip_layers, clip_tower, narrowed_attention
from ..trees import Component, Dim, ModelConfig, register_pair
from ..trees.modules import Embedding, LayerNorm, Layers, Linear, Module, ModuleList, Weight

_NAME = "Idefics"


def _resampler(c: ModelConfig, d: Dim) -> Module:
    """Learned vectors that look at the patches: what is left of the image."""
    head = c.dim("resampler_head_dim", default=96)
    inner = c.dim("resampler_n_heads", default=16) * head
    name = f"{_NAME}PerceiverAttention"
    widths = {"context": d, "latents": d}
    if c.flag("qk_layer_norms_perceiver", default=False):
        widths |= {"q": head, "k": head}
    attend = narrowed_attention(name, d, inner, bias=False, out="output_proj")
    attend.children |= {f"{at}_layer_norm": LayerNorm(width) for at, width in widths.items()}
    forward = two_layer_mlp(f"{_NAME}MLP", d, d * 4, act="relu", bias=False, names=("fc", "c_proj"))
    forward.children["ln"] = LayerNorm(d)
    attend.component = forward.component = None  # all of it projects
    return projector(
        f"{_NAME}PerceiverResampler",
        latents=Weight(c.dim("resampler_n_latents", default=64), d),
        blocks=Layers.of(c.count("resampler_depth", default=6), ModuleList([attend, forward])),
        layer_norm=LayerNorm(d),
    )


def _looking(d: Decoder, c: ModelConfig, context: Dim, *, normed: bool = False) -> Module:
    """Attention to what is ``context`` wide; ``normed``: queries and keys, each head's."""
    h = d.width(c)
    heads = c.dim("num_attention_heads", default=32)
    head = c.divided(h, heads, "hidden_size", "num_attention_heads")
    block = f"{d.name}Attention"
    rotary = Module(f"{d.name}RotaryEmbedding")
    norms = {f"{at}_layer_norm": d.norm(d, c, head) for at in "qk" if normed}
    return narrowed_attention(block, h, context=context, bias=False).adding(
        rotary_emb=rotary, **norms
    )


def _gated_layer(d: Decoder, c: ModelConfig, context: Dim) -> Module:
    shape = (1, 1, d.width(c)) if c.word("alpha_type", "float", "vector") == "vector" else (1,)
    gate = Weight(*shape, component=Component.ATTENTION, kind="gate")
    normed = c.flag("qk_layer_norms", default=False)
    block = pre_norm(d, c, "dense").without("self_attn").children
    tanh = activation("tanh")
    looking = {"cross_attn": _looking(d, c, context, normed=normed)}
    return Module(
        f"{_NAME}GatedCrossAttentionLayer",
        {"alpha_cross_attn": gate, "alpha_dense": gate, **looking, **block},
        act_cross_attn=tanh,
        act_dense=tanh,
    )


def _further(d: Decoder, c: ModelConfig) -> dict[str, Module]:
    """The tower, the layers that look at it, and a resampler."""
    vision = c.section("vision_config")
    count = c.count("num_hidden_layers", default=32)
    width = vision.dim("embed_dim", "hidden_size", default=768)
    name = f"{_NAME}Vision"
    step = c.dim("cross_layer_interval", default=1)
    embeddings = clip_embeddings(name, vision, width, 14, old=False)
    layers = clip_layers(name, vision, width, inner=5120, deep=32, act="gelu", heads=16)
    parts = {
        "vision_model": clip_tower(f"{name}Transformer", vision, embeddings, layers),
        "gated_cross_attn_layers": Layers.of(count // step, _gated_layer(d, c, width)),
    }
    if c.flag("use_resampler", default=False):
        parts["perceiver_resampler"] = _resampler(c.section("perceiver_config"), width)
    return parts


TEXT = Decoder(
    _NAME,
    attention=lambda d, c: _looking(d, c, d.width(c)),
    rotary=False,
    embedding="DecoupledEmbedding",
    further=_further,
)


def _added(c: ModelConfig) -> Dim:
    return c.dim("additional_vocab_size", default=0, minimum=0)


def _model(c: ModelConfig) -> Module:
    root = TEXT.model(c)
    more = Embedding(_added(c), TEXT.width(c)) if _added(c) else None
    root.inside("embed_tokens").adding(additional_embedding=more)
    return root


def _generation(c: ModelConfig) -> Module:
    table = "model.embed_tokens" if c.tied(default=False) else None
    to = f"{table}.additional_embedding.weight" if table else None
    more = Linear(TEXT.width(c), _added(c), bias=False, tied_to=to) if _added(c) else None
    head = TEXT.words(c, f"{table}.weight" if table else None).adding(additional_fc=more)
    head.called(f"{_NAME}DecoupledLinear")
    return Module(f"{_NAME}ForVisionText2Text", model=_model(c), lm_head=head)


register_pair("idefics", _NAME, _generation, _model, "multimodal", ending="ForVisionText2Text")
