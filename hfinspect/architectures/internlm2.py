"""InternLM2 and InternLM2.5 (Cai et al. 2024): Llama's block under other names, with q, k and v of
each group side by side in ``wqkv``. internlm2-1_8b-reward has the reward's head."""

from ..core.config import ModelConfig
from ..layers.blocks import fused_attention
from ..layers.composing import Part, composed, respelled
from ..layers.decoders import Decoder
from ..layers.heads import causal_lm, classifier, register_decoder
from ..trees.modules import Module

_SPELLED = {
    "embed_tokens": "tok_embeddings", "self_attn": "attention", "mlp": "feed_forward",
    "gate_proj": "w1", "up_proj": "w3", "down_proj": "w2", "input_layernorm": "attention_norm",
    "post_attention_layernorm": "ffn_norm",
}  # fmt: skip


def _attention(d: Decoder, c: ModelConfig) -> Module:
    """H·(h + 2g)·d for q, k and v together."""
    h, heads, bias = d.width(c), d.heads(c), c.flag("bias", default=True)
    return fused_attention(
        "InternLM2Attention", h, bias=bias, out_bias=bias, qkv="wqkv", out="wo",
        joined=(heads.query + 2 * heads.kv) * heads.dim, width=heads.query * heads.dim,
    )  # fmt: skip


_LLAMA = Decoder("InternLM2", vocab_size=103168, rotary=False, attention=_attention)


def model(c: ModelConfig) -> Module:
    return respelled(_LLAMA.model(c), _SPELLED)


#: One number for a conversation.
_REWARD: dict[str, Part] = {
    "model": model,
    "v_head": lambda c: classifier(_LLAMA.width(c), 1, bias=False),
}
_CAUSAL, _TABLE = "InternLM2ForCausalLM", "tok_embeddings"
_MORE = {
    _CAUSAL: causal_lm(_CAUSAL, model, embedding=_TABLE, head="output"),
    **composed({"InternLM2ForRewardModel": _REWARD}),
}
register_decoder(
    "internlm2",
    "InternLM2",
    model,
    embedding=_TABLE,
    hidden=_LLAMA.width,
    more=_MORE,
    source="modeling_internlm2.py of internlm/internlm2-7b; checked against transformers' Llama",
)
