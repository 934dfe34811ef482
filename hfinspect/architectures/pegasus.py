"""PEGASUS (Zhang et al. 2019). Source of shapes: transformers/models/pegasus/modeling_pegasus.py.

BART without the norm of the embeddings and with one after the last layer; positions are sines in a
table that is saved with the rest.
"""

from ..layers.seq2seq import GENERATION, Seq2Seq

Seq2Seq("Pegasus", positions="SinusoidalPositionalEmbedding", offset=0, final_norm=True).register(
    "pegasus", *GENERATION, "ForCausalLM"
)
