"""M2M-100 and NLLB (Fan et al. 2020). Source: transformers/models/m2m_100/modeling_m2m_100.py.

BART with norms before attention and MLP and after the last layer; positions are computed.
"""

from ..core.config import ModelConfig
from ..layers import seq2seq
from ..layers.seq2seq import Seq2Seq
from ..trees.modules import Module

M2M100 = Seq2Seq("M2M100", words="ScaledWordEmbedding", final_norm=True, vocab=128112, act="relu")


def conditional_generation(c: ModelConfig) -> Module:
    return seq2seq.conditional_generation(c, M2M100, bias=False)


M2M100.register("m2m_100", "Model", more={"M2M100ForConditionalGeneration": conditional_generation})
