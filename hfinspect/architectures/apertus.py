"""Apertus (Swiss AI Initiative 2025). Source: transformers/models/apertus/modeling_apertus.py.

A two-matrix MLP whose activation, xIELU, has two learned numbers in every layer (and two fixed
ones, saved as buffers); norms of queries and keys.
"""

from ..core.config import ModelConfig, exact
from ..layers.decoders import Decoder, up_down
from ..trees.modules import Buffer, Module, Weight
from .llama import LLAMA


def xielu() -> Module:
    """Expanded integral of the ELU (Huang & Schlag 2025)."""
    return Module(
        "XIELUActivation",
        alpha_p=Weight(exact(1)),
        alpha_n=Weight(exact(1)),
        beta=Buffer(),
        eps=Buffer(),
    )


def _mlp(d: Decoder, c: ModelConfig) -> Module:
    block = up_down(d, c)
    if d.act(c) == "xielu":
        block.children["act_fn"] = xielu()
    return block


def _layer(d: Decoder, c: ModelConfig, _kind: str) -> Module:
    return Module(
        "ApertusDecoderLayer",
        self_attn=d.attention(d, c),
        mlp=d.mlp(d, c),
        attention_layernorm=d.norm(d, c, d.width(c)),
        feedforward_layernorm=d.norm(d, c, d.width(c)),
    )


LLAMA.like(
    "Apertus", vocab_size=131072, intermediate_size=14336, rms_norm_eps=1e-05, hidden_act="xielu",
    mlp_bias=None, qk_norm=True, endings=("ForTokenClassification",), mlp=_mlp, layer=_layer,
).register("apertus")  # fmt: skip
