"""Mixtures of experts: routers, routed and shared experts, and which layers have them."""

from __future__ import annotations

from ..trees import Buffer, Component, Dim, Linear, ModelConfig, Module, ModuleList, Weight
from .blocks import activation


def experts(
    count: Dim, per_token: int, expert: Module, *, class_name: str = "ModuleList"
) -> ModuleList:
    """``count`` experts of which ``per_token`` serve a token; files hold one 2-D tensor each."""
    return ModuleList(
        [expert] * int(count),
        class_name=class_name,
        component=Component.MLP,
        kind="expert",
        active=(min(int(per_token), int(count)), int(count)),
        count=count,
    )


def numbered_experts(
    c: ModelConfig, name: str, expert: Module, width: Dim, count: Dim, per_token: int
) -> Module:
    """``count`` experts under names with their numbers, ``expert_0``, behind a router of ``width``;
    ``per_token`` of them serve a token. Source: Switch Transformers and NLLB-MoE."""
    bias = c.flag("router_bias", default=False)
    scores = Linear(width, count, bias=bias, component=Component.ROUTER)
    return Module(
        f"{name}SparseMLP",
        router=Module(f"{name}Top{per_token}Router", classifier=scores, component=Component.ROUTER),
        experts=Module(
            f"{name}Experts",
            {f"expert_{i}": expert for i in range(int(count))},
            component=Component.MLP,
            kind="expert",
            active=(min(per_token, int(count)), int(count)),
        ),
    )


def stacked_experts(
    class_name: str,
    count: Dim,
    per_token: int,
    hidden: int,
    inner: int,
    *,
    act: str | None = None,
    transposed: bool = False,
) -> Module:
    """``count`` experts in two 3-D tensors, gate and up joined: 3·H·I weights each; ``transposed``:
    inputs before outputs. Without ``act`` the class keeps no module for it."""
    both = (2 * inner, hidden)
    down = (hidden, inner)
    return Module(
        class_name,
        gate_up_proj=Weight(count, *(both[::-1] if transposed else both)),
        down_proj=Weight(count, *(down[::-1] if transposed else down)),
        act_fn=activation(act) if act else None,
        component=Component.MLP,
        kind="expert",
        active=(min(int(per_token), int(count)), int(count)),
    )


def w_expert(
    class_name: str,
    hidden: int,
    inner: int,
    *,
    act: str | None = None,
    bias: bool = False,
    kind: str | None = None,
) -> Module:
    """An expert in Mixtral's files: w1 (gate), w3 (up) and w2 (down). Without ``act`` the class
    keeps no module for it."""
    return Module(
        class_name,
        w1=Linear(hidden, inner, bias=bias),
        w2=Linear(inner, hidden, bias=bias),
        w3=Linear(hidden, inner, bias=bias),
        act_fn=activation(act) if act else None,
        kind=kind,
    )


def router(class_name: str, hidden: int, count: int, *, bias: bool = False) -> Module:
    """Scores of the experts: weight (experts, hidden)."""
    return Module(
        class_name,
        weight=Weight(count, hidden),
        bias=Weight(count) if bias else None,
        component=Component.ROUTER,
    )


def corrected_router(class_name: str, hidden: int, count: int) -> Module:
    """Scores of the experts and the bias that balances their load: a buffer, not learned by
    gradients, kept in float32."""
    return Module(
        class_name,
        weight=Weight(count, hidden),
        e_score_correction_bias=Buffer(count, dtype="F32"),
        component=Component.ROUTER,
    )
