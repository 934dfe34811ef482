"""data2vec for text (Baevski et al. 2022), as RoBERTa. Source: transformers/models/data2vec."""

from ..layers.encoders import BASE
from .roberta import ROBERTA

ROBERTA.like("Data2VecText", "data2vec_text", defaults=BASE).register("data2vec-text")
