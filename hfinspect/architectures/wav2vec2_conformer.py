"""wav2vec 2.0 with Conformer layers (Wang et al. 2020). Source:
transformers/models/wav2vec2_conformer.

wav2vec 2.0's convolutions before, w2v-BERT's layers behind; positions from a convolution and, in
each layer, relative with learned biases or rotary.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers import speech
from ..layers.encoders import hidden
from ..layers.speech_encoders import Speech
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
from .wav2vec2 import WAV2VEC2, pre_training


def attention(c: ModelConfig) -> Module:
    h, heads = hidden(c), c.dim("num_attention_heads")
    size = c.divided(h, heads, "hidden_size", "num_attention_heads")
    # An explicit null means no positions in the layers; absent, they are relative.
    unsaid = "position_embeddings_type" not in c.values
    relative = unsaid or c.text("position_embeddings_type") == "relative"
    bias = Weight(heads, size, kind="relative_position") if relative else None
    return Module(
        "Wav2Vec2ConformerSelfAttention",
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
        "Wav2Vec2ConformerConvolutionModule",
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
        "Wav2Vec2ConformerEncoderLayer",
        ffn1_layer_norm=norm,
        ffn1=speech.feed_forward(c, "Wav2Vec2Conformer"),
        self_attn_layer_norm=norm,
        self_attn=attention(c),
        conv_module=convolution(c),
        ffn2_layer_norm=norm,
        ffn2=speech.feed_forward(c, "Wav2Vec2Conformer"),
        final_layer_norm=norm,
    )


def _stack(s: Speech, c: ModelConfig) -> Module:
    encoder = speech.encoder(c, s.name, [layer(c)] * int(c.count("num_hidden_layers")))
    encoder.class_name = "Wav2Vec2ConformerEncoder"
    if c.text("position_embeddings_type") == "rotary":
        heads = c.dim("num_attention_heads")
        size = c.divided(hidden(c), heads, "hidden_size", "num_attention_heads")
        encoder.children["embed_positions"] = Module(
            "Wav2Vec2ConformerRotaryPositionalEmbedding", inv_freq=Buffer(size // 2)
        )
    return encoder


_CONFORMER = WAV2VEC2.like("Wav2Vec2Conformer", "wav2vec2_conformer", encoder=_stack)
_CONFORMER.register("wav2vec2-conformer", more=pre_training(_CONFORMER))
