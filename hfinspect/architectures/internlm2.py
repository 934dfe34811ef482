"""InternLM2 and InternLM2.5 (Cai et al. 2024). No class in transformers. Source of shapes:
modeling_internlm2.py in internlm/internlm2-7b and internlm2-1_8b-reward.

Llama's block under other names, with q, k and v of each group side by side in ``wqkv``.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.composing import respelled
from ..layers.decoders import Decoder
from ..layers.heads import causal_lm, classifier, decoder_classes
from ..trees.catalog import register
from ..trees.modules import Linear, Module
from .llama import LLAMA

_SPELLED = {
    "embed_tokens": "tok_embeddings", "self_attn": "attention", "mlp": "feed_forward",
    "gate_proj": "w1", "up_proj": "w3", "down_proj": "w2", "input_layernorm": "attention_norm",
    "post_attention_layernorm": "ffn_norm",
}  # fmt: skip


def _attention(d: Decoder, c: ModelConfig) -> Module:
    """H·(h + 2g)·d for q, k and v together."""
    h, heads, bias = d.width(c), d.heads(c), c.flag("bias", default=True)
    return Module(
        "InternLM2Attention",
        wqkv=Linear(h, (heads.query + 2 * heads.kv) * heads.dim, bias=bias, kind="qkv"),
        wo=Linear(heads.query * heads.dim, h, bias=bias, kind="output"),
        component=Component.ATTENTION,
    )


_LLAMA = LLAMA.like(
    "InternLM2", vocab_size=103168, mlp_bias=None, rotary=False, attention=_attention
)


def model(c: ModelConfig) -> Module:
    return respelled(_LLAMA.model(c), _SPELLED)


def reward_model(c: ModelConfig) -> Module:
    """One number for a conversation."""
    head = classifier(_LLAMA.width(c), 1, bias=False)
    return Module("InternLM2ForRewardModel", model=model(c), v_head=head)


_classes = decoder_classes("InternLM2", model, embedding="tok_embeddings", hidden=_LLAMA.width)
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
