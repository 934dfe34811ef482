"""AST (Gong et al. 2021). Source: transformers/models and its renaming.

ViT over spectrograms: overlapping patches, two tokens before them, positions for all.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.composing import composed, with_defaults
from ..layers.encoders import BASE, dropout, hidden, norm
from ..layers.heads import classifier
from ..layers.vision import google_layer, uneven_width
from ..trees.catalog import register
from ..trees.modules import Conv, Layers, Module, Weight


def _steps(c: ModelConfig, key: str, default: int, stride_key: str, patch: Dim) -> Dim:
    """Patches along one side: (length - patch) / stride + 1."""
    length, stride = c.dim(key, default=default), c.dim(stride_key, default=10)
    if length < patch:
        raise c.error(key, int(length), f"at least patch_size = {int(patch)}")
    return (length - patch) // stride + 1


def embeddings(c: ModelConfig) -> Module:
    h, patch = hidden(c), c.dim("patch_size", default=16)
    bands = _steps(c, "num_mel_bins", 128, "frequency_stride", patch)
    frames = _steps(c, "max_length", 1024, "time_stride", patch)
    project = Conv(1, h, patch, component=Component.EMBEDDING, kind="patch")
    return Module(
        "ASTEmbeddings",
        cls_token=Weight(1, 1, h, kind="class_token"),
        distillation_token=Weight(1, 1, h, kind="class_token"),
        position_embeddings=Weight(1, bands * frames + 2, h, kind="position"),
        patch_embeddings=Module("ASTPatchEmbeddings", projection=project),
        dropout=dropout(c),
        component=Component.EMBEDDING,
    )


def model(c: ModelConfig) -> Module:
    h = hidden(c)
    block = google_layer(
        "AST",
        h,
        c.dim("intermediate_size"),
        eps=c.number("layer_norm_eps", default=1e-12),
        act=c.text("hidden_act"),
        qkv_bias=c.flag("qkv_bias", default=True),
        width=uneven_width(c, h, c.dim("num_attention_heads")),
    )
    layers = Layers.of(c.count("num_hidden_layers"), block)
    return Module(
        "ASTModel",
        embeddings=embeddings(c),
        encoder=Module("ASTEncoder", layer=layers),
        layernorm=norm(c),
        part="audio",
    )


def _head(c: ModelConfig) -> Module:
    dense = classifier(hidden(c), c.num_labels)
    return Module("ASTMLPHead", layernorm=norm(c), dense=dense, component=Component.HEAD)


_CLASSES = composed(
    {
        "ASTForAudioClassification": {"audio_spectrogram_transformer": model, "classifier": _head},
        "ASTModel": model,
    },
    part="audio",
)

register(
    "audio-spectrogram-transformer",
    with_defaults(BASE, _CLASSES),
    base="ASTModel",
    base_prefix="audio_spectrogram_transformer",
    category="audio",
)
