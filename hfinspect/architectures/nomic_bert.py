"""Nomic BERT (Nussbaum et al. 2024). Source: transformers/models/nomic_bert and its renaming, and
for biases, a plain MLP and experts modeling_hf_nomic_bert.py in nomic-ai/nomic-bert-2048 and
nomic-embed-text-v2-moe. The released configs spell sizes as GPT-2's."""

from dataclasses import replace

from ..layers.bert_encoders import Encoder, bert_forms, bert_words
from ..layers.blocks import activation
from ..layers.composing import Forms, respelled, with_defaults
from ..layers.encoders import BASE, hidden, norm, vocab
from ..trees import Component, Dim, Layers, Linear, ModelConfig, Module, Weight, register
from ..trees.config_defaults import config_defaults
from .jina_embeddings_v3 import JINA, attention

_SYNONYMS = {
    "n_embd": "hidden_size",
    "n_head": "num_attention_heads",
    "n_inner": "intermediate_size",
    "n_layer": "num_hidden_layers",
    "n_positions": "max_position_embeddings",
    "layer_norm_epsilon": "layer_norm_eps",
}


def _mlp(c: ModelConfig) -> Module:
    """Gated, but where the config names an activation without a gate."""
    h = hidden(c)
    inner = c.dim("intermediate_size")
    first = c.flag("mlp_fc1_bias", default=False)
    up = Linear(h, inner, bias=first, kind="up")
    down = Linear(inner, h, bias=c.flag("mlp_fc2_bias", default=False), kind="down")
    act = c.text("activation_function", default="swiglu") or ""
    parts = {"fc1": up, "activation": activation(act), "fc2": down}
    if act.endswith("glu"):
        gate = Linear(h, inner, bias=first, kind="gate")
        act_fn = activation(c.text("hidden_act"))
        parts = {"fc12": gate, "fc11": up, "fc2": down, "act_fn": act_fn}
    return Module("NomicBertMLP", dict(parts), component=Component.MLP)


def _experts(c: ModelConfig, count: Dim) -> Module:
    """All experts' matrices in one, both of shape (n·I, H); one bias after their sum."""
    h = hidden(c)
    inner = c.dim("intermediate_size")
    active = (min(int(c.dim("moe_top_k", default=1)), int(count)), int(count))
    matrix = Weight(count * inner, h, kind="expert", active=active)
    both = Module("NomicExpertMLP", w1=matrix, w2=matrix)
    scores = Linear(h, count, bias=False)
    router = Module("NomicRouter", layer=scores, component=Component.ROUTER)
    experts = Module("NomicExperts", bias=Weight(h), mlp=both)
    return Module("NomicMoELayer", router=router, experts=experts, component=Component.MLP)


def _layer(c: ModelConfig, mlp: Module) -> Module:
    attend = attention("NomicBert", c, bias=c.flag("qkv_proj_bias", default=False))
    return Module("NomicBertLayer", norm1=norm(c), mlp=mlp, attn=attend, norm2=norm(c))


def _stack(_e: Encoder, c: ModelConfig) -> Module:
    """Every ``moe_every_n_layers``-th layer, beginning with the second, is a mixture."""
    number = c.count("num_hidden_layers")
    every = c.count("moe_every_n_layers", default=0)
    count = c.count("num_experts", default=0)
    dense = _layer(c, _mlp(c))
    mixed = _layer(c, _experts(c, count)) if every and count else dense
    rows = (mixed if every and i % every == 1 else dense for i in range(int(number)))
    return Module("NomicBertEncoder", layers=Layers(rows, count=number))


def _released_words(c: ModelConfig) -> Module:
    """The head of the released code: biases only where the MLP has them, and none of its own next
    to them."""
    h = hidden(c)
    bias = c.flag("mlp_fc1_bias", default=False)
    table = "bert.embeddings.word_embeddings.weight"
    dense = Linear(h, h, bias=bias, kind="transform")
    transform = Module("NomicBertPredictionHeadTransform", dense=dense, layer_norm=norm(c))
    decoder = Linear(h, vocab(c), bias=bias, tied_to=table, kind="lm_head")
    predictions = Module("NomicBertLMPredictionHead", transform=transform, decoder=decoder)
    return Module("NomicBertPreTrainingHeads", predictions=predictions, component=Component.HEAD)


def _forms(e: Encoder) -> Forms:
    pooled = replace(e, pooling="always").model

    def released(c: ModelConfig) -> Module:
        return pooled(c) if c.flag("add_pooling_layer", default=False) else e.bare(c)

    usual = bert_forms(e)
    texts = {**usual["ForSequenceClassification"], e.prefix: pooled}
    words = {"bert": released, "cls": _released_words}
    return {**usual, "ForSequenceClassification": texts, "ForPreTraining": words}


_NOMIC = JINA.like(
    "NomicBert",
    "nomic_bert",
    defaults={**BASE, **config_defaults("nomic_bert")},
    pooling="never",
    encoder=_stack,
    words=lambda e, c: respelled(bert_words(e, c), {"LayerNorm": "layer_norm"}),
    forms=_forms,
    lacks=("ForMultipleChoice", "ForQuestionAnswering"),
)
register(
    "nomic_bert",
    with_defaults({}, _NOMIC.classes(), synonyms=_SYNONYMS),
    base_prefix="nomic_bert",
    category="encoder",
)
