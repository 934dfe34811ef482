"""Perception Encoder for sound (Meta 2025). Source of shapes: transformers/models/pe_audio.

Descript's encoder (dac.py), a residual block of convolutions and a Llama-like encoder with norms of
queries and keys; ModernBERT for the text that is compared with it.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.composing import defaulted
from ..layers.decoders import Decoder
from ..trees.catalog import auto_model, register, register_part
from ..trees.modules import (
    Activation,
    Conv,
    GroupNorm,
    LayerNorm,
    Linear,
    Module,
    Parameter,
    Weight,
)
from . import dac
from .llama import LLAMA

DEFAULTS = {
    "hidden_size": 1792, "intermediate_size": 4800, "num_hidden_layers": 6,
    "num_attention_heads": 14, "head_dim": 128,
}  # fmt: skip
#: What the config class lays under the section of the codec.
_CODEC = {"downsampling_ratios": (2, 8, 10, 12), "encoder_hidden_size": 64, "codebook_dim": 128}
TEXT = {
    "hidden_size": 1024, "intermediate_size": 2624, "num_hidden_layers": 22,
    "num_attention_heads": 16,
}  # fmt: skip


def _like(name: str) -> Decoder:
    return LLAMA.like(f"{name}Encoder", qk_norm=True, rms_norm_eps=1e-5)


def _patches(name: str, h: Dim) -> Module:
    norm = GroupNorm(1, h)
    norm.class_name = f"{name}MaskedGroupNorm"
    block = Module(
        f"{name}ConvBlock1d",
        groupnorm=norm,
        activation=Activation("SiLU"),
        project=Conv(h, h, 3, dims=1),
        component=Component.CONV,
    )
    return Module(
        f"{name}EncoderPatchEmbedder",
        class_embedding=Weight(1, 1, h, component=Component.EMBEDDING, kind="class_token"),
        resnet_block=Module(f"{name}ResnetBlock1d", block1=block, block2=block),
    )


def stack(name: str, c: ModelConfig, embedder: Module) -> Module:
    """An encoder of this kind behind what makes its frames."""
    found = _like(name).model(c)
    h = c.dim("hidden_size")
    del found.children["embed_tokens"]
    layers = found.inside("layers")
    for layer in layers.children.values():
        assert isinstance(layer, Module)
        layer.class_name = f"{name}EncoderLayer"
    found.class_name, found.part = f"{name}Encoder", "audio"
    found.children = {
        "embedder": embedder,
        "patch_embedder": _patches(name, h),
        **found.children,
        "output": Linear(h, h, bias=False, component=Component.HEAD),
    }
    return found


def contrastive(name: str, inputs: Dim, outputs: Dim) -> Module:
    return Module(
        f"{name}ContrastiveHead",
        layer_norm=LayerNorm(inputs, eps=1e-6),
        proj=Linear(inputs, outputs, bias=False),
        component=Component.HEAD,
    )


def encoder(c: ModelConfig) -> Module:
    codec = c.section("dac_config").with_defaults(**_CODEC).of_type("dac")
    frame, kind = dac.hidden(codec), Component.EMBEDDING
    narrow = codec.dim("codebook_dim")
    embedder = Module(
        "PeAudioEncoderEmbedder",
        dac_encoder=dac.encoder(codec, frame, name="PeAudioDac"),
        bottleneck=Conv(frame, narrow, 1, dims=1, component=kind),
        data_proj=Linear(narrow, c.dim("hidden_size"), component=kind),
    )
    return stack("PeAudio", c, embedder)


def words(c: ModelConfig) -> tuple[Module, Dim]:
    """The model of text, and its width."""
    text = c.section("text_config").with_defaults(**TEXT).of_type("modernbert")
    return auto_model(text, default_type="modernbert", part="text"), text.dim("hidden_size")


def number() -> Parameter:
    """A learned scale or shift of a comparison."""
    return Weight(1, component=Component.OTHER)


def model(c: ModelConfig) -> Module:
    text, width = words(c)
    sound = c.section("audio_config").with_defaults(**DEFAULTS)
    return Module(
        "PeAudioModel",
        text_audio_logit_scale=number(),
        text_audio_logit_bias=number(),
        text_model=text,
        audio_encoder=encoder(sound),
        text_audio_head=contrastive("PeAudio", width, width),
        audio_head=contrastive("PeAudio", sound.dim("hidden_size"), width),
    )


def frame_model(c: ModelConfig) -> Module:
    """The same tensors, compared frame by frame."""
    found = model(c)
    found.class_name = "PeAudioFrameLevelModel"
    return found


register_part("pe_audio_encoder", "PeAudioEncoder", defaulted(DEFAULTS, encoder), "audio")
register(
    "pe_audio",
    {"PeAudioModel": model, "PeAudioFrameLevelModel": frame_model},
    category="multimodal",
)
