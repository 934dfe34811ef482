"""Phi-1, Phi-1.5 and Phi-2 (Gunasekar et al. 2023). Source:
transformers/models/phi/modeling_phi.py.

Attention and MLP stand side by side behind one norm; every linear has a bias, the LM head as well.
"""

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import grouped_attention, grouped_heads
from ..layers.decoders import LABEL_HEADS
from ..layers.heads import decoder_classes
from ..layers.vision import plain_mlp
from ..trees.catalog import register
from ..trees.modules import Activation, Dropout, Embedding, LayerNorm, Layers, Module


def _hidden(c: ModelConfig) -> Dim:
    if c.has("n_embd") and not c.has("hidden_size"):
        # Files for the first, remote code have other modules under other names.
        raise c.error("n_embd", c.raw("n_embd"), "hidden_size, as Phi's files since 2024 have it")
    return c.dim("hidden_size", default=2048)


def _eps(c: ModelConfig) -> float:
    return c.number("layer_norm_eps", default=1e-5)


def attention(c: ModelConfig) -> Module:
    """Query and key norms, where the config has them, are as wide as hidden / heads, even if
    ``head_dim`` says otherwise."""
    h = _hidden(c)
    heads = grouped_heads(c, h, heads=32)
    normed = c.flag("qk_layernorm", default=False)
    norm = LayerNorm(h // heads.query, eps=_eps(c))
    return grouped_attention(
        "PhiAttention", h, heads, bias=True, out="dense",
        norms=(lambda: {"q_layernorm": norm, "k_layernorm": norm}) if normed else None,
    )  # fmt: skip


def layer(c: ModelConfig) -> Module:
    h, inner = _hidden(c), c.dim("intermediate_size", default=8192)
    return Module(
        "PhiDecoderLayer",
        self_attn=attention(c),
        mlp=plain_mlp("PhiMLP", h, inner, act=c.text("hidden_act", default="gelu_new")),
        input_layernorm=LayerNorm(h, eps=_eps(c)),
        resid_dropout=Dropout(c.number("resid_pdrop", default=0.0)),
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "PhiModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=51200), _hidden(c)),
        layers=Layers.of(c.count("num_hidden_layers", default=24), layer(c)),
        rotary_emb=Activation("PhiRotaryEmbedding"),
        embed_dropout=Dropout(c.number("embd_pdrop", default=0.0)),
        final_layernorm=LayerNorm(_hidden(c), eps=_eps(c)),
    )


_CLASSES = decoder_classes("Phi", model, hidden=_hidden, bias=True, heads=LABEL_HEADS)
register("phi", _CLASSES, base_prefix="model", category="text decoder")
