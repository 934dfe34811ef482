"""ERNIE 4.5 MoE (Baidu 2025). Source: transformers/models/ernie4_5_moe/modeling_ernie4_5_moe.py.

Every ``moe_layer_interval``-th layer between two bounds has experts, shared ones (one MLP of their
summed width) and a correction of the router's scores that is a parameter, not a buffer.

Files on the Hub hold ``num_nextn_predict_layers`` layers that predict the token after next, in four
lists next to the decoder's; transformers drops them. Their names and shapes: vLLM,
model_executor/models/ernie_mtp.py.
"""

from ..core.components import Component
from ..core.config import ModelConfig, exact
from ..layers.decoders import Decoder, gated_of
from ..layers.experts import experts, router
from ..layers.heads import causal_lm
from ..trees.modules import Layers, Linear, Module, ModuleList, Weight
from .ernie4_5 import mlp
from .llama import LLAMA


def _bias(c: ModelConfig) -> bool:
    return c.flag("use_bias", default=False)


def _moe(d: Decoder, c: ModelConfig) -> Module:
    count = c.count("moe_num_experts", "num_experts", default=64, minimum=1)
    per_token = c.count("moe_k", "num_experts_per_tok", default=6)
    shared = c.count("moe_num_shared_experts", default=2)
    inner = c.dim("moe_intermediate_size", default=1536)
    # The fused experts have no biases, whatever use_bias says.
    expert = gated_of(d, c, inner, "expert")
    return Module(
        "Ernie4_5_MoeSparseMoeBlock",
        gate=router("Ernie4_5_MoeTopKRouter", d.width(c), count),
        moe_statics=Module(
            "Ernie4_5_MoeStatics",
            e_score_correction_bias=Weight(exact(1), count),
            component=Component.ROUTER,
        ),
        experts=experts(count, per_token, expert, class_name="Ernie4_5_MoeExperts"),
        shared_experts=mlp(d, c, inner * shared, "shared_expert") if shared else None,
        component=Component.MLP,
    )


def has_experts(c: ModelConfig, layers: int) -> list[bool]:
    """For each layer; an end index of -1 is the last layer."""
    interval = c.dim("moe_layer_interval", default=1)
    start = c.dim("moe_layer_start_index", default=1, minimum=0)
    end = c.dim("moe_layer_end_index", default=-1, minimum=-1)
    last = layers - 1 if end == -1 else int(end)
    return [(i + 1) % interval == 0 and start <= i <= last for i in range(layers)]


def _kinds(_d: Decoder, c: ModelConfig, layers: int) -> list[str]:
    return ["sparse" if routed else "dense" for routed in has_experts(c, layers)]


def predictors(d: Decoder, c: ModelConfig) -> dict[str, Module]:
    """Norms of both inputs, the projection that joins them, and a layer counted from 0, so dense
    where the decoder's first is."""
    count = int(c.count("num_nextn_predict_layers", default=0))
    if not count:
        return {}
    h = d.width(c)
    sparse = has_experts(c, count)
    joint = Linear(h * 2, h, bias=_bias(c), component=Component.PROJECTOR)
    rows: dict[str, list[Module]] = {
        "mtp_emb_norm": [d.norm(d, c, h)] * count,
        "mtp_hidden_norm": [d.norm(d, c, h)] * count,
        "mtp_linear_proj": [joint] * count,
    }
    blocks = [d.layer(d, c, "sparse" if kind else "dense") for kind in sparse]
    for block in blocks:
        block.kind = "mtp"
    return {"mtp_block": Layers(blocks, part="mtp", saved=False)} | {
        name: ModuleList(items, part="mtp", kind="mtp", saved=False) for name, items in rows.items()
    }


_MODEL = LLAMA.like(
    "Ernie4_5_Moe", vocab_size=103424, hidden_size=2560, intermediate_size=12288,
    num_hidden_layers=28, num_attention_heads=20, num_key_value_heads=4, rms_norm_eps=1e-5,
    tie_word_embeddings=True, bias_key="use_bias", endings=(),
    mlp=mlp, moe=_moe, kinds=_kinds, further=predictors,
)  # fmt: skip
_causal = causal_lm("Ernie4_5_MoeForCausalLM", _MODEL.model, tied_default=True, bias="use_bias")
_MODEL.register("ernie4_5_moe", more={"Ernie4_5_MoeForCausalLM": _causal})
