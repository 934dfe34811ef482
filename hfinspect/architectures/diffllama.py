"""DiffLlama (Ye et al. 2024; transformers/models/diffllama): attention is the difference of two."""

from ..layers.decoders import Decoder, grouped
from ..trees import Activation, ModelConfig, Module, Weight
from .llama import LLAMA


def _attention(d: Decoder, c: ModelConfig) -> Module:
    names = ("lambda_q1", "lambda_k1", "lambda_q2", "lambda_k2")
    vector = Weight(d.heads(c).dim)
    return grouped(d, c).adding(**dict.fromkeys(names, vector), groupnorm=Activation("RMSNorm"))


LLAMA.like("DiffLlama", mlp_bias=None, attention=_attention).register("diffllama")
