"""GPT-NeoX Japanese (ABEJA 2022).

Source of shapes: transformers/models/gpt_neox_japanese/modeling_gpt_neox_japanese.py.
GPT-NeoX without biases in its linears; only the last layer's attention has one, of its own.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation
from ..layers.heads import causal_lm
from ..trees.catalog import register
from ..trees.modules import Activation, Embedding, LayerNorm, Layers, Linear, Module, Weight


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=2560)


def _norm(c: ModelConfig) -> Module:
    return LayerNorm(_hidden(c), eps=c.number("layer_norm_eps", default=1e-5))


def inner_width(c: ModelConfig) -> Dim:
    return c.dim("intermediate_multiple_size", default=4) * _hidden(c)


def layer(c: ModelConfig, *, last: bool) -> Module:
    h, inner = _hidden(c), inner_width(c)
    return Module(
        "GPTNeoXJapaneseLayer",
        input_layernorm=_norm(c),
        post_attention_layernorm=_norm(c),
        attention=Module(
            "GPTNeoXJapaneseAttention",
            query_key_value=Linear(h, 3 * h, bias=False, kind="qkv"),
            dense=Linear(h, h, bias=False, kind="output"),
            dense_bias=Weight(h, kind="output") if last else None,
            component=Component.ATTENTION,
        ),
        mlp=Module(
            "GPTNeoXJapaneseMLP",
            dense_h_to_4h=Linear(h, inner, bias=False, kind="up"),
            dense_4h_to_h=Linear(inner, h, bias=False, kind="down"),
            act=activation(c.text("hidden_act", default="gelu")),
            component=Component.MLP,
        ),
    )


def model(c: ModelConfig) -> Module:
    count = int(c.count("num_hidden_layers", default=32))
    blocks = ([layer(c, last=False)] * (count - 1) + [layer(c, last=True)])[:count]
    return Module(
        "GPTNeoXJapaneseModel",
        embed_in=Embedding(c.dim("vocab_size", default=32000), _hidden(c)),
        layers=Layers(blocks),
        final_layer_norm=_norm(c),
        rotary_emb=Activation("GPTNeoXJapaneseRotaryEmbedding"),
    )


register(
    "gpt_neox_japanese",
    {
        "GPTNeoXJapaneseForCausalLM": causal_lm(
            "GPTNeoXJapaneseForCausalLM",
            model,
            prefix="gpt_neox_japanese",
            embedding="embed_in",
            tied_default=True,
            head="embed_out",
        ),
        "GPTNeoXJapaneseModel": model,
    },
    base="GPTNeoXJapaneseModel",
    base_prefix="gpt_neox_japanese",
    category="text decoder",
)
