"""Jais (Sengupta et al. 2023). No class in transformers (``jais2`` is another model). Source of
shapes: modeling_jais.py in core42/jais-13b; vLLM's jais.py reads the same names.

GPT-2's block with ALiBi positions, whose slopes are a saved parameter, and a gated MLP: ``c_fc2``
is the gate.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.blocks import size
from ..layers.heads import causal_lm, classifier
from ..trees.catalog import register
from ..trees.modules import Conv1D, Dropout, Embedding, LayerNorm, Layers, Module, Weight

_hidden = size("n_embd", "hidden_size", default=768)
_heads = size("n_head", "num_attention_heads", default=12)


def block(c: ModelConfig) -> Module:
    h = _hidden(c)
    c.divided(h, _heads(c), "n_embd", "n_head")
    inner = c.dim("n_inner", default=4 * h)
    gated = c.text("activation_function", default="gelu_new") == "swiglu"
    norm = LayerNorm(h, eps=c.number("layer_norm_epsilon", default=1e-5))
    return Module(
        "JAISBlock",
        ln_1=norm,
        attn=Module(
            "JAISAttention",
            c_attn=Conv1D(3 * h, h, kind="qkv"),
            c_proj=Conv1D(h, h, kind="output"),
            component=Component.ATTENTION,
        ),
        ln_2=norm,
        mlp=Module(
            "JAISMLP",
            c_fc=Conv1D(inner, h, kind="up"),
            c_fc2=Conv1D(inner, h, kind="gate") if gated else None,
            c_proj=Conv1D(h, inner, kind="down"),
            component=Component.MLP,
        ),
    )


def model(c: ModelConfig) -> Module:
    h = _hidden(c)
    alibi = c.text("position_embedding_type", default="learned") == "alibi"
    positions = c.dim("n_positions", "max_position_embeddings", default=1024)
    slopes = Module("AlibiPositionEmbeddingLayer", slopes=Weight(_heads(c), 1, kind="position"))
    slopes.component = Component.EMBEDDING
    return Module(
        "JAISModel",
        wte=Embedding(c.dim("vocab_size", default=50257), h),
        wpe=None if alibi else Embedding(positions, h, kind="position"),
        relative_pe=slopes if alibi else None,
        drop=Dropout(c.number("embd_pdrop", default=0.1)),
        h=Layers.of(c.count("n_layer", "num_hidden_layers", default=12), block(c)),
        ln_f=LayerNorm(h, eps=c.number("layer_norm_epsilon", default=1e-5)),
    )


def _sequence_classification(c: ModelConfig) -> Module:
    score = classifier(_hidden(c), c.num_labels, bias=False)
    return Module("JAISForSequenceClassification", transformer=model(c), score=score)


register(
    "jais",
    {
        "JAISLMHeadModel": causal_lm(
            "JAISLMHeadModel", model, prefix="transformer", embedding="wte", tied_default=True
        ),
        "JAISModel": model,
        "JAISForSequenceClassification": _sequence_classification,
    },
    base="JAISModel",
    base_prefix="transformer",
    category="text decoder",
    source="modeling_jais.py of core42/jais-13b; vLLM's jais.py",
)
