"""MiniCPM 1 to 4 (Hu et al. 2024). No class in transformers. Source of shapes: modeling_minicpm.py
in openbmb/MiniCPM-2B-sft-bf16 and MiniCPM4-8B; for MiniCPM-MoE-8x2B vLLM's minicpm.py.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.decoders import SEQUENCE_HEAD, Decoder, gated, w_experts
from ..trees.modules import Linear, Module


def _mlp(d: Decoder, c: ModelConfig) -> Module:
    if c.has("mixer_types"):
        raise c.uncatalogued("a minicpm config with mixer_types (linear attention)")
    count = c.count("num_experts", default=0)
    if not count:
        return gated(d, c)
    block = w_experts(d, c, count, c.dim("num_experts_per_tok", default=2), expert="MLP")
    gate = Linear(d.width(c), count, bias=False, component=Component.ROUTER)
    return block.called("MiniCPMMoE").adding(gate=gate)


Decoder("MiniCPM", tie_word_embeddings=True, endings=SEQUENCE_HEAD, mlp=_mlp).register(
    "minicpm", source="modeling_minicpm.py of openbmb/MiniCPM-2B-sft-bf16; checked against Llama"
)
