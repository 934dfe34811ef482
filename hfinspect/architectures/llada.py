"""LLaDA 8B (Nie et al. 2025), a diffusion language model: OLMo's first code with Llama's block."""

from ..layers import named_decoder as s
from ..layers.blocks import size
from ..trees import ModelConfig, Module, RMSNorm, register_part
from .hf_olmo import OLMO, flat

#: What published models are; the code takes other values, with other tensors.
_PUBLISHED = {
    "block_type": "llama",
    "layer_norm_type": "rms",
    "attention_layer_norm": False,
    "include_bias": False,
    "bias_for_layer_norm": False,
}


def _grouped(kind: str) -> s.NamedPart:
    """Keys or values."""
    return lambda d, c: flat(
        d.width(c), c.dim("n_kv_heads", default=d.heads(c)) * d.head(c), d.biased(c), kind=kind
    )


_LLADA = OLMO.like(
    "LLaDA",
    width=size("d_model", "hidden_size", default=4096),
    heads=size("n_heads", default=32),
    depth=size("n_layers", default=32),
    bias=s.never,
    out_bias=s.never,
    vocab=size("embedding_size", "vocab_size", default=126464),
    inner=s.inner_size("mlp_hidden_size", default=12288),
    attention_bias=s.flagged("include_qkv_bias"),
    norms=lambda _c, width: RMSNorm(width, class_name="RMSLayerNorm"),
    called={"Model": "ModuleDict", "Block": "LLaDALlamaBlock"},
    model={
        "wte": s.words,
        "emb_drop": s.dropout("embedding_dropout"),
        "ln_f": s.norm,
        "blocks": s.layers,
        "ff_out": s.where(s.unless("weight_tying"), s.lm_head),
    },
    block={
        "dropout": s.dropout("residual_dropout"),
        "act": s.act("activation_type", "silu"),
        "attn_out": s.output,
        "ff_out": s.down,
        "attn_norm": s.norm,
        "ff_norm": s.norm,
        "q_proj": s.as_wide("query"),
        "k_proj": _grouped("key"),
        "v_proj": _grouped("value"),
        "ff_proj": s.gate,
        "up_proj": s.up,
    },
)


def model(c: ModelConfig) -> Module:
    for key, value in _PUBLISHED.items():
        if c.has(key) and c.raw(key) != value:
            raise c.error(key, c.raw(key), f"{value!r}, as in every published model")
    return Module("LLaDAModelLM", model=Module("LLaDAModel", transformer=_LLADA.base(c)))


_SOURCE = "modeling_llada.py of GSAI-ML/LLaDA-8B-Base"
register_part("llada", "LLaDAModelLM", model, "text decoder", _SOURCE, "model")
