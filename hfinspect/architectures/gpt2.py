"""GPT-2 (Radford et al. 2019). Source of shapes: transformers/models/gpt2/modeling_gpt2.py.

Pre-norm decoder with learned positions; its linears are Conv1D, weights (in, out). Older files
also hold each layer's causal mask (1, 1, n, n) and the value that masks.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation
from ..layers.heads import causal_lm, decoder_classes, sequence_summary
from ..trees.catalog import register
from ..trees.modules import Buffer, Conv1D, Dropout, Embedding, LayerNorm, Layers, Module


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("n_embd", "hidden_size", default=768)


def _norm(c: ModelConfig) -> Module:
    return LayerNorm(_hidden(c), eps=c.number("layer_norm_epsilon", default=1e-5))


def _positions(c: ModelConfig) -> Dim:
    return c.dim("n_positions", "max_position_embeddings", default=1024)


def attention(c: ModelConfig, *, cross: bool = False) -> Module:
    """q, k and v in one matrix; in cross-attention q apart from k and v."""
    h, n = _hidden(c), _positions(c)
    c.divided(h, c.dim("n_head", "num_attention_heads", default=12), "n_embd", "n_head")
    return Module(
        "GPT2Attention",
        c_attn=Conv1D(2 * h if cross else 3 * h, h, kind="key_value" if cross else "qkv"),
        q_attn=Conv1D(h, h, kind="query") if cross else None,
        c_proj=Conv1D(h, h, kind="output"),
        bias=Buffer(1, 1, n, n, saved=False),
        masked_bias=Buffer(saved=False),
        attn_dropout=Dropout(c.number("attn_pdrop", default=0.1)),
        resid_dropout=Dropout(c.number("resid_pdrop", default=0.1)),
        component=Component.ATTENTION,
    )


def block(c: ModelConfig) -> Module:
    h = _hidden(c)
    inner = c.dim("n_inner", default=4 * h)
    cross = c.flag("add_cross_attention", default=False)
    return Module(
        "GPT2Block",
        ln_1=_norm(c),
        attn=attention(c),
        ln_2=_norm(c),
        crossattention=attention(c, cross=True) if cross else None,
        ln_cross_attn=_norm(c) if cross else None,
        mlp=Module(
            "GPT2MLP",
            c_fc=Conv1D(inner, h, kind="up"),
            c_proj=Conv1D(h, inner, kind="down"),
            act=activation(c.text("activation_function", default="gelu_new")),
            dropout=Dropout(c.number("resid_pdrop", default=0.1)),
            component=Component.MLP,
        ),
    )


def model(c: ModelConfig) -> Module:
    h = _hidden(c)
    return Module(
        "GPT2Model",
        wte=Embedding(c.dim("vocab_size", default=50257), h),
        wpe=Embedding(_positions(c), h, kind="position"),
        drop=Dropout(c.number("embd_pdrop", default=0.1)),
        h=Layers.of(c.count("n_layer", "num_hidden_layers", default=12), block(c)),
        ln_f=_norm(c),
    )


_language_model = causal_lm(
    "GPT2DoubleHeadsModel", model, prefix="transformer", embedding="wte", tied_default=True
)


def double_heads(c: ModelConfig) -> Module:
    """A language model and a choice among endings: one logit, whatever num_labels says."""
    summary = sequence_summary(c, "GPT2SequenceSummary", _hidden(c), 1)
    module = _language_model(c)
    module.children["multiple_choice_head"] = summary
    return module


register(
    "gpt2",
    {
        **decoder_classes(
            "GPT2", model, prefix="transformer", embedding="wte", hidden=_hidden,
            tied_default=True, causal="LMHeadModel", labeller="classifier",
        ),
        "GPT2DoubleHeadsModel": double_heads,
    },
    base="GPT2Model",
    base_prefix="transformer",
    category="text decoder",
)  # fmt: skip
