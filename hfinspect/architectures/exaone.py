"""EXAONE 3.0, 3.5 and Deep (LG AI Research 2024); vLLM's exaone.py reads the same names. A later
transformers builds Llama's classes for the type, with other defaults than the first release's code.
A save of them has that release's names, but for three of a model without its head."""

from functools import partial

from ..layers import named_decoder as s
from ..layers.blocks import grouped_attention, grouped_heads, rms_norms, size
from ..layers.composing import respelled
from ..trees import Embedding, ModelConfig, Module


def _attention(d: s.NamedDecoder, c: ModelConfig, kv: int | None = None) -> Module:
    heads = grouped_heads(c, d.width(c), heads=32, kv=kv)
    name = f"{d.name}SelfAttention"
    inside = grouped_attention(name, d.width(c), heads, out="out_proj", bias=d.biased(c))
    return Module("ExaoneAttention", attention=inside)


_EXAONE = s.NamedDecoder(
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
)
_LLAMA = _EXAONE.like(
    "Llama",
    width=size("hidden_size", default=4096),
    inner=s.inner_size("intermediate_size", default=14336),
    norms=rms_norms("LlamaRMSNorm", 1e-5, "rms_norm_eps"),
    bias=s.flagged("mlp_bias"),
    attention_bias=s.flagged("attention_bias"),
    block={**_EXAONE.block, "attn": partial(_attention, kv=8)},
    called={"MLP": "LlamaMLP", "Block": "LlamaDecoderLayer"},
    tied=False,
)


def _alone(c: ModelConfig) -> Module:
    return respelled(_LLAMA.base(c), {"wte": "embed_tokens", "h": "layers", "ln_f": "norm"})


_EXAONE.register(
    "exaone",
    {
        **_EXAONE.classes(heads=("ForSequenceClassification", "ForQuestionAnswering")),
        **_LLAMA.classes(heads=()),
        "LlamaModel": _alone,
    },
    source="modeling_exaone.py of LGAI-EXAONE/EXAONE-3.0-7.8B-Instruct; checked against Llama",
)
