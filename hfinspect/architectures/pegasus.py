"""PEGASUS (Zhang et al. 2019). Source of shapes: transformers/models/pegasus/modeling_pegasus.py.

BART without the norm of the embeddings and with one after the last layer; positions are sines in a
table that is saved with the rest.
"""

from __future__ import annotations

from ..layers import seq2seq
from ..trees.catalog import register

STYLE = seq2seq.Style(
    "Pegasus", positions="PegasusSinusoidalPositionalEmbedding", offset=0, final_norm=True
)

register(
    "pegasus",
    seq2seq.classes(STYLE, *seq2seq.GENERATION, "ForCausalLM"),
    base="PegasusModel",
    base_prefix="model",
    category="encoder-decoder",
)
