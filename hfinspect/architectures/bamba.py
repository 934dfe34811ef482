"""Bamba (IBM, Princeton, CMU, UIUC 2024; transformers/models/bamba): Mamba 2 layers, and attention
in those that ``attn_layer_indices`` lists."""

from ..layers.decoders import Decoder, arranged, attends, feeds, normed, of_kind
from ..layers.mamba2_mixer import mixer
from ..trees import ModelConfig, Module


def _mixer(d: Decoder, c: ModelConfig, kind: str) -> Module | None:
    mixes = mixer("BambaMixer", c, d.width(c), norm="BambaRMSNormGated", act=d.act(c))
    return mixes if kind == "mamba" else None


def _kinds(_d: Decoder, c: ModelConfig, layers: int) -> list[str]:
    attending = {int(i) for i in c.dims("attn_layer_indices", default=(), minimum=0)}
    return ["attention" if i in attending else "mamba" for i in range(layers)]


Decoder(
    "Bamba",
    tasks=(),
    kinds=_kinds,
    last_norm="final_layernorm",
    layer=arranged(
        feed_forward=feeds,
        input_layernorm=normed,
        pre_ff_layernorm=normed,
        mamba=_mixer,
        self_attn=of_kind("attention", attends),
    ),
).register("bamba")
