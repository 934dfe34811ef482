"""ColBERT and ColBERTv2 (Santhanam et al. 2021); configs say model_type ``bert`` and class
HF_ColBERT. No class in transformers. Source of shapes: colbert/modeling/hf_colbert.py of
github.com/stanford-futuredata/ColBERT; vLLM's colbert.py reads the same names.

BERT and one linear layer, without bias, to a short vector for every token.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.composing import with_defaults
from ..layers.encoders import BASE, hidden
from ..trees.catalog import register
from ..trees.modules import Linear, Module
from .bert import BERT


def model(c: ModelConfig) -> Module:
    short = Linear(
        hidden(c), c.dim("dim", default=128), bias=False, component=Component.HEAD
    )  # fmt: skip
    return Module("HF_ColBERT", bert=BERT.model(c), linear=short)


register(
    "colbert",
    with_defaults(BASE, {"HF_ColBERT": model}),
    base_prefix="bert",
    category="encoder",
    source="colbert/modeling/hf_colbert.py of github.com/stanford-futuredata/ColBERT",
)
