"""Llama (Touvron et al. 2023). Source of shapes: transformers/models/llama/modeling_llama.py.

Pre-norm decoder: RMSNorm, grouped-query attention with rotary positions (no tensors), gated MLP.
Many families are Llama with differences; what the fields mean is said in ``layers/decoders.py``.
"""

from ..core.config import ModelConfig
from ..layers.decoders import Decoder, grouped
from ..trees.modules import Buffer, Module

LLAMA = Decoder("Llama", mlp_bias=False, qa_prefix="transformer")


def _attention(d: Decoder, c: ModelConfig) -> Module:
    """Files of the first Llama carry each layer's rotary frequencies."""
    block, frequencies = grouped(d, c), Buffer(d.heads(c).dim // 2, saved=False)
    block.children["rotary_emb"] = Module(
        f"{d.name}RotaryEmbedding", inv_freq=frequencies, saved=False
    )
    return block


ORIGINAL = LLAMA.like("Llama", attention=_attention)
# The first conversions of the original weights spell the class in capitals.
ORIGINAL.register("llama", more={"LLaMAForCausalLM": ORIGINAL.classes()["LlamaForCausalLM"]})
