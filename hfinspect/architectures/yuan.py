"""Yuan 2.0 (Wu et al. 2023). No class in transformers. Source of shapes: yuan_hf_model.py in
IEITYuan/Yuan2-2B-hf (the same code stands in PaddleNLP and vLLM ports).

Llama's block whose queries and keys see the two tokens before: a localized filter of two
convolutions over the sequence, with a residual and a norm. Or (use_shareqk) one matrix for both,
with a scale and a shift each. The mixtures of Yuan2-M32 are not in the catalog.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..errors import UnknownArchitectureError
from ..layers.decoders import SEQUENCE_HEAD, Decoder
from ..trees.modules import Conv, Linear, Module, Weight
from .llama import LLAMA


def _filter(d: Decoder, c: ModelConfig) -> Module:
    h = d.width(c)
    return Module(
        "LocalizedFiltering",
        conv1=Conv(h, h // 2, (2, 1)),
        conv2=Conv(h // 2, h, (2, 1)),
        output_layernorm=d.norm(d, c, d.width(c)),
    )


def _attention(d: Decoder, c: ModelConfig) -> Module:
    if c.has("moe_config"):
        raise UnknownArchitectureError(
            "a yuan config with moe_config (Yuan2-M32)", "is not in the catalog",
            where=c.path or None, hint="a checkpoint's headers are read without the catalog",
        )  # fmt: skip
    h = d.width(c)
    size, heads = c.dim("attention_projection_size", default=h), d.size(c, "num_attention_heads")
    width = heads * c.divided(size, heads, "hidden_size", "num_attention_heads")
    shared = c.flag("use_shareqk", default=False)
    return Module(
        "YuanAttention",
        qk_weight=Weight(2, h, kind="scale") if shared else None,
        qk_bias=Weight(2, h) if shared else None,
        v_proj=Linear(h, width, bias=False, kind="value"),
        o_proj=Linear(width, h, bias=False, kind="output"),
        qk_proj=Linear(h, width, bias=False, kind="query") if shared else None,
        lf_gate=None if shared else _filter(d, c),
        q_proj=None if shared else Linear(h, width, bias=False, kind="query"),
        k_proj=None if shared else Linear(h, width, bias=False, kind="key"),
        component=Component.ATTENTION,
    )


LLAMA.like(
    "Yuan", tie_word_embeddings=True, mlp_bias=None, rotary=False, endings=SEQUENCE_HEAD,
    attention=_attention,
).register("yuan", source="yuan_hf_model.py of IEITYuan/Yuan2-2B-hf")  # fmt: skip
