"""VaultGemma (Google 2025; transformers/models/vaultgemma). Gemma 2 without the norms after
attention and MLP; trained with differential privacy."""

from ..layers.decoders import Decoder
from ..trees import ModelConfig, Module
from .gemma2 import GEMMA2


def _layer(d: Decoder, c: ModelConfig, _kind: str) -> Module:
    return Module(
        "VaultGemmaDecoderLayer",
        self_attn=d.attention(d, c),
        mlp=d.mlp(d, c),
        input_layernorm=d.norm(d, c, d.width(c)),
        pre_feedforward_layernorm=d.norm(d, c, d.width(c)),
    )


GEMMA2.like("VaultGemma", rotary=False, endings=(), layer=_layer).register("vaultgemma")
