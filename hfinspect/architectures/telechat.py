"""TeleChat (TeleAI 2024). No class in transformers. Two layouts share the model_type:

The 7B, 12B and TeleChat2 (hidden_size, ffn_hidden_size): q apart from k and v, biases on the two
output matrices alone. Source of shapes: modeling_telechat.py in Tele-AI/telechat-7B.
The 52B (n_embd, n_inner): GPT-2's names and Conv1D, gate and up in one matrix, RMSNorm. Source:
modeling_telechat.py in Tele-AI/TeleChat-52B and its index, which keeps the masking value of each
layer as a scalar and leaves the causal mask out.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import size
from ..layers.heads import causal_lm
from ..trees.catalog import register
from ..trees.modules import (
    Buffer,
    Dropout,
    Embedding,
    LayerNorm,
    Layers,
    Linear,
    Module,
    RMSNorm,
    Weight,
)


def _conv(nx: Dim, nf: Dim, bias: bool, kind: str) -> Module:
    """GPT-2's linear with transposed weight (nx, nf) and an optional bias."""
    return Module(
        "Conv1D",
        weight=Weight(nx, nf),
        bias=Weight(nf) if bias else None,
        kind=kind,
        detail=f"nf={nf}, nx={nx}",
    )


# ---- 7B, 12B, TeleChat2


_hidden = size("hidden_size", "n_embed", "n_embd", default=4096)


def _rms(c: ModelConfig) -> Module:
    eps = c.number("layer_norm_epsilon", default=1e-5)
    return RMSNorm(_hidden(c), eps=eps, class_name="MixedFusedRMSNorm")


def block(c: ModelConfig) -> Module:
    h = _hidden(c)
    inner = c.dim("ffn_hidden_size", default=12288)
    heads = c.dim("n_head", "num_attention_heads", default=32)
    head = c.divided(h, heads, "hidden_size", "n_head")
    kv = c.dim("num_key_value_heads", default=heads)
    return Module(
        "TelechatBlock",
        input_layernorm=_rms(c),
        self_attention=Module(
            "TelechatAttention",
            query=Linear(h, h, bias=False, kind="query"),
            key_value=Linear(h, head * kv * 2, bias=False, kind="key"),
            dense=Linear(h, h, kind="output"),
            component=Component.ATTENTION,
        ),
        post_attention_layernorm=_rms(c),
        mlp=Module(
            "TelechatMLP",
            gate_proj=Linear(h, inner, bias=False, kind="gate"),
            up_proj=Linear(h, inner, bias=False, kind="up"),
            down_proj=Linear(inner, h, kind="down"),
            component=Component.MLP,
        ),
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "TelechatModel",
        word_embeddings=Embedding(c.dim("vocab_size", default=160256), _hidden(c)),
        word_embeddings_layernorm=_rms(c) if c.flag("embed_layernorm", default=False) else None,
        h=Layers.of(c.count("n_layer", "num_hidden_layers", default=30), block(c)),
        ln_f=_rms(c),
    )


# ---- 52B


_width = size("n_embd", "hidden_size", default=768)


def _norm(c: ModelConfig) -> Module:
    eps = c.number("layer_norm_epsilon", default=1e-5)
    if c.flag("use_RMSNorm", default=False):
        return RMSNorm(_width(c), eps=eps)
    return LayerNorm(_width(c), eps=eps)


def wide_block(c: ModelConfig) -> Module:
    h = _width(c)
    c.divided(h, c.dim("n_head", "num_attention_heads", default=12), "n_embd", "n_head")
    inner = c.dim("n_inner", default=4 * h)
    bias = c.flag("add_bias_linear", default=True)
    n = c.dim("n_positions", "max_position_embeddings", default=1024)
    gated = c.text("activation_function", default="gelu_new") == "silu"
    return Module(
        "TELECHATBlock",
        ln_1=_norm(c),
        attn=Module(
            "TELECHATAttention",
            bias=Buffer(1, 1, n, n, dtype="BOOL", saved=False),
            masked_bias=Buffer(),
            c_attn=_conv(h, 3 * h, bias, "qkv"),
            c_proj=_conv(h, h, bias, "output"),
            attn_dropout=Dropout(c.number("attn_pdrop", default=0.1)),
            component=Component.ATTENTION,
        ),
        ln_2=_norm(c),
        mlp=Module(
            "TELECHATMLP",
            c_fc=_conv(h, 2 * inner if gated else inner, bias, "gate_up" if gated else "up"),
            c_proj=_conv(inner, h, bias, "down"),
            component=Component.MLP,
        ),
    )


def wide_model(c: ModelConfig) -> Module:
    return Module(
        "TELECHATTransformer",
        wte=Embedding(c.dim("vocab_size", default=50257), _width(c)),
        drop=Dropout(c.number("embd_pdrop", default=0.1)),
        h=Layers.of(c.count("n_layer", "num_hidden_layers", default=12), wide_block(c)),
        ln_f=_norm(c),
    )


# The 7B ties its head, the library's default; the 12B says tie_word_embeddings: false.
_narrow = causal_lm(
    "TelechatForCausalLM",
    model,
    prefix="transformer",
    embedding="word_embeddings",
    tied_default=True,
)
_wide = causal_lm("TELECHAT", wide_model, prefix="transformer", embedding="wte", tied_default=True)


def language_model(c: ModelConfig) -> Module:
    """The layout that the config's keys belong to."""
    return _wide(c) if c.has("n_inner", "use_RMSNorm") else _narrow(c)


register(
    ("telechat", "telechat2"),
    {
        "TelechatForCausalLM": language_model,
        "Telechat2ForCausalLM": _narrow,
        "TeleChat2ForCausalLM": _narrow,
        "TelechatModel": model,
        "TELECHAT": _wide,
    },
    base_prefix="transformer",
    category="text decoder",
    source="modeling_telechat.py of Tele-AI/telechat-7B and TeleChat-52B; index of TeleChat-52B",
)
