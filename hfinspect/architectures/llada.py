"""LLaDA 8B (Nie et al. 2025), a diffusion language model. No class in transformers. Source of
shapes: modeling_llada.py in GSAI-ML/LLaDA-8B-Base.

OLMo's first code with Llama's block.
"""

from ..core.config import ModelConfig
from ..layers.blocks import activation, size
from ..layers.heads import to_words
from ..trees.catalog import register_part
from ..trees.modules import Dropout, Module, RMSNorm
from .hf_olmo import around, flat

_hidden = size("d_model", "hidden_size", default=4096)
#: What published models are; the code takes other values, with other tensors.
_PUBLISHED = {
    "block_type": "llama", "layer_norm_type": "rms", "attention_layer_norm": False,
    "include_bias": False, "bias_for_layer_norm": False,
}  # fmt: skip


def block(c: ModelConfig) -> Module:
    h, inner = _hidden(c), c.dim("mlp_hidden_size", default=12288)
    heads, bias = c.dim("n_heads", default=32), c.flag("include_qkv_bias", default=False)
    head = c.divided(h, heads, "d_model", "n_heads")
    kv = c.dim("n_kv_heads", default=heads) * head
    norm = RMSNorm(h, class_name="RMSLayerNorm")
    return Module(
        "LLaDALlamaBlock",
        dropout=Dropout(c.number("residual_dropout", default=0.0)),
        act=activation(c.text("activation_type", default="silu")),
        attn_out=flat(h, h, "output"),
        ff_out=flat(inner, h, "down"),
        attn_norm=norm,
        ff_norm=norm,
        q_proj=flat(h, h, "query", bias),
        k_proj=flat(h, kv, "key", bias),
        v_proj=flat(h, kv, "value", bias),
        ff_proj=flat(h, inner, "gate"),
        up_proj=flat(h, inner, "up"),
    )


def model(c: ModelConfig) -> Module:
    for key, value in _PUBLISHED.items():
        if c.has(key) and c.raw(key) != value:
            raise c.error(key, c.raw(key), f"{value!r}, as in every published model")
    h, vocab = _hidden(c), c.dim("embedding_size", "vocab_size", default=126464)
    head = None if c.flag("weight_tying", default=False) else to_words(h, vocab)
    norm = RMSNorm(h, class_name="RMSLayerNorm")
    whole = around("LLaDAModel", c, block(c), norm, (vocab, h), 32, head=head)
    return Module("LLaDAModelLM", model=whole)


_SOURCE = "modeling_llada.py of GSAI-ML/LLaDA-8B-Base"
register_part("llada", "LLaDAModelLM", model, "text decoder", _SOURCE, "model")
