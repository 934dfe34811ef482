"""Fun-ASR-Nano (FunAudioLLM 2025). Source of shapes: transformers/models/fun_asr_nano. An encoder
over stacked frames whose attention has a memory, a convolution a channel; Qwen3."""

from functools import partial

from ..layers.blocks import activation, depthwise
from ..layers.multimodal import decoder, projecting, register_worded, two_linears
from ..layers.vision import plain_mlp
from ..trees import Component, Dim, ModelConfig, config_defaults, register_part
from ..trees.modules import Activation, LayerNorm, Layers, Linear, Module, once

TEXT = config_defaults("fun_asr_nano")


def layer(
    c: ModelConfig, h: Dim, inner: Dim, wide: Dim, normed: bool = False, kernel: Dim | None = None
) -> Module:
    """``wide`` is what comes in, ``kernel`` the frames of the memory."""
    norm = partial(LayerNorm, eps=c.number("layer_norm_eps", default=1e-5))
    parts = {f"{x[0]}_proj": Linear(wide, h, kind=x) for x in ("query", "key", "value")}
    parts["o_proj"] = Linear(h, h, kind="output")
    if kernel is not None:
        memory = depthwise(h, kernel, component=Component.CONV)
        parts["fsmn"] = Module("FunAsrNanoFSMN", conv=memory)
    mlp = plain_mlp("FunAsrNanoMLP", h, inner, act=c.text("hidden_act", default="relu"))
    attention = Module("FunAsrNanoAttention", parts, component=Component.ATTENTION)
    steps = {"self_attn": attention, "mlp": mlp, "input_layernorm": norm(wide)}
    last = norm(h) if normed else Activation("Identity")
    steps |= {"post_attention_layernorm": norm(h), "final_layernorm": last}
    return Module("FunAsrNanoEncoderLayer", steps)


def encoder(c: ModelConfig) -> Module:
    h = c.dim("hidden_size", default=512)
    count = c.count("num_hidden_layers", default=70)
    inner = c.dim("intermediate_size", default=2048)
    kernel = c.dim("fsmn_kernel_size", default=11)
    frames = c.dim("num_mel_bins", default=80) * c.dim("num_stacked_frames", default=7)
    timing = c.count("num_timestamp_prediction_layers", default=20)
    normed = (int(count) - int(timing) - 1, int(count) - 1)
    kinds = [(h if i else frames, i in normed) for i in range(int(count))]
    layers = Layers(once(kinds, lambda kind: layer(c, h, inner, *kind, kernel)))
    positions = Activation("FunAsrNanoPositionEmbedding")
    return Module("FunAsrNanoEncoder", position_embeddings=positions, layers=layers, part="audio")


def model(c: ModelConfig) -> Module:
    text = decoder(c, "qwen3", defaults=TEXT)
    audio = c.section("audio_config")
    a = c.section("adaptor_config")
    inputs = audio.dim("hidden_size", default=512)
    h = a.dim("hidden_size", default=1024)
    wide = a.dim("projector_hidden_size", default=2048)
    if h != text.hidden:
        raise a.error("hidden_size", int(h), f"the text's width, {int(text.hidden)}")
    text.base.part = "text"
    act = activation(a.text("projector_hidden_act", default="relu"))
    block = projecting(layer(a, h, a.dim("intermediate_size", default=256), h))
    layers = Layers.of(a.count("num_hidden_layers", default=2), block)
    projector = two_linears("FunAsrNanoMultiModalProjector", c, inputs, wide, h, act=act)
    return Module(
        "FunAsrNanoModel",
        audio_tower=encoder(audio),
        language_model=text.base,
        multi_modal_projector=projector.adding(layers=layers),
    )


register_part("fun_asr_nano_encoder", "FunAsrNanoEncoder", encoder, "audio")
register_worded("fun_asr_nano", "FunAsrNano", model, tied=True)
