"""NVIDIA's embedders and rerankers over Llama that attends both ways (llama-nemotron-embed-1b-v2,
llama-nemotron-rerank-1b-v2, llama-embed-nemotron-8b). No classes in transformers. Source of shapes:
llama_bidirectional_model.py in nvidia/llama-3.2-nv-embedqa-1b-v2.

Llama to the letter, under class names of its own.
"""

from ..core.config import ModelConfig
from ..layers.composing import renamed
from ..layers.heads import labelled
from ..trees.catalog import register
from ..trees.modules import Module
from .llama import ORIGINAL


def model(c: ModelConfig) -> Module:
    return renamed(ORIGINAL.model(c), "LlamaModel", "LlamaBidirectionalModel")


register(
    "llama_bidirec",
    {
        "LlamaBidirectionalModel": model,
        "LlamaBidirectionalForSequenceClassification": labelled(
            "LlamaBidirectionalForSequenceClassification", model
        ),
    },
    base_prefix="model",
    category="encoder",
    source="llama_bidirectional_model.py of nvidia/llama-3.2-nv-embedqa-1b-v2; as Llama",
)
