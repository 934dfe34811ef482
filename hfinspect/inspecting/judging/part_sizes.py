"""Sizes of a part at its seams, from its config: what it takes in, what it gives to others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

#: The width of the states that an encoder gives, of whatever library's spelling.
HIDDEN: Final = "hidden"
#: The width of the vector that an encoder of CLIP gives for all of its input.
PROJECTION: Final = "projection"
#: Channels of an autoencoder's latents.
LATENT: Final = "latent"
#: The width of the text that a UNet takes.
CONTEXT: Final = "context"

#: Keys of each of these, the first that a config has. Sources: ``configuration_*.py`` of
#: transformers with their ``attribute_map``, ``models/autoencoders`` of diffusers.
_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    HIDDEN: ("hidden_size", "d_model", "n_embd", "dim", "emb_dim"),
    PROJECTION: ("projection_dim",),
    LATENT: ("latent_channels", "z_dim", "decoder_input_channels"),
}

#: What a class of diffusers takes where its config has no such key: the defaults of its
#: ``__init__``, diffusers 0.42.1.
DEFAULTS: Final[Mapping[str, Mapping[str, int]]] = {
    "AllegroTransformer3DModel": {"in_channels": 4, "caption_channels": 4096},
    "AsymmetricAutoencoderKL": {"latent_channels": 4},
    "AuraFlowTransformer2DModel": {"in_channels": 4, "joint_attention_dim": 2048},
    "AutoencoderDC": {"latent_channels": 32},
    "AutoencoderKL": {"latent_channels": 4},
    "AutoencoderKLAllegro": {"latent_channels": 4},
    "AutoencoderKLCogVideoX": {"latent_channels": 16},
    "AutoencoderKLCosmos": {"latent_channels": 16},
    "AutoencoderKLFlux2": {"latent_channels": 32},
    "AutoencoderKLHunyuanVideo": {"latent_channels": 16},
    "AutoencoderKLHunyuanVideo15": {"latent_channels": 32},
    "AutoencoderKLLTXVideo": {"latent_channels": 128},
    "AutoencoderKLMochi": {"latent_channels": 12},
    "AutoencoderKLQwenImage": {"z_dim": 16},
    "AutoencoderKLTemporalDecoder": {"latent_channels": 4},
    "AutoencoderKLWan": {"z_dim": 16},
    "AutoencoderTiny": {"latent_channels": 4},
    "BriaTransformer2DModel": {"in_channels": 64, "joint_attention_dim": 4096},
    "ChromaTransformer2DModel": {"in_channels": 64, "joint_attention_dim": 4096},
    "CogVideoXTransformer3DModel": {
        "in_channels": 16,
        "out_channels": 16,
        "text_embed_dim": 4096,
    },
    "CogView3PlusTransformer2DModel": {"in_channels": 16, "text_embed_dim": 4096},
    "CogView4Transformer2DModel": {"in_channels": 16, "text_embed_dim": 4096},
    "ConsisIDTransformer3DModel": {"in_channels": 16, "text_embed_dim": 4096},
    "ControlNetModel": {"in_channels": 4},
    "CosmosTransformer3DModel": {"in_channels": 16, "text_embed_dim": 1024},
    "DiTTransformer2DModel": {"in_channels": 4},
    "Flux2Transformer2DModel": {"in_channels": 128, "joint_attention_dim": 15360},
    "FluxTransformer2DModel": {
        "in_channels": 64,
        "joint_attention_dim": 4096,
        "pooled_projection_dim": 768,
    },
    "HunyuanDiT2DModel": {"cross_attention_dim": 1024, "cross_attention_dim_t5": 2048},
    "HunyuanImageTransformer2DModel": {"in_channels": 64, "text_embed_dim": 3584},
    "HunyuanVideo15Transformer3DModel": {
        "in_channels": 65,
        "text_embed_dim": 3584,
        "text_embed_2_dim": 1472,
    },
    "HunyuanVideoFramepackTransformer3DModel": {
        "in_channels": 16,
        "text_embed_dim": 4096,
        "pooled_projection_dim": 768,
    },
    "HunyuanVideoTransformer3DModel": {
        "in_channels": 16,
        "text_embed_dim": 4096,
        "pooled_projection_dim": 768,
    },
    "Kandinsky3UNet": {"in_channels": 4, "encoder_hid_dim": 4096},
    "Kandinsky5Transformer3DModel": {
        "in_visual_dim": 4,
        "in_text_dim": 3584,
        "in_text_dim2": 768,
    },
    "LTXVideoTransformer3DModel": {
        "in_channels": 128,
        "out_channels": 128,
        "caption_channels": 4096,
    },
    "LongCatImageTransformer2DModel": {"in_channels": 64, "joint_attention_dim": 3584},
    "Lumina2Transformer2DModel": {"in_channels": 16, "cap_feat_dim": 1024},
    "LuminaNextDiT2DModel": {"in_channels": 4, "cross_attention_dim": 2048},
    "MochiTransformer3DModel": {"in_channels": 12, "text_embed_dim": 4096},
    "OmniGenTransformer2DModel": {"in_channels": 4},
    "OvisImageTransformer2DModel": {"in_channels": 64, "joint_attention_dim": 2048},
    "PaellaVQModel": {"latent_channels": 4},
    "PixArtTransformer2DModel": {"in_channels": 4},
    "PriorTransformer": {"embedding_dim": 768},
    "QwenImageTransformer2DModel": {
        "in_channels": 64,
        "out_channels": 16,
        "joint_attention_dim": 3584,
    },
    "SD3Transformer2DModel": {
        "in_channels": 16,
        "out_channels": 16,
        "joint_attention_dim": 4096,
        "pooled_projection_dim": 2048,
    },
    "SanaTransformer2DModel": {"in_channels": 32, "caption_channels": 2304},
    "SkyReelsV2Transformer3DModel": {"in_channels": 16, "out_channels": 16, "text_dim": 4096},
    "StableAudioDiTModel": {"in_channels": 64, "cross_attention_dim": 768},
    "StableCascadeUNet": {"in_channels": 16},
    "UNet2DConditionModel": {"in_channels": 4, "out_channels": 4, "cross_attention_dim": 1280},
    "UNet3DConditionModel": {"in_channels": 4, "out_channels": 4, "cross_attention_dim": 1024},
    "UNetMotionModel": {"in_channels": 4, "out_channels": 4, "cross_attention_dim": 1280},
    "UNetSpatioTemporalConditionModel": {
        "in_channels": 8,
        "out_channels": 4,
        "cross_attention_dim": 1024,
    },
    "VQModel": {"latent_channels": 3},
    "WanTransformer3DModel": {"in_channels": 16, "out_channels": 16, "text_dim": 4096},
    "WanVACETransformer3DModel": {"in_channels": 16, "out_channels": 16, "text_dim": 4096},
    "ZImageTransformer2DModel": {"in_channels": 16, "cap_feat_dim": 2560},
}

#: Libraries in which the table's names are these classes.
_LIBRARY: Final = "diffusers."


class PartSize(NamedTuple):
    """A size and the key of the config that it stands under, or would."""

    key: str
    value: int


def size_of(declared: str, config: Mapping[str, Any], size: str) -> PartSize | None:
    """The size of a part whose class model_index.json names (``diffusers.AutoencoderKL``).

    None where the config does not say it and the class has no default that is known.
    """
    if size == CONTEXT:
        return _context(declared, config)
    defaults = DEFAULTS.get(declared.removeprefix(_LIBRARY), {})
    for key in _KEYS.get(size, (size,)):
        if key in config:
            return _number(key, config[key])
        if key in defaults:
            return PartSize(key, defaults[key])
    nested = config.get("text_config") if size == HIDDEN else None
    return size_of(declared, nested, size) if isinstance(nested, dict) else None


def _context(declared: str, config: Mapping[str, Any]) -> PartSize | None:
    """``cross_attention_dim``, or what is projected to it (``encoder_hid_dim`` of the type
    ``text_proj``, the default where there is one). Source: UNet2DConditionModel._set_encoder_hid_
    proj; the other types take images, too."""
    if config.get("encoder_hid_dim") is None:
        return size_of(declared, config, "cross_attention_dim")
    if config.get("encoder_hid_dim_type") in (None, "text_proj"):
        return _number("encoder_hid_dim", config["encoder_hid_dim"])
    return None


def _number(key: str, value: object) -> PartSize | None:
    is_size = isinstance(value, int) and not isinstance(value, bool) and value > 0
    return PartSize(key, value) if is_size and isinstance(value, int) else None
