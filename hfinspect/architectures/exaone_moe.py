"""K-EXAONE (LG AI Research 2025). Source: transformers/models/exaone_moe/modeling_exaone_moe.py.

EXAONE 4's attention with norms before the halves of a layer, and experts after the first layers.
Files hold the router's correction next to the router, not in it.  They also hold a block ``mtp`` of
``num_nextn_predict_layers`` dense layers that predict the token after next; transformers drops it.
Its names and shapes: vLLM, model_executor/models/exaone_moe_mtp.py.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.decoders import Decoder, gated_of
from ..layers.experts import experts, router
from ..layers.latent_decoders import dense_first
from ..layers.windows import every, windows
from ..trees.modules import Buffer, Module
from .llama import LLAMA
from .qwen3_next import token_predictor, with_predictor


def _moe(d: Decoder, c: ModelConfig) -> Module:
    inner = c.dim("moe_intermediate_size", default=1024)
    count = c.count("num_experts", default=64, minimum=1)
    shared = inner * c.count("num_shared_experts", default=1)
    per_token = c.count("num_experts_per_tok", default=8)
    return Module(
        "ExaoneMoeSparseMoEBlock",
        experts=experts(count, per_token, gated_of(d, c, inner), class_name="ExaoneMoeExperts"),
        gate=router("ExaoneMoeTopkRouter", d.width(c), count),
        e_score_correction_bias=Buffer(count, dtype="F32"),
        shared_experts=gated_of(d, c, shared, "shared_expert"),
        component=Component.MLP,
    )


_EXAONE = LLAMA.like(
    "ExaoneMoe", vocab_size=102400, intermediate_size=16384, num_key_value_heads=32,
    rms_norm_eps=1e-05, attention_bias=None, mlp_bias=None, qk_norm=True,
    windows=lambda c: windows(c, 4096, every(int(c.dim("sliding_window_pattern", default=4)))),
    endings=(), moe=_moe, kinds=dense_first(1, listed=True),
)  # fmt: skip


def predictor(c: ModelConfig) -> Module | None:
    return token_predictor(_EXAONE, c, "dense", c.count("num_nextn_predict_layers", default=0))


_causal = with_predictor(_EXAONE.classes()["ExaoneMoeForCausalLM"], predictor)
_EXAONE.register("exaone_moe", more={"ExaoneMoeForCausalLM": _causal})
