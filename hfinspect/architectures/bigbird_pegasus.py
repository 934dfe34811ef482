"""BigBird-Pegasus (Zaheer et al. 2020). Source: transformers/models/bigbird_pegasus.

Pegasus over long texts: sparse attention in the encoder, all of it without biases by default.
"""

from collections.abc import Callable

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers import seq2seq
from ..layers.seq2seq import Seq2Seq
from ..trees.catalog import Builder, register
from ..trees.modules import Linear, Module

_NAME = "BigBirdPegasus"


def _encoder_attention(c: ModelConfig, s: Seq2Seq) -> Module:
    d = seq2seq.width(c, s)
    full = c.text("attention_type", default="block_sparse") == "original_full"
    projections = Module(
        f"{_NAME}SelfAttention" if full else f"{_NAME}BlockSparseAttention",
        query=Linear(d, d, bias=s.bias, kind="query"),
        key=Linear(d, d, bias=s.bias, kind="key"),
        value=Linear(d, d, bias=s.bias, kind="value"),
    )
    return Module(
        f"{_NAME}EncoderAttention",
        {"self": projections, "output": Linear(d, d, bias=s.bias, kind="output")},
        component=Component.ATTENTION,
    )


def _style(c: ModelConfig) -> Seq2Seq:
    return Seq2Seq(
        _NAME,
        words="ScaledWordEmbedding",
        positions="LearnedPositionalEmbedding",
        offset=0,
        embedding_norm=True,
        vocab=96103,
        layers=(16, 16),
        length=4096,
        act="gelu_new",
        bias=c.flag("use_bias", default=False),
        encoder_attention=_encoder_attention,
    )


def _styled(build: Callable[[ModelConfig, Seq2Seq], Module]) -> Builder:
    return lambda c: build(c, _style(c))


def causal_lm(c: ModelConfig, s: Seq2Seq) -> Module:
    """The decoder alone; this class never ties its head."""
    untied = ModelConfig({**c.values, "tie_word_embeddings": False}, c.path)
    return seq2seq.causal_lm(untied, s)


register(
    "bigbird_pegasus",
    {
        f"{_NAME}ForConditionalGeneration": _styled(seq2seq.conditional_generation),
        f"{_NAME}Model": _styled(seq2seq.model),
        f"{_NAME}ForCausalLM": _styled(causal_lm),
        f"{_NAME}ForSequenceClassification": _styled(seq2seq.sequence_classification),
        f"{_NAME}ForQuestionAnswering": _styled(seq2seq.question_answering),
    },
    base_prefix="model",
    category="encoder-decoder",
)
