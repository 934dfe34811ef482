"""ColBERT and ColBERTv2 (Santhanam et al. 2021): BERT and a short vector for every token. Configs
say model_type ``bert`` and class HF_ColBERT; vLLM's colbert.py reads the same names."""

from ..layers.composing import defaulted
from ..layers.encoders import BASE, hidden
from ..trees import Component, Linear, ModelConfig, Module, register_part
from .bert import BERT

_SOURCE = "colbert/modeling/hf_colbert.py of github.com/stanford-futuredata/ColBERT"


def model(c: ModelConfig) -> Module:
    short = Linear(hidden(c), c.dim("dim", default=128), bias=False, component=Component.HEAD)
    return Module("HF_ColBERT", bert=BERT.model(c), linear=short)


register_part(
    "colbert", "HF_ColBERT", defaulted(BASE, model), "encoder", source=_SOURCE, prefix="bert"
)
