"""SantaCoder and StarCoder (Li et al. 2023). Source of shapes:
transformers/models/gpt_bigcode/modeling_gpt_bigcode.py.

GPT-2 with ordinary linears and one key and value head for all queries (multi_query).
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.blocks import activation, size
from ..layers.heads import decoder_classes
from ..trees.catalog import register
from ..trees.modules import Dropout, Embedding, LayerNorm, Layers, Linear, Module

_hidden = size("n_embd", "hidden_size", default=768)


def _norm(c: ModelConfig) -> Module:
    return LayerNorm(_hidden(c), eps=c.number("layer_norm_epsilon", default=1e-5))


def attention(c: ModelConfig, *, cross: bool = False) -> Module:
    h = _hidden(c)
    heads = c.dim("n_head", "num_attention_heads", default=12)
    head = c.divided(h, heads, "n_embd", "n_head")
    kv = head if c.flag("multi_query", default=True) else heads * head
    return Module(
        "GPTBigCodeAttention",
        c_attn=Linear(h, 2 * h if cross else h + 2 * kv, kind="qkv"),
        q_attn=Linear(h, h, kind="query") if cross else None,
        c_proj=Linear(h, h, kind="output"),
        resid_dropout=Dropout(c.number("resid_pdrop", default=0.1)),
        component=Component.ATTENTION,
    )


def block(c: ModelConfig) -> Module:
    h = _hidden(c)
    inner = c.dim("n_inner", default=4 * h)
    cross = c.flag("add_cross_attention", default=False)
    if cross and c.flag("multi_query", default=True):
        raise c.error("multi_query", True, "false next to add_cross_attention")
    return Module(
        "GPTBigCodeBlock",
        ln_1=_norm(c),
        attn=attention(c),
        ln_2=_norm(c),
        crossattention=attention(c, cross=True) if cross else None,
        ln_cross_attn=_norm(c) if cross else None,
        mlp=Module(
            "GPTBigCodeMLP",
            c_fc=Linear(h, inner, kind="up"),
            c_proj=Linear(inner, h, kind="down"),
            act=activation(c.text("activation_function", default="gelu_pytorch_tanh")),
            dropout=Dropout(c.number("resid_pdrop", default=0.1)),
            component=Component.MLP,
        ),
    )


def model(c: ModelConfig) -> Module:
    h = _hidden(c)
    positions = c.dim("n_positions", "max_position_embeddings", default=1024)
    return Module(
        "GPTBigCodeModel",
        wte=Embedding(c.dim("vocab_size", default=50257), h),
        wpe=Embedding(positions, h, kind="position"),
        drop=Dropout(c.number("embd_pdrop", default=0.1)),
        h=Layers.of(c.count("n_layer", "num_hidden_layers", default=12), block(c)),
        ln_f=_norm(c),
    )


_CLASSES = decoder_classes(
    "GPTBigCode", model, prefix="transformer", embedding="wte", hidden=_hidden,
    tied_default=True, labeller="classifier",
    heads=("ForSequenceClassification", "ForTokenClassification"),
)  # fmt: skip

register(
    "gpt_bigcode",
    # The name before transformers took the model in, which converted checkpoints still give.
    {**_CLASSES, "GPTBigCodeLMHeadModel": _CLASSES["GPTBigCodeForCausalLM"]},
    base_prefix="transformer",
    category="text decoder",
)
