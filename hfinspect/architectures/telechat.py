"""TeleChat (TeleAI 2024) has two layouts: that of the 7B, 12B and TeleChat2, and that of the 52B,
with GPT-2's names, whose files keep the masking value of each layer but no causal mask."""

from ..layers import named_decoder as s
from ..layers.blocks import rms_norms, size
from ..trees import Buffer, Linear, ModelConfig, Module


def _key_value(d: s.NamedDecoder, c: ModelConfig) -> Module:
    kv = c.dim("num_key_value_heads", default=d.heads(c))
    return Linear(d.width(c), d.head(c) * kv * 2, bias=False, kind="key")


_TELECHAT = s.NamedDecoder(
    "Telechat",
    width=size("hidden_size", "n_embed", "n_embd", default=4096),
    heads=size("n_head", "num_attention_heads", default=32),
    depth=size("n_layer", "num_hidden_layers", default=30),
    vocab=size("vocab_size", default=160256),
    inner=s.inner_size("ffn_hidden_size", default=12288),
    norms=rms_norms("MixedFusedRMSNorm", 1e-5, "layer_norm_epsilon"),
    bias=s.never,
    out_bias=s.always,
    block=s.MEGATRON,
    model={
        "word_embeddings": s.words,
        "word_embeddings_layernorm": s.where(s.flagged("embed_layernorm"), s.norm),
        "h": s.layers,
        "ln_f": s.norm,
    },
    attention={"query": s.as_wide("query"), "key_value": _key_value, "dense": s.output},
    mlp={
        "gate_proj": s.gate,
        "up_proj": s.up,
        "down_proj": lambda d, c: s.down(d.like(d.name, bias=s.always), c),
    },
)
_WIDE = s.NamedDecoder(
    "TELECHAT",
    norms=s.either_norms("use_RMSNorm", "layer_norm_epsilon", default=False),
    linear=s.transposed,
    bias=s.flagged("add_bias_linear", default=True),
    called={"Model": "TELECHATTransformer"},
    model={"wte": s.words, "drop": s.dropout("embd_pdrop", 0.1), "h": s.layers, "ln_f": s.norm},
    attention={
        "bias": s.mask("BOOL"),
        "masked_bias": lambda _d, _c: Buffer(),
        "c_attn": s.qkv,
        "c_proj": s.output,
        "attn_dropout": s.dropout("attn_pdrop", 0.1),
    },
    mlp={
        "c_fc": lambda d, c: (s.gate_up if c.text("activation_function") == "silu" else s.up)(d, c),
        "c_proj": s.down,
    },
)
# The 7B ties its head, the library's default; the 12B says tie_word_embeddings: false.
_narrow = _TELECHAT.classes(heads=())["TelechatForCausalLM"]
_wide = _WIDE.classes(heads=(), causal="")["TELECHAT"]


def language_model(c: ModelConfig) -> Module:
    """The layout that the config's keys belong to."""
    return _wide(c) if c.has("n_inner", "use_RMSNorm") else _narrow(c)


_TELECHAT.register(
    ("telechat", "telechat2"),
    {
        "TelechatForCausalLM": language_model,
        "Telechat2ForCausalLM": _narrow,
        "TeleChat2ForCausalLM": _narrow,
        "TelechatModel": _TELECHAT.base,
        "TELECHAT": _wide,
    },
    source="modeling_telechat.py of Tele-AI/telechat-7B and TeleChat-52B; index of TeleChat-52B",
)
