"""MiniCPM 1 to 4 (Hu et al. 2024). No class in transformers. Source of shapes: modeling_minicpm.py
in openbmb/MiniCPM-2B-sft-bf16 and MiniCPM4-8B; for MiniCPM-MoE-8x2B the names that vLLM's
minicpm.py loads.

Llama's block; scalings of embeddings and residuals have no tensors, nor has sparse attention.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..errors import UnknownArchitectureError
from ..layers.blocks import activation, gated_mlp
from ..layers.decoders import SEQUENCE_HEAD, Decoder
from ..layers.experts import experts
from ..trees.modules import Linear, Module
from .llama import LLAMA


def _mlp(d: Decoder, c: ModelConfig) -> Module:
    if c.has("mixer_types"):
        raise UnknownArchitectureError(
            "a minicpm config with mixer_types (linear attention)", "is not in the catalog",
            where=c.path or None, hint="a checkpoint's headers are read without the catalog",
        )  # fmt: skip
    h, inner = d.width(c), d.inner(c)
    act = d.act(c)
    count = c.count("num_experts", default=0)
    if not count:
        return gated_mlp("MiniCPMMLP", h, inner, act=act)
    expert = Module(
        "MiniCPMMLP",
        w1=Linear(h, inner, bias=False),
        w2=Linear(inner, h, bias=False),
        w3=Linear(h, inner, bias=False),
        act_fn=activation(act),
    )
    return Module(
        "MiniCPMMoE",
        gate=Linear(h, count, bias=False, component=Component.ROUTER),
        experts=experts(count, c.dim("num_experts_per_tok", default=2), expert),
        component=Component.MLP,
    )


LLAMA.like(
    "MiniCPM", tie_word_embeddings=True, mlp_bias=None, endings=SEQUENCE_HEAD, mlp=_mlp
).register(
    "minicpm", source="modeling_minicpm.py of openbmb/MiniCPM-2B-sft-bf16; checked against Llama"
)
