"""ERNIE 4.5 MoE (Baidu 2025; transformers/models/ernie4_5_moe). Files on the Hub hold
``num_nextn_predict_layers`` layers that predict the token after next in four lists; transformers
drops them (vLLM, model_executor/models/ernie_mtp.py)."""

from ..layers import mixtures as m
from ..layers.decoders import Decoder
from ..trees import Component, Layers, Linear, ModelConfig, Module, ModuleList, Weight, exact
from .ernie4_5 import mlp


def _statics(x: m.Mixture) -> Module:
    bias = Weight(exact(1), x.count)
    component = Component.ROUTER
    return Module("Ernie4_5_MoeStatics", e_score_correction_bias=bias, component=component)


def _kinds(_d: Decoder, c: ModelConfig, layers: int) -> list[str]:
    """An end index of -1 is the last layer."""
    interval = c.dim("moe_layer_interval", default=1)
    start = c.dim("moe_layer_start_index", default=1, minimum=0)
    end = c.dim("moe_layer_end_index", default=-1, minimum=-1)
    routed = range(start, (layers if end == -1 else int(end) + 1))
    return ["sparse" if i in routed and not (i + 1) % interval else "dense" for i in range(layers)]


def _predictors(d: Decoder, c: ModelConfig) -> dict[str, Module]:
    """Norms of both inputs, the projection that joins them, and a layer counted from 0, so dense
    where the decoder's first is."""
    count = int(c.count("num_nextn_predict_layers", default=0))
    if not count:
        return {}
    bias = c.flag("use_bias", default=False)
    joint = Linear(d.width(c) * 2, d.width(c), bias=bias, component=Component.PROJECTOR)
    rows = {**d.norms(c, "mtp_emb_norm", "mtp_hidden_norm"), "mtp_linear_proj": joint}
    blocks = [d.layer(d, c, kind) for kind in _kinds(d, c, count)]
    for block in blocks:
        block.kind = "mtp"
    return {"mtp_block": Layers(blocks, part="mtp", saved=False)} | {
        name: ModuleList([row] * count, part="mtp", kind="mtp", saved=False)
        for name, row in rows.items()
    }


Decoder(
    "Ernie4_5_Moe",
    bias_key="use_bias",
    tasks=(),
    mlp=mlp,
    kinds=_kinds,
    further=_predictors,
    moe=m.sparse(  # the experts have no biases, whatever use_bias says
        "SparseMoeBlock",
        {
            "gate": m.scores(),
            "moe_statics": _statics,
            "experts": m.each,
            "shared_experts": lambda x: (
                mlp(x.d, x.c, x.shared, "shared_expert") if x.shared else None
            ),
        },
        count=m.counts("moe_num_experts", "num_experts", default=64, minimum=1),
        used=m.counts("moe_k", "num_experts_per_tok", default=6),
        inner=1536,
        shared=m.several("moe_num_shared_experts", default=2),
    ),
).register("ernie4_5_moe", bias="use_bias")
