"""SantaCoder under its first class (Ben Allal et al. 2023); configs say model_type ``gpt2``, and
transformers' ``gpt_bigcode`` is the converted form."""

from ..layers.heads import causal_lm
from ..layers.named_decoder import NamedPart
from ..trees import ModelConfig, Module, register
from .gpt2 import BEHIND, GPT2, projected

_ATTENTION: dict[str, NamedPart] = {
    "q_attn": projected(1, "query"),
    "kv_attn": lambda d, c: d.linear(d.width(c), 2 * d.head(c)),
    **BEHIND,
}


def model(c: ModelConfig) -> Module:
    """attention_head_type ``multiquery``; otherwise GPT-2 itself."""
    shares = c.text("attention_head_type", default="multiquery") == "multiquery"
    differences = {"attention": _ATTENTION} if shares else {}
    return GPT2.like("GPT2", **differences).base(c).called("GPT2CustomModel")


_NAME = "GPT2LMHeadCustomModel"
_WORDED = causal_lm(_NAME, model, prefix="transformer", embedding="wte", tied_default=True)
register(
    "santacoder",
    {_NAME: _WORDED, "GPT2CustomModel": model},
    base="GPT2CustomModel",
    base_prefix="transformer",
    category="text decoder",
    source="modeling_gpt2_mq.py of bigcode/santacoder; checked against gpt_bigcode",
)
