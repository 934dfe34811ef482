"""Qwen1.5-MoE and Qwen2-MoE (Qwen team 2024). Source: transformers/models/qwen2_moe.

A decoder with biased q, k, v; its MLP is routed experts next to one shared expert behind a gate,
or a dense one in the layers of ``mlp_only_layers`` and off the ``decoder_sparse_step``.
"""

from ..core.config import ModelConfig
from ..layers.layer_kinds import stepped
from ..layers.mixtures import counts, qwen
from ..layers.windows import nowhere, windows
from ..trees.modules import Windows
from .llama import LLAMA

_EXPERTS = counts("num_experts", default=60)


def _windows(c: ModelConfig) -> Windows:
    """Only with ``use_sliding_window``: every second of the first ``max_window_layers`` layers."""
    if not c.flag("use_sliding_window", default=False):
        return nowhere
    first = int(c.count("max_window_layers", default=28))
    return windows(c, 4096, lambda i, _: i % 2 == 1 or i >= first)


LLAMA.like(
    "Qwen2Moe", vocab_size=151936, hidden_size=2048, intermediate_size=5632, num_hidden_layers=24,
    num_attention_heads=16, num_key_value_heads=16, attention_bias=True, bias_key="qkv_bias",
    out_bias=False, mlp_bias=None, rotary=False, qa_prefix=None, windows=_windows,
    moe=qwen(_EXPERTS, 4, 1408, 5632), kinds=stepped(_EXPERTS),
).register("qwen2_moe")  # fmt: skip
