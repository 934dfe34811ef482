"""CamemBERT (Martin et al. 2019). Source: transformers/models/camembert. RoBERTa for French."""

from ..layers.encoders import BASE
from .roberta import ROBERTA

ROBERTA.like("Camembert", "roberta", defaults=BASE).register("camembert")
