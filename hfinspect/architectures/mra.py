"""MRA (Zeng et al. 2022). Source of shapes: transformers/models/mra/modeling_mra.py.

BERT whose attention goes from coarse to fine, which costs no tensors (yoso.py).
"""

from __future__ import annotations

from ..layers.encoders import BASE
from .yoso import register_sampled

register_sampled("Mra", "mra", {**BASE, "vocab_size": 50265, "type_vocab_size": 1}, saved=True)
