"""Whisper (Radford et al. 2022). Source of shapes: transformers/models/whisper/modeling_whisper.py.

Two convolutions over mel features, then BART's kind of encoder and decoder with norms before; keys
have no bias. Positions are tables on both sides.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers import seq2seq
from ..layers.composing import composed
from ..layers.heads import classifier
from ..trees.catalog import register
from ..trees.modules import Conv, Embedding, Layers, Linear, Module, Parameter, Weight

STYLE = seq2seq.Seq2Seq(
    "Whisper",
    positions="PositionalEmbedding",
    offset=0,
    final_norm=True,
    vocab=51865,
    width=384,
    layers=(4, 4),
    inner=(1536, 1536),
    heads=(6, 6),
    key_bias=False,
    length_keys=("max_source_positions", "max_target_positions"),
    lengths=(1500, 448),
)


def _width(c: ModelConfig) -> Dim:
    return seq2seq.width(c, STYLE)


def _layers(c: ModelConfig) -> Dim:
    return c.count("encoder_layers", "num_hidden_layers", default=4)


def encoder(c: ModelConfig) -> Module:
    d = _width(c)
    return Module(
        "WhisperEncoder",
        conv1=Conv(c.dim("num_mel_bins", default=80), d, 3, dims=1),
        conv2=Conv(d, d, 3, dims=1, stride=2),
        embed_positions=Embedding(c.dim("max_source_positions", default=1500), d, kind="position"),
        layers=Layers.of(_layers(c), seq2seq.encoder_layer(c, STYLE)),
        layer_norm=seq2seq.norm(c, STYLE),
        part="audio",
    )


def decoder(c: ModelConfig) -> Module:
    return seq2seq.stack(c, STYLE, 1)


def model(c: ModelConfig) -> Module:
    return Module("WhisperModel", encoder=encoder(c), decoder=decoder(c))


def wrapper(c: ModelConfig) -> Module:
    return Module("WhisperDecoderWrapper", decoder=decoder(c))


def proj_out(c: ModelConfig) -> Module:
    return seq2seq.lm_head(c, STYLE, "model.decoder.embed_tokens.weight")


def layer_weights(c: ModelConfig) -> Parameter | None:
    used = c.flag("use_weighted_layer_sum", default=False)
    return Weight(_layers(c) + 1, component=Component.HEAD) if used else None


def projector(c: ModelConfig) -> Module:
    size = c.dim("classifier_proj_size", default=256)
    return Linear(_width(c), size, component=Component.HEAD, kind="classifier")


def labels(c: ModelConfig) -> Module:
    return classifier(c.dim("classifier_proj_size", default=256), c.num_labels)


register(
    "whisper",
    composed(
        {
            "WhisperForConditionalGeneration": {"model": model, "proj_out": proj_out},
            "WhisperModel": model,
            "WhisperForCausalLM": {"model": wrapper, "proj_out": proj_out},
            "WhisperForAudioClassification": {
                "encoder": encoder,
                "layer_weights": layer_weights,
                "projector": projector,
                "classifier": labels,
            },
        }
    ),
    base_prefix="model",
    category="audio",
)
