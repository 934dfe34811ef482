"""CTRL (Keskar et al. 2019). Source of shapes: transformers/models/ctrl/modeling_ctrl.py.

Pre-norm decoder with biases, the LM head's included; positions are sinusoids without tensors.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.heads import causal_lm, classifier
from ..trees.catalog import register
from ..trees.modules import (
    Activation,
    Dropout,
    Embedding,
    LayerNorm,
    Layers,
    Linear,
    Module,
    Sequential,
)


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("n_embd", "hidden_size", default=1280)


def layer(c: ModelConfig) -> Module:
    h, inner = _hidden(c), c.dim("dff", default=8192)
    dropout = Dropout(c.number("resid_pdrop", default=0.1))
    return Module(
        "EncoderLayer",
        multi_head_attention=Module(
            "MultiHeadAttention",
            Wq=Linear(h, h, kind="query"),
            Wk=Linear(h, h, kind="key"),
            Wv=Linear(h, h, kind="value"),
            dense=Linear(h, h, kind="output"),
            component=Component.ATTENTION,
        ),
        ffn=Sequential(
            Linear(h, inner, kind="up"),
            Activation("ReLU"),
            Linear(inner, h, kind="down"),
            component=Component.MLP,
        ),
        layernorm1=LayerNorm(h, eps=1e-6),
        layernorm2=LayerNorm(h, eps=1e-6),
        dropout1=dropout,
        dropout2=dropout,
    )


def model(c: ModelConfig) -> Module:
    h = _hidden(c)
    return Module(
        "CTRLModel",
        w=Embedding(c.dim("vocab_size", default=246534), h),
        dropout=Dropout(c.number("embd_pdrop", default=0.1)),
        h=Layers.of(c.count("n_layer", "num_hidden_layers", default=48), layer(c)),
        layernorm=LayerNorm(h, eps=c.number("layer_norm_epsilon", default=1e-6)),
    )


def sequence_classification(c: ModelConfig) -> Module:
    return Module(
        "CTRLForSequenceClassification",
        transformer=model(c),
        classifier=classifier(_hidden(c), c.num_labels, bias=False),
    )


register(
    "ctrl",
    {
        "CTRLLMHeadModel": causal_lm(
            "CTRLLMHeadModel", model, prefix="transformer", embedding="w", tied_default=True,
            bias=True,
        ),
        "CTRLModel": model,
        "CTRLForSequenceClassification": sequence_classification,
    },
    base="CTRLModel",
    base_prefix="transformer",
    category="text decoder",
)  # fmt: skip
