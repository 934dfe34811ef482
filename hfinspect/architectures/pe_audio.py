"""Perception Encoder for sound (Meta 2025). Source of shapes: transformers/models/pe_audio.
Descript's encoder, a Llama-like one with norms of queries and keys, and ModernBERT for texts."""

from functools import partial

from ..layers.composing import renamed
from ..trees import Component, Dim, ModelConfig, auto_model, register, register_part
from ..trees.config_defaults import config_defaults
from ..trees.modules import Activation, Conv, GroupNorm, LayerNorm, Linear, Module, Weight
from . import dac
from .llama import LLAMA

_NAME = "PeAudio"
#: What the config class lays under the section of the codec.
_CODEC = {"downsampling_ratios": (2, 8, 10, 12), "encoder_hidden_size": 64, "codebook_dim": 128}
_TEXT = {"hidden_size": 1024, "intermediate_size": 2624, "num_attention_heads": 16}
_ENCODER = LLAMA.like(f"{_NAME}Encoder", **config_defaults("pe_audio"), qk_norm=True)


def encoder(c: ModelConfig) -> Module:
    codec = c.section("dac_config").with_defaults(**_CODEC).of_type("dac")
    h = _ENCODER.width(c)
    codes = codec.dim("codebook_dim")
    kind = Component.EMBEDDING
    norm = GroupNorm(1, h).called(f"{_NAME}MaskedGroupNorm")
    name = f"{_NAME}Encoder"
    steps = {"groupnorm": norm, "activation": Activation("SiLU"), "project": Conv(h, h, 3, dims=1)}
    block = Module(f"{_NAME}ConvBlock1d", steps)
    first = Weight(1, 1, h, component=kind, kind="class_token")
    patches = f"{name}PatchEmbedder"
    residual = Module(f"{_NAME}ResnetBlock1d", block1=block, block2=block)
    embeds = {"dac_encoder": dac.encoder(codec, name=f"{_NAME}Dac")}
    embeds["bottleneck"] = Conv(dac.hidden(codec), codes, 1, dims=1, component=kind)
    embeds["data_proj"] = Linear(codes, h, component=kind)
    parts = {
        "embedder": Module(f"{name}Embedder", embeds),
        "patch_embedder": Module(patches, class_embedding=first, resnet_block=residual),
        **renamed(_ENCODER.model(c), f"{name}Decoder", name).without("embed_tokens").children,
        "output": Linear(h, h, bias=False, component=Component.HEAD),
    }
    return Module(name, parts, part="audio")


def model(c: ModelConfig, ending: str) -> Module:
    """``ending`` of the class; that which compares frame by frame has the same tensors."""
    text = c.section("text_config").with_defaults(**_TEXT).of_type("modernbert")
    sound = c.section("audio_config")
    width = text.dim("hidden_size")
    number = Weight(1, component=Component.OTHER)

    def contrastive(size: Dim) -> Module:
        parts = {"layer_norm": LayerNorm(size, eps=1e-6), "proj": Linear(size, width, bias=False)}
        return Module(f"{_NAME}ContrastiveHead", {**parts}, component=Component.HEAD)

    return Module(
        f"{_NAME}{ending}",
        {f"text_audio_logit_{name}": number for name in ("scale", "bias")},
        text_model=auto_model(text, default_type="modernbert", part="text"),
        audio_encoder=encoder(sound),
        text_audio_head=contrastive(width),
        audio_head=contrastive(_ENCODER.width(sound)),
    )


register_part("pe_audio_encoder", f"{_NAME}Encoder", encoder, "audio")
_CLASSES = {f"{_NAME}{end}": partial(model, ending=end) for end in ("Model", "FrameLevelModel")}
register("pe_audio", _CLASSES, category="multimodal")
