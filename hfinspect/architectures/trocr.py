"""TrOCR's decoder (Li et al. 2021), BART's, which reads the states of an image encoder of another
width. Source of shapes: transformers/models/trocr/modeling_trocr.py."""

from ..layers import seq2seq
from ..layers.composing import respelled
from ..trees import Linear, ModelConfig, Module, register_part
from .bart import BART


def _attention(c: ModelConfig, s: seq2seq.Seq2Seq, side: int, cross: bool) -> Module:
    attend = seq2seq.attention(c, s, side)
    context = c.optional_dim("cross_attention_hidden_size")
    if cross and context is not None:
        for name, kind in {"k_proj": "key", "v_proj": "value"}.items():
            attend.children[name] = Linear(context, seq2seq.width(c, s), kind=kind)
    return attend


def causal_lm(c: ModelConfig) -> Module:
    learned = c.flag("use_learned_position_embeddings", default=True)
    normed = c.flag("layernorm_embedding", default=True)
    style = BART.like("TrOCR", length=512, attends=_attention, embedding_norm=normed)
    style = style if learned else style.like("TrOCR", positions=None)
    return respelled(seq2seq.causal_lm(c, style), {"lm_head": "output_projection"})


register_part("trocr", "TrOCRForCausalLM", causal_lm, "text decoder", prefix="model")
