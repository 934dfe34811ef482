"""gpt-oss (OpenAI 2025). Source of shapes: transformers/models/gpt_oss/modeling_gpt_oss.py.

A decoder with biases, one learned attention sink per head and, in every layer, experts that files
hold fused: (experts, in, out) for all of them at once, gate and up side by side.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.decoders import LABEL_HEADS, Decoder, sinks
from ..layers.experts import router
from ..layers.windows import every, windows
from ..trees.modules import Module, Weight
from .llama import LLAMA


def _moe(d: Decoder, c: ModelConfig) -> Module:
    h, inner = d.width(c), d.inner(c)
    count = c.count("num_local_experts", "num_experts", default=128, minimum=1)
    per_token = c.dim("num_experts_per_tok", "experts_per_token", default=4)
    return Module(
        "GptOssMLP",
        router=router("GptOssTopKRouter", h, count, bias=True),
        experts=Module(
            "GptOssExperts",
            gate_up_proj=Weight(count, h, inner * 2),
            gate_up_proj_bias=Weight(count, inner * 2),
            down_proj=Weight(count, inner, h),
            down_proj_bias=Weight(count, h),
            kind="expert",
            active=(min(int(per_token), int(count)), int(count)),
        ),
        component=Component.MLP,
    )


GPT_OSS = LLAMA.like(
    "GptOss", vocab_size=201088, hidden_size=2880, intermediate_size=2880, num_hidden_layers=36,
    num_attention_heads=64, num_key_value_heads=8, head_dim=64, null_head_dim=True,
    rms_norm_eps=1e-05, attention_bias=True, mlp_bias=None,
    windows=lambda c: windows(c, 128, every(2)), rotary=False, endings=LABEL_HEADS, attention=sinks,
    moe=_moe,
).register("gpt_oss")  # fmt: skip
