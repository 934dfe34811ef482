"""NVIDIA's embedders and rerankers over Llama that attends both ways (llama-nemotron-embed-1b-v2,
llama-nemotron-rerank-1b-v2, llama-embed-nemotron-8b): Llama to the letter."""

from ..layers.heads import labelled
from ..trees import ModelConfig, Module, register
from .llama import ORIGINAL

_NAME = "LlamaBidirectional"


def model(c: ModelConfig) -> Module:
    return ORIGINAL.named(f"{_NAME}Model", c)


_LABELLED = f"{_NAME}ForSequenceClassification"
register(
    "llama_bidirec",
    {f"{_NAME}Model": model, _LABELLED: labelled(_LABELLED, model)},
    base_prefix="model",
    category="encoder",
    source="llama_bidirectional_model.py of nvidia/llama-3.2-nv-embedqa-1b-v2; as Llama",
)
