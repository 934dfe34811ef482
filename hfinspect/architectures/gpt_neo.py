"""GPT-Neo (Black et al. 2021): GPT-2 with ordinary linears, q, k and v apart. A config of this type
that says ``rotary: true`` is GPT-J in the spelling of its first release (EleutherAI/gpt-j-6B of
June 2021), and the files next to it hold GPT-J's tensors (transformers/models/gpt_neo)."""

from ..layers import named_decoder as s
from ..layers.blocks import size
from ..trees import Buffer, Linear, ModelConfig, Module, builder
from .gpt2 import GPT2

_NEO = GPT2.like(
    "GPTNeo",
    linear=Linear,
    width=size("hidden_size", default=2048),
    heads=size("num_heads", default=16),
    depth=size("num_layers", default=24),
    length=size("max_position_embeddings", default=2048),
    inner=s.times(4, "intermediate_size"),
    attention_bias=s.never,
    out_bias=s.always,
    called={"Attention": "GPTNeoSelfAttention"},
    model={**GPT2.model, "drop": s.dropout("embed_dropout")},
    block={
        "ln_1": s.norm,
        "attn": lambda d, c: Module("GPTNeoAttention", attention=s.attention(d, c)),
        "ln_2": s.norm,
        "mlp": s.mlp,
    },
    attention={
        "attn_dropout": s.dropout("attention_dropout"),
        "resid_dropout": s.dropout("resid_dropout"),
        "k_proj": s.as_wide("key"),
        "v_proj": s.as_wide("value"),
        "q_proj": s.as_wide("query"),
        "out_proj": s.output,
        "bias": s.mask("U8"),
        "masked_bias": lambda _d, _c: Buffer(dtype="F32", saved=False),
    },
    mlp={**GPT2.mlp, "dropout": s.dropout("resid_dropout")},
)
_CLASSES = _NEO.classes(labeller="classifier")


def language_model(c: ModelConfig) -> Module:
    """GPT-Neo's, or GPT-J's where positions are rotary."""
    if not c.flag("rotary", default=False):
        return _CLASSES["GPTNeoForCausalLM"](c)
    spelled = {"num_attention_heads": "num_heads", "num_hidden_layers": "num_layers"}
    spelled |= {"n_inner": "intermediate_size"}
    values = {"model_type": "gptj"} | {key: c.raw(ours) for key, ours in spelled.items()}
    return builder("GPTJForCausalLM")(ModelConfig({**c.values, **values}, c.path))


_NEO.register("gpt_neo", {**_CLASSES, "GPTNeoForCausalLM": language_model})
