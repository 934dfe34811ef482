"""TrOCR's decoder (Li et al. 2021). Source of shapes: transformers/models/trocr/modeling_trocr.py.

BART's decoder, which reads the states of an image encoder of another width; it comes inside a
vision-encoder-decoder.
"""

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers import seq2seq
from ..layers.composing import with_defaults
from ..layers.heads import to_words
from ..layers.seq2seq import Seq2Seq
from ..trees.catalog import register
from ..trees.modules import Linear, Module


def _style(c: ModelConfig) -> Seq2Seq:
    learned = c.flag("use_learned_position_embeddings", default=True)
    return Seq2Seq(
        "TrOCR",
        words="ScaledWordEmbedding",
        positions="LearnedPositionalEmbedding" if learned else None,
        embedding_norm=c.flag("layernorm_embedding", default=True),
        length=512,
    )


def causal_lm(c: ModelConfig) -> Module:
    style = _style(c)
    decoder = seq2seq.stack(c, style, 1)
    seen: Dim | None = c.optional_dim("cross_attention_hidden_size")
    if seen is not None:
        for number in decoder.inside("layers").children:
            decoder.inside("layers", number).children["encoder_attn"] = _reading(c, style, seen)
    table = "model.decoder.embed_tokens.weight" if c.tied() else None
    return Module(
        "TrOCRForCausalLM",
        model=Module("TrOCRDecoderWrapper", decoder=decoder),
        output_projection=to_words(seq2seq.width(c, style), seq2seq.vocab(c, style), table),
    )


def _reading(c: ModelConfig, style: Seq2Seq, seen: Dim) -> Module:
    attend = seq2seq.attention(c, style, 1)
    for name, kind in {"k_proj": "key", "v_proj": "value"}.items():
        attend.children[name] = Linear(seen, seq2seq.width(c, style), kind=kind)
    return attend


_SYNONYMS = {
    "num_hidden_layers": "decoder_layers", "num_attention_heads": "decoder_attention_heads",
}  # fmt: skip
register(
    "trocr",
    with_defaults({}, {"TrOCRForCausalLM": causal_lm}, synonyms=_SYNONYMS),
    base="TrOCRForCausalLM",
    base_prefix="model",
    category="text decoder",
)
