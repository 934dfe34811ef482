"""Nomic BERT (Nussbaum et al. 2024). Source: transformers/models/nomic_bert and its renaming.

BERT with rotary positions, a gated MLP and no biases.  Names are those of the files: query, key and
value fused, ``fc11`` the up and ``fc12`` the gate projection.  The released configs spell sizes as
GPT-2's does, and may have what transformers' class has not: biases, a plain MLP
(``activation_function``) and, in nomic-embed-text-v2-moe, experts in every second layer.  Source of
those: modeling_hf_nomic_bert.py in nomic-ai/nomic-bert-2048 and nomic-embed-text-v2-moe; vLLM's
bert_with_rope.py reads the same names and shapes.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation, size
from ..layers.composing import composed
from ..layers.encoders import dropout
from ..layers.heads import classifier
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
    Weight,
)  # fmt: skip

_hidden = size("hidden_size", "n_embd", default=768)
_vocab = size("vocab_size", default=30528)


def _norm(c: ModelConfig) -> Module:
    return LayerNorm(
        _hidden(c), eps=c.number("layer_norm_eps", "layer_norm_epsilon", default=1e-12)
    )


def attention(c: ModelConfig) -> Module:
    h, heads = _hidden(c), c.dim("num_attention_heads", "n_head", default=12)
    width = heads * (c.optional_dim("head_dim") or h // heads)
    bias = c.flag("qkv_proj_bias", default=False)
    return Module(
        "NomicBertAttention",
        Wqkv=Linear(h, 3 * width, bias=bias, kind="qkv"),
        out_proj=Linear(width, h, bias=bias, kind="output"),
        component=Component.ATTENTION,
    )


def _mlp(c: ModelConfig) -> Module:
    """Gated, but where the config names an activation without a gate."""
    h, inner = _hidden(c), c.dim("intermediate_size", "n_inner", default=3072)
    first = c.flag("mlp_fc1_bias", default=False)
    second = c.flag("mlp_fc2_bias", default=False)
    act = c.text("activation_function", default="swiglu") or ""
    down = Linear(inner, h, bias=second, kind="down")
    if not act.endswith("glu"):
        return Module(
            "NomicBertMLP",
            fc1=Linear(h, inner, bias=first, kind="up"),
            activation=activation(act),
            fc2=down,
            component=Component.MLP,
        )
    return Module(
        "NomicBertMLP",
        fc12=Linear(h, inner, bias=first, kind="gate"),
        fc11=Linear(h, inner, bias=first, kind="up"),
        fc2=down,
        act_fn=activation(c.text("hidden_act", default="silu")),
        component=Component.MLP,
    )


def _experts(c: ModelConfig, count: Dim) -> Module:
    """All experts' matrices in one, both of shape (n·I, H); one bias after their sum."""
    h, inner = _hidden(c), c.dim("intermediate_size", "n_inner", default=3072)
    active = (min(int(c.dim("moe_top_k", default=1)), int(count)), int(count))
    matrix = Weight(count * inner, h, kind="expert", active=active)
    return Module(
        "NomicMoELayer",
        router=Module(
            "NomicRouter", layer=Linear(h, count, bias=False), component=Component.ROUTER
        ),
        experts=Module(
            "NomicExperts", bias=Weight(h), mlp=Module("NomicExpertMLP", w1=matrix, w2=matrix)
        ),
        component=Component.MLP,
    )


def layer(c: ModelConfig, mlp: Module) -> Module:
    return Module("NomicBertLayer", norm1=_norm(c), mlp=mlp, attn=attention(c), norm2=_norm(c))


def _layers(c: ModelConfig) -> Layers:
    """Every ``moe_every_n_layers``-th layer, beginning with the second, is a mixture."""
    number = c.count("num_hidden_layers", "n_layer", default=12)
    every, count = c.count("moe_every_n_layers", default=0), c.count("num_experts", default=0)
    if not (every and count):
        return Layers.of(number, layer(c, _mlp(c)))
    made = {False: layer(c, _mlp(c)), True: layer(c, _experts(c, count))}
    return Layers((made[i % every == 1] for i in range(int(number))), count=number)


def model(c: ModelConfig, *, pooling: bool = False) -> Module:
    h = _hidden(c)
    positions = c.dim("max_position_embeddings", "n_positions", default=2048)
    segments = c.dim("type_vocab_size", default=2)
    pooler = Module(
        "NomicBertPooler",
        dense=Linear(h, h),
        activation=Activation("Tanh"),
        component=Component.HEAD,
        kind="pooler",
    )
    return Module(
        "NomicBertModel",
        embeddings=Module(
            "NomicBertEmbeddings",
            word_embeddings=Embedding(_vocab(c), h),
            token_type_embeddings=Embedding(segments, h, kind="segment"),
            dropout=Dropout(c.number("hidden_dropout_prob", default=0.0)),
            position_ids=Buffer(1, positions, dtype="I64", saved=False),
            component=Component.EMBEDDING,
        ),
        emb_ln=_norm(c),
        pooler=pooler if pooling else None,
        rotary_emb=Activation("NomicBertRotaryEmbedding"),
        encoder=Module("NomicBertEncoder", layers=_layers(c)),
    )


def words(c: ModelConfig) -> Module:
    h, tied = _hidden(c), c.tied()
    transform = Module(
        "NomicBertPredictionHeadTransform",
        dense=Linear(h, h, kind="transform"),
        transform_act_fn=activation(c.text("hidden_act", default="silu")),
        layer_norm=_norm(c),
    )
    predictions = Module(
        "NomicBertLMPredictionHead",
        bias=Weight(_vocab(c), kind="lm_head"),
        transform=transform,
        decoder=Linear(
            h,
            _vocab(c),
            tied_to="nomic_bert.embeddings.word_embeddings.weight" if tied else None,
            bias_tied_to="cls.predictions.bias" if tied else None,
            kind="lm_head",
        ),
    )
    return Module("NomicBertOnlyMLMHead", predictions=predictions, component=Component.HEAD)


def pretraining(c: ModelConfig) -> Module:
    """The class of the released code: the model is called ``bert``, the head has biases only where
    the MLP has, and no bias of its own next to them."""
    h, bias = _hidden(c), c.flag("mlp_fc1_bias", default=False)
    tied_to = "bert.embeddings.word_embeddings.weight"
    predictions = Module(
        "NomicBertLMPredictionHead",
        transform=Module(
            "NomicBertPredictionHeadTransform",
            dense=Linear(h, h, bias=bias, kind="transform"),
            layer_norm=_norm(c),
        ),
        decoder=Linear(h, _vocab(c), bias=bias, tied_to=tied_to, kind="lm_head"),
    )
    pooled = c.flag("add_pooling_layer", default=False)
    return Module(
        "NomicBertForPreTraining",
        bert=model(c, pooling=pooled),
        cls=Module("NomicBertPreTrainingHeads", predictions=predictions, component=Component.HEAD),
    )


def _labels(c: ModelConfig) -> Module:
    return classifier(_hidden(c), c.num_labels)


register(
    "nomic_bert",
    composed(
        {
            "NomicBertModel": model,
            "NomicBertForMaskedLM": {"nomic_bert": model, "cls": words},
            "NomicBertForSequenceClassification": {
                "nomic_bert": lambda c: model(c, pooling=True),
                "dropout": dropout,
                "classifier": _labels,
            },
            "NomicBertForTokenClassification": {
                "nomic_bert": model,
                "dropout": dropout,
                "classifier": _labels,
            },
            "NomicBertForPreTraining": pretraining,
        }
    ),
    base_prefix="nomic_bert",
    category="encoder",
)
