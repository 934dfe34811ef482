"""Muse Spark (Meta 2026), text, vision and audio. Source: transformers/models/muse_spark.

Muse Glimmer's decoder with gates on the residual stream and routed experts that work at a width of
their own; its tower, and a pyramid of causal convolutions over the waveform.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation, rms_norms
from ..layers.composing import renamed
from ..layers.decoders import Decoder, sandwich
from ..layers.experts import corrected_router
from ..layers.latent_decoders import listed_kinds
from ..layers.vision import bounded, scaled
from ..layers.windows import windows
from ..trees.catalog import register_pair, register_part
from ..trees.handed_on import MAX_STAGES
from ..trees.modules import (
    Activation,
    Conv,
    Layers,
    Linear,
    Module,
    ModuleList,
    RMSNorm,
    Weight,
)
from . import muse_glimmer

# ---- text


def _scaled(c: ModelConfig, size: int) -> Module:
    """Norms behind experts and MLPs, with an epsilon of their own."""
    eps = c.number("post_norm_eps", default=1e-8)
    return RMSNorm(size, eps=eps, class_name="MuseSparkTextInputScaledRMSNorm")


def _moe(d: Decoder, c: ModelConfig) -> Module:
    """Experts between two projections, from the model's width to theirs and back."""
    h, width = d.width(c), c.dim("moe_hidden_size", default=4096)
    count = c.count("num_local_experts", default=256)
    inner = c.dim("moe_intermediate_size", default=4096)
    used = (min(int(c.count("num_experts_per_tok", default=8)), int(count)), int(count))
    block = Module(
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
        experts=block,
        post_expert_proj=Linear(width, h, bias=False),
        component=Component.MLP,
    )


def _layer(d: Decoder, c: ModelConfig, kind: str) -> Module:
    """Gemma 2's, with gates of the attention's output and of the residual stream."""
    block, heads, h = sandwich(d, c, kind), d.heads(c), d.width(c)
    gates = Linear(h, heads.query * heads.dim, bias=False, kind="gate")
    block.inside("self_attn").children["gate_proj"] = gates
    gate = Module("MuseSparkResidualGate", gate=Weight(h, kind="scale"))
    block.children |= {
        "post_attention_layernorm": Activation("MuseSparkRMSNorm"),
        "post_feedforward_layernorm": _scaled(c, h),
        "post_attention_residual_gate": gate,
        "post_feedforward_residual_gate": gate,
    }
    return block


def _norm(_d: Decoder, c: ModelConfig, size: int) -> Module:
    eps = c.number("rms_norm_eps", default=1e-5)
    return RMSNorm(size, eps=eps, class_name="MuseSparkTextCenteredRMSNorm")


TEXT = Decoder(
    "MuseSparkText", vocab_size=202048, hidden_size=8192, intermediate_size=16384,
    num_hidden_layers=62, num_attention_heads=128, num_key_value_heads=16, head_dim=64,
    norm=_norm, moe=_moe, layer=_layer, embedding="NormedEmbedding", rotary=False,
    kinds=lambda _d, c, layers: listed_kinds(c, layers, lambda _: "sparse"),
    windows=lambda c: windows(c, 2048, lambda i, n: (n - 1 - i) % 4 == 0),
)  # fmt: skip


def text_model(c: ModelConfig) -> Module:
    base = TEXT.model(c)
    base.inside("norm").class_name = "MuseSparkRMSNorm"
    return base


# ---- audio


_audio_norm = rms_norms("MuseSparkRMSNorm", 1e-6)


def _audio_block(c: ModelConfig, width: Dim) -> Module:
    kernel = c.dim("conv_kernel_size", default=7)
    inner = scaled(c, width, "mlp_ratio", default=4.0)
    conv = Conv(width, width, kernel, dims=1, groups=int(width))
    conv.class_name = "MuseSparkAudioCausalConv1d"
    return Module(
        "MuseSparkAudioConvBlock",
        conv=conv,
        norm=_audio_norm(c, width),
        mlp=Module(
            "MuseSparkAudioMLP",
            fc1=Linear(width, inner, kind="up"),
            fc2=Linear(inner, width, kind="down"),
            activation_fn=activation(c.text("hidden_act", default="gelu")),
            component=Component.MLP,
        ),
    )


def audio_model(c: ModelConfig) -> Module:
    stages = c.count("num_hidden_layers", default=4, minimum=1)
    sizes = {
        key: bounded(c, key, c.dims(key, default=default, minimum=least)) if key == "depths"
        else c.dims(key, default=default)
        for key, default, least in (
            ("patch_sizes", (16, 6, 5, 4), 1),
            ("hidden_sizes", (256, 512, 1024, 2048), 1),
            ("depths", (2, 2, 2, 2), 0),
        )
    }  # fmt: skip
    for key, found in sizes.items():
        if not len(found) == int(stages) <= MAX_STAGES:
            raise c.error(key, f"{len(found)} entries", f"one for each of {int(stages)} layers")
    widths, layers = sizes["hidden_sizes"], []
    for i, (patch, width, depth) in enumerate(zip(*sizes.values(), strict=True)):
        layers.append(
            Module(
                "MuseSparkAudioLayer",
                patch_embedder=Module(
                    "MuseSparkAudioPatchEmbedding",
                    proj=Linear(widths[i - 1] * patch if i else patch, width),
                    norm=_audio_norm(c, width),
                    component=Component.EMBEDDING,
                ),
                conv_blocks=ModuleList([_audio_block(c, width)] * int(depth)),
            )
        )
    out = c.dim("out_hidden_size", default=8192)
    return Module(
        "MuseSparkAudioModel",
        layers=Layers(layers),
        norm=_audio_norm(c, widths[-1]),
        proj=Linear(widths[-1], out, component=Component.PROJECTOR),
        post_proj_norm=_audio_norm(c, out),
        part="audio",
    )


# ---- together


def vision_model(c: ModelConfig) -> Module:
    return renamed(muse_glimmer.vision_model(c), "MuseGlimmer", "MuseSpark")


def model(c: ModelConfig) -> Module:
    text, audio = c.section("text_config"), c.section("audio_config")
    heard, width = audio.dim("out_hidden_size", default=8192), TEXT.width(text)
    if heard != width:
        raise audio.error("out_hidden_size", int(heard), f"the text's width, {int(width)}")
    parts = {
        "vision_tower": vision_model(c.section("vision_config")),
        "language_model": text_model(text),
        **muse_glimmer.projections(c, width, "MuseSparkVisionAdapter"),
        "audio_tower": audio_model(audio),
    }
    return Module("MuseSparkModel", dict(parts))


def generation(c: ModelConfig) -> Module:
    """The class ties no head, whatever the config says."""
    head = TEXT.words(c.section("text_config"))
    return Module("MuseSparkForConditionalGeneration", model=model(c), lm_head=head)


register_part("muse_spark_text", "MuseSparkTextModel", text_model, "text decoder")
register_part("muse_spark_vision", "MuseSparkVisionModel", vision_model, "vision")
register_part("muse_spark_audio", "MuseSparkAudioModel", audio_model, "audio")
register_pair("muse_spark", "MuseSpark", generation, model, "multimodal")
