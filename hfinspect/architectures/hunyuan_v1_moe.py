"""Hunyuan MoE (Hunyuan-A13B, Tencent 2025).

Source of shapes: transformers/models/hunyuan_v1_moe/modeling_hunyuan_v1_moe.py.
Every layer has experts and one shared MLP of the same width. ``moe_topk`` may differ by layer.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.blocks import gated_mlp
from ..layers.decoders import Decoder, pre_norm
from ..layers.experts import experts
from ..trees.modules import Linear, Module
from .hunyuan_v1_dense import HUNYUAN

#: Experts are listed once for each distinct moe_topk; published models have one.
_MAX_DISTINCT = 32


def _mlp(d: Decoder, c: ModelConfig, kind: str | None = None) -> Module:
    return gated_mlp(f"{d.name}MLP", d.width(c), d.inner(c), act=d.act(c), kind=kind)


def _layer(d: Decoder, c: ModelConfig, per_token: int) -> Module:
    count = c.count("num_experts", "num_local_experts", default=1, minimum=1)
    block = pre_norm(d, c, "dense")
    block.children["mlp"] = Module(
        f"{d.name}Moe",
        gate=Module(
            f"{d.name}Gate", wg=Linear(d.width(c), count, bias=False), component=Component.ROUTER
        ),
        experts=experts(count, per_token, _mlp(d, c), class_name=f"{d.name}Experts"),
        shared_mlp=_mlp(d, c, "shared_expert"),
        component=Component.MLP,
    )
    return block


def _kinds(_d: Decoder, c: ModelConfig, layers: int) -> list[int]:
    routed = c.dims("moe_topk", "num_experts_per_tok", default=(1,))
    if len(routed) == 1:
        routed *= layers
    if len(routed) < layers:
        raise c.miscounted("moe_topk", len(routed), f"one for each of {layers} layers")
    distinct = len({int(k) for k in routed})
    if distinct > _MAX_DISTINCT:
        raise c.error("moe_topk", f"{distinct} different values", f"at most {_MAX_DISTINCT}")
    return [int(k) for k in routed[:layers]]


HUNYUAN.like("HunYuanMoEV1", kinds=_kinds, layer=_layer).register("hunyuan_v1_moe")
