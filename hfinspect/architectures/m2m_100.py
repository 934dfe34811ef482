"""M2M-100 and NLLB (Fan et al. 2020). Source: transformers/models/m2m_100/modeling_m2m_100.py.

BART with norms before attention and MLP and after the last layer; positions are computed.
"""

from ..layers.seq2seq import GENERATION, Seq2Seq

M2M100 = Seq2Seq(
    "M2M100", words="ScaledWordEmbedding", final_norm=True, vocab=128112, act="relu",
    logits_bias=False,
).register("m2m_100", *GENERATION)  # fmt: skip
