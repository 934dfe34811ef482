"""RoBERTa (Liu et al. 2019): BERT's layers; positions begin after the padding index, so the table
holds two more rows than the longest text (transformers/models/roberta)."""

from ..layers.bert_encoders import Encoder, roberta_forms, roberta_words
from ..layers.encoders import BASE

_DEFAULTS = {**BASE, "vocab_size": 50265}
ROBERTA = Encoder(
    "Roberta", "roberta", _DEFAULTS, cross=True, words=roberta_words, forms=roberta_forms
).register("roberta")
