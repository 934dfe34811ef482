"""M2M-100 and NLLB (Fan et al. 2020). Source: transformers/models/m2m_100/modeling_m2m_100.py.

BART with norms before attention and MLP and after the last layer; positions are computed.
"""

from __future__ import annotations

from ..core.config import ModelConfig
from ..layers import seq2seq
from ..trees.catalog import register
from ..trees.modules import Module

STYLE = seq2seq.Style(
    "M2M100", words="M2M100ScaledWordEmbedding", final_norm=True, vocab=128112, act="relu"
)


def conditional_generation(c: ModelConfig) -> Module:
    return seq2seq.conditional_generation(c, STYLE, bias=False)


register(
    "m2m_100",
    {
        "M2M100ForConditionalGeneration": conditional_generation,
        **seq2seq.classes(STYLE, "Model"),
    },
    base="M2M100Model",
    base_prefix="model",
    category="encoder-decoder",
)
