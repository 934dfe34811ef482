"""SantaCoder under its first class (Ben Allal et al. 2023); configs say model_type ``gpt2`` and
class GPT2LMHeadCustomModel. No class in transformers, whose ``gpt_bigcode`` is the converted form.
Source of shapes: modeling_gpt2_mq.py in bigcode/santacoder; text-generation-inference reads the
same names.

GPT-2 whose heads share one key and one value: queries in one matrix, both of these in another.
"""

from ..core.config import ModelConfig
from ..layers.heads import causal_lm
from ..trees.catalog import register
from ..trees.modules import Conv1D, Module
from .gpt2 import model as gpt2_model


def model(c: ModelConfig) -> Module:
    """attention_head_type ``multiquery``; otherwise GPT-2 itself."""
    root = gpt2_model(c)
    root.class_name = "GPT2CustomModel"
    if c.text("attention_head_type", default="multiquery") != "multiquery":
        return root
    rows = root.inside("h")
    h = c.dim("n_embd", "hidden_size", default=768)
    heads = c.dim("n_head", "num_attention_heads", default=12)
    head = c.divided(h, heads, "n_embd", "n_head")
    for block in {id(row): row for row in rows.children.values()}.values():
        assert isinstance(block, Module)
        attention = block.inside("attn")
        del attention.children["c_attn"]
        attention.children = {
            "q_attn": Conv1D(h, h, kind="query"),
            "kv_attn": Conv1D(2 * head, h),
            **attention.children,
        }
    return root


register(
    "santacoder",
    {
        "GPT2LMHeadCustomModel": causal_lm(
            "GPT2LMHeadCustomModel", model, prefix="transformer", embedding="wte",
            tied_default=True,
        ),
        "GPT2CustomModel": model,
    },
    base="GPT2CustomModel",
    base_prefix="transformer",
    category="text decoder",
    source="modeling_gpt2_mq.py of bigcode/santacoder; checked against gpt_bigcode",
)  # fmt: skip
