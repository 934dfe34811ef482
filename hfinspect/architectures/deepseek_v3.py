"""DeepSeek-V3 and R1 (DeepSeek-AI 2024). Source: transformers/models/deepseek_v3.

Multi-head latent attention: queries and keys/values pass through narrow projections with a norm in
between, and only a part of each head carries positions.  The first layers are dense; the others
have routed and shared experts, the router a correction bias that is a buffer in float32.

Files on the Hub hold ``num_nextn_predict_layers`` more layers that predict the token after next
(multi-token prediction); transformers drops them.  Their names: the Hub's own indexes.
"""

from __future__ import annotations

from functools import partial

from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.heads import decoder_classes
from ..layers.latent import latent_attention, latent_sizes
from ..layers.latent_decoders import Variant, model
from ..trees.catalog import register
from ..trees.modules import Buffer, Module

# ---- the decoder that DeepSeek-V3's descendants share


# ---- the family


def _attention(c: ModelConfig, hidden: Dim, _kind: str) -> Module:
    bias, sizes = c.flag("attention_bias", default=False), latent_sizes(c, heads=128)
    block = latent_attention("DeepseekV3", hidden, sizes, bias=bias)
    # Files of Kimi K2 and Moonlight carry each layer's rotary frequencies.
    frequencies = Buffer(sizes.rotary // 2, dtype="F32", saved=False)
    block.children["rotary_emb"] = Module(
        "DeepseekV3RotaryEmbedding", inv_freq=frequencies, saved=False
    )
    return block


DEEPSEEK_V3 = Variant(
    "DeepseekV3",
    _attention,
    vocab=129280,
    hidden=7168,
    dense=18432,
    expert=2048,
    layers=61,
    experts=256,
    per_token=8,
    first=3,
)

classes = decoder_classes(
    "DeepseekV3",
    partial(model, DEEPSEEK_V3),
    hidden=DEEPSEEK_V3.width,
    heads=("ForSequenceClassification", "ForTokenClassification"),
)

register(
    "deepseek_v3",
    classes,
    base="DeepseekV3Model",
    base_prefix="model",
    category="text decoder",
)
