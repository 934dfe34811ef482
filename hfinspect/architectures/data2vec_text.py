"""data2vec for text (Baevski et al. 2022).

Source of shapes: transformers/models/data2vec/modeling_data2vec_text.py. RoBERTa's tensors.
"""

from ..layers.encoders import BASE
from .roberta import ROBERTA

ROBERTA.like("Data2VecText", "data2vec_text", defaults=BASE).register("data2vec-text")
