"""OLMo 2 (OLMo Team 2024; transformers/models/olmo2). Norms follow attention and MLP instead of
preceding them, and span all query or key heads at once inside attention."""

from ..layers.decoders import SEQUENCE_HEAD, Decoder, post_norm

OLMO2 = Decoder(
    "Olmo2", qk_norm=True, whole_norm=True, layer=post_norm, tasks=SEQUENCE_HEAD
).register("olmo2")
