"""nanochat (Karpathy 2025; transformers/models/nanochat): norms without any weight."""

from ..layers.decoders import Decoder, plain
from ..trees.modules import Activation

Decoder(
    "NanoChat",
    vocab_size=50304,
    hidden_size=768,
    intermediate_size=8192,
    num_hidden_layers=12,
    num_attention_heads=6,
    hidden_act="relu2",
    qk_norm=True,
    rotary=False,
    endings=(),
    norm=lambda _d, _c, _size: Activation("NanoChatRMSNorm"),
    mlp=plain,
).register("nanochat")
