"""IDEFICS (Laurençon et al. 2023), Flamingo made from a Llama. Source: transformers/models/idefics.

CLIP's image tower, a resampler of its patches (``use_resampler``), and between the layers of a
Llama others that attend to the image, opened by learned gates.  Words added to the vocabulary have
a table and a head of their own.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation, gated_mlp, size
from ..layers.vision import (
    clip_tower,
)
from ..trees.catalog import register
from ..trees.modules import (
    Activation,
    Embedding,
    LayerNorm,
    Layers,
    Linear,
    Module,
    ModuleList,
    Parameter,
    RMSNorm,
    Weight,
)

_NAME = "Idefics"


# ---- image


def _seen(vision: ModelConfig) -> Dim:
    return vision.dim("embed_dim", "hidden_size", default=768)


def vision_model(c: ModelConfig) -> Module:
    tower = clip_tower(f"{_NAME}Vision", c, _seen(c), inner=5120, layers=32, patch=14, act="gelu")
    tower.part = "vision"
    return tower


def resampler(c: ModelConfig, d: Dim) -> Module:
    """Learned vectors that look at the patches: what is left of the image."""
    heads = c.dim("resampler_n_heads", default=16)
    head = c.dim("resampler_head_dim", default=96)
    normed = c.flag("qk_layer_norms_perceiver", default=False)
    inner = heads * head
    attend = Module(
        f"{_NAME}PerceiverAttention",
        context_layer_norm=LayerNorm(d),
        latents_layer_norm=LayerNorm(d),
        q_layer_norm=LayerNorm(head) if normed else None,
        k_layer_norm=LayerNorm(head) if normed else None,
        q_proj=Linear(d, inner, bias=False, kind="query"),
        k_proj=Linear(d, inner, bias=False, kind="key"),
        v_proj=Linear(d, inner, bias=False, kind="value"),
        output_proj=Linear(inner, d, bias=False, kind="output"),
    )
    forward = Module(
        f"{_NAME}MLP",
        ln=LayerNorm(d),
        fc=Linear(d, d * 4, bias=False, kind="up"),
        act=Activation("ReLU"),
        c_proj=Linear(d * 4, d, bias=False, kind="down"),
    )
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


_hidden = size("hidden_size", default=4096)


def _norm(c: ModelConfig, size: Dim | None = None) -> Module:
    eps = c.number("rms_norm_eps", default=1e-6)
    return RMSNorm(_hidden(c) if size is None else size, eps=eps, class_name=f"{_NAME}RMSNorm")


def attention(c: ModelConfig, context: Dim, *, normed: bool = False) -> Module:
    h, heads = _hidden(c), c.dim("num_attention_heads", default=32)
    head = c.divided(h, heads, "hidden_size", "num_attention_heads")
    return Module(
        f"{_NAME}Attention",
        q_proj=Linear(h, h, bias=False, kind="query"),
        k_proj=Linear(context, h, bias=False, kind="key"),
        v_proj=Linear(context, h, bias=False, kind="value"),
        o_proj=Linear(h, h, bias=False, kind="output"),
        rotary_emb=Activation(f"{_NAME}RotaryEmbedding"),
        q_layer_norm=_norm(c, head) if normed else None,
        k_layer_norm=_norm(c, head) if normed else None,
        component=Component.ATTENTION,
    )


def _mlp(c: ModelConfig) -> Module:
    act = c.text("hidden_act", default="silu")
    inner = c.dim("intermediate_size", default=11008)
    return gated_mlp(f"{_NAME}MLP", _hidden(c), inner, act=act)


def _gate(c: ModelConfig) -> Parameter:
    kind = c.text("alpha_type", default="float")
    if kind not in ("float", "vector"):
        raise c.error("alpha_type", kind, "float or vector")
    shape = (1, 1, _hidden(c)) if kind == "vector" else (1,)
    return Weight(*shape, component=Component.ATTENTION, kind="gate")


def layer(c: ModelConfig) -> Module:
    return Module(
        f"{_NAME}DecoderLayer",
        self_attn=attention(c, _hidden(c)),
        mlp=_mlp(c),
        input_layernorm=_norm(c),
        post_attention_layernorm=_norm(c),
    )


def gated_layer(c: ModelConfig) -> Module:
    context = _seen(c.section("vision_config"))
    normed = c.flag("qk_layer_norms", default=False)
    return Module(
        f"{_NAME}GatedCrossAttentionLayer",
        alpha_cross_attn=_gate(c),
        alpha_dense=_gate(c),
        cross_attn=attention(c, context, normed=normed),
        mlp=_mlp(c),
        input_layernorm=_norm(c),
        post_attention_layernorm=_norm(c),
        act_cross_attn=activation("tanh"),
        act_dense=activation("tanh"),
    )


def _added(c: ModelConfig) -> Dim:
    return c.dim("additional_vocab_size", default=0, minimum=0)


def model(c: ModelConfig) -> Module:
    count, vision = c.count("num_hidden_layers", default=32), c.section("vision_config")
    words = Embedding(
        c.dim("vocab_size", default=32000), _hidden(c), class_name=f"{_NAME}DecoupledEmbedding"
    )
    if _added(c):
        words.children["additional_embedding"] = Embedding(_added(c), _hidden(c))
    resampled = c.flag("use_resampler", default=False)
    gated = count // c.dim("cross_layer_interval", default=1)
    return Module(
        f"{_NAME}Model",
        embed_tokens=words,
        vision_model=vision_model(vision),
        perceiver_resampler=resampler(c.section("perceiver_config"), _seen(vision))
        if resampled
        else None,
        layers=Layers.of(count, layer(c)),
        gated_cross_attn_layers=Layers.of(gated, gated_layer(c)),
        norm=_norm(c),
    )


def generation(c: ModelConfig) -> Module:
    h, tied = _hidden(c), c.tied(default=False)
    table = "model.embed_tokens"
    head = Linear(
        h,
        c.dim("vocab_size", default=32000),
        bias=False,
        tied_to=f"{table}.weight" if tied else None,
        component=Component.HEAD,
        kind="lm_head",
        class_name=f"{_NAME}DecoupledLinear",
    )
    if _added(c):
        to = f"{table}.additional_embedding.weight" if tied else None
        head.children["additional_fc"] = Linear(h, _added(c), bias=False, tied_to=to)
    return Module(f"{_NAME}ForVisionText2Text", model=model(c), lm_head=head)


register(
    "idefics",
    {f"{_NAME}ForVisionText2Text": generation, f"{_NAME}Model": model},
    base_prefix="model",
    category="multimodal",
)
