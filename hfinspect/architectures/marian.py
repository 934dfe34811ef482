"""Marian (Junczys-Dowmunt et al. 2018), the opus-mt models. Source: transformers/models/marian.

Post-norm encoder and decoder without norms of the embeddings; the languages may have vocabularies
of their own.  Positions are sines, in parameters that are not trained: a save of the translation
class leaves them out, but the model counts them and the released files hold them.
"""

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers import seq2seq
from ..trees.catalog import register
from ..trees.modules import Buffer, Module

STYLE = seq2seq.Seq2Seq("Marian", positions="SinusoidalPositionalEmbedding", offset=0, vocab=58101)


def _target_vocab(c: ModelConfig) -> Dim:
    return c.dim("decoder_vocab_size", default=seq2seq.vocab(c, STYLE))


def _one_table(c: ModelConfig) -> bool:
    return c.flag("share_encoder_decoder_embeddings", default=True)


def model(c: ModelConfig, *, at: str = "") -> Module:
    shared = _one_table(c)
    table = f"{at}shared.weight" if shared and c.tied() else None
    return Module(
        "MarianModel",
        shared=seq2seq.words(c, STYLE) if shared else None,
        encoder=seq2seq.stack(c, STYLE, 0, tied_to=table),
        decoder=seq2seq.stack(c, STYLE, 1, tied_to=table, size=_target_vocab(c)),
    )


def translation(c: ModelConfig) -> Module:
    shared = _one_table(c)
    inner = model(c, at="model.")
    size = seq2seq.vocab(c, STYLE) if shared else _target_vocab(c)
    words = "model.shared.weight" if shared else "model.decoder.embed_tokens.weight"
    return Module(
        "MarianMTModel",
        final_logits_bias=Buffer(1, size, kind="lm_head"),
        model=inner,
        lm_head=seq2seq.lm_head(c, STYLE, words, size),
    )


def causal_lm(c: ModelConfig) -> Module:
    return seq2seq.causal_lm(c, STYLE, size=_target_vocab(c))


register(
    "marian",
    {"MarianMTModel": translation, "MarianModel": model, "MarianForCausalLM": causal_lm},
    base="MarianModel",
    base_prefix="model",
    category="encoder-decoder",
)
