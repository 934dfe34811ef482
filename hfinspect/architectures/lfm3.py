"""LFM3 (Liquid AI 2026). Source of shapes: transformers/models/lfm3; names of files:
transformers/conversion_mapping.py.

Short convolutions, sliding and full attention by layer_types; norms before and after each block
and a gate per head, unless switched off.
"""

from functools import partial

from ..core.config import ModelConfig
from ..layers.decoders import Decoder, adding, grouped, normed, norms_called
from ..layers.layer_kinds import words
from ..layers.windows import windows
from ..trees.modules import Activation, Linear, Module
from .lfm2 import layer, three
from .llama import LLAMA


def _gate(d: Decoder, c: ModelConfig) -> Module | None:
    if not c.flag("use_attention_gate", default=True):
        return None
    return Linear(d.width(c), d.heads(c).query, bias=False, kind="gate")


def _after(d: Decoder, c: ModelConfig, _kind: str) -> Module:
    return normed(d, c) if c.flag("use_sandwich_norm", default=True) else Activation("Identity")


def _usual(_c: ModelConfig, i: int) -> str:
    if i % 4 == 2:
        return "full_attention"
    return "sliding_attention" if i % 4 == 0 and i else "conv"


LLAMA.like(
    "Lfm3", vocab_size=128000, hidden_size=2048, intermediate_size=7680, num_hidden_layers=24,
    num_attention_heads=16, num_key_value_heads=4, head_dim=128, tie_word_embeddings=True,
    qk_norm=True, rms_norm_eps=1e-5,
    norm=norms_called("Lfm3RMSNorm", "norm_eps", "rms_norm_eps"),
    attention=adding(grouped, gate_proj=_gate),
    layer=adding(partial(layer, kernel=7), post_operator_norm=_after, post_ffn_norm=_after),
    mlp=lambda d, c: three(d, c, d.inner(c)),
    kinds=words(_usual, "conv", "full_attention", "sliding_attention"),
    windows=lambda c: windows(c, 256, lambda i, _: i % 4 != 0 or i == 0),
    last_norm="embedding_norm", rotary=False, endings=(),
).register("lfm3")  # fmt: skip
