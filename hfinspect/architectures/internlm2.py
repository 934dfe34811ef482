"""InternLM2 and InternLM2.5 (Cai et al. 2024): Llama's block under other names, with q, k and v of
each group side by side in ``wqkv``. internlm2-1_8b-reward has the reward's head."""

from ..layers.blocks import fused_attention
from ..layers.composing import FormPart, composed, respelled
from ..layers.decoders import Decoder, pre_norm
from ..layers.heads import causal_lm, classifier
from ..trees import ModelConfig, Module

_SPELLED = {
    "self_attn": "attention",
    "mlp": "feed_forward",
    "gate_proj": "w1",
    "up_proj": "w3",
    "down_proj": "w2",
    "input_layernorm": "attention_norm",
    "post_attention_layernorm": "ffn_norm",
}


def _attention(d: Decoder, c: ModelConfig) -> Module:
    """H·(h + 2g)·d for q, k and v together."""
    h = d.width(c)
    heads = d.heads(c)
    bias = c.flag("bias", default=True)
    return fused_attention(
        "InternLM2Attention",
        h,
        bias=bias,
        out_bias=bias,
        qkv="wqkv",
        out="wo",
        joined=(heads.query + 2 * heads.kv) * heads.dim,
        width=heads.query * heads.dim,
    )


_INTERN = Decoder(
    "InternLM2",
    vocab_size=103168,
    rotary=False,
    attention=_attention,
    table="tok_embeddings",
    layer=lambda d, c, kind: respelled(pre_norm(d, c, kind), _SPELLED),
)
_CAUSAL = "InternLM2ForCausalLM"
#: One number for a conversation.
_REWARD: dict[str, FormPart] = {
    "model": _INTERN.model,
    "v_head": lambda c: classifier(_INTERN.width(c), 1, bias=False),
}
_INTERN.register(
    "internlm2",
    more={
        _CAUSAL: causal_lm(_CAUSAL, _INTERN.model, embedding="tok_embeddings", head="output"),
        **composed({"InternLM2ForRewardModel": _REWARD}),
    },
    source="modeling_internlm2.py of internlm/internlm2-7b; checked against transformers' Llama",
)
