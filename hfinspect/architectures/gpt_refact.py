"""Refact-1.6B (Refact.ai 2023). No class in transformers. Source of shapes:
modeling_gpt_refact.py in smallcloudai/Refact-1_6B-fim; llama.cpp's conversion reads the same names.

ALiBi positions, heads that share one key and one value, gated MLPs, norms with a weight alone.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim, named
from ..layers.blocks import size
from ..layers.heads import causal_lm
from ..trees.catalog import register
from ..trees.modules import Embedding, Layers, Linear, Module, RMSNorm

#: MLPs are rounded up to whole multiples of this (the model's own code).
_MULTIPLE = 256


_hidden = size("n_embd", "hidden_size", default=2048)


def _norm(c: ModelConfig) -> Module:
    eps = c.number("layer_norm_epsilon", default=1e-5)
    return RMSNorm(_hidden(c), eps=eps, class_name="LayerNormNoBias")


def _inner(h: Dim) -> Dim:
    size = -(-(8 * int(h) // 3) // _MULTIPLE) * _MULTIPLE
    return named(size, "n_inner", f"8/3 n_embd, rounded up to a multiple of {_MULTIPLE}")


def block(c: ModelConfig) -> Module:
    h = _hidden(c)
    heads = c.dim("n_head", "num_attention_heads", default=32)
    head = c.divided(h, heads, "n_embd", "n_head")
    inner = _inner(h)
    return Module(
        "GPTRefactBlock",
        ln_1=_norm(c),
        attn=Module(
            "Attention",
            q=Linear(h, h, bias=False, kind="query"),
            kv=Linear(h, 2 * head, bias=False),
            c_proj=Linear(h, h, bias=False, kind="output"),
            component=Component.ATTENTION,
        ),
        ln_2=_norm(c),
        mlp=Module(
            "MLP",
            gate_up_proj=Linear(h, 2 * inner, bias=False, kind="gate_up"),
            c_proj=Linear(inner, h, bias=False, kind="down"),
            component=Component.MLP,
        ),
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "GPTRefactModel",
        wte=Embedding(c.dim("vocab_size", default=49216), _hidden(c)),
        h=Layers.of(c.count("n_layer", "num_hidden_layers", default=32), block(c)),
    )


def _causal(c: ModelConfig) -> Module:
    """The last norm belongs to the head's class."""
    root = causal_lm("GPTRefactForCausalLM", model, prefix="transformer", embedding="wte")(c)
    root.children = {
        "transformer": root["transformer"], "ln_f": _norm(c), "lm_head": root["lm_head"],
    }  # fmt: skip
    return root


register(
    "gpt_refact",
    {"GPTRefactForCausalLM": _causal, "GPTRefactModel": model},
    base_prefix="transformer",
    category="text decoder",
    source="modeling_gpt_refact.py of smallcloudai/Refact-1_6B-fim; llama.cpp's conversion",
)
