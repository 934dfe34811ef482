"""OPT (Zhang et al. 2022). Source of shapes: transformers/models/opt/modeling_opt.py.

Learned positions, two more than the config says; OPT-350m is post-norm and embeds tokens in fewer
dimensions than it computes in, with a projection in and out.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation
from ..layers.heads import classifier, lm_head
from ..trees.catalog import register
from ..trees.modules import Embedding, LayerNorm, Layers, Linear, Module


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=768)


def _words(c: ModelConfig) -> Dim:
    """Width of the token embedding and of what the heads see."""
    return c.dim("word_embed_proj_dim", default=_hidden(c))


def _norm(c: ModelConfig) -> Module:
    return LayerNorm(_hidden(c), weight=c.flag("layer_norm_elementwise_affine", default=True))


def layer(c: ModelConfig) -> Module:
    h, inner = _hidden(c), c.dim("ffn_dim", default=3072)
    c.divided(h, c.dim("num_attention_heads", default=12), "hidden_size", "num_attention_heads")
    bias = c.flag("enable_bias", default=True)
    return Module(
        "OPTDecoderLayer",
        self_attn=Module(
            "OPTAttention",
            k_proj=Linear(h, h, bias=bias, kind="key"),
            v_proj=Linear(h, h, bias=bias, kind="value"),
            q_proj=Linear(h, h, bias=bias, kind="query"),
            out_proj=Linear(h, h, bias=bias, kind="output"),
            component=Component.ATTENTION,
        ),
        activation_fn=activation(c.text("activation_function", default="relu")),
        self_attn_layer_norm=_norm(c),
        fc1=Linear(h, inner, bias=bias, component=Component.MLP, kind="up"),
        fc2=Linear(inner, h, bias=bias, component=Component.MLP, kind="down"),
        final_layer_norm=_norm(c),
    )


def decoder(c: ModelConfig) -> Module:
    h, words = _hidden(c), _words(c)
    positions = c.dim("max_position_embeddings", default=2048)
    projected = int(words) != int(h)
    last = c.flag("do_layer_norm_before", default=True) and not c.flag(
        "_remove_final_layer_norm", default=False
    )
    return Module(
        "OPTDecoder",
        embed_tokens=Embedding(c.dim("vocab_size", default=50272), words),
        embed_positions=Embedding(
            positions + 2, h, kind="position", class_name="OPTLearnedPositionalEmbedding"
        ),
        project_out=Linear(h, words, bias=False, component=Component.EMBEDDING)
        if projected
        else None,
        project_in=Linear(words, h, bias=False, component=Component.EMBEDDING)
        if projected
        else None,
        final_layer_norm=_norm(c) if last else None,
        layers=Layers.of(c.count("num_hidden_layers", default=12), layer(c)),
    )


def model(c: ModelConfig) -> Module:
    return Module("OPTModel", decoder=decoder(c))


def causal_lm(c: ModelConfig) -> Module:
    vocab = c.dim("vocab_size", default=50272)
    return Module(
        "OPTForCausalLM",
        model=model(c),
        lm_head=lm_head(c, _words(c), vocab, tied_to="model.decoder.embed_tokens.weight"),
    )


def sequence_classification(c: ModelConfig) -> Module:
    score = classifier(_words(c), c.num_labels, bias=False)
    return Module("OPTForSequenceClassification", model=model(c), score=score)


def question_answering(c: ModelConfig) -> Module:
    return Module("OPTForQuestionAnswering", model=model(c), qa_outputs=classifier(_words(c), 2))


register(
    "opt",
    {
        "OPTForCausalLM": causal_lm,
        "OPTModel": model,
        "OPTForSequenceClassification": sequence_classification,
        "OPTForQuestionAnswering": question_answering,
    },
    base="OPTModel",
    base_prefix="model",
    category="text decoder",
)
