"""wav2vec 2.0 with Conformer layers (Wang et al. 2020). Source:
transformers/models/wav2vec2_conformer.

wav2vec 2.0's convolutions before, w2v-BERT's layers behind; positions from a convolution and, in
each layer, relative with learned biases or rotary.
"""

from __future__ import annotations

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers import speech, speech_heads
from ..layers.composing import composed, with_defaults
from ..layers.encoders import hidden
from ..trees.catalog import register
from ..trees.modules import (
    Activation,
    BatchNorm,
    Buffer,
    Conv,
    Dropout,
    LayerNorm,
    Linear,
    Module,
    Weight,
)
from .wav2vec2 import project_hid, project_q

_NAME = "Wav2Vec2Conformer"


def attention(c: ModelConfig) -> Module:
    h, heads = hidden(c), c.dim("num_attention_heads")
    size = c.divided(h, heads, "hidden_size", "num_attention_heads")
    # An explicit null means no positions in the layers; absent, they are relative.
    unsaid = "position_embeddings_type" not in c.values
    relative = unsaid or c.text("position_embeddings_type") == "relative"
    bias = Weight(heads, size, kind="relative_position") if relative else None
    return Module(
        f"{_NAME}SelfAttention",
        pos_bias_u=bias,
        pos_bias_v=bias,
        linear_q=Linear(h, h, kind="query"),
        linear_k=Linear(h, h, kind="key"),
        linear_v=Linear(h, h, kind="value"),
        linear_out=Linear(h, h, kind="output"),
        dropout=Dropout(c.number("attention_dropout", default=0.1)),
        linear_pos=Linear(h, h, bias=False, kind="relative_position") if relative else None,
        component=Component.ATTENTION,
    )


def convolution(c: ModelConfig) -> Module:
    h, kernel = hidden(c), c.dim("conv_depthwise_kernel_size", default=31)
    return Module(
        f"{_NAME}ConvolutionModule",
        layer_norm=LayerNorm(h),
        pointwise_conv1=Conv(h, 2 * h, 1, dims=1, bias=False),
        glu=Activation("GLU", "dim=1"),
        depthwise_conv=Conv(h, h, kernel, dims=1, groups=h, bias=False),
        batch_norm=BatchNorm(h, dims=1),
        pointwise_conv2=Conv(h, h, 1, dims=1, bias=False),
        component=Component.CONV,
    )


def layer(c: ModelConfig) -> Module:
    norm = LayerNorm(hidden(c))
    return Module(
        f"{_NAME}EncoderLayer",
        ffn1_layer_norm=norm,
        ffn1=speech.feed_forward(c, _NAME),
        self_attn_layer_norm=norm,
        self_attn=attention(c),
        conv_module=convolution(c),
        ffn2_layer_norm=norm,
        ffn2=speech.feed_forward(c, _NAME),
        final_layer_norm=norm,
    )


def model(c: ModelConfig) -> Module:
    encoder = speech.encoder(c, _NAME, [layer(c)] * int(c.count("num_hidden_layers")))
    encoder.class_name = f"{_NAME}Encoder"
    if c.text("position_embeddings_type") == "rotary":
        heads = c.dim("num_attention_heads")
        size = c.divided(hidden(c), heads, "hidden_size", "num_attention_heads")
        encoder.children["embed_positions"] = Module(
            f"{_NAME}RotaryPositionalEmbedding", inv_freq=Buffer(size // 2)
        )
    return Module(
        f"{_NAME}Model",
        {
            "masked_spec_embed": speech.masked_spec_embed(c),
            "feature_extractor": speech.feature_encoder(c, _NAME),
            "feature_projection": speech.feature_projection(c, _NAME),
            "encoder": encoder,
            "adapter": speech.length_adapter(c, _NAME),
        },
        part="audio",
    )


def _quantizer(c: ModelConfig) -> Module:
    return speech_heads.quantizer(c, _NAME)


_BASE = {"wav2vec2_conformer": model}
_CLASSES = composed(
    {
        f"{_NAME}ForCTC": {
            **_BASE,
            "dropout": speech_heads.dropout,
            "lm_head": speech_heads.ctc_head,
        },
        f"{_NAME}Model": model,
        f"{_NAME}ForPreTraining": {
            **_BASE,
            "quantizer": _quantizer,
            "project_hid": project_hid,
            "project_q": project_q,
        },
        f"{_NAME}ForSequenceClassification": {**_BASE, **speech_heads.SEQUENCE},
        f"{_NAME}ForAudioFrameClassification": {**_BASE, **speech_heads.FRAMES},
        f"{_NAME}ForXVector": {**_BASE, **speech_heads.SPEAKER},
    },
    part="audio",
)

register(
    "wav2vec2-conformer",
    with_defaults(speech.DEFAULTS, _CLASSES),
    base=f"{_NAME}Model",
    base_prefix="wav2vec2_conformer",
    category="audio",
)
