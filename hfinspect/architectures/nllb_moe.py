"""NLLB-MoE (NLLB Team 2022). Source of shapes: transformers/models/nllb_moe/modeling_nllb_moe.py.

M2M-100 in which every n-th layer has experts, of which the router picks two for a token.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers import seq2seq
from ..layers.blocks import activation
from ..layers.experts import numbered_experts
from ..trees.catalog import register_pair
from ..trees.modules import Dropout, LayerNorm, Layers, Linear, Module

STYLE = seq2seq.Seq2Seq("NllbMoe", words="ScaledWordEmbedding", vocab=128112, act="relu")

#: Experts that serve a token (NllbMoeTop2Router).
_PER_TOKEN = 2


def _width(c: ModelConfig) -> Dim:
    return seq2seq.width(c, STYLE)


def _dense(c: ModelConfig, inner: Dim, *, expert: bool = False) -> Module:
    d = _width(c)
    return Module(
        "NllbMoeDenseActDense",
        fc1=Linear(d, inner, kind="expert" if expert else "up"),
        fc2=Linear(inner, d, kind="expert" if expert else "down"),
        dropout=Dropout(c.number("activation_dropout", default=0.0)),
        act=activation(c.text("activation_function", default="relu")),
        component=Component.MLP,
    )


def _sparse(c: ModelConfig, inner: Dim) -> Module:
    count = c.count("num_experts", default=128, minimum=1)
    return numbered_experts(
        c, "NllbMoe", _dense(c, inner, expert=True), _width(c), count, _PER_TOKEN
    )


def _layer(c: ModelConfig, side: int, *, sparse: bool) -> Module:
    d, name = _width(c), ("encoder", "decoder")[side]
    inner = c.dim(f"{name}_ffn_dim", default=4096)
    attend = seq2seq.attention(c, STYLE, side)
    return Module(
        "NllbMoeDecoderLayer" if side else "NllbMoeEncoderLayer",
        self_attn=attend,
        attn_dropout=seq2seq.dropout(c),
        self_attn_layer_norm=LayerNorm(d),
        cross_attention=attend if side else None,
        cross_attention_layer_norm=LayerNorm(d) if side else None,
        ffn=_sparse(c, inner) if sparse else _dense(c, inner),
        ff_layer_norm=LayerNorm(d),
        ff_dropout=Dropout(c.number("activation_dropout", default=0.0)),
    )


def _stack(c: ModelConfig, side: int, table: str | None) -> Module:
    name = ("encoder", "decoder")[side]
    keys = ("encoder_layers", "num_hidden_layers") if side == 0 else ("decoder_layers",)
    layers = int(c.count(*keys, default=12))
    step = int(c.dim(f"{name}_sparse_step", default=4, minimum=0))
    sparse = [step > 0 and (i + 1) % step == 0 for i in range(layers)]
    built = {kind: _layer(c, side, sparse=kind) for kind in set(sparse)}
    return Module(
        f"NllbMoe{name.title()}",
        embed_tokens=seq2seq.words(c, STYLE, tied_to=table),
        layers=Layers([built[kind] for kind in sparse]),
        layer_norm=LayerNorm(_width(c)),
    )


def model(c: ModelConfig, *, at: str = "") -> Module:
    table = f"{at}shared.weight" if c.tied() else None
    return Module(
        "NllbMoeModel",
        shared=seq2seq.words(c, STYLE),
        encoder=_stack(c, 0, table),
        decoder=_stack(c, 1, table),
    )


def conditional_generation(c: ModelConfig) -> Module:
    return Module(
        "NllbMoeForConditionalGeneration",
        model=model(c, at="model."),
        lm_head=seq2seq.lm_head(c, STYLE, "model.shared.weight"),
    )


register_pair("nllb-moe", "NllbMoe", conditional_generation, model, "encoder-decoder")
