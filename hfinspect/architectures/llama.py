"""Llama (Touvron et al. 2023; transformers/models/llama). Many families are Llama with differences;
what the fields mean is said in ``layers/decoders.py``."""

from ..layers.decoders import Decoder, with_frequencies

LLAMA = Decoder("Llama", mlp_bias=False, qa_prefix="transformer")
ORIGINAL = LLAMA.like("Llama", attention=with_frequencies)
# The first conversions of the original weights spell the class in capitals.
ORIGINAL.register("llama", more={"LLaMAForCausalLM": ORIGINAL.classes()["LlamaForCausalLM"]})
