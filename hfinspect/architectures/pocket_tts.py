"""Pocket TTS (Kyutai 2026): a small decoder over words and frames of sound, and a head that makes
the next frame of numbers by a flow in one or two steps (transformers/models/pocket_tts)."""

from ..layers.blocks import activation, size
from ..layers.decoders import Decoder, layer_norms, plain
from ..trees import Component, Dim, ModelConfig, config_defaults, register_pair
from ..trees import modules as nn
from .llama import LLAMA

POCKET = LLAMA.like(
    "PocketTTS", **config_defaults("pocket_tts"), mlp=plain, norm=layer_norms("layer_norm_eps")
)
latent = size("latent_dim", default=32)


def flow_head(d: Decoder, c: ModelConfig, condition: int) -> nn.Module:
    """From a noisy frame, the decoder's state (``condition`` numbers by default) and the times."""
    h = c.dim("hidden_size", default=512)
    frame = latent(c)
    norm = f"{d.name}FlowLayerNorm"
    eps = c.number("rms_norm_eps", default=1e-5)
    act = c.text("hidden_act", default="silu")
    sines = c.dim("frequency_embedding_size", default=256)
    act_fn = activation(act)
    time = nn.Module(
        f"{d.name}TimestepEmbedding",
        freqs=nn.Buffer(sines // 2),
        fc1=nn.Linear(sines, h),
        fc2=nn.Linear(h, h),
        act_fn=act_fn,
        norm=nn.RMSNorm(h, eps=eps, class_name=f"{d.name}TimestepNorm"),
    )
    layer = nn.Module(
        f"{d.name}FlowResBlock",
        norm=nn.LayerNorm(h, eps=1e-6, class_name=norm),
        fc1=nn.Linear(h, h, component=Component.MLP, kind="up"),
        fc2=nn.Linear(h, h, component=Component.MLP, kind="down"),
        act_fn=act_fn,
        adaln_proj=nn.Linear(h, 3 * h),
    )
    last = nn.Module(
        f"{d.name}FlowFinalLayer",
        norm=nn.LayerNorm(h, eps=1e-6, weight=False, class_name=norm),
        adaln_proj=nn.Linear(h, 2 * h),
        act_fn=act_fn,
        proj=nn.Linear(h, frame),
    )
    times = [time] * 2 if c.word("flow_type", "lsd", "drifting") == "lsd" else []
    return nn.Module(
        f"{d.name}FlowHead",
        input_proj=nn.Linear(frame, h),
        cond_proj=nn.Linear(c.dim("condition_dim", default=condition), h),
        timestep_embeddings=nn.ModuleList(times),
        layers=nn.Layers.of(c.count("num_hidden_layers", default=6), layer),
        final_layer=last,
        component=Component.HEAD,
        part="audio",
    )


def loss_weighting(d: Decoder, c: ModelConfig) -> nn.Module:
    """What weighs the loss by the two times; saved with the model."""
    h = c.dim("loss_weighting_hidden_size", default=32)
    count = int(c.count("loss_weighting_num_layers", default=3, minimum=1))
    return nn.Module(
        f"{d.name}FlowLossWeighting",
        layers=nn.ModuleList([nn.Linear(2, h), *[nn.Linear(h, h)] * (count - 1)]),
        act=nn.Activation("ReLU"),
        proj=nn.Linear(h, 1),
        component=Component.OTHER,
        part="audio",
    )


def speech_model(c: ModelConfig, d: Decoder = POCKET, prompt: Dim | None = None) -> nn.Module:
    """The decoder, with matrices for a voice of ``prompt`` numbers (as many as a frame has, unless
    said) and for frames."""
    root = d.model(c)
    h = d.width(c)
    kind = Component.PROJECTOR
    first = nn.Weight(latent(c), component=Component.EMBEDDING)
    root.children = {"bos_latent": first, **root.children}
    return root.adding(
        audio_prompt_proj=nn.Linear(prompt or latent(c), h, bias=False, component=kind),
        audio_latent_proj=nn.Linear(latent(c), h, bias=False, component=kind),
    )


def generation(c: ModelConfig) -> nn.Module:
    section = c.section("flow_head_config")
    frames = nn.Buffer(latent(c))
    return nn.Module(
        "PocketTTSForConditionalGeneration",
        model=speech_model(c),
        flow_head=flow_head(POCKET, section, 1024),
        eos_head=nn.Linear(POCKET.width(c), 1, component=Component.HEAD),
        loss_weighting=loss_weighting(POCKET, section),
        latent_mean=frames,
        latent_std=frames,
        latent_stats_num_updates=nn.Buffer(dtype="I64"),
    )


register_pair("pocket_tts", "PocketTTS", generation, speech_model, "audio")
