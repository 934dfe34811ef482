"""ChatGLM2, ChatGLM3, GLM-4-9B (Du et al. 2022; GLM team 2024), GLM-4V with CogVLM2's tower (shapes
of it: vLLM's glm4v.py), and the first ChatGLM-6B. Configs say ChatGLMModel, but their auto_map
loads ChatGLMForConditionalGeneration under that name, and so files begin with ``transformer.``."""

from ..layers import named_decoder as s
from ..layers.blocks import size
from ..layers.composing import FormPart, composed
from ..layers.heads import classifier, to_words
from ..trees import Component, Dim, ModelConfig
from ..trees.modules import Activation, Buffer, Dropout, Embedding, Linear, Module, Sequential
from .cogvlm import vision_model

_GENERATES = "ChatGLMForConditionalGeneration"
_BIASED = s.flagged("add_bias_linear")
_channels = size("kv_channels", default=128)
_groups = size("multi_query_group_num", default=1)


def _joined(d: s.NamedDecoder, c: ModelConfig) -> Dim:
    """(h + 2g)·d for q, k and v with g groups (as many as heads without multi-query)."""
    width = d.heads(c) * _channels(c)
    grouped = c.flag("multi_query_attention", default=False)
    return width + 2 * (_groups(c) * _channels(c)) if grouped else 3 * width


def _prefix(d: s.NamedDecoder, c: ModelConfig, width: Dim) -> Module | None:
    """P-tuning's prefix: keys and values of every layer for pre_seq_len virtual tokens."""
    if not c.has("pre_seq_len"):
        return None
    h = d.width(c)
    prefix = c.count(*d.depth.keys, default=d.depth.default) * width * 2
    projected = c.flag("prefix_projection", default=False)
    size = h if projected and _is_first(c) else prefix
    trans = (
        Sequential(Linear(size, h), Activation("Tanh"), Linear(h, prefix)) if projected else None
    )
    table = Embedding(c.dim("pre_seq_len"), size, kind=None)
    return Module("PrefixEncoder", embedding=table, trans=trans, component=Component.EMBEDDING)


def _rotating(width: Dim) -> Module:
    return Module("RotaryEmbedding", inv_freq=Buffer(width // 2))


_after_prefix = s.where(lambda c: c.has("pre_seq_len"), lambda _d, _c: Dropout(0.1))
_last = s.where(s.flagged("post_layer_norm", default=True), s.norm)
_GLM = s.NamedDecoder(
    "ChatGLM",
    width=size("hidden_size", default=4096),
    heads=size("num_attention_heads", default=32),
    depth=size("num_layers", "num_hidden_layers", default=28),
    vocab=size("padded_vocab_size", "vocab_size", default=65024),
    inner=s.inner_size("ffn_hidden_size", default=13696),
    bias=_BIASED,
    joined=_joined,
    norms=s.either_norms("rmsnorm", "layernorm_epsilon", default=True),
    attention_bias=lambda c: _BIASED(c) or c.flag("add_qkv_bias", default=False),
    called={"Block": "GLMBlock", "Attention": "SelfAttention", "MLP": "MLP"},
    block=s.MEGATRON,
    model={
        "embedding": lambda d, c: Module("Embedding", word_embeddings=s.words(d, c)),
        # Half of a head is rotated; saved, so files hold its frequencies.
        "rotary_pos_emb": lambda _d, c: _rotating(_channels(c) // 2),
        "encoder": lambda d, c: Module(
            "GLMTransformer", layers=s.layers(d, c), final_layernorm=_last(d, c)
        ),
        "output_layer": lambda d, c: to_words(d.width(c), d.vocab(c)),
        "prefix_encoder": lambda d, c: _prefix(d, c, _channels(c) * _groups(c)),
        "dropout": _after_prefix,
        "vision": s.where(
            lambda c: c.has("vision_config"),
            lambda d, c: vision_model(c, d.inner(c, d.width(c)), d.width(c)),
        ),
    },
    attention={
        "query_key_value": s.qkv,
        "core_attention": s.shown("CoreAttention"),
        "dense": lambda d, c: Linear(
            d.heads(c) * _channels(c), d.width(c), _BIASED(c), kind="output"
        ),
    },
    mlp={"dense_h_to_4h": s.gate_up, "dense_4h_to_h": s.down},
)


# ---- the first ChatGLM: biases throughout, LayerNorms, a two-matrix MLP


def _is_first(c: ModelConfig) -> bool:
    return not c.has("padded_vocab_size") and c.has("position_encoding_2d", "inner_hidden_size")


def _rotary(d: s.NamedDecoder, c: ModelConfig) -> Module:
    return _rotating(d.head(c) // (2 if c.flag("position_encoding_2d", default=True) else 1))


_FIRST = _GLM.like(
    "ChatGLM",
    vocab=size("vocab_size", default=150528),
    inner=s.inner_size("inner_hidden_size", default=16384),
    norms=s.layer_norms("layernorm_epsilon"),
    bias=s.always,
    attention_bias=s.always,
    joined=s.thrice,
    called={**_GLM.called, "MLP": "GLU"},
    model={
        "word_embeddings": s.words,
        "layers": s.layers,
        "final_layernorm": s.norm,
        "prefix_encoder": lambda d, c: _prefix(d, c, d.width(c)),
        "dropout": _after_prefix,
    },
    block={
        "input_layernorm": s.norm,
        "attention": s.attention,
        "post_attention_layernorm": s.norm,
        "mlp": s.mlp,
    },
    attention={"rotary_emb": _rotary, "query_key_value": s.qkv, "dense": s.output},
    mlp={"dense_h_to_4h": s.up, "dense_4h_to_h": s.down},
)
_first = _FIRST.classes(heads=(), causal="ForConditionalGeneration")[_GENERATES]


def conditional_generation(c: ModelConfig) -> Module:
    """The first version has its head outside the base model, tied unless the config says no."""
    return _first(c) if _is_first(c) else Module(_GENERATES, transformer=_GLM.base(c))


_LABELS: dict[str, FormPart] = {
    "transformer": lambda c: (_FIRST if _is_first(c) else _GLM).base(c),
    "classifier_head": lambda c: classifier(_GLM.width(c), c.num_labels),
}
_CLASSES = dict.fromkeys((_GENERATES, "ChatGLMModel"), conditional_generation)
_GLM.register(
    "chatglm",
    {**_CLASSES, **composed({"ChatGLMForSequenceClassification": _LABELS})},
    # Some conversions put the output layer where others have it.
    aliases={"lm_head.": "transformer.output_layer."},
    source="modeling_chatglm.py of THUDM/chatglm-6b, chatglm2-6b, glm-4-9b; index of chatglm2-6b",
)
