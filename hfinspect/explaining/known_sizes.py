"""Well-known models by their size: what a rounded count may mean that this model does not have."""

from collections.abc import Mapping
from typing import Any, Final

from ..core.alternative_counts import KnownModel
from ..trees.prediction import predict

#: Name -> the keys of its config.json that are not the defaults of its class. Which sizes they
#: have the catalog counts: no number stands here.
_MODELS: Final[Mapping[str, Mapping[str, Any]]] = {
    "openai-gpt": {"model_type": "openai-gpt", "architectures": ["OpenAIGPTLMHeadModel"]},
    "gpt2": {"model_type": "gpt2"},
    "gpt2-medium": {"model_type": "gpt2", "n_embd": 1024, "n_layer": 24, "n_head": 16},
    "gpt2-large": {"model_type": "gpt2", "n_embd": 1280, "n_layer": 36, "n_head": 20},
    "gpt2-xl": {"model_type": "gpt2", "n_embd": 1600, "n_layer": 48, "n_head": 25},
    "bert-base-uncased": {"model_type": "bert", "architectures": ["BertModel"]},
    "bert-large-uncased": {
        "model_type": "bert",
        "architectures": ["BertModel"],
        "hidden_size": 1024,
        "num_hidden_layers": 24,
        "num_attention_heads": 16,
        "intermediate_size": 4096,
    },
    "distilbert-base-uncased": {"model_type": "distilbert", "architectures": ["DistilBertModel"]},
    "t5-small": {"model_type": "t5", "architectures": ["T5ForConditionalGeneration"]},
}


def same_size(low: int, high: int) -> KnownModel | None:
    """The first well-known model with at least ``low`` and less than ``high`` parameters."""
    for name, config in _MODELS.items():
        parameters = predict(config).parameters
        if low <= parameters < high:
            return KnownModel(name, parameters)
    return None
