"""NLLB-MoE (NLLB Team 2022): M2M-100 in which every n-th layer has experts, of which the router
picks two for a token (transformers/models/nllb_moe)."""

from functools import partial

from ..layers import seq2seq
from ..layers.blocks import activation
from ..layers.experts import numbered_experts
from ..trees import Component, ModelConfig
from ..trees.modules import Dropout, Layers, Linear, Module, once
from .m2m_100 import M2M100


def _layer(sparse: bool, c: ModelConfig, s: seq2seq.Seq2Seq, side: str) -> Module:
    d = seq2seq.width(c, s)
    inner = c.dim(f"{side}_ffn_dim", default=4096)
    norm = seq2seq.norm(c, s)
    drop = Dropout(c.number("activation_dropout", default=0.0))
    second = side == "decoder"
    attend = seq2seq.attention(c, s, int(second))
    mlp = Module(
        "NllbMoeDenseActDense",
        fc1=Linear(d, inner, kind="expert" if sparse else "up"),
        fc2=Linear(inner, d, kind="expert" if sparse else "down"),
        dropout=drop,
        act=activation(c.text("activation_function", default="relu")),
        component=Component.MLP,
    )
    if sparse:
        count = c.count("num_experts", default=128, minimum=1)
        mlp = numbered_experts(c, "NllbMoe", mlp, d, count, 2)  # NllbMoeTop2Router
    return Module(
        f"NllbMoe{side.title()}Layer",
        self_attn=attend,
        attn_dropout=seq2seq.dropout(c),
        self_attn_layer_norm=norm,
        cross_attention=attend if second else None,
        cross_attention_layer_norm=norm if second else None,
        ffn=mlp,
        ff_layer_norm=norm,
        ff_dropout=drop,
    )


def _model(c: ModelConfig, s: seq2seq.Seq2Seq) -> Module:
    tree = seq2seq.model(c, s)
    for side in ("encoder", "decoder"):
        step = int(c.dim(f"{side}_sparse_step", default=4, minimum=0))
        count = len(tree.inside(side, "layers").children)
        kinds = [step > 0 and (i + 1) % step == 0 for i in range(count)]
        layers = Layers(once(kinds, partial(_layer, c=c, s=s, side=side)))
        tree.inside(side).adding(layers=layers)
    return tree


M2M100.like("NllbMoe", make_model=_model).register("nllb-moe", *seq2seq.GENERATION)
