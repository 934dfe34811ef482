"""MosaicGPT, as MPT was called before its release (MosaicML 2023): mpt-1b-redpajama-200b. No class
in transformers. Source of shapes: mosaic_gpt.py, gpt_blocks.py and attention.py in
mosaicml/mpt-1b-redpajama-200b.

GPT-2's block; ALiBi or learned positions, norms of whole queries and keys where ``attn_qk_ln``, no
bias anywhere where ``no_bias``.  The embedding serves as the head.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.blocks import size
from ..trees.catalog import register
from ..trees.modules import Activation, Dropout, Embedding, LayerNorm, Layers, Linear, Module

_hidden = size("d_model", default=2048)


def _biased(c: ModelConfig) -> bool:
    return not c.flag("no_bias", default=False)


def _norm(c: ModelConfig) -> Module:
    low = c.flag("low_precision_layernorm", default=True)
    name = "LPLayerNorm" if low else "LayerNorm"
    return LayerNorm(_hidden(c), bias=_biased(c), class_name=name)


def block(c: ModelConfig) -> Module:
    h, bias = _hidden(c), _biased(c)
    c.divided(h, c.dim("n_heads", default=16), "d_model", "n_heads")
    inner = h * c.dim("mlp_ratio", default=4)
    normed = c.flag("attn_qk_ln", default=False)
    drop = Dropout(c.number("resid_pdrop", default=0.0))
    return Module(
        "GPTBlock",
        ln_1=_norm(c),
        attn=Module(
            "MultiheadAttention",
            Wqkv=Linear(h, 3 * h, bias=bias, kind="qkv"),
            q_ln=_norm(c) if normed else None,
            k_ln=_norm(c) if normed else None,
            out_proj=Linear(h, h, bias=bias, kind="output"),
            component=Component.ATTENTION,
        ),
        ln_2=_norm(c),
        mlp=Module(
            "GPTMLP",
            mlp_up=Linear(h, inner, bias=bias, kind="up"),
            mlp_act=Activation("GELU", "approximate='none'"),
            mlp_down=Linear(inner, h, bias=bias, kind="down"),
            component=Component.MLP,
        ),
        resid_attn_dropout=drop,
        resid_mlp_dropout=drop,
    )


def model(c: ModelConfig) -> Module:
    h = _hidden(c)
    learned = not c.flag("alibi", default=False)
    positions = Embedding(c.dim("max_seq_len", default=2048), h, kind="position")
    return Module(
        "MosaicGPT",
        transformer=Module(
            "ModuleDict",
            wte=Embedding(c.dim("vocab_size", default=50368), h),
            wpe=positions if learned else None,
            emb_drop=Dropout(c.number("emb_pdrop", default=0.0)),
            blocks=Layers.of(c.count("n_layers", default=24), block(c)),
            ln_f=_norm(c),
        ),
    )


register(
    "mosaic_gpt",
    {"MosaicGPT": model},
    base="MosaicGPT",
    category="text decoder",
    source="mosaic_gpt.py of mosaicml/mpt-1b-redpajama-200b",
)
