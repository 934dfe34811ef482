"""IQuest-Coder (IQuest 2026; transformers/models/iquestcoder): Llama's own classes."""

from ..layers.decoders import Decoder
from ..layers.heads import decoder_classes

_LLAMA = Decoder(
    "Llama",
    vocab_size=76800,
    hidden_size=5120,
    intermediate_size=27648,
    num_hidden_layers=80,
    num_attention_heads=40,
    num_key_value_heads=8,
    head_dim=128,
    null_head_dim=True,
    rms_norm_eps=1e-05,
    mlp_bias=False,
    rotary=False,
    endings=(),
)
_LLAMA.register("iquestcoder", more=decoder_classes("IQuestCoder", _LLAMA.model, heads=()))
