"""VibeVoice (Microsoft 2025): encoders of how it sounds and what it says, a decoder of text, and a
diffusion head for the next frame. Source of shapes: transformers/models/vibevoice."""

from functools import partial

from ..layers.blocks import activation, gated_mlp
from ..layers.composing import without_static_cache
from ..layers.multimodal import decoder, two_linears, worded
from ..trees import Component, Dim, ModelConfig, register
from ..trees.modules import Activation, Layers, Linear, Module, RMSNorm, Weight
from .vibevoice_acoustic_tokenizer import ENCODER, TYPE, section


def _norm(width: Dim, eps: float = 1e-6) -> Module:
    return RMSNorm(width, eps=eps, class_name="VibeVoiceRMSNorm")


def diffusion_head(c: ModelConfig, h: Dim, latent: Dim) -> Module:
    """From a noisy frame of ``latent`` numbers, the time and the text's state of H to the frame."""
    bias = c.flag("mlp_bias", default=False)
    act = c.text("hidden_act", default="silu")
    inner = c.dim("intermediate_size", default=4608)
    linear = partial(Linear, bias=False)
    mlp = gated_mlp("VibeVoiceMLP", h, inner, bias=bias, act=act)
    gate = activation(act)
    norm = _norm(h, c.number("rms_norm_eps", default=1e-5))
    layer = {"ffn": mlp, "norm": norm, "act_fn": gate, "linear": linear(h, h * 3)}
    frequencies = c.dim("frequency_embedding_size", default=256)
    name = "VibeVoiceDiffusionHead"
    time = {"activation_fn": gate, "fc1": linear(frequencies, h), "fc2": linear(h, h)}
    last = {"linear_1": linear(h, 2 * h), "act_fn": gate, "linear_2": linear(h, latent)}
    count = c.count("num_hidden_layers", default=4)
    return Module(
        name,
        noisy_images_proj=linear(latent, h),
        cond_proj=linear(h, h),
        timestep_embedding=Activation(f"{name}SinusoidalEmbedding"),
        timestep_proj=Module(f"{name}MLP", time),
        layers=Layers.of(count, Module(f"{name}AdaLayerNorm", layer)),
        final_layer=Module(f"{name}FinalLayer", last),
        component=Component.HEAD,
        part="diffusion",
    )


def model(c: ModelConfig) -> Module:
    text = decoder(c, "qwen2")
    factor = Weight(component=Component.OTHER)
    sound, frame = section(c, "audio_config", TYPE)
    meaning, meaning_encoder = section(c, "semantic_model_config", ENCODER, 128)
    h = text.hidden
    text.base.part = "text"
    connect = partial(two_linears, "VibeVoiceMultiModalProjector", c, inner=h, out=h, act=_norm(h))
    return Module(
        "VibeVoiceModel",
        {f"latent_{name}_factor": factor for name in ("scaling", "bias")},
        audio_tower=sound,
        language_model=text.base,
        multi_modal_projector=connect(frame),
        semantic_tokenizer_encoder=meaning,
        semantic_connector=connect(meaning_encoder),
        diffusion_head=diffusion_head(c.section("diffusion_head_config"), h, frame),
    )


def generation(c: ModelConfig) -> Module:
    # Whether the head is tied is what the text's section says, whatever stands next to it.
    tied = c.section("text_config").tied(default=False)
    return worded(_WHOLE, lambda _: model(c), tied=tied)(ModelConfig({}))


_WHOLE = "VibeVoiceForConditionalGeneration"
# The forward makes a cache that grows, whatever it is given.
_CLASSES = without_static_cache({_WHOLE: generation, "VibeVoiceModel": model})
register("vibevoice", _CLASSES, base=_WHOLE, base_prefix="model", category="multimodal")
