"""wav2vec 2.0 with Conformer layers (Wang et al. 2020). Source:
transformers/models/wav2vec2_conformer.

wav2vec 2.0's convolutions before, w2v-BERT's layers behind; positions from a convolution and, in
each layer, relative with learned biases or rotary.
"""

from ..core.config import ModelConfig
from ..layers import conformers, speech
from ..layers.encoders import hidden
from ..layers.speech_encoders import Speech
from ..trees.modules import BatchNorm, Buffer, Module
from .wav2vec2 import WAV2VEC2, pre_training

_NAME = "Wav2Vec2Conformer"


def attention(c: ModelConfig) -> Module:
    h, heads = hidden(c), c.dim("num_attention_heads")
    size = c.divided(h, heads, "hidden_size", "num_attention_heads")
    # An explicit null means no positions in the layers; absent, they are relative.
    unsaid = "position_embeddings_type" not in c.values
    relative = unsaid or c.text("position_embeddings_type") == "relative"
    rate = c.number("attention_dropout", default=0.1)
    return conformers.relative_attention(
        f"{_NAME}SelfAttention", h, heads, size, relative=relative, dropout=rate
    )


def layer(c: ModelConfig) -> Module:
    batch = BatchNorm(hidden(c), dims=1)
    convolution = conformers.speech_convolution(c, _NAME, batch_norm=batch)
    return conformers.speech_block(c, _NAME, convolution, self_attn=attention(c))


def _stack(s: Speech, c: ModelConfig) -> Module:
    blocks = [layer(c)] * int(c.count("num_hidden_layers"))
    encoder = speech.encoder(speech.unstable(c), s.name, blocks)
    if c.text("position_embeddings_type") == "rotary":
        heads = c.dim("num_attention_heads")
        size = c.divided(hidden(c), heads, "hidden_size", "num_attention_heads")
        encoder.children["embed_positions"] = Module(
            f"{_NAME}RotaryPositionalEmbedding", inv_freq=Buffer((size + 1) // 2)
        )
    return encoder


_CONFORMER = WAV2VEC2.like(_NAME, "wav2vec2_conformer", encoder=_stack)
_CONFORMER.register("wav2vec2-conformer", more=pre_training(_CONFORMER))
