"""EXAONE 3.0, 3.5 and Deep (LG AI Research 2024); vLLM's exaone.py reads the same names."""

from ..layers import named_decoder as s
from ..layers.blocks import grouped_attention, grouped_heads, rms_norms, size
from ..trees import Embedding, ModelConfig, Module


def _attention(d: s.NamedDecoder, c: ModelConfig) -> Module:
    heads = grouped_heads(c, d.width(c), heads=32)
    inside = grouped_attention("ExaoneSelfAttention", d.width(c), heads, out="out_proj")
    return Module("ExaoneAttention", attention=inside)


s.NamedDecoder(
    "Exaone",
    width=size("hidden_size", default=2048),
    depth=size("num_layers", "num_hidden_layers", default=32),
    vocab=size("vocab_size", default=102400),
    inner=s.times(4, "intermediate_size"),
    norms=rms_norms("ExaoneRMSNorm", 1e-5, "layer_norm_epsilon"),
    bias=s.never,
    called={"MLP": "ExaoneGatedMLP"},
    model={
        "wte": lambda d, c: Embedding(d.vocab(c), d.width(c), padding_idx=c.padding_idx),
        "drop": s.dropout("embed_dropout"),
        "h": s.layers,
        "ln_f": s.norm,
        "rotary": s.shown("ExaoneRotaryEmbedding"),
    },
    block={"ln_1": s.norm, "attn": _attention, "ln_2": s.norm, "mlp": s.mlp},
    mlp={
        "c_fc_0": s.gate,
        "c_fc_1": s.up,
        "c_proj": s.down,
        "act": s.act("activation_function", "silu"),
    },
).register(
    "exaone",
    heads=("ForSequenceClassification", "ForQuestionAnswering"),
    source="modeling_exaone.py of LGAI-EXAONE/EXAONE-3.0-7.8B-Instruct; checked against Llama",
)
