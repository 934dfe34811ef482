"""data2vec for speech (Baevski et al. 2022). Source: transformers/models/data2vec.

wav2vec 2.0 whose positions come from a chain of small convolutions.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers import speech, speech_heads
from ..layers.composing import composed, with_defaults
from ..layers.encoders import hidden
from ..trees.catalog import register
from ..trees.modules import Activation, Conv, Layers, Module

_NAME = "Data2VecAudio"
_DEFAULTS = {**speech.DEFAULTS, "num_conv_pos_embeddings": 5, "conv_pos_kernel_size": 19}


def positions(c: ModelConfig) -> Module:
    h, groups = hidden(c), c.dim("num_conv_pos_embedding_groups")
    c.divided(h, groups, "hidden_size", "num_conv_pos_embedding_groups")
    step = Module(
        "Data2VecAudioPositionalConvLayer",
        conv=Conv(h, h, c.dim("conv_pos_kernel_size"), dims=1, groups=groups, kind="position"),
        padding=Activation("Data2VecAudioPadLayer"),
        activation=Activation("GELUActivation"),
        layer_norm=Activation("LayerNorm", f"({int(h)},), elementwise_affine=False"),
    )
    layers = Layers([step] * int(c.count("num_conv_pos_embeddings")))
    return Module("Data2VecAudioPositionalConvEmbedding", layers=layers, component=Component.CONV)


def model(c: ModelConfig) -> Module:
    block = speech.layer(c, _NAME, adapted=False)
    block.class_name = f"{_NAME}EncoderLayer"
    encoder = speech.encoder(c, _NAME, [block] * int(c.count("num_hidden_layers")))
    encoder.class_name = f"{_NAME}Encoder"
    encoder.children["pos_conv_embed"] = positions(c)
    return Module(
        "Data2VecAudioModel",
        {
            "masked_spec_embed": speech.masked_spec_embed(c),
            "feature_extractor": speech.feature_encoder(c, _NAME, form="layer"),
            "feature_projection": speech.feature_projection(c, _NAME),
            "encoder": encoder,
            "adapter": speech.length_adapter(c, _NAME),
        },
        part="audio",
    )


_CLASSES = composed(
    {
        "Data2VecAudioForCTC": {"data2vec_audio": model, **speech_heads.LETTERS},
        "Data2VecAudioModel": model,
        f"{_NAME}ForSequenceClassification": {"data2vec_audio": model, **speech_heads.SEQUENCE},
        f"{_NAME}ForAudioFrameClassification": {"data2vec_audio": model, **speech_heads.FRAMES},
        "Data2VecAudioForXVector": {"data2vec_audio": model, **speech_heads.SPEAKER},
    },
    part="audio",
)

register(
    "data2vec-audio",
    with_defaults(_DEFAULTS, _CLASSES),
    base_prefix="data2vec_audio",
    category="audio",
)
