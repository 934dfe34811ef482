"""EXAONE 3.0, 3.5 and Deep (LG AI Research 2024). No class in transformers. Source of shapes:
modeling_exaone.py in LGAI-EXAONE/EXAONE-3.0-7.8B-Instruct; vLLM's exaone.py reads the same names.

Llama's block under GPT-2's names: ``c_fc_0`` is the gate, ``c_fc_1`` the up projection.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.blocks import activation, grouped_attention, grouped_heads, size
from ..layers.heads import decoder_classes
from ..trees.catalog import register
from ..trees.modules import Activation, Dropout, Embedding, Layers, Linear, Module, RMSNorm

_hidden = size("hidden_size", default=2048)


def _norm(c: ModelConfig) -> Module:
    eps = c.number("layer_norm_epsilon", default=1e-5)
    return RMSNorm(_hidden(c), eps=eps, class_name="ExaoneRMSNorm")


def block(c: ModelConfig) -> Module:
    h = _hidden(c)
    inner = c.dim("intermediate_size", default=h * 4)
    heads = grouped_heads(c, h, heads=32)
    return Module(
        "ExaoneBlock",
        ln_1=_norm(c),
        attn=Module(
            "ExaoneAttention",
            attention=grouped_attention("ExaoneSelfAttention", h, heads, out="out_proj"),
        ),
        ln_2=_norm(c),
        mlp=Module(
            "ExaoneGatedMLP",
            c_fc_0=Linear(h, inner, bias=False, kind="gate"),
            c_fc_1=Linear(h, inner, bias=False, kind="up"),
            c_proj=Linear(inner, h, bias=False, kind="down"),
            act=activation(c.text("activation_function", default="silu")),
            component=Component.MLP,
        ),
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "ExaoneModel",
        wte=Embedding(c.dim("vocab_size", default=102400), _hidden(c), padding_idx=c.padding_idx),
        drop=Dropout(c.number("embed_dropout", default=0.0)),
        h=Layers.of(c.count("num_layers", "num_hidden_layers", default=32), block(c)),
        ln_f=_norm(c),
        rotary=Activation("ExaoneRotaryEmbedding"),
    )


register(
    "exaone",
    decoder_classes(
        "Exaone", model, prefix="transformer", embedding="wte", hidden=_hidden, tied_default=True,
        heads=("ForSequenceClassification", "ForQuestionAnswering"),
    ),
    base_prefix="transformer",
    category="text decoder",
    source="modeling_exaone.py of LGAI-EXAONE/EXAONE-3.0-7.8B-Instruct; checked against Llama",
)  # fmt: skip
