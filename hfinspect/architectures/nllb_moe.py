"""NLLB-MoE (NLLB Team 2022). Source of shapes: transformers/models/nllb_moe/modeling_nllb_moe.py.

M2M-100 in which every n-th layer has experts, of which the router picks two for a token.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers import seq2seq
from ..layers.blocks import activation
from ..layers.experts import numbered_experts
from ..layers.seq2seq import Seq2Seq
from ..trees.modules import Dropout, Layers, Linear, Module
from .m2m_100 import M2M100

#: Experts that serve a token (NllbMoeTop2Router).
_PER_TOKEN = 2


def _dropout(c: ModelConfig) -> Module:
    return Dropout(c.number("activation_dropout", default=0.0))


def _mlp(c: ModelConfig, s: Seq2Seq, side: str, *, sparse: bool) -> Module:
    d, inner = seq2seq.width(c, s), c.dim(f"{side}_ffn_dim", default=4096)
    dense = Module(
        "NllbMoeDenseActDense",
        fc1=Linear(d, inner, kind="expert" if sparse else "up"),
        fc2=Linear(inner, d, kind="expert" if sparse else "down"),
        dropout=_dropout(c),
        act=activation(c.text("activation_function", default="relu")),
        component=Component.MLP,
    )
    if not sparse:
        return dense
    count = c.count("num_experts", default=128, minimum=1)
    return numbered_experts(c, "NllbMoe", dense, d, count, _PER_TOKEN)


def _model(c: ModelConfig, s: Seq2Seq) -> Module:
    tree = seq2seq.model(c, s)
    for side, name in enumerate(("encoder", "decoder")):
        norm, attend = seq2seq.norm(c, s), seq2seq.attention(c, s, side)
        step = int(c.dim(f"{name}_sparse_step", default=4, minimum=0))
        count = len(tree.inside(name, "layers").children)
        wanted = [step > 0 and (i + 1) % step == 0 for i in range(count)]
        built = {
            sparse: Module(
                f"NllbMoe{name.title()}Layer",
                self_attn=attend,
                attn_dropout=seq2seq.dropout(c),
                self_attn_layer_norm=norm,
                cross_attention=attend if side else None,
                cross_attention_layer_norm=norm if side else None,
                ffn=_mlp(c, s, name, sparse=sparse),
                ff_layer_norm=norm,
                ff_dropout=_dropout(c),
            )
            for sparse in set(wanted)
        }
        tree.inside(name).children["layers"] = Layers([built[sparse] for sparse in wanted])
    return tree


M2M100.like("NllbMoe", whole=_model).register("nllb-moe", *seq2seq.GENERATION)
