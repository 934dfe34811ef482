"""VaultGemma (Google 2025; transformers/models/vaultgemma): Gemma 2 with two of its four norms."""

from ..layers.decoders import arranged, attends, feeds, normed
from .gemma2 import GEMMA2

_LAYER = arranged(
    self_attn=attends, mlp=feeds, input_layernorm=normed, pre_feedforward_layernorm=normed
)
GEMMA2.like("VaultGemma", rotary=False, tasks=(), layer=_LAYER).register("vaultgemma")
