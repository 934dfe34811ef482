"""InternLM2 and InternLM2.5 (Cai et al. 2024). No class in transformers. Source of shapes:
modeling_internlm2.py in internlm/internlm2-7b and internlm2-1_8b-reward.

Llama's block under other names, with q, k and v of each group side by side in ``wqkv``.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation, grouped_heads
from ..layers.heads import causal_lm, classifier, decoder_classes
from ..trees.catalog import register
from ..trees.modules import Embedding, Layers, Linear, Module, RMSNorm


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=4096)


def _norm(c: ModelConfig) -> Module:
    eps = c.number("rms_norm_eps", default=1e-6)
    return RMSNorm(_hidden(c), eps=eps, class_name="InternLM2RMSNorm")


def attention(c: ModelConfig) -> Module:
    """H·(h + 2g)·d for q, k and v together."""
    h = _hidden(c)
    heads = grouped_heads(c, h, heads=32)
    bias = c.flag("bias", default=True)
    return Module(
        "InternLM2Attention",
        wqkv=Linear(h, (heads.query + 2 * heads.kv) * heads.dim, bias=bias, kind="qkv"),
        wo=Linear(heads.query * heads.dim, h, bias=bias, kind="output"),
        component=Component.ATTENTION,
    )


def layer(c: ModelConfig) -> Module:
    h, inner = _hidden(c), c.dim("intermediate_size", default=11008)
    return Module(
        "InternLM2DecoderLayer",
        attention=attention(c),
        feed_forward=Module(
            "InternLM2MLP",
            w1=Linear(h, inner, bias=False, kind="gate"),
            w3=Linear(h, inner, bias=False, kind="up"),
            w2=Linear(inner, h, bias=False, kind="down"),
            act_fn=activation(c.text("hidden_act", default="silu")),
            component=Component.MLP,
        ),
        attention_norm=_norm(c),
        ffn_norm=_norm(c),
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "InternLM2Model",
        tok_embeddings=Embedding(c.dim("vocab_size", default=103168), _hidden(c)),
        layers=Layers.of(c.count("num_hidden_layers", default=32), layer(c)),
        norm=_norm(c),
    )


def reward_model(c: ModelConfig) -> Module:
    """One number for a conversation."""
    head = classifier(_hidden(c), 1, bias=False)
    return Module("InternLM2ForRewardModel", model=model(c), v_head=head)


_classes = decoder_classes("InternLM2", model, embedding="tok_embeddings", hidden=_hidden)
_classes["InternLM2ForCausalLM"] = causal_lm(
    "InternLM2ForCausalLM", model, embedding="tok_embeddings", head="output"
)

register(
    "internlm2",
    {**_classes, "InternLM2ForRewardModel": reward_model},
    base_prefix="model",
    category="text decoder",
    source="modeling_internlm2.py of internlm/internlm2-7b; checked against transformers' Llama",
)
