"""PEGASUS-X (Phang et al. 2022): Pegasus over long texts, with a few global tokens that have an
embedding, and a norm in each layer of the encoder (transformers/models/pegasus_x)."""

from ..layers import seq2seq
from ..trees import Embedding, ModelConfig, Module, each_module


def _attention(c: ModelConfig, s: seq2seq.Seq2Seq, side: int, _cross: bool) -> Module:
    name = f"PegasusX{'' if side else 'GlobalLocal'}Attention"
    return seq2seq.attention(c, s, side, class_name=name)


def _model(c: ModelConfig, s: seq2seq.Seq2Seq) -> Module:
    tree = seq2seq.model(c, s)
    encoder = tree.inside("encoder")
    tokens = c.dim("num_global_tokens", default=32)
    for layer in each_module(encoder):
        if "self_attn" in layer.children:
            layer.adding(global_self_attn_layer_norm=seq2seq.norm(c, s))
    encoder.adding(embed_global=Embedding(tokens, seq2seq.width(c, s)))
    return tree


seq2seq.Seq2Seq(
    "PegasusX",
    words="ScaledWordEmbedding",
    final_norm=True,
    vocab=96103,
    layers=(16, 16),
    bias=False,
    logits_bias=False,
    attends=_attention,
    make_model=_model,
).register("pegasus_x", *seq2seq.GENERATION)
