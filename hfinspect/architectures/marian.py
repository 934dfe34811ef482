"""Marian (Junczys-Dowmunt et al. 2018), the opus-mt models. Positions are sines, in parameters that
are not trained: a save of the translation class leaves them out, but the model counts them and the
released files hold them (transformers/models/marian)."""

from functools import partial

from ..layers import seq2seq
from ..trees import Buffer, Dim, ModelConfig, Module


def _own_table(c: ModelConfig, s: seq2seq.Seq2Seq) -> tuple[bool, Dim]:
    """Whether the decoder's words are apart from the encoder's, and how many they are."""
    apart = not c.flag("share_encoder_decoder_embeddings", default=True)
    return apart, c.dim("decoder_vocab_size", default=seq2seq.vocab(c, s))


def _model(c: ModelConfig, s: seq2seq.Seq2Seq) -> Module:
    tree = seq2seq.model(c, s)
    (apart, size) = _own_table(c, s)
    table = "shared.weight" if c.tied() and not apart else None
    tree.adding(decoder=seq2seq.stack(c, s, 1, tied_to=table, size=size))
    return tree.without("shared").adding(encoder=seq2seq.stack(c, s, 0)) if apart else tree


def _translation(c: ModelConfig, s: seq2seq.Seq2Seq) -> Module:
    root = seq2seq.conditional_generation(c, s)
    (apart, size) = _own_table(c, s)
    if apart:
        head = seq2seq.lm_head(c, s, "model.decoder.embed_tokens.weight", size)
        root.adding(final_logits_bias=Buffer(1, size, kind="lm_head"), lm_head=head)
    return root.called("MarianMTModel")


MARIAN = seq2seq.Seq2Seq(
    "Marian", positions="SinusoidalPositionalEmbedding", offset=0, vocab=58101, make_model=_model
)
MARIAN.register(
    "marian",
    more={
        "MarianMTModel": partial(_translation, s=MARIAN),
        "MarianModel": partial(_model, s=MARIAN),
        "MarianForCausalLM": lambda c: seq2seq.causal_lm(c, MARIAN, size=_own_table(c, MARIAN)[1]),
    },
)
