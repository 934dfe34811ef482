"""Funnel Transformer (Dai et al. 2020). Source: transformers/models/funnel/modeling_funnel.py.

Blocks of layers between which the sequence is pooled, and a short decoder at full length; relative
attention with learned biases. ``block_repeats`` runs layers again without weights of their own.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.blocks import activation, size
from ..layers.composing import composed
from ..layers.heads import classifier, to_words
from ..trees.catalog import register
from ..trees.modules import (
    Dropout,
    Embedding,
    LayerNorm,
    Layers,
    Linear,
    Module,
    ModuleList,
    Weight,
)

#: Layers of one block: no release has above ten; what is listed one by one stays bounded.
_MAX_BLOCK = 1_000


_width = size("d_model", "hidden_size", default=768)


def _norm(c: ModelConfig) -> Module:
    return LayerNorm(_width(c), eps=c.number("layer_norm_eps", default=1e-9))


def attention(c: ModelConfig) -> Module:
    d, heads = _width(c), c.dim("n_head", "num_attention_heads", default=12)
    size = c.dim("d_head", default=64)
    inner = heads * size
    bias = Weight(heads, size, kind="relative_position")
    return Module(
        "FunnelRelMultiheadAttention",
        r_w_bias=bias,
        r_r_bias=bias,
        r_kernel=Weight(d, heads, size, kind="relative_position"),
        r_s_bias=bias,
        seg_embed=Weight(2, heads, size, kind="segment"),
        q_head=Linear(d, inner, bias=False, kind="query"),
        k_head=Linear(d, inner, kind="key"),
        v_head=Linear(d, inner, kind="value"),
        post_proj=Linear(inner, d, kind="output"),
        layer_norm=_norm(c),
        component=Component.ATTENTION,
    )


def layer(c: ModelConfig) -> Module:
    d, inner = _width(c), c.dim("d_inner", default=3072)
    return Module(
        "FunnelLayer",
        attention=attention(c),
        ffn=Module(
            "FunnelPositionwiseFFN",
            linear_1=Linear(d, inner, kind="up"),
            activation_function=activation(c.text("hidden_act", default="gelu_new")),
            linear_2=Linear(inner, d, kind="down"),
            layer_norm=_norm(c),
            component=Component.MLP,
        ),
    )


def _embeddings(c: ModelConfig) -> Module:
    return Module(
        "FunnelEmbeddings",
        word_embeddings=Embedding(c.dim("vocab_size", default=30522), _width(c)),
        layer_norm=_norm(c),
        dropout=Dropout(c.number("hidden_dropout", default=0.1)),
        component=Component.EMBEDDING,
    )


def _encoder(c: ModelConfig) -> Module:
    sizes = c.dims("block_sizes", default=(4, 4, 4), minimum=0)
    if any(size > _MAX_BLOCK for size in sizes):
        raise c.error("block_sizes", list(map(int, sizes)), f"at most {_MAX_BLOCK} each")
    block = layer(c)
    return Module("FunnelEncoder", blocks=Layers(ModuleList([block] * size) for size in sizes))


def base_model(c: ModelConfig) -> Module:
    return Module("FunnelBaseModel", embeddings=_embeddings(c), encoder=_encoder(c))


def model(c: ModelConfig) -> Module:
    layers = Layers.of(c.count("num_decoder_layers", default=2), layer(c))
    return Module(
        "FunnelModel",
        embeddings=_embeddings(c),
        encoder=_encoder(c),
        decoder=Module("FunnelDecoder", layers=layers),
    )


def discriminator(c: ModelConfig) -> Module:
    d = _width(c)
    return Module(
        "FunnelDiscriminatorPredictions",
        dense=Linear(d, d),
        dense_prediction=Linear(d, 1),
        component=Component.HEAD,
        kind="classifier",
    )


def lm_head(c: ModelConfig) -> Module:
    table = "funnel.embeddings.word_embeddings.weight" if c.tied() else None
    vocab = c.dim("vocab_size", default=30522)
    return to_words(_width(c), vocab, table, bias=True)


def _head(c: ModelConfig, labels: int) -> Module:
    d = _width(c)
    return Module(
        "FunnelClassificationHead",
        linear_hidden=Linear(d, d),
        dropout=Dropout(c.number("hidden_dropout", default=0.1)),
        linear_out=Linear(d, labels),
        component=Component.HEAD,
        kind="classifier",
    )


def _labels(c: ModelConfig) -> Module:
    return classifier(_width(c), c.num_labels)


def _dropout(c: ModelConfig) -> Module:
    return Dropout(c.number("hidden_dropout", default=0.1))


register(
    "funnel",
    composed(
        {
            "FunnelForPreTraining": {"funnel": model, "discriminator_predictions": discriminator},
            "FunnelModel": model,
            "FunnelBaseModel": base_model,
            "FunnelForMaskedLM": {"funnel": model, "lm_head": lm_head},
            "FunnelForSequenceClassification": {
                "funnel": base_model,
                "classifier": lambda c: _head(c, c.num_labels),
            },
            "FunnelForMultipleChoice": {
                "funnel": base_model,
                "classifier": lambda c: _head(c, 1),
            },
            "FunnelForTokenClassification": {
                "funnel": model,
                "dropout": _dropout,
                "classifier": _labels,
            },
            "FunnelForQuestionAnswering": {"funnel": model, "qa_outputs": _labels},
        }
    ),
    base_prefix="funnel",
    category="encoder",
)
