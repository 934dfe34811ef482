"""Pocket TTS (Kyutai 2026). Source of shapes: transformers/models/pocket_tts.

A small decoder over words and frames of sound, and a head that makes the next frame of numbers by
a flow in one or two steps. Means and deviations of the frames are buffers.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation, size
from ..layers.decoders import Decoder, layer_norms, plain
from ..trees.catalog import register_pair
from ..trees.modules import (
    Activation,
    Buffer,
    LayerNorm,
    Layers,
    Linear,
    Module,
    ModuleList,
    RMSNorm,
    Weight,
)
from .llama import LLAMA

POCKET = LLAMA.like(
    "PocketTTS", vocab_size=4004, hidden_size=1024, intermediate_size=4096, num_hidden_layers=6,
    num_attention_heads=16, hidden_act="gelu_pytorch_tanh", mlp=plain,
    norm=layer_norms("layer_norm_eps"),
)  # fmt: skip
latent = size("latent_dim", default=32)


def flow_head(d: Decoder, c: ModelConfig, condition: int) -> Module:
    """From a noisy frame, the decoder's state (``condition`` numbers by default) and the times."""
    h, frame = c.dim("hidden_size", default=512), latent(c)
    sines = c.dim("frequency_embedding_size", default=256)
    act = activation(c.text("hidden_act", default="silu"))
    eps = c.number("rms_norm_eps", default=1e-5)
    time = Module(
        f"{d.name}TimestepEmbedding",
        freqs=Buffer(sines // 2),
        fc1=Linear(sines, h),
        fc2=Linear(h, h),
        act_fn=act,
        norm=RMSNorm(h, eps=eps, class_name=f"{d.name}TimestepNorm"),
    )
    layer = Module(
        f"{d.name}FlowResBlock",
        norm=LayerNorm(h, eps=1e-6, class_name=f"{d.name}FlowLayerNorm"),
        fc1=Linear(h, h, component=Component.MLP, kind="up"),
        fc2=Linear(h, h, component=Component.MLP, kind="down"),
        act_fn=act,
        adaln_proj=Linear(h, 3 * h),
    )
    last = Module(
        f"{d.name}FlowFinalLayer",
        norm=LayerNorm(h, eps=1e-6, weight=False, class_name=f"{d.name}FlowLayerNorm"),
        adaln_proj=Linear(h, 2 * h),
        act_fn=act,
        proj=Linear(h, frame),
    )
    times = [time] * 2 if c.word("flow_type", "lsd", "drifting") == "lsd" else []
    return Module(
        f"{d.name}FlowHead",
        input_proj=Linear(frame, h),
        cond_proj=Linear(c.dim("condition_dim", default=condition), h),
        timestep_embeddings=ModuleList(times),
        layers=Layers.of(c.count("num_hidden_layers", default=6), layer),
        final_layer=last,
        component=Component.HEAD,
        part="audio",
    )


def loss_weighting(d: Decoder, c: ModelConfig) -> Module:
    """What weighs the loss by the two times; saved with the model."""
    h = c.dim("loss_weighting_hidden_size", default=32)
    count = int(c.count("loss_weighting_num_layers", default=3, minimum=1))
    return Module(
        f"{d.name}FlowLossWeighting",
        layers=ModuleList([Linear(2, h), *[Linear(h, h)] * (count - 1)]),
        act=Activation("ReLU"),
        proj=Linear(h, 1),
        component=Component.OTHER,
        part="audio",
    )


def speech_model(d: Decoder, c: ModelConfig, prompt: Dim) -> Module:
    """The decoder, with matrices for a voice of ``prompt`` numbers and for frames."""
    found, h, kind = d.model(c), d.width(c), Component.PROJECTOR
    first = Weight(latent(c), component=Component.EMBEDDING)
    found.children = {"bos_latent": first, **found.children}
    return found.adding(
        audio_prompt_proj=Linear(prompt, h, bias=False, component=kind),
        audio_latent_proj=Linear(latent(c), h, bias=False, component=kind),
    )


def model(c: ModelConfig) -> Module:
    return speech_model(POCKET, c, latent(c))


def generation(c: ModelConfig) -> Module:
    section = c.section("flow_head_config")
    return Module(
        "PocketTTSForConditionalGeneration",
        model=model(c),
        flow_head=flow_head(POCKET, section, 1024),
        eos_head=Linear(POCKET.width(c), 1, component=Component.HEAD),
        loss_weighting=loss_weighting(POCKET, section),
        latent_mean=Buffer(latent(c)),
        latent_std=Buffer(latent(c)),
        latent_stats_num_updates=Buffer(dtype="I64"),
    )


register_pair("pocket_tts", "PocketTTS", generation, model, "audio")
