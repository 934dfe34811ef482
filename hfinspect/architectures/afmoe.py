"""Trinity (Arcee AI 2025). Source of shapes: transformers/models/afmoe/modeling_afmoe.py.

Attention with norms of queries and keys and a gate on its output; four norms in a layer; experts
with shared ones after ``num_dense_layers``. The router's correction is a parameter.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.decoders import Decoder, gated_of, grouped
from ..layers.experts import experts
from ..layers.windows import every, windows
from ..trees.modules import Linear, Module, Weight
from .llama import LLAMA


def _moe(d: Decoder, c: ModelConfig) -> Module:
    h, inner = d.width(c), c.dim("moe_intermediate_size", default=1408)
    count = c.count("num_experts", default=64, minimum=1)
    per_token = c.count("num_experts_per_tok", default=6)
    shared = inner * c.count("num_shared_experts", default=2)
    scores = Linear(h, count, bias=False)
    return Module(
        "AfmoeSparseMoeBlock",
        router=Module("AfmoeTokenChoiceRouter", gate=scores, component=Component.ROUTER),
        shared_experts=gated_of(d, c, shared, "shared_expert"),
        experts=experts(count, per_token, gated_of(d, c, inner), class_name="AfmoeExperts"),
        expert_bias=Weight(count, component=Component.ROUTER),
        component=Component.MLP,
    )


def _attention(d: Decoder, c: ModelConfig) -> Module:
    made, heads = grouped(d, c), d.heads(c)
    made.children["gate_proj"] = Linear(
        d.width(c), heads.query * heads.dim, bias=False, kind="gate"
    )
    return made


def _layer(d: Decoder, c: ModelConfig, kind: str) -> Module:
    names = ("input", "post_attention", "pre_mlp", "post_mlp")
    norms = {f"{name}_layernorm": d.norm(d, c, d.width(c)) for name in names}
    return Module(
        "AfmoeDecoderLayer",
        {"self_attn": d.attention(d, c), **norms, "mlp": d.feed_forward(c, kind)},
    )


def _kinds(_d: Decoder, c: ModelConfig, layers: int) -> list[str]:
    dense = min(int(c.count("num_dense_layers", default=1)), layers)
    return ["dense"] * dense + ["sparse"] * (layers - dense)


LLAMA.like(
    "Afmoe", vocab_size=200192, hidden_size=2048, intermediate_size=6144, num_attention_heads=16,
    head_dim=128, rms_norm_eps=1e-05, mlp_bias=None, qk_norm=True,
    windows=lambda c: windows(c, 1024, every(int(c.dim("global_attn_every_n_layers", default=4)))),
    endings=(), moe=_moe, kinds=_kinds, layer=_layer, attention=_attention,
).register("afmoe")  # fmt: skip
