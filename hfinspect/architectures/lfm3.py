"""LFM3 (Liquid AI 2026). Source of shapes: transformers/models/lfm3; names of files:
transformers/conversion_mapping.py.

Short convolutions, sliding and full attention by layer_types; norms before and after each block
and a gate per head, unless switched off.
"""

from ..core.config import ModelConfig
from ..layers.decoders import Decoder, grouped, norms_called
from ..layers.layer_kinds import words
from ..layers.windows import windows
from ..trees.modules import Activation, Linear, Module
from .lfm2 import layer, three
from .llama import LLAMA


def _attention(d: Decoder, c: ModelConfig) -> Module:
    block = grouped(d, c)
    if c.flag("use_attention_gate", default=True):
        block.children["gate_proj"] = Linear(d.width(c), d.heads(c).query, bias=False, kind="gate")
    return block


def _layer(d: Decoder, c: ModelConfig, kind: str) -> Module:
    block, after = layer(d, c, kind, kernel=7), c.flag("use_sandwich_norm", default=True)
    for name in ("post_operator_norm", "post_ffn_norm"):
        block.children[name] = d.norm(d, c, d.width(c)) if after else Activation("Identity")
    return block


def _usual(_c: ModelConfig, i: int) -> str:
    if i % 4 == 2:
        return "full_attention"
    return "sliding_attention" if i % 4 == 0 and i else "conv"


LLAMA.like(
    "Lfm3", vocab_size=128000, hidden_size=2048, intermediate_size=7680, num_hidden_layers=24,
    num_attention_heads=16, num_key_value_heads=4, head_dim=128, tie_word_embeddings=True,
    qk_norm=True, rms_norm_eps=1e-5,
    norm=norms_called("Lfm3RMSNorm", "norm_eps", "rms_norm_eps"), attention=_attention,
    layer=_layer,
    mlp=lambda d, c: three(d, c, d.inner(c)),
    kinds=words(_usual, "conv", "full_attention", "sliding_attention"),
    windows=lambda c: windows(c, 256, lambda i, _: i % 4 != 0 or i == 0),
    last_norm="embedding_norm", rotary=False, endings=(),
).register("lfm3")  # fmt: skip
