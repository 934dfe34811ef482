"""NLLB-MoE (NLLB Team 2022). Source of shapes: transformers/models/nllb_moe/modeling_nllb_moe.py.

M2M-100 in which every n-th layer has experts, of which the router picks two for a token.
"""

from functools import partial

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers import seq2seq
from ..layers.blocks import activation
from ..layers.composing import changed
from ..layers.experts import numbered_experts
from ..trees.catalog import register
from ..trees.modules import Dropout, Layers, Linear, Module
from .m2m_100 import M2M100

STYLE = M2M100.like("NllbMoe")

#: Experts that serve a token (NllbMoeTop2Router).
_PER_TOKEN = 2


def _dense(c: ModelConfig, inner: Dim, *, expert: bool = False) -> Module:
    d = seq2seq.width(c, STYLE)
    return Module(
        "NllbMoeDenseActDense",
        fc1=Linear(d, inner, kind="expert" if expert else "up"),
        fc2=Linear(inner, d, kind="expert" if expert else "down"),
        dropout=Dropout(c.number("activation_dropout", default=0.0)),
        act=activation(c.text("activation_function", default="relu")),
        component=Component.MLP,
    )


def _sparse(c: ModelConfig, inner: Dim) -> Module:
    count, expert = c.count("num_experts", default=128, minimum=1), _dense(c, inner, expert=True)
    return numbered_experts(c, "NllbMoe", expert, seq2seq.width(c, STYLE), count, _PER_TOKEN)


def _layer(c: ModelConfig, side: int, *, sparse: bool) -> Module:
    name, norm = ("encoder", "decoder")[side], seq2seq.norm(c, STYLE)
    inner = c.dim(f"{name}_ffn_dim", default=4096)
    attend = seq2seq.attention(c, STYLE, side)
    return Module(
        f"NllbMoe{name.title()}Layer",
        self_attn=attend,
        attn_dropout=seq2seq.dropout(c),
        self_attn_layer_norm=norm,
        cross_attention=attend if side else None,
        cross_attention_layer_norm=norm if side else None,
        ffn=_sparse(c, inner) if sparse else _dense(c, inner),
        ff_layer_norm=norm,
        ff_dropout=Dropout(c.number("activation_dropout", default=0.0)),
    )


def _routed(c: ModelConfig, root: Module) -> None:
    """Every n-th layer with experts, on both sides of what M2M-100's class is without."""
    base = root.inside("model") if "model" in root.children else root
    for side, name in enumerate(("encoder", "decoder")):
        layers = len(base.inside(name, "layers").children)
        step = int(c.dim(f"{name}_sparse_step", default=4, minimum=0))
        sparse = [step > 0 and (i + 1) % step == 0 for i in range(layers)]
        built = {kind: _layer(c, side, sparse=kind) for kind in set(sparse)}
        base.inside(name).children["layers"] = Layers([built[kind] for kind in sparse])


_CLASSES = changed(
    {
        "NllbMoeForConditionalGeneration": partial(
            seq2seq.conditional_generation, s=STYLE, bias=False
        ),
        "NllbMoeModel": partial(seq2seq.model, s=STYLE),
    },
    _routed,
)
register("nllb-moe", _CLASSES, base_prefix="model", category="encoder-decoder")
