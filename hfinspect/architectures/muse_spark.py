"""Muse Spark (Meta 2026), text, vision and audio. Source: transformers/models/muse_spark. Muse
Glimmer's decoder with gates on the residual stream and routed experts that work at a width of their
own; its tower, and a pyramid of causal convolutions over the waveform (two traces)."""

from ..layers.blocks import activation, rms_norms
from ..layers.decoders import Decoder, adding, gated, last_norm_of, norms_called, sandwich
from ..layers.experts import corrected_router
from ..layers.layer_kinds import mlps
from ..layers.multimodal import register_worded
from ..trees import Activation, Component, Linear, ModelConfig, Module, Weight, builder
from ..trees.config_defaults import config_defaults
from . import muse_glimmer

_scaled = rms_norms("MuseSparkTextInputScaledRMSNorm", 1e-8, "post_norm_eps")


def _moe(d: Decoder, c: ModelConfig) -> Module:
    """Experts between two projections, from the model's width to theirs and back."""
    h = d.width(c)
    width = c.dim("moe_hidden_size", default=4096)
    count = c.count("num_local_experts", default=256)
    inner = c.dim("moe_intermediate_size", default=4096)
    used = (min(int(c.count("num_experts_per_tok", default=8)), int(count)), int(count))
    experts = Module(
        "MuseSparkExperts",
        gate_up_proj=Weight(count, 2 * inner, width, active=used),
        down_proj=Weight(count, width, inner, active=used),
        act_fn=activation(d.act(c)),
        post_expert_norm=_scaled(c, width),
        kind="expert",
    )
    return Module(
        "MuseSparkMoE",
        gate=corrected_router("MuseSparkTopkRouter", h, count),
        pre_expert_proj=Linear(h, width, bias=False),
        pre_expert_norm=d.norm(d, c, width),
        experts=experts,
        post_expert_proj=Linear(width, h, bias=False),
        component=Component.MLP,
    )


def _gate(d: Decoder, c: ModelConfig, _kind: str) -> Module:
    """Of the residual stream."""
    return Module("MuseSparkResidualGate", gate=Weight(d.width(c), kind="scale"))


_TEXT = muse_glimmer.TEXT.like(
    "MuseSparkText",
    **config_defaults("muse_spark"),
    norm=norms_called("MuseSparkTextCenteredRMSNorm"),
    mlp=gated,
    moe=_moe,
    kinds=mlps(lambda _c, _i: "sparse"),
    further=last_norm_of("MuseSparkRMSNorm"),
    layer=adding(
        sandwich,
        post_attention_layernorm=lambda *_: Activation("MuseSparkRMSNorm"),
        post_feedforward_layernorm=lambda d, c, _: _scaled(c, d.width(c)),
        post_attention_residual_gate=_gate,
        post_feedforward_residual_gate=_gate,
    ),
)


def _model(c: ModelConfig) -> Module:
    root = muse_glimmer.model(_TEXT, c)
    audio = c.section("audio_config")
    heard = audio.dim("out_hidden_size", default=8192)
    width = _TEXT.width(c.section("text_config"))
    if heard != width:
        raise audio.error("out_hidden_size", int(heard), f"the text's width, {int(width)}")
    return root.adding(audio_tower=builder("MuseSparkAudioModel")(audio))


# The class ties no head, whatever the config says.
register_worded("muse_spark", "MuseSpark", _model, alone=_TEXT.model)
