"""MiniCPM 1 to 4 (Hu et al. 2024). Names of MiniCPM-MoE-8x2B are those in vLLM's minicpm.py."""

from ..layers import mixtures as m
from ..layers.decoders import SEQUENCE_HEAD, Decoder, gated
from ..trees import Component, Linear, ModelConfig, Module

_EXPERTS = m.counts("num_experts", default=0)


def _mlp(d: Decoder, c: ModelConfig) -> Module:
    if c.has("mixer_types"):
        raise c.uncatalogued("a minicpm config with mixer_types (linear attention)")
    if not _EXPERTS(c):
        return gated(d, c)
    gate = Linear(d.width(c), _EXPERTS(c), bias=False, component=Component.ROUTER)
    return m.mixtral(_EXPERTS, 2, "MLP")(d, c).called("MiniCPMMoE").adding(gate=gate)


Decoder("MiniCPM", tie_word_embeddings=True, tasks=SEQUENCE_HEAD, mlp=_mlp).register(
    "minicpm", source="modeling_minicpm.py of openbmb/MiniCPM-2B-sft-bf16; checked against Llama"
)
