"""DiffLlama (Ye et al. 2024; transformers/models/diffllama): attention is the difference of two."""

from ..layers.decoders import Decoder, grouped
from ..trees import Activation, ModelConfig, Module, Weight
from .llama import LLAMA


def _attention(d: Decoder, c: ModelConfig) -> Module:
    names, vector = ("lambda_q1", "lambda_k1", "lambda_q2", "lambda_k2"), Weight(d.heads(c).dim)
    return grouped(d, c).adding(**dict.fromkeys(names, vector), groupnorm=Activation("RMSNorm"))


LLAMA.like(
    "DiffLlama",
    hidden_size=2048,
    intermediate_size=8192,
    num_hidden_layers=16,
    rms_norm_eps=1e-05,
    mlp_bias=None,
    attention=_attention,
).register("diffllama")
