"""DeepSeek-V2 (DeepSeek-AI 2024). Source of shapes: transformers/models/deepseek_v2.

Latent attention and shared experts as in V3 (see deepseek_v3.py); the router has no correction
bias.  V2-Lite projects its queries directly (``q_lora_rank`` null).
"""

from ..core.config import ModelConfig
from ..layers.decoders import SEQUENCE_HEAD, Decoder
from ..layers.experts import routed_and_shared, router, shared_width
from ..layers.latent_decoders import dense_first, latent
from ..trees.modules import Module
from .llama import LLAMA


def _moe(d: Decoder, c: ModelConfig) -> Module:
    h, inner = d.width(c), c.dim("moe_intermediate_size", default=1407)
    count = c.count("n_routed_experts", "num_experts", default=64)
    return routed_and_shared(
        "DeepseekV2",
        h,
        inner,
        count=count,
        per_token=c.dim("num_experts_per_tok", default=count),
        shared=shared_width(c, inner, default=2),
        gate=router("DeepseekV2TopkRouter", h, count),
        act=d.act(c),
        bias=c.flag("mlp_bias", default=False),
        class_name="DeepseekV2Moe",
    )


LLAMA.like(
    "DeepseekV2", vocab_size=102400, rotary=False, endings=SEQUENCE_HEAD, attention=latent(),
    moe=_moe, kinds=dense_first(0),
).register("deepseek_v2")  # fmt: skip
