"""PEGASUS (Zhang et al. 2019): a norm after the last layer, and sines in a table that is saved with
the rest (transformers/models/pegasus)."""

from ..layers.seq2seq import GENERATION, Seq2Seq

Seq2Seq("Pegasus", positions="SinusoidalPositionalEmbedding", offset=0, final_norm=True).register(
    "pegasus", *GENERATION, "ForCausalLM"
)
