"""MPT (MosaicML 2023). transformers' class ignores expansion_ratio, no_bias and attn_type; the
Hub's MPTForCausalLM honours them, has learned positions where ALiBi is off, and no LM head.
Source of shapes: modeling_mpt.py of transformers and, for the Hub's class, of llm-foundry."""

from ..layers import named_decoder as s
from ..layers.blocks import size
from ..layers.heads import to_words
from ..layers.vision import scaled
from ..trees import Component, LayerNorm, Linear, ModelConfig, Module, RMSNorm

_MPT = s.NamedDecoder(
    "Mpt",
    width=size("d_model", default=2048),
    heads=size("n_heads", default=16),
    depth=size("n_layers", default=24),
    vocab=size("vocab_size", default=50368),
    inner=s.times(4),
    norms=s.layer_norms(bias=False),
    bias=s.never,
    model={"wte": s.words, "blocks": s.layers, "norm_f": s.norm},
    block={
        "norm_1": s.norm,
        "attn": s.attention,
        "norm_2": s.norm,
        "ffn": s.mlp,
        "resid_attn_dropout": lambda d, c: s.dropout("attn_pdrop")(d, c.section("attn_config")),
    },
    attention={"Wqkv": s.qkv, "out_proj": s.output},
    mlp={"up_proj": s.up, "act": s.shown("GELU", "approximate='none'"), "down_proj": s.down},
)


def _norms(c: ModelConfig, width: int) -> Module:
    """Of the Hub's class, as all that follows."""
    kind = c.text("norm_type", default="low_precision_layernorm") or ""
    low = "LP" if kind.startswith("low") else ""
    if "rmsnorm" in kind:
        return RMSNorm(width, class_name=f"{low}RMSNorm")
    return LayerNorm(width, bias=s.unless("no_bias")(c), class_name=f"{low}LayerNorm")


_ATTENTIONS = {
    "multihead_attention": "MultiheadAttention",
    "multiquery_attention": "MultiQueryAttention",
    "grouped_query_attention": "GroupedQueryAttention",
}


def _attention(d: s.NamedDecoder, c: ModelConfig) -> Module:
    h = d.width(c)
    head = d.head(c)
    options = c.section("attn_config")
    form = options.word("attn_type", *_ATTENTIONS)
    kv = options.dim("kv_n_heads") * head if form.startswith("grouped") else head
    kv = h if form.startswith("multihead") else kv
    normed = options.flag("qk_ln", default=False)
    joined = 3 * h if kv is h else h + 2 * kv
    return Module(
        _ATTENTIONS[form],
        Wqkv=Linear(h, joined, bias=d.biased(c), kind="qkv"),
        q_ln=d.norms(c, h) if normed else None,
        k_ln=d.norms(c, kv) if normed else None,
        out_proj=s.output(d, c),
        component=Component.ATTENTION,
    )


def _positions(d: s.NamedDecoder, c: ModelConfig) -> Module | None:
    options = c.section("attn_config")
    without = options.flag("alibi", default=False) or options.flag("rope", default=False)
    learned = c.flag("learned_pos_emb", default=True) and not without
    return s.positions(d, c) if learned else None


_DROP = s.dropout("resid_pdrop")
_FOUNDRY = _MPT.like(
    "MPT",
    length=size("max_seq_len", default=2048),
    norms=_norms,
    bias=s.unless("no_bias"),
    inner=lambda c, h: scaled(c, h, "expansion_ratio", default=4),
    model={
        "wte": lambda d, c: s.words(d, c).called("SharedEmbedding"),
        "wpe": _positions,
        "emb_drop": s.dropout("emb_pdrop"),
        "blocks": s.layers,
        "norm_f": s.norm,
    },
    block={
        **_MPT.block,
        "attn": _attention,
        "resid_attn_dropout": _DROP,
        "resid_ffn_dropout": _DROP,
    },
)


def foundry_causal_lm(c: ModelConfig) -> Module:
    """The embedding serves as the head, unless tie_word_embeddings is false."""
    head = None if c.tied() else to_words(_FOUNDRY.width(c), _FOUNDRY.vocab(c))
    return Module("MPTForCausalLM", transformer=_FOUNDRY.base(c), lm_head=head)


_OWN = {"MPTForCausalLM": foundry_causal_lm, "MPTModel": _FOUNDRY.base}
_MPT.register("mpt", {**_MPT.classes(labeller="classifier"), **_OWN})
