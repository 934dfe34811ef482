"""Falcon (Almazrouei et al. 2023). Source of shapes: transformers/models/falcon/modeling_falcon.py,
whose tensors are those of the first release (RefinedWeb, RefinedWebModel). The Hub's files store
the LM head although the class ties it to the embedding."""

from functools import partial

from ..layers import named_decoder as s
from ..layers.blocks import size
from ..layers.composing import with_defaults
from ..trees import Dim, KeysValues, Layers, Linear, ModelConfig, Module

_grouped = s.flagged("new_decoder_architecture")


def _key_heads(d: s.NamedDecoder, c: ModelConfig) -> Dim:
    if _grouped(c):
        return c.dim("num_kv_heads", "n_head_kv", default=d.heads(c))
    return Dim(1) if c.flag("multi_query", default=True) else d.heads(c)


def _joined(d: s.NamedDecoder, c: ModelConfig) -> Dim:
    if _grouped(c):
        return (_key_heads(d, c) * 2 + d.heads(c)) * d.head(c)
    return d.width(c) + 2 * d.head(c) if c.flag("multi_query", default=True) else s.thrice(d, c)


def _attention(d: s.NamedDecoder, c: ModelConfig) -> Module:
    block = s.attention(d, c)
    kv = _key_heads(d, c)
    # transformers keeps a copy of a group's keys and values for each of its query heads
    repeated = int(d.heads(c)) // int(kv) if _grouped(c) else 1
    block.cache = (KeysValues(kv * d.head(c), kv * d.head(c), heads=kv, repeated=repeated),)
    return block


def _norm(name: str) -> s.NamedPart:
    """The norm of that name, where the layer has it."""

    def part(d: s.NamedDecoder, c: ModelConfig) -> Module | None:
        norms: tuple[str, ...] = ("post_attention_layernorm", "input_layernorm")
        if c.flag("parallel_attn", default=True):
            usual = 2 if _grouped(c) else 1
            count = c.dim("num_ln_in_parallel_attn", default=usual, minimum=0)
            norms = ("ln_attn", "ln_mlp") if count == 2 else ("input_layernorm",)
        return s.norm(d, c) if name in norms else None

    return part


def _layers(d: s.NamedDecoder, c: ModelConfig) -> Layers:
    blocks = s.layers(d, c)
    blocks.static = not c.flag("alibi", default=False)  # which are made for the tokens alone
    return blocks


_MODEL: dict[str, s.NamedPart] = {"word_embeddings": s.words, "h": _layers, "ln_f": s.norm}
_FALCON = s.NamedDecoder(
    "Falcon",
    width=size("n_embed", "hidden_size", default=4544),
    heads=size("num_attention_heads", "n_head", default=71),
    depth=size("num_hidden_layers", "n_layer", default=32),
    vocab=size("vocab_size", default=65024),
    inner=s.times(4, "ffn_hidden_size"),
    bias=s.flagged("bias"),
    joined=_joined,
    linear=partial(Linear, class_name="FalconLinear"),
    model={**_MODEL, "rotary_emb": s.shown("FalconRotaryEmbedding")},
    block={
        "self_attention": _attention,
        "mlp": s.mlp,
        "ln_attn": _norm("ln_attn"),
        "ln_mlp": _norm("ln_mlp"),
        "post_attention_layernorm": _norm("post_attention_layernorm"),
        "input_layernorm": _norm("input_layernorm"),
    },
    attention={
        "query_key_value": s.qkv,
        "dense": s.output,
        "attention_dropout": s.dropout("attention_dropout"),
    },
    mlp={"dense_h_to_4h": s.up, "act": s.act("activation", "gelu"), "dense_4h_to_h": s.down},
    called={"Block": "FalconDecoderLayer"},
).register("falcon", labeller="classifier")
_OLDER = _FALCON.like(
    "RW",
    linear=Linear,
    model={**_MODEL, "rotary_emb": s.shown("RotaryEmbedding")},
    called={"Block": "DecoderLayer", "Attention": "Attention", "MLP": "MLP"},
)
for _type, _size, _on in (("RefinedWebModel", "7b", False), ("RefinedWeb", "40b", True)):
    # Neither flag was on by default then; that the 40B has groups was in its code alone.
    _flags = {"multi_query": False, "parallel_attn": _on, "new_decoder_architecture": _on}
    _OLDER.register(
        _type,
        with_defaults(_flags, _OLDER.classes(labeller="classifier")),
        source=f"modelling_RW.py of tiiuae/falcon-{_size}; checked against transformers' Falcon",
    )
