"""IQuest-Coder (IQuest 2026; transformers/models/iquestcoder): Llama's own classes."""

from ..layers.decoders import Decoder
from ..layers.heads import decoder_classes
from ..trees import config_defaults

_LLAMA = Decoder(
    "Llama", **config_defaults("iquestcoder"), null_head_dim=True, rotary=False, tasks=()
)
_LLAMA.register("iquestcoder", more=decoder_classes("IQuestCoder", _LLAMA.model, heads=()))
