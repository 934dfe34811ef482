"""gpt-oss (OpenAI 2025; transformers/models/gpt_oss). Biases, a learned sink per head and, in every
layer, experts that files hold fused: (experts, in, out), gate and up side by side."""

from ..layers import mixtures as m
from ..layers.blocks import size
from ..layers.decoders import LABEL_HEADS, Decoder, sinks
from ..layers.experts import router
from ..layers.windows import every, windows
from ..trees.modules import Module, Weight


def _experts(x: m.Mixture) -> Module:
    block = m.stacked(transposed=True)(x)
    both = Weight(x.count, x.inner * 2)
    down = Weight(x.count, x.width)
    last = block.children.pop("down_proj")
    return block.adding(gate_up_proj_bias=both, down_proj=last, down_proj_bias=down)


GPT_OSS = Decoder(
    "GptOss",
    null_head_dim=True,
    rotary=False,
    tasks=LABEL_HEADS,
    attention=sinks,
    windows=lambda c: windows(c, 128, every(2)),
    moe=m.sparse(
        "MLP",
        {
            "router": lambda x: router("GptOssTopKRouter", x.width, x.count, bias=True),
            "experts": _experts,
        },
        count=m.counts("num_local_experts", "num_experts", default=128, minimum=1),
        used=size("num_experts_per_tok", "experts_per_token", default=4),
    ),
).register("gpt_oss")
