"""BERT (Devlin et al. 2018). The pooler belongs to the heads. Configs of this model_type that bring
the code of ``mosaic_bert`` get that file's tensors (transformers/models/bert)."""

from ..layers.bert_encoders import Encoder, pre_training
from ..layers.composing import either
from ..layers.encoders import BASE
from ..trees.catalog import register

BERT = Encoder("Bert", "bert", BASE, cross=True)
_PLAIN = BERT.classes({"LMHeadModel": BERT.forms(BERT)["ForMaskedLM"], **pre_training(BERT)})
_CLASSES = either(_PLAIN, "mosaic_bert", lambda c: c.brings("bert_layers."))
register("bert", _CLASSES, base="BertModel", base_prefix="bert", category="encoder")
