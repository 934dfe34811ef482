"""wav2vec 2.0 with Conformer layers (Wang et al. 2020; transformers/models/wav2vec2_conformer)."""

from ..layers import conformers, speech
from ..layers.encoders import hidden
from ..layers.speech_encoders import Speech
from ..trees import BatchNorm, Buffer, ModelConfig, Module
from .wav2vec2 import WAV2VEC2, pre_training


def _stack(s: Speech, c: ModelConfig) -> Module:
    h = hidden(c)
    key = "position_embeddings_type"
    # An explicit null means no positions in the layers.
    relative = (positions := c.text(key, default=None if c.says(key) else "relative")) == "relative"
    attention = conformers.speech_attention(c, s.name, h, relative=relative, dropout=0.1)
    convolution = conformers.speech_convolution(c, s.name, batch_norm=BatchNorm(h, dims=1))
    block = conformers.speech_block(c, s.name, convolution, self_attn=attention)
    count = int(c.count("num_hidden_layers"))
    encoder = speech.encoder(speech.unstable(c), s.name, [block] * count)
    if positions == "rotary":
        name = f"{s.name}RotaryPositionalEmbedding"
        size = h // c.dim("num_attention_heads")
        encoder.adding(embed_positions=Module(name, inv_freq=Buffer((size + 1) // 2)))
    return encoder


_CONFORMER = WAV2VEC2.like("Wav2Vec2Conformer", "wav2vec2_conformer", encoder=_stack)
_CONFORMER.register("wav2vec2-conformer", more=pre_training(_CONFORMER))
