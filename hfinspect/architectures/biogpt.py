"""BioGPT (Luo et al. 2022). Source of shapes: transformers/models/biogpt/modeling_biogpt.py.

Pre-norm decoder with biases and learned positions, two more than the config says. The LM head is
called ``output_projection``.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation
from ..layers.heads import causal_lm, decoder_classes
from ..trees.catalog import register
from ..trees.modules import Embedding, LayerNorm, Layers, Linear, Module


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=1024)


def layer(c: ModelConfig) -> Module:
    h, inner = _hidden(c), c.dim("intermediate_size", default=4096)
    c.divided(h, c.dim("num_attention_heads", default=16), "hidden_size", "num_attention_heads")
    return Module(
        "BioGptDecoderLayer",
        self_attn=Module(
            "BioGptAttention",
            k_proj=Linear(h, h, kind="key"),
            v_proj=Linear(h, h, kind="value"),
            q_proj=Linear(h, h, kind="query"),
            out_proj=Linear(h, h, kind="output"),
            component=Component.ATTENTION,
        ),
        activation_fn=activation(c.text("hidden_act", default="gelu")),
        self_attn_layer_norm=LayerNorm(h),
        fc1=Linear(h, inner, component=Component.MLP, kind="up"),
        fc2=Linear(inner, h, component=Component.MLP, kind="down"),
        final_layer_norm=LayerNorm(h),
    )


def model(c: ModelConfig) -> Module:
    h = _hidden(c)
    vocab = c.dim("vocab_size", default=42384)
    positions = c.dim("max_position_embeddings", default=1024)
    return Module(
        "BioGptModel",
        embed_tokens=Embedding(vocab, h, class_name="BioGptScaledWordEmbedding"),
        embed_positions=Embedding(
            positions + 2, h, kind="position", class_name="BioGptLearnedPositionalEmbedding"
        ),
        layers=Layers.of(c.count("num_hidden_layers", default=24), layer(c)),
        layer_norm=LayerNorm(h),
    )


_classes = decoder_classes(
    "BioGpt", model, prefix="biogpt", hidden=_hidden, labeller="classifier",
    heads=("ForSequenceClassification", "ForTokenClassification"),
)  # fmt: skip
_classes["BioGptForCausalLM"] = causal_lm(
    "BioGptForCausalLM", model, prefix="biogpt", tied_default=True, head="output_projection"
)

register(
    "biogpt",
    _classes,
    base="BioGptModel",
    base_prefix="biogpt",
    category="text decoder",
)
