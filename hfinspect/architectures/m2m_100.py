"""M2M-100 and NLLB (Fan et al. 2020): BART with norms before attention and MLP and after the last
layer, computed positions (transformers/models/m2m_100)."""

from ..layers.seq2seq import GENERATION, Seq2Seq

M2M100 = Seq2Seq(
    "M2M100", "ScaledWordEmbedding", final_norm=True, vocab=128112, act="relu", logits_bias=False
).register("m2m_100", *GENERATION)
