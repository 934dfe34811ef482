"""ChatGLM2, ChatGLM3, GLM-4-9B (Du et al. 2022; GLM team 2024), and the first ChatGLM-6B.

No class in transformers. Source of shapes: modeling_chatglm.py in THUDM/chatglm2-6b, chatglm3-6b
and glm-4-9b, and the index of chatglm2-6b; for the first, modeling_chatglm.py in THUDM/chatglm-6b.
Since the second version: multi-query groups, q, k and v in one matrix with biases, gate and up in
another, an output layer of its own inside the base model. The first is known by
position_encoding_2d or inner_hidden_size: biases throughout, LayerNorms, a two-matrix MLP.

A config with ``vision_config`` (GLM-4V) adds EVA2-CLIP as CogVLM2 has it, its patches merged into
the text's width; vLLM's glm4v.py reads the same names.

Configs say ChatGLMModel, but their auto_map loads ChatGLMForConditionalGeneration under that name,
and so files hold the base model under ``transformer.``.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import size, two_layer_mlp
from ..layers.heads import classifier, lm_head, to_words
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
    RMSNorm,
    Sequential,
)  # fmt: skip
from .cogvlm import vision_model

_hidden = size("hidden_size", default=4096)


def _layers(c: ModelConfig) -> Dim:
    return c.count("num_layers", "num_hidden_layers", default=28)


def _norm(c: ModelConfig) -> Module:
    eps = c.number("layernorm_epsilon", default=1e-5)
    if c.flag("rmsnorm", default=True):
        return RMSNorm(_hidden(c), eps=eps)
    return LayerNorm(_hidden(c), eps=eps)


_channels = size("kv_channels", default=128)


def attention(c: ModelConfig) -> Module:
    """H·(h + 2g)·d for q, k and v with g groups (as many as heads without multi-query)."""
    h, head = _hidden(c), _channels(c)
    heads = c.dim("num_attention_heads", default=32)
    bias = c.flag("add_bias_linear", default=False)
    width = 3 * (heads * head)
    if c.flag("multi_query_attention", default=False):
        width = heads * head + 2 * (c.dim("multi_query_group_num", default=1) * head)
    return Module(
        "SelfAttention",
        query_key_value=Linear(
            h, width, bias=bias or c.flag("add_qkv_bias", default=False), kind="qkv"
        ),
        core_attention=Activation("CoreAttention"),
        dense=Linear(heads * head, h, bias=bias, kind="output"),
        component=Component.ATTENTION,
    )


def layer(c: ModelConfig) -> Module:
    h, inner = _hidden(c), c.dim("ffn_hidden_size", default=13696)
    bias = c.flag("add_bias_linear", default=False)
    return Module(
        "GLMBlock",
        input_layernorm=_norm(c),
        self_attention=attention(c),
        post_attention_layernorm=_norm(c),
        mlp=Module(
            "MLP",
            dense_h_to_4h=Linear(h, inner * 2, bias=bias, kind="gate_up"),
            dense_4h_to_h=Linear(inner, h, bias=bias, kind="down"),
            component=Component.MLP,
        ),
    )


def _prefix(c: ModelConfig, width: Dim) -> dict[str, Module]:
    """P-tuning's prefix: keys and values of every layer for pre_seq_len virtual tokens."""
    length = c.optional_dim("pre_seq_len")
    if length is None:
        return {}
    h, whole = _hidden(c), _layers(c) * width * 2
    projected = c.flag("prefix_projection", default=False)
    size = (h if _is_first(c) else whole) if projected else whole
    trans = Sequential(Linear(size, h), Activation("Tanh"), Linear(h, whole)) if projected else None
    table = Embedding(length, size, kind=None)
    encoder = Module("PrefixEncoder", embedding=table, trans=trans, component=Component.EMBEDDING)
    return {"prefix_encoder": encoder, "dropout": Dropout(0.1)}


