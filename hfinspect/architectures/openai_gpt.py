"""GPT (Radford et al. 2018). Source of shapes: transformers/models/openai/modeling_openai.py.

Post-norm decoder with learned positions and Conv1D linears, without a last norm.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.blocks import activation, size
from ..layers.heads import decoder_classes, sequence_summary, to_words
from ..trees.catalog import register
from ..trees.modules import Buffer, Conv1D, Dropout, Embedding, LayerNorm, Layers, Module

_hidden = size("n_embd", "hidden_size", default=768)


def _norm(c: ModelConfig) -> Module:
    return LayerNorm(_hidden(c), eps=c.number("layer_norm_epsilon", default=1e-5))


_positions = size("n_positions", "max_position_embeddings", default=512)


def block(c: ModelConfig) -> Module:
    h, n = _hidden(c), _positions(c)
    c.divided(h, c.dim("n_head", "num_attention_heads", default=12), "n_embd", "n_head")
    dropout = Dropout(c.number("resid_pdrop", default=0.1))
    return Module(
        "Block",
        attn=Module(
            "Attention",
            c_attn=Conv1D(h * 3, h, kind="qkv"),
            c_proj=Conv1D(h, h, kind="output"),
            bias=Buffer(1, 1, n, n, saved=False),  # the causal mask, in older files
            attn_dropout=Dropout(c.number("attn_pdrop", default=0.1)),
            resid_dropout=dropout,
            component=Component.ATTENTION,
        ),
        ln_1=_norm(c),
        mlp=Module(
            "MLP",
            c_fc=Conv1D(4 * h, h, kind="up"),
            c_proj=Conv1D(h, 4 * h, kind="down"),
            act=activation("gelu_new" if c.text("afn", default="gelu") == "gelu" else "relu"),
            dropout=dropout,
            component=Component.MLP,
        ),
        ln_2=_norm(c),
    )


def model(c: ModelConfig) -> Module:
    h, n = _hidden(c), _positions(c)
    return Module(
        "OpenAIGPTModel",
        tokens_embed=Embedding(c.dim("vocab_size", default=40478), h),
        positions_embed=Embedding(n, h, kind="position"),
        drop=Dropout(c.number("embd_pdrop", default=0.1)),
        h=Layers.of(c.count("n_layer", "num_hidden_layers", default=12), block(c)),
        position_ids=Buffer(n, dtype="I64", saved=False),
    )


def double_heads(c: ModelConfig) -> Module:
    """A language model and a choice among endings. Here the head's name is kept where both are
    tied, and the embedding's is left out."""
    h = _hidden(c)
    base = model(c)
    vocab = c.dim("vocab_size", default=40478)
    base.children["tokens_embed"] = Embedding(
        vocab, h, tied_to="lm_head.weight" if c.tied() else None
    )
    return Module(
        "OpenAIGPTDoubleHeadsModel",
        transformer=base,
        lm_head=to_words(h, vocab),
        multiple_choice_head=sequence_summary(c, "OpenAIGPTSequenceSummary", h, 1),
    )


register(
    "openai-gpt",
    {
        **decoder_classes(
            "OpenAIGPT", model, prefix="transformer", embedding="tokens_embed", hidden=_hidden,
            tied_default=True, causal="LMHeadModel", heads=("ForSequenceClassification",),
        ),
        "OpenAIGPTDoubleHeadsModel": double_heads,
    },
    base="OpenAIGPTModel",
    base_prefix="transformer",
    category="text decoder",
)  # fmt: skip
