"""Falcon (Almazrouei et al. 2023). Source of shapes: transformers/models/falcon/modeling_falcon.py;
for the older names RefinedWeb (40B) and RefinedWebModel (1B, 7B) the modeling files of the first
release, of which Falcon's are the successors with the same tensors.

The first layout has one key head for all queries (multi_query) or as many as queries; the new one
(40B, 180B, 11B) has groups, and two norms side by side. The Hub's files store the LM head although
the class ties it to the embedding.
"""

from typing import NamedTuple

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation, size
from ..layers.heads import decoder_classes
from ..trees.catalog import Builder, register
from ..trees.keeps import KeysValues
from ..trees.modules import Activation, Dropout, Embedding, LayerNorm, Layers, Linear, Module


class _Names(NamedTuple):
    """Class names of the library's and of the older files."""

    model: str = "FalconModel"
    layer: str = "FalconDecoderLayer"
    attention: str = "FalconAttention"
    mlp: str = "FalconMLP"
    linear: str = "FalconLinear"
    rotary: str = "FalconRotaryEmbedding"


_OLD = _Names("RWModel", "DecoderLayer", "Attention", "MLP", "Linear", "RotaryEmbedding")


_hidden = size("n_embed", "hidden_size", default=4544)


def _norm(c: ModelConfig) -> Module:
    return LayerNorm(_hidden(c), eps=c.number("layer_norm_epsilon", default=1e-5))


def _grouped(c: ModelConfig) -> bool:
    return c.flag("new_decoder_architecture", default=False)


def attention(c: ModelConfig, names: _Names) -> Module:
    h = _hidden(c)
    heads = c.dim("num_attention_heads", "n_head", default=71)
    head = c.divided(h, heads, "hidden_size", "num_attention_heads")
    repeated = 1
    if _grouped(c):
        kv = c.dim("num_kv_heads", "n_head_kv", default=heads)
        width = (kv * 2 + heads) * head
        repeated = int(heads) // int(kv)  # transformers keeps a copy for each query head
    elif c.flag("multi_query", default=True):
        kv, width = Dim(1), h + 2 * head
    else:
        kv, width = heads, 3 * h
    bias = c.flag("bias", default=False)
    return Module(
        names.attention,
        query_key_value=Linear(h, width, bias=bias, kind="qkv", class_name=names.linear),
        dense=Linear(h, h, bias=bias, kind="output", class_name=names.linear),
        attention_dropout=Dropout(c.number("attention_dropout", default=0.0)),
        component=Component.ATTENTION,
        keeps=(KeysValues(kv * head, kv * head, heads=kv, repeated=repeated),),
    )


def _norms(c: ModelConfig) -> dict[str, Module]:
    norm = _norm(c)
    if not c.flag("parallel_attn", default=True):
        return {"post_attention_layernorm": norm, "input_layernorm": norm}
    count = c.dim("num_ln_in_parallel_attn", default=2 if _grouped(c) else 1, minimum=0)
    return {"ln_attn": norm, "ln_mlp": norm} if count == 2 else {"input_layernorm": norm}


def layer(c: ModelConfig, names: _Names) -> Module:
    h, bias = _hidden(c), c.flag("bias", default=False)
    inner = c.dim("ffn_hidden_size", default=h * 4)
    mlp = Module(
        names.mlp,
        dense_h_to_4h=Linear(h, inner, bias=bias, kind="up", class_name=names.linear),
        act=activation(c.text("activation", default="gelu")),
        dense_4h_to_h=Linear(inner, h, bias=bias, kind="down", class_name=names.linear),
        component=Component.MLP,
    )
    return Module(names.layer, {"self_attention": attention(c, names), "mlp": mlp, **_norms(c)})


def model(c: ModelConfig, names: _Names = _Names()) -> Module:  # noqa: B008 - immutable
    layers = c.count("num_hidden_layers", "n_layer", default=32)
    blocks = Layers.of(layers, layer(c, names))
    blocks.static = not c.flag("alibi", default=False)  # which are made for the tokens alone
    return Module(
        names.model,
        word_embeddings=Embedding(c.dim("vocab_size", default=65024), _hidden(c)),
        h=blocks,
        ln_f=_norm(c),
        rotary_emb=Activation(names.rotary),
    )


def _classes(name: str, base: Builder) -> dict[str, Builder]:
    return decoder_classes(
        name, base, prefix="transformer", embedding="word_embeddings", hidden=_hidden,
        tied_default=True, labeller="classifier",
    )  # fmt: skip


def _older(*, grouped: bool) -> dict[str, Builder]:
    def base(c: ModelConfig) -> Module:
        # Neither flag was on by default then; that the 40B has groups was in its code alone.
        defaults = c.with_defaults(
            multi_query=False, parallel_attn=grouped, new_decoder_architecture=grouped
        )
        return model(defaults, _OLD)

    return _classes("RW", base)


register("falcon", _classes("Falcon", model), base_prefix="transformer", category="text decoder")
register(
    "RefinedWebModel",
    _older(grouped=False),
    base_prefix="transformer",
    category="text decoder",
    source="modelling_RW.py of tiiuae/falcon-7b; checked against transformers' Falcon",
)
register(
    "RefinedWeb",
    _older(grouped=True),
    base_prefix="transformer",
    category="text decoder",
    source="modelling_RW.py of tiiuae/falcon-40b; checked against transformers' Falcon",
)