def base(c: ModelConfig) -> Module:
    h = _hidden(c)
    vocab = c.dim("padded_vocab_size", "vocab_size", default=65024)
    encoder = Module(
        "GLMTransformer",
        layers=Layers.of(_layers(c), layer(c)),
        final_layernorm=_norm(c) if c.flag("post_layer_norm", default=True) else None,
    )
    return Module(
        "ChatGLMModel",
        {
            "embedding": Module("Embedding", word_embeddings=Embedding(vocab, h)),
            # Half of a head is rotated; saved, so files hold its frequencies.
            "rotary_pos_emb": Module("RotaryEmbedding", inv_freq=Buffer(_channels(c) // 4)),
            "encoder": encoder,
            "output_layer": to_words(h, vocab),
            **_prefix(c, _channels(c) * c.dim("multi_query_group_num", default=1)),
        },
    )


# ---- the first ChatGLM


def _is_first(c: ModelConfig) -> bool:
    return not c.has("padded_vocab_size") and c.has("position_encoding_2d", "inner_hidden_size")


def _first_layer(c: ModelConfig) -> Module:
    h = _hidden(c)
    inner = c.dim("inner_hidden_size", default=16384)
    norm = LayerNorm(h, eps=c.number("layernorm_epsilon", default=1e-5))
    heads = c.dim("num_attention_heads", default=32)
    head = c.divided(h, heads, "hidden_size", "num_attention_heads")
    rotated = head // 2 if c.flag("position_encoding_2d", default=True) else head
    return Module(
        "GLMBlock",
        input_layernorm=norm,
        attention=Module(
            "SelfAttention",
            rotary_emb=Module("RotaryEmbedding", inv_freq=Buffer(rotated // 2)),
            query_key_value=Linear(h, 3 * h, kind="qkv"),
            dense=Linear(h, h, kind="output"),
            component=Component.ATTENTION,
        ),
        post_attention_layernorm=norm,
        mlp=two_layer_mlp("GLU", h, inner, names=("dense_h_to_4h", "dense_4h_to_h")),
    )


def _first_base(c: ModelConfig) -> Module:
    h = _hidden(c)
    return Module(
        "ChatGLMModel",
        {
            "word_embeddings": Embedding(c.dim("vocab_size", default=150528), h),
            "layers": Layers.of(_layers(c), _first_layer(c)),
            "final_layernorm": LayerNorm(h, eps=c.number("layernorm_epsilon", default=1e-5)),
            **_prefix(c, h),
        },
    )


# ---- classes


def _transformer(c: ModelConfig) -> Module:
    if _is_first(c):
        return _first_base(c)
    module = base(c)
    if c.has("vision_config"):
        inner = c.dim("ffn_hidden_size", default=13696)
        module.children["vision"] = vision_model(c, inner, _hidden(c))
    return module


def conditional_generation(c: ModelConfig) -> Module:
    """The first version has its head outside the base model, tied unless the config says no."""
    module = Module("ChatGLMForConditionalGeneration", transformer=_transformer(c))
    if _is_first(c):
        vocab = c.dim("vocab_size", default=150528)
        at = "transformer.word_embeddings.weight"
        module.children["lm_head"] = lm_head(c, _hidden(c), vocab, tied_to=at)
    return module


def sequence_classification(c: ModelConfig) -> Module:
    return Module(
        "ChatGLMForSequenceClassification",
        transformer=_transformer(c),
        classifier_head=classifier(_hidden(c), c.num_labels),
    )


register(
    "chatglm",
    {
        "ChatGLMForConditionalGeneration": conditional_generation,
        "ChatGLMModel": conditional_generation,
        "ChatGLMForSequenceClassification": sequence_classification,
    },
    base_prefix="transformer",
    # Some conversions put the output layer where others have it.
    aliases={"lm_head.": "transformer.output_layer."},
    category="text decoder",
    source="modeling_chatglm.py of THUDM/chatglm-6b, chatglm2-6b, glm-4-9b; index of chatglm2-6b",
)
