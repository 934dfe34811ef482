"""MosaicGPT, as MPT was called before its release (MosaicML 2023): mpt-1b-redpajama-200b, whose
gpt_blocks.py and attention.py have the parts."""

from ..layers import named_decoder as s
from ..layers.blocks import size
from ..trees import LayerNorm, ModelConfig, Module, register_part

_BIASED = s.unless("no_bias")


def _norms(c: ModelConfig, width: int) -> Module:
    low = c.flag("low_precision_layernorm", default=True)
    return LayerNorm(width, bias=_BIASED(c), class_name="LPLayerNorm" if low else "LayerNorm")


_whole_norm = s.where(s.flagged("attn_qk_ln"), s.norm)
_MOSAIC = s.NamedDecoder(
    "GPT",
    width=size("d_model", default=2048),
    heads=size("n_heads", default=16),
    depth=size("n_layers", default=24),
    vocab=size("vocab_size", default=50368),
    length=size("max_seq_len", default=2048),
    norms=_norms,
    bias=_BIASED,
    inner=lambda c, h: h * c.dim("mlp_ratio", default=4),
    called={"Attention": "MultiheadAttention", "Model": "ModuleDict"},
    model={
        "wte": s.words,
        "wpe": s.where(s.unless("alibi"), s.positions),
        "emb_drop": s.dropout("emb_pdrop"),
        "blocks": s.layers,
        "ln_f": s.norm,
    },
    block={
        "ln_1": s.norm,
        "attn": s.attention,
        "ln_2": s.norm,
        "mlp": s.mlp,
        "resid_attn_dropout": s.dropout("resid_pdrop"),
        "resid_mlp_dropout": s.dropout("resid_pdrop"),
    },
    attention={"Wqkv": s.qkv, "q_ln": _whole_norm, "k_ln": _whole_norm, "out_proj": s.output},
    mlp={"mlp_up": s.up, "mlp_act": s.shown("GELU", "approximate='none'"), "mlp_down": s.down},
)
_SOURCE = "mosaic_gpt.py of mosaicml/mpt-1b-redpajama-200b"
register_part("mosaic_gpt", "MosaicGPT", {"transformer": _MOSAIC.base}, "text decoder", _SOURCE)
