"""GPT-Neo (Black et al. 2021). Source of shapes: transformers/models/gpt_neo/modeling_gpt_neo.py.

GPT-2 with ordinary linears, q, k and v apart and without biases; global and local attention differ
in no tensor, but their masks are in older files.

A config of this type that says ``rotary: true`` is GPT-J in the spelling of its first release
(EleutherAI/gpt-j-6B of June 2021): no GPT-Neo has rotary positions, and the files next to such
configs hold GPT-J's tensors. They are predicted as what they are.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.blocks import activation, size
from ..layers.heads import decoder_classes
from ..trees.catalog import builder, register
from ..trees.modules import Buffer, Dropout, Embedding, LayerNorm, Layers, Linear, Module

_hidden = size("hidden_size", default=2048)


def _norm(c: ModelConfig) -> Module:
    return LayerNorm(_hidden(c), eps=c.number("layer_norm_epsilon", default=1e-5))


_positions = size("max_position_embeddings", default=2048)


def attention(c: ModelConfig) -> Module:
    h, n = _hidden(c), _positions(c)
    c.divided(h, c.dim("num_heads", "num_attention_heads", default=16), "hidden_size", "num_heads")
    return Module(
        "GPTNeoAttention",
        attention=Module(
            "GPTNeoSelfAttention",
            attn_dropout=Dropout(c.number("attention_dropout", default=0.0)),
            resid_dropout=Dropout(c.number("resid_dropout", default=0.0)),
            k_proj=Linear(h, h, bias=False, kind="key"),
            v_proj=Linear(h, h, bias=False, kind="value"),
            q_proj=Linear(h, h, bias=False, kind="query"),
            out_proj=Linear(h, h, kind="output"),
            bias=Buffer(1, 1, n, n, dtype="U8", saved=False),
            masked_bias=Buffer(dtype="F32", saved=False),
        ),
        component=Component.ATTENTION,
    )


def block(c: ModelConfig) -> Module:
    h = _hidden(c)
    inner = c.dim("intermediate_size", default=4 * h)
    return Module(
        "GPTNeoBlock",
        ln_1=_norm(c),
        attn=attention(c),
        ln_2=_norm(c),
        mlp=Module(
            "GPTNeoMLP",
            c_fc=Linear(h, inner, kind="up"),
            c_proj=Linear(inner, h, kind="down"),
            act=activation(c.text("activation_function", default="gelu_new")),
            dropout=Dropout(c.number("resid_dropout", default=0.0)),
            component=Component.MLP,
        ),
    )


def model(c: ModelConfig) -> Module:
    h = _hidden(c)
    return Module(
        "GPTNeoModel",
        wte=Embedding(c.dim("vocab_size", default=50257), h),
        wpe=Embedding(_positions(c), h, kind="position"),
        drop=Dropout(c.number("embed_dropout", default=0.0)),
        h=Layers.of(c.count("num_layers", "num_hidden_layers", default=24), block(c)),
        ln_f=_norm(c),
    )


_classes = decoder_classes(
    "GPTNeo", model, prefix="transformer", embedding="wte", hidden=_hidden, tied_default=True,
    labeller="classifier",
)  # fmt: skip
_language_model = _classes["GPTNeoForCausalLM"]


def language_model(c: ModelConfig) -> Module:
    """GPT-Neo's, or GPT-J's where positions are rotary."""
    if not c.flag("rotary", default=False):
        return _language_model(c)
    values = {
        **c.values,
        "model_type": "gptj",  # whose keys have other spellings
        "num_attention_heads": c.raw("num_heads", "num_attention_heads"),
        "num_hidden_layers": c.raw("num_layers", "num_hidden_layers"),
        "n_inner": c.raw("intermediate_size"),
    }
    return builder("GPTJForCausalLM")(ModelConfig(values, c.path))


register(
    "gpt_neo",
    {**_classes, "GPTNeoForCausalLM": language_model},
    base_prefix="transformer",
    category="text decoder",
)
