"""Beam: three dense layers, then experts, and a biased gate on the output of attention
(transformers/models/beam)."""

from ..layers import mixtures as m
from ..layers.decoders import adding, gate, grouped, sandwich
from ..layers.layer_kinds import words
from ..layers.windows import every, windows
from ..trees.modules import Weight
from .llama import LLAMA

LLAMA.like(
    "Beam",
    mlp_bias=None,
    qk_norm=True,
    windows=lambda c: windows(c, 512, every(6, last=True)),
    tasks=("ForTokenClassification",),
    layer=sandwich,
    kinds=words(lambda _c, i: "dense" if i < 3 else "sparse", key="mlp_layer_types"),
    attention=adding(
        grouped, gate_proj=gate, gate_bias=lambda d, c: Weight(d.heads(c).query, kind="gate")
    ),
    moe=m.sparse(
        "MoE",
        {"experts": m.each, "gate": m.corrected("TopKRouter")},
        count=m.counts("num_experts", default=256, minimum=1),
        used=m.counts("num_experts_per_tok", default=8),
        inner=2560,
    ),
).register("beam")
