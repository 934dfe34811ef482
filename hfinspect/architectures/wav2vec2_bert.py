"""w2v-BERT 2.0 (Seamless Communication 2023). Source: transformers/models/wav2vec2_bert.

Conformer layers over mel features: half an MLP, attention, a convolution, half an MLP; positions
relative (a table of distances in each layer, or sines and their biases) or rotary.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers import speech, speech_heads
from ..layers.composing import composed, with_defaults
from ..layers.encoders import hidden
from ..trees.catalog import register
from ..trees.modules import (
    Activation,
    Conv,
    Dropout,
    Embedding,
    Layers,
    Linear,
    Module,
    Weight,
)

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
    kind = "relative_position"
    relative, keyed = positions == "relative", positions == "relative_key"
    left = c.dim("left_max_position_embeddings", default=64, minimum=0)
    right = c.dim("right_max_position_embeddings", default=8, minimum=0)
    return Module(
        "Wav2Vec2BertSelfAttention",
        pos_bias_u=Weight(heads, size, kind=kind) if relative else None,
        pos_bias_v=Weight(heads, size, kind=kind) if relative else None,
        linear_q=Linear(width, width, kind="query"),
        linear_k=Linear(width, width, kind="key"),
        linear_v=Linear(width, width, kind="value"),
        linear_out=Linear(width, width, kind="output"),
        dropout=Dropout(c.number("attention_dropout", default=0.0)),
        linear_pos=Linear(width, width, bias=False, kind=kind) if relative else None,
        distance_embedding=Embedding(
            left + right + 1, size, component=Component.ATTENTION, kind=kind
        )
        if keyed
        else None,
        component=Component.ATTENTION,
    )


def convolution(c: ModelConfig) -> Module:
    h, kernel = hidden(c), c.dim("conv_depthwise_kernel_size", default=31)
    return Module(
        "Wav2Vec2BertConvolutionModule",
        layer_norm=speech.norm(c),
        pointwise_conv1=Conv(h, 2 * h, 1, dims=1, bias=False),
        glu=Activation("GLU", "dim=1"),
        depthwise_conv=Conv(h, h, kernel, dims=1, groups=h, bias=False),
        depthwise_layer_norm=speech.norm(c),
        pointwise_conv2=Conv(h, h, 1, dims=1, bias=False),
        component=Component.CONV,
    )


def layer(c: ModelConfig) -> Module:
    return Module(
        "Wav2Vec2BertEncoderLayer",
        ffn1_layer_norm=speech.norm(c),
        ffn1=speech.feed_forward(c, _NAME),
        self_attn_layer_norm=speech.norm(c),
        self_attn_dropout=Dropout(c.number("attention_dropout", default=0.0)),
        self_attn=attention(c, hidden(c), positions=_positions(c)),
        conv_module=convolution(c),
        ffn2_layer_norm=speech.norm(c),
        ffn2=speech.feed_forward(c, _NAME),
        final_layer_norm=speech.norm(c),
    )


def adapter(c: ModelConfig) -> Module | None:
    """Layers with strided convolutions that shorten the sequence."""
    if not c.flag("add_adapter", default=False):
        return None
    h, wide = hidden(c), c.dim("output_hidden_size", default=hidden(c))
    kernel = c.dim("adapter_kernel_size", default=3)
    conv = Conv(wide, 2 * wide, kernel, dims=1)
    block = Module(
        "Wav2Vec2BertAdapterLayer",
        residual_layer_norm=speech.norm(c, wide),
        residual_conv=conv,
        activation=Activation("GLU", "dim=1"),
        self_attn_layer_norm=speech.norm(c, wide),
        self_attn_conv=conv,
        self_attn=attention(c, wide, positions=None),
        ffn_layer_norm=speech.norm(c, wide),
        ffn=speech.feed_forward(c, _NAME, width=wide, act=c.text("adapter_act", default="relu")),
    )
    return Module(
        "Wav2Vec2BertAdapter",
        proj=Linear(h, wide, component=Component.PROJECTOR) if wide != h else None,
        proj_layer_norm=speech.norm(c, wide) if wide != h else None,
        layers=Layers.of(c.count("num_adapter_layers", default=1), block),
    )


def model(c: ModelConfig) -> Module:
    features = c.dim("feature_projection_input_dim", default=160)
    between = c.flag("use_intermediate_ffn_before_adapter", default=False)
    return Module(
        "Wav2Vec2BertModel",
        {
            "masked_spec_embed": speech.masked_spec_embed(c),
            "feature_projection": Module(
                "Wav2Vec2BertFeatureProjection",
                layer_norm=speech.norm(c, features),
                projection=Linear(features, hidden(c)),
                component=Component.EMBEDDING,
            ),
            "encoder": Module(
                "Wav2Vec2BertEncoder", layers=Layers.of(c.count("num_hidden_layers"), layer(c))
            ),
            "adapter": adapter(c),
            "intermediate_ffn": speech.feed_forward(c, _NAME, act="relu") if between else None,
        },
        part="audio",
    )


_CLASSES = composed(
    {
        "Wav2Vec2BertForCTC": {"wav2vec2_bert": model, **speech_heads.LETTERS},
        "Wav2Vec2BertModel": model,
        "Wav2Vec2BertForSequenceClassification": {"wav2vec2_bert": model, **speech_heads.SEQUENCE},
        "Wav2Vec2BertForAudioFrameClassification": {"wav2vec2_bert": model, **speech_heads.FRAMES},
        "Wav2Vec2BertForXVector": {"wav2vec2_bert": model, **speech_heads.SPEAKER},
    },
    part="audio",
)

register(
    "wav2vec2-bert",
    with_defaults(_DEFAULTS, _CLASSES),
    base_prefix="wav2vec2_bert",
    category="audio",
)
