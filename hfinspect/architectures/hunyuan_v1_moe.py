"""Hunyuan MoE (Hunyuan-A13B, Tencent 2025; transformers/models/hunyuan_v1_moe). Every layer has
experts and one shared MLP of the same width. ``moe_topk`` may differ by layer."""

from ..layers import mixtures as m
from ..layers.decoders import Decoder, pre_norm
from ..trees import ModelConfig, Module
from .hunyuan_v1_dense import HUNYUAN

#: Experts are listed once for each distinct moe_topk; published models have one.
_MAX_DISTINCT = 32


def _layer(d: Decoder, c: ModelConfig, per_token: int) -> Module:
    moe = m.sparse(
        "Moe",
        {"gate": m.scored_by("Gate", "wg"), "experts": m.each, "shared_mlp": m.always},
        count=m.counts("num_experts", "num_local_experts", default=1, minimum=1),
        used=lambda _c: per_token,
        shared=lambda _c, inner: inner,
    )
    return pre_norm(d.like(d.name, mlp=moe), c, "dense")


def _kinds(_d: Decoder, c: ModelConfig, layers: int) -> list[int]:
    keys = ("moe_topk", "num_experts_per_tok")
    routed = c.dims(*keys, default=(1,))
    routed = routed * layers if len(routed) == 1 else c.dims(*keys, least=layers)
    distinct = len(set(map(int, routed)))
    if distinct > _MAX_DISTINCT:
        raise c.error(keys[0], f"{distinct} different values", f"at most {_MAX_DISTINCT}")
    return [int(k) for k in routed[:layers]]


HUNYUAN.like("HunYuanMoEV1", kinds=_kinds, layer=_layer).register("hunyuan_v1_moe")
