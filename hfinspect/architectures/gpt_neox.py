"""GPT-NeoX-20B (Black et al. 2022) and Pythia. Source:
transformers/models/gpt_neox/modeling_gpt_neox.py.

Whether attention and MLP stand side by side or in a row (use_parallel_residual) changes no tensor.
Files call the LM head ``embed_out``. Older ones hold in each layer the causal mask (a byte an
element), the value that masks and the rotary frequencies.

Open-Assistant's reward models (``gpt_neox_reward_model``) put one score on top; source:
model_training/models/reward_model.py of github.com/LAION-AI/Open-Assistant, and an index.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim, named
from ..layers.blocks import activation, size
from ..layers.heads import causal_lm, decoder_classes
from ..trees.catalog import register
from ..trees.modules import (
    Activation,
    Buffer,
    Dropout,
    Embedding,
    LayerNorm,
    Layers,
    Linear,
    Module,
)

_hidden = size("hidden_size", default=6144)


def _norm(c: ModelConfig) -> Module:
    return LayerNorm(_hidden(c), eps=c.number("layer_norm_eps", default=1e-5))


def _frequencies(c: ModelConfig, head: Dim) -> Dim:
    """Half of the part of a head that is rotated: int(head · rotary_pct) / 2, rounded up."""
    share = c.section("rope_parameters").number("partial_rotary_factor", default=0.25)
    share = c.number("rotary_pct", default=share)
    if not 0 <= share <= 1:
        raise c.error("rotary_pct", share, "a share of a head, 0 to 1")
    rotated = int(int(head) * share)
    return named(-(-rotated // 2), "rotary_frequencies", "int(head size · rotary_pct) / 2")


def attention(c: ModelConfig) -> Module:
    h = _hidden(c)
    n = c.dim("max_position_embeddings", default=2048)
    heads = c.dim("num_attention_heads", default=64)
    bias = c.flag("attention_bias", default=True)
    head = c.divided(h, heads, "hidden_size", "num_attention_heads")
    return Module(
        "GPTNeoXAttention",
        query_key_value=Linear(h, 3 * h, bias=bias, kind="qkv"),
        dense=Linear(h, h, bias=bias, kind="output"),
        bias=Buffer(1, 1, n, n, dtype="BOOL", saved=False),
        masked_bias=Buffer(saved=False),
        rotary_emb=Module(
            "GPTNeoXRotaryEmbedding", inv_freq=Buffer(_frequencies(c, head)), saved=False
        ),
        component=Component.ATTENTION,
    )


def layer(c: ModelConfig) -> Module:
    h, inner = _hidden(c), c.dim("intermediate_size", default=24576)
    dropout = Dropout(c.number("hidden_dropout", default=0.0))
    return Module(
        "GPTNeoXLayer",
        input_layernorm=_norm(c),
        post_attention_layernorm=_norm(c),
        post_attention_dropout=dropout,
        post_mlp_dropout=dropout,
        attention=attention(c),
        mlp=Module(
            "GPTNeoXMLP",
            dense_h_to_4h=Linear(h, inner, kind="up"),
            dense_4h_to_h=Linear(inner, h, kind="down"),
            act=activation(c.text("hidden_act", default="gelu")),
            component=Component.MLP,
        ),
    )


def model(c: ModelConfig) -> Module:
    return Module(
        "GPTNeoXModel",
        embed_in=Embedding(c.dim("vocab_size", default=50432), _hidden(c)),
        emb_dropout=Dropout(c.number("hidden_dropout", default=0.0)),
        layers=Layers.of(c.count("num_hidden_layers", default=44), layer(c)),
        final_layer_norm=_norm(c),
        rotary_emb=Activation("GPTNeoXRotaryEmbedding"),
    )


_classes = decoder_classes(
    "GPTNeoX", model, prefix="gpt_neox", embedding="embed_in", hidden=_hidden, labeller="classifier"
)
_classes["GPTNeoXForCausalLM"] = causal_lm(
    "GPTNeoXForCausalLM", model, prefix="gpt_neox", embedding="embed_in", head="embed_out"
)

register(
    "gpt_neox",
    _classes,
    base_prefix="gpt_neox",
    aliases={"lm_head.": "embed_out."},
    category="text decoder",
)


def reward_model(c: ModelConfig) -> Module:
    score = Linear(_hidden(c), 1, component=Component.HEAD, kind="classifier")
    return Module("GPTNeoXRewardModel", gpt_neox=model(c), out_proj=score)


register(
    "gpt_neox_reward_model",
    {"GPTNeoXRewardModel": reward_model},
    base_prefix="gpt_neox",
    category="text decoder",
    source="reward_model.py of github.com/LAION-AI/Open-Assistant",
)
