"""BART (Lewis et al. 2019): post-norm encoder and decoder, learned positions, one table of words
for both and the head (transformers/models/bart)."""

from ..layers.seq2seq import ALL, Seq2Seq

BART = Seq2Seq(
    "Bart", "ScaledWordEmbedding", "LearnedPositionalEmbedding", embedding_norm=True, labels=3
).register("bart", *ALL)
