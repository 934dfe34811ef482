"""CamemBERT (Martin et al. 2019): RoBERTa for French. Source: transformers/models/camembert."""

from ..layers.encoders import BASE
from .roberta import ROBERTA

ROBERTA.like("Camembert", "roberta", defaults=BASE).register("camembert")
