"""OLMo (Groeneveld et al. 2024; transformers/models/olmo): norms have neither weight nor bias."""

from ..layers.decoders import SEQUENCE_HEAD, Decoder
from ..trees.modules import Activation

Decoder(
    "Olmo", tasks=SEQUENCE_HEAD, norm=lambda _d, _c, _size: Activation("OlmoLayerNorm")
).register("olmo")
