"""VibeVoice (Microsoft 2025). Source of shapes: transformers/models/vibevoice.

Speech of several speakers: a decoder of text, two encoders of sound (how it sounds and what it
says) and a diffusion head that makes the next frame of the former.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation, gated_mlp
from ..layers.composing import without_static_cache
from ..layers.multimodal import decoder, lm_head, projector
from ..trees.catalog import register
from ..trees.modules import Activation, Layers, Linear, Module, RMSNorm, Weight
from .vibevoice_acoustic_tokenizer import ENCODER, TYPE, section


def _norm(width: Dim, eps: float = 1e-6) -> Module:
    return RMSNorm(width, eps=eps, class_name="VibeVoiceRMSNorm")


def _connector(frame: Dim, hidden: Dim) -> Module:
    return projector(
        "VibeVoiceMultiModalProjector",
        linear_1=Linear(frame, hidden),
        act=_norm(hidden),
        linear_2=Linear(hidden, hidden),
    )


def diffusion_head(c: ModelConfig, h: Dim, latent: Dim) -> Module:
    """From a noisy frame of ``latent`` numbers, the time and the text's state of H to the frame."""
    bias, act = c.flag("mlp_bias", default=False), c.text("hidden_act", default="silu")
    inner = c.dim("intermediate_size", default=4608)
    layer = Module(
        "VibeVoiceDiffusionHeadAdaLayerNorm",
        ffn=gated_mlp("VibeVoiceMLP", h, inner, bias=bias, act=act),
        norm=_norm(h, c.number("rms_norm_eps", default=1e-5)),
        act_fn=activation(act),
        linear=Linear(h, h * 3, bias=False),
    )
    return Module(
        "VibeVoiceDiffusionHead",
        noisy_images_proj=Linear(latent, h, bias=False),
        cond_proj=Linear(h, h, bias=False),
        timestep_embedding=Activation("VibeVoiceDiffusionHeadSinusoidalEmbedding"),
        timestep_proj=Module(
            "VibeVoiceDiffusionHeadMLP",
            activation_fn=activation(act),
            fc1=Linear(c.dim("frequency_embedding_size", default=256), h, bias=False),
            fc2=Linear(h, h, bias=False),
        ),
        layers=Layers.of(c.count("num_hidden_layers", default=4), layer),
        final_layer=Module(
            "VibeVoiceDiffusionHeadFinalLayer",
            linear_1=Linear(h, 2 * h, bias=False),
            act_fn=activation(act),
            linear_2=Linear(h, latent, bias=False),
        ),
        component=Component.HEAD,
        part="diffusion",
    )


def model(c: ModelConfig) -> Module:
    text = decoder(c, "qwen2")
    sound, frame = section(c, "audio_config", TYPE)
    meaning, other = section(c, "semantic_model_config", ENCODER, 128)
    text.base.part = "text"
    return Module(
        "VibeVoiceModel",
        latent_scaling_factor=Weight(component=Component.OTHER),
        latent_bias_factor=Weight(component=Component.OTHER),
        audio_tower=sound,
        language_model=text.base,
        multi_modal_projector=_connector(frame, text.hidden),
        semantic_tokenizer_encoder=meaning,
        semantic_connector=_connector(other, text.hidden),
        diffusion_head=diffusion_head(c.section("diffusion_head_config"), text.hidden, frame),
    )


def generation(c: ModelConfig) -> Module:
    # Whether the head is tied is what the text's section says, whatever stands next to it.
    tied = c.section("text_config").tied(default=False)
    to = "model.language_model.embed_tokens.weight" if tied else None
    head = lm_head(decoder(c, "qwen2"), to)
    return Module("VibeVoiceForConditionalGeneration", model=model(c), lm_head=head)


# The forward makes a cache that grows, whatever it is given.
_CLASSES = {"VibeVoiceForConditionalGeneration": generation, "VibeVoiceModel": model}
register(
    "vibevoice",
    without_static_cache(_CLASSES),
    base="VibeVoiceForConditionalGeneration",
    base_prefix="model",
    category="multimodal",
)
