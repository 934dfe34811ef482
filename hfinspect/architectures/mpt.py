"""MPT (MosaicML 2023). Source of shapes: transformers/models/mpt/modeling_mpt.py, and for the Hub's
own class MPTForCausalLM its modeling_mpt.py (llm-foundry).

ALiBi positions and no biases. transformers' class ignores expansion_ratio, no_bias and attn_type;
the Hub's class honours them, has learned positions where ALiBi is off, and no LM head of its own.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import size
from ..layers.heads import decoder_classes, lm_head
from ..layers.vision import scaled
from ..trees.catalog import register
from ..trees.modules import (
    Activation,
    Dropout,
    Embedding,
    LayerNorm,
    Layers,
    Linear,
    Module,
    RMSNorm,
)

_hidden = size("d_model", "hidden_size", default=2048)
_heads = size("n_heads", "num_attention_heads", default=16)
_vocab = size("vocab_size", default=50368)


def block(c: ModelConfig) -> Module:
    h = _hidden(c)
    c.divided(h, _heads(c), "d_model", "n_heads")
    norm = LayerNorm(h, eps=c.number("layer_norm_epsilon", default=1e-5), bias=False)
    return Module(
        "MptBlock",
        norm_1=norm,
        attn=Module(
            "MptAttention",
            Wqkv=Linear(h, 3 * h, bias=False, kind="qkv"),
            out_proj=Linear(h, h, bias=False, kind="output"),
            component=Component.ATTENTION,
        ),
        norm_2=norm,
        ffn=Module(
            "MptMLP",
            up_proj=Linear(h, 4 * h, bias=False, kind="up"),
            act=Activation("GELU", "approximate='none'"),
            down_proj=Linear(4 * h, h, bias=False, kind="down"),
            component=Component.MLP,
        ),
        resid_attn_dropout=Dropout(c.section("attn_config").number("attn_pdrop", default=0.0)),
    )


def model(c: ModelConfig) -> Module:
    h = _hidden(c)
    return Module(
        "MptModel",
        wte=Embedding(_vocab(c), h),
        blocks=Layers.of(c.count("n_layers", "num_hidden_layers", default=24), block(c)),
        norm_f=LayerNorm(h, eps=c.number("layer_norm_epsilon", default=1e-5), bias=False),
    )


# ---- the Hub's own class


def _foundry_norm(c: ModelConfig, size: Dim) -> Module:
    kind = c.text("norm_type", default="low_precision_layernorm") or ""
    if "rmsnorm" in kind:
        return RMSNorm(size, class_name="LPRMSNorm" if kind.startswith("low") else "RMSNorm")
    return LayerNorm(
        size,
        bias=not c.flag("no_bias", default=False),
        class_name="LPLayerNorm" if kind.startswith("low") else "LayerNorm",
    )


def _foundry_attention(c: ModelConfig) -> Module:
    h, heads = _hidden(c), _heads(c)
    head = c.divided(h, heads, "d_model", "n_heads")
    options = c.section("attn_config")
    form = options.text("attn_type", default="multihead_attention")
    if form == "multiquery_attention":
        kv = head
    elif form == "grouped_query_attention":
        kv = options.dim("kv_n_heads") * head
    elif form == "multihead_attention":
        kv = h
    else:
        expected = "multihead_attention, multiquery_attention or grouped_query_attention"
        raise options.error("attn_type", form, expected)
    bias = not c.flag("no_bias", default=False)
    normed = options.flag("qk_ln", default=False)
    names = {
        "multihead_attention": "MultiheadAttention",
        "multiquery_attention": "MultiQueryAttention",
    }
    return Module(
        names.get(form, "GroupedQueryAttention"),
        Wqkv=Linear(
            h, 3 * h if form == "multihead_attention" else h + 2 * kv, bias=bias, kind="qkv"
        ),
        q_ln=_foundry_norm(c, h) if normed else None,
        k_ln=_foundry_norm(c, kv) if normed else None,
        out_proj=Linear(h, h, bias=bias, kind="output"),
        component=Component.ATTENTION,
    )


def _foundry_block(c: ModelConfig) -> Module:
    h = _hidden(c)
    inner = scaled(c, h, "expansion_ratio", default=4)
    bias = not c.flag("no_bias", default=False)
    return Module(
        "MPTBlock",
        norm_1=_foundry_norm(c, h),
        attn=_foundry_attention(c),
        norm_2=_foundry_norm(c, h),
        ffn=Module(
            "MPTMLP",
            up_proj=Linear(h, inner, bias=bias, kind="up"),
            act=Activation("GELU", "approximate='none'"),
            down_proj=Linear(inner, h, bias=bias, kind="down"),
            component=Component.MLP,
        ),
        resid_attn_dropout=Dropout(c.number("resid_pdrop", default=0.0)),
        resid_ffn_dropout=Dropout(c.number("resid_pdrop", default=0.0)),
    )


def foundry_model(c: ModelConfig) -> Module:
    h = _hidden(c)
    options = c.section("attn_config")
    without = options.flag("alibi", default=False) or options.flag("rope", default=False)
    learned = c.flag("learned_pos_emb", default=True) and not without
    return Module(
        "MPTModel",
        wte=Embedding(_vocab(c), h, class_name="SharedEmbedding"),
        wpe=Embedding(c.dim("max_seq_len", default=2048), h, kind="position") if learned else None,
        emb_drop=Dropout(c.number("emb_pdrop", default=0.0)),
        blocks=Layers.of(c.count("n_layers", default=24), _foundry_block(c)),
        norm_f=_foundry_norm(c, h),
    )


def foundry_causal_lm(c: ModelConfig) -> Module:
    """The embedding serves as the head, unless tie_word_embeddings is false."""
    head = None if c.tied() else lm_head(c, _hidden(c), _vocab(c), tied_to="")
    return Module("MPTForCausalLM", transformer=foundry_model(c), lm_head=head)


register(
    "mpt",
    {
        **decoder_classes(
            "Mpt", model, prefix="transformer", embedding="wte", hidden=_hidden,
            tied_default=True, labeller="classifier",
        ),
        "MPTForCausalLM": foundry_causal_lm,
        "MPTModel": foundry_model,
    },
    base_prefix="transformer",
    category="text decoder",
)  # fmt: skip
