"""InternLM3 (Shanghai AI Lab 2025): Llama's classes with defaults of its own. Source of shapes:
transformers/models/internlm3; for the repo's own class, whose query, key and value have a bias
apart from all others, modeling_internlm3.py in internlm/internlm3-8b-instruct."""

from ..layers.blocks import gated_mlp, grouped_attention
from ..layers.decoders import Decoder
from ..layers.heads import decoder_classes
from ..trees import ModelConfig, Module, config_defaults


def _bias(c: ModelConfig) -> bool:
    return c.flag("mlp_bias", "bias", default=False)


def _attention(d: Decoder, c: ModelConfig) -> Module:
    bias = c.flag("attention_bias", "qkv_bias", default=False)
    out = c.flag("attention_bias", "bias", default=_bias(c))
    return grouped_attention("LlamaAttention", d.width(c), d.heads(c), bias=bias, out_bias=out)


_LLAMA = Decoder(
    "Llama",
    **config_defaults("internlm3"),
    null_head_dim=True,
    rotary=False,
    tasks=(),
    attention=_attention,
    mlp=lambda d, c: gated_mlp("LlamaMLP", d.width(c), d.inner(c), bias=_bias(c), act=d.act(c)),
)
_LLAMA.register("internlm3", more=decoder_classes("InternLM3", _LLAMA.model, heads=()))
