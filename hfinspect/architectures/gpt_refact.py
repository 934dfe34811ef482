"""Refact-1.6B (Refact.ai 2023)."""

from ..layers import named_decoder as s
from ..layers.blocks import rms_norms, size
from ..trees import Dim, Linear, ModelConfig, Module, named


def _inner(_c: ModelConfig, h: Dim) -> Dim:
    meaning = "8/3 n_embd, rounded up to a multiple of 256"
    return named(-(-(8 * int(h) // 3) // 256) * 256, "n_inner", meaning)


_REFACT = s.NamedDecoder(
    "GPTRefact",
    width=size("n_embd", "hidden_size", default=2048),
    heads=size("n_head", "num_attention_heads", default=32),
    depth=size("n_layer", "num_hidden_layers", default=32),
    vocab=size("vocab_size", default=49216),
    inner=_inner,
    norms=rms_norms("LayerNormNoBias", 1e-5, "layer_norm_epsilon"),
    bias=s.never,
    called={"Attention": "Attention", "MLP": "MLP"},
    model={"wte": s.words, "h": s.layers},
    attention={
        "q": s.as_wide("query"),
        "kv": lambda d, c: Linear(d.width(c), 2 * d.head(c), bias=False),
        "c_proj": s.output,
    },
    mlp={"gate_up_proj": s.gate_up, "c_proj": s.down},
    tied=False,
)
_CLASSES = _REFACT.classes(heads=())


def _causal(c: ModelConfig) -> Module:
    """The last norm belongs to the head's class."""
    root = _CLASSES["GPTRefactForCausalLM"](c)
    head = root["lm_head"]
    return root.without("lm_head").adding(ln_f=s.norm(_REFACT, c), lm_head=head)


_REFACT.register(
    "gpt_refact",
    {**_CLASSES, "GPTRefactForCausalLM": _causal},
    source="modeling_gpt_refact.py of smallcloudai/Refact-1_6B-fim; llama.cpp's conversion",
)
