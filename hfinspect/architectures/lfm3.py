"""LFM3 (Liquid AI 2026). Source of shapes: transformers/models/lfm3; names of files:
transformers/conversion_mapping.py.

Short convolutions, sliding and full attention by layer_types; norms before and after each block
and a gate per head, unless switched off.
"""

from collections.abc import Sequence

from ..core.config import ModelConfig
from ..layers.blocks import layer_types, short_convolution
from ..layers.decoders import Decoder, grouped
from ..layers.windows import windows
from ..trees.modules import Activation, Linear, Module, RMSNorm
from .lfm2 import three
from .llama import LLAMA

KINDS = ("conv", "full_attention", "sliding_attention")


def _norm(_d: Decoder, c: ModelConfig, size: int) -> Module:
    eps = c.number("norm_eps", "rms_norm_eps", default=1e-5)
    return RMSNorm(size, eps=eps, class_name="Lfm3RMSNorm")


def _attention(d: Decoder, c: ModelConfig) -> Module:
    block = grouped(d, c)
    if c.flag("use_attention_gate", default=True):
        block.children["gate_proj"] = Linear(d.width(c), d.heads(c).query, bias=False, kind="gate")
    return block


def _layer(d: Decoder, c: ModelConfig, kind: str) -> Module:
    h = d.width(c)
    after = c.flag("use_sandwich_norm", default=True)
    return Module(
        "Lfm3DecoderLayer",
        self_attn=None if kind == "conv" else d.attention(d, c),
        conv=short_convolution("Lfm3ShortConv", c, h, 7) if kind == "conv" else None,
        feed_forward=three(d, c, d.inner(c)),
        operator_norm=d.norm(d, c, h),
        ffn_norm=d.norm(d, c, h),
        post_operator_norm=d.norm(d, c, h) if after else Activation("Identity"),
        post_ffn_norm=d.norm(d, c, h) if after else Activation("Identity"),
    )


def _usual(i: int) -> str:
    if i % 4 == 2:
        return "full_attention"
    return "sliding_attention" if i % 4 == 0 and i else "conv"


def _kinds(_d: Decoder, c: ModelConfig, layers: int) -> Sequence[str]:
    kinds = layer_types(c, layers, _usual)
    for kind in kinds:
        if kind not in KINDS:
            raise c.error("layer_types", kind, " or ".join(KINDS))
    return kinds


LLAMA.like(
    "Lfm3", vocab_size=128000, hidden_size=2048, intermediate_size=7680, num_hidden_layers=24,
    num_attention_heads=16, num_key_value_heads=4, head_dim=128, tie_word_embeddings=True,
    qk_norm=True, norm=_norm, attention=_attention, layer=_layer, kinds=_kinds,
    windows=lambda c: windows(c, 256, lambda i, _: i % 4 != 0 or i == 0),
    last_norm="embedding_norm", rotary=False, endings=(),
).register("lfm3")  # fmt: skip
