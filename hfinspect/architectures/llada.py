"""LLaDA 8B (Nie et al. 2025), a diffusion language model. No class in transformers. Source of
shapes: modeling_llada.py in GSAI-ML/LLaDA-8B-Base.

OLMo's first code with Llama's block: q, k and v apart, and gate (``ff_proj``) and up apart, each of
``mlp_hidden_size``.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation, size
from ..layers.heads import to_words
from ..trees.catalog import register
from ..trees.modules import Dropout, Embedding, Layers, Linear, Module, RMSNorm

_hidden = size("d_model", "hidden_size", default=4096)


def _checked(c: ModelConfig) -> ModelConfig:
    """What published models are; the code takes other values, with other tensors."""
    said = {
        "block_type": "llama", "layer_norm_type": "rms", "attention_layer_norm": False,
        "include_bias": False, "bias_for_layer_norm": False,
    }  # fmt: skip
    for key, value in said.items():
        found = c.raw(key)
        if found is not None and found != value:
            raise c.error(key, found, f"{value!r}, as in every published model")
    return c


def block(c: ModelConfig) -> Module:
    h, inner = _hidden(c), c.dim("mlp_hidden_size", default=12288)
    heads = c.dim("n_heads", default=32)
    head = c.divided(h, heads, "d_model", "n_heads")
    kv = c.dim("n_kv_heads", default=heads) * head
    bias = c.flag("include_qkv_bias", default=False)

    def attending(size: Dim, kind: str, *, bias: bool = False) -> Module:
        return Linear(h, size, bias=bias, component=Component.ATTENTION, kind=kind)

    def gated(kind: str) -> Module:
        return Linear(h, inner, bias=False, component=Component.MLP, kind=kind)

    return Module(
        "LLaDALlamaBlock",
        dropout=Dropout(c.number("residual_dropout", default=0.0)),
        act=activation(c.text("activation_type", default="silu")),
        attn_out=attending(h, "output"),
        ff_out=Linear(inner, h, bias=False, component=Component.MLP, kind="down"),
        attn_norm=RMSNorm(h, class_name="RMSLayerNorm"),
        ff_norm=RMSNorm(h, class_name="RMSLayerNorm"),
        q_proj=attending(h, "query", bias=bias),
        k_proj=attending(kv, "key", bias=bias),
        v_proj=attending(kv, "value", bias=bias),
        ff_proj=gated("gate"),
        up_proj=gated("up"),
    )


def model(config: ModelConfig) -> Module:
    c = _checked(config)
    h = _hidden(c)
    vocab = c.dim("embedding_size", "vocab_size", default=126464)
    tied = c.flag("weight_tying", default=False)
    head = to_words(h, vocab)
    return Module(
        "LLaDAModel",
        transformer=Module(
            "ModuleDict",
            wte=Embedding(vocab, h),
            emb_drop=Dropout(c.number("embedding_dropout", default=0.0)),
            ln_f=RMSNorm(h, class_name="RMSLayerNorm"),
            blocks=Layers.of(c.count("n_layers", default=32), block(c)),
            ff_out=None if tied else head,
        ),
    )


register(
    "llada",
    {"LLaDAModelLM": lambda c: Module("LLaDAModelLM", model=model(c))},
    base_prefix="model",
    category="text decoder",
    source="modeling_llada.py of GSAI-ML/LLaDA-8B-Base",
)
