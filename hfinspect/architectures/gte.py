"""GTE (Zhang et al. 2024). Source: transformers/models/gte and its renaming.

BERT with rotary positions and gated MLPs.  Names are those of the files: query, key and value
fused, up and gate fused.  Released files also come under the prefix ``new``.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers import encoders
from ..layers.blocks import activation
from ..layers.composing import composed, with_defaults
from ..layers.encoders import dropout, hidden, labels, norm, vocab
from ..trees.catalog import register
from ..trees.modules import Activation, Embedding, Layers, Linear, Module

_DEFAULTS = {
    "vocab_size": 250048, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
    "intermediate_size": 3072, "hidden_act": "gelu", "type_vocab_size": 1,
}  # fmt: skip


def layer(c: ModelConfig) -> Module:
    h, heads, inner = hidden(c), c.dim("num_attention_heads"), c.dim("intermediate_size")
    width = heads * (c.optional_dim("head_dim") or h // heads)
    return Module(
        "GteLayer",
        attn_ln=norm(c),
        mlp=Module(
            "GteMLP",
            up_gate_proj=Linear(h, 2 * inner, bias=False, kind="gate_up"),
            down_proj=Linear(inner, h, kind="down"),
            act_fn=activation(c.text("hidden_act")),
            component=Component.MLP,
        ),
        attention=Module(
            "GteAttention",
            qkv_proj=Linear(h, 3 * width, kind="qkv"),
            o_proj=Linear(width, h, kind="output"),
            component=Component.ATTENTION,
        ),
        mlp_ln=norm(c),
    )


def model(c: ModelConfig, *, pooling: bool = False) -> Module:
    segments = c.dim("type_vocab_size", minimum=0)
    return Module(
        "GteModel",
        embeddings=Module(
            "GteEmbeddings",
            word_embeddings=Embedding(vocab(c), hidden(c)),
            token_type_embeddings=Embedding(segments, hidden(c), kind="segment")
            if segments
            else None,
            LayerNorm=norm(c),
            dropout=dropout(c),
            component=Component.EMBEDDING,
        ),
        pooler=encoders.pooler(c, "Gte") if pooling else None,
        rotary_emb=Activation("GteRotaryEmbedding"),
        encoder=Module("GteEncoder", layer=Layers.of(c.count("num_hidden_layers"), layer(c))),
    )


def lm_head(c: ModelConfig) -> Module:
    table = "gte.embeddings.word_embeddings.weight" if c.tied() else None
    return Module(
        "GteLMHead",
        dense=Linear(hidden(c), hidden(c), kind="transform"),
        norm=norm(c),
        decoder=Linear(hidden(c), vocab(c), tied_to=table, kind="lm_head"),
        component=Component.HEAD,
    )


_CLASSES = composed(
    {
        "GteModel": model,
        "GteForMaskedLM": {"gte": model, "lm_head": lm_head},
        "GteForSequenceClassification": {
            "gte": lambda c: model(c, pooling=True),
            "dropout": dropout,
            "classifier": labels,
        },
        "GteForTokenClassification": {"gte": model, "dropout": dropout, "classifier": labels},
    }
)

register(
    "gte",
    with_defaults(_DEFAULTS, _CLASSES),
    base="GteModel",
    base_prefix="gte",
    aliases={"new.": "gte."},
    category="encoder",
)
