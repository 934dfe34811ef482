"""w2v-BERT 2.0 (Seamless Communication 2023). Source: transformers/models/wav2vec2_bert.

Conformer layers over mel features: half an MLP, attention, a convolution, half an MLP; positions
relative (a table of distances in each layer, or sines and their biases) or rotary.
"""

from functools import partial

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers import conformers, speech
from ..layers.encoders import hidden
from ..layers.speech_encoders import Speech
from ..trees.modules import Activation, Conv, Dropout, Embedding, Layers, Linear, Module

_NAME = "Wav2Vec2Bert"
_DEFAULTS = {
    "hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16,
    "intermediate_size": 4096, "hidden_act": "swish", "layer_norm_eps": 1e-5,
    "classifier_proj_size": 768, "tdnn_dim": (512, 512, 512, 512, 1500),
    "tdnn_kernel": (5, 3, 3, 1, 1), "xvector_output_dim": 512,
}  # fmt: skip


def _positions(c: ModelConfig) -> str | None:
    if "position_embeddings_type" in c.values and c.raw("position_embeddings_type") is None:
        return None
    return c.text("position_embeddings_type", default="relative_key")


def attention(c: ModelConfig, width: Dim, *, positions: str | None) -> Module:
    heads = c.dim("num_attention_heads")
    size = c.divided(width, heads, "the layer's width", "num_attention_heads")
    rate = c.number("attention_dropout", default=0.0)
    block = conformers.relative_attention(
        f"{_NAME}SelfAttention", width, heads, size, relative=positions == "relative", dropout=rate
    )
    if positions == "relative_key":
        left = c.dim("left_max_position_embeddings", default=64, minimum=0)
        right = c.dim("right_max_position_embeddings", default=8, minimum=0)
        block.children["distance_embedding"] = Embedding(
            left + right + 1, size, component=Component.ATTENTION, kind="relative_position"
        )
    return block


def layer(c: ModelConfig) -> Module:
    convolution = conformers.speech_convolution(c, _NAME, depthwise_layer_norm=speech.norm(c))
    attend = attention(c, hidden(c), positions=_positions(c))
    dropout = Dropout(c.number("attention_dropout", default=0.0))
    return conformers.speech_block(
        c, _NAME, convolution, self_attn_dropout=dropout, self_attn=attend
    )


def _adapter_layer(c: ModelConfig, wide: Dim) -> Module:
    """Strided convolutions that shorten the sequence, before attention and in what it skips."""
    conv = Conv(wide, 2 * wide, c.dim("adapter_kernel_size", default=3), dims=1)
    return Module(
        f"{_NAME}AdapterLayer",
        residual_layer_norm=speech.norm(c, wide),
        residual_conv=conv,
        activation=Activation("GLU", "dim=1"),
        self_attn_layer_norm=speech.norm(c, wide),
        self_attn_conv=conv,
        self_attn=attention(c, wide, positions=None),
        ffn_layer_norm=speech.norm(c, wide),
        ffn=speech.feed_forward(c, _NAME, width=wide, act=c.text("adapter_act", default="relu")),
    )


def _model(_s: Speech, c: ModelConfig) -> Module:
    features = c.dim("feature_projection_input_dim", default=160)
    between = c.flag("use_intermediate_ffn_before_adapter", default=False)
    projection = Module(
        f"{_NAME}FeatureProjection",
        layer_norm=speech.norm(c, features),
        projection=Linear(features, hidden(c)),
        component=Component.EMBEDDING,
    )
    layers = Layers.of(c.count("num_hidden_layers"), layer(c))
    return Module(
        f"{_NAME}Model",
        {
            "masked_spec_embed": speech.masked_spec_embed(c),
            "feature_projection": projection,
            "encoder": Module(f"{_NAME}Encoder", layers=layers),
            "adapter": speech.length_adapter(c, _NAME, partial(_adapter_layer, c), count=1),
            "intermediate_ffn": speech.feed_forward(c, _NAME, act="relu") if between else None,
        },
        part="audio",
    )


Speech(_NAME, "wav2vec2_bert", _DEFAULTS, whole=_model).register("wav2vec2-bert")
