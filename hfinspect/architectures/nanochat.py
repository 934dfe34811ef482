"""nanochat (Karpathy 2025; transformers/models/nanochat): norms without any weight."""

from ..layers.decoders import Decoder, plain
from ..trees.modules import Activation

Decoder(
    "NanoChat",
    qk_norm=True,
    rotary=False,
    tasks=(),
    norm=lambda _d, _c, _size: Activation("NanoChatRMSNorm"),
    mlp=plain,
).register("nanochat")
