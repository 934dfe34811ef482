"""Muse Glimmer (Meta 2026; transformers/models/muse_glimmer): four norms a layer, a gate as wide as
the attention's output, a norm without weight on q, k and the embedding; a ViT (a trace)."""

from functools import partial

from ..layers.decoders import Decoder, adding, gate, grouped, last_norm_of, norms_called, sandwich
from ..layers.multimodal import linear_projector, register_worded, two_linears
from ..layers.windows import windows
from ..trees import ModelConfig, Module, RMSNorm, builder, config_defaults
from .gemma2 import GEMMA2


def _after(d: Decoder, c: ModelConfig, _kind: str) -> Module:
    """The norms behind attention and MLP have an epsilon of their own."""
    eps = c.number("post_norm_eps", default=1e-8)
    return RMSNorm(d.width(c), eps=eps, class_name="MuseGlimmerTextCenteredRMSNorm")


TEXT = Decoder(
    "MuseGlimmerText",
    **config_defaults("muse_glimmer"),
    norm=norms_called("MuseGlimmerTextCenteredRMSNorm"),
    attention=adding(grouped, gate_proj=gate),
    layer=adding(sandwich, post_attention_layernorm=_after, post_feedforward_layernorm=_after),
    rotary=False,
    embedding="NormedEmbedding",
    further=last_norm_of("MuseGlimmerRMSNorm"),
    # The last layer sees everything, and every fourth before it.
    windows=lambda c: windows(c, 2048, lambda i, n: (n - 1 - i) % 4 == 0),
    mlp=lambda d, c: GEMMA2.mlp(d, c.with_defaults(hidden_activation="silu")),
)


def model(d: Decoder, c: ModelConfig) -> Module:
    """Tower, decoder, and what leads from merged patches to the width of the text."""
    name = d.name.removesuffix("Text")
    text = c.section("text_config")
    width = c.dim("projector_hidden_size", default=4096)
    inputs = c.dim("out_hidden_size", default=6144)
    names = ("fc1", "act", "fc2")
    adapter = two_linears(f"{name}VisionAdapter", c, inputs, width, width, bias=False, names=names)
    return Module(
        f"{name}Model",
        vision_tower=builder(f"{name}VisionModel")(c.section("vision_config")),
        language_model=d.model(text),
        vision_adapter=adapter,
        vision_projection=linear_projector(width, d.width(text), bias=False),
    )


register_worded("muse_glimmer", "MuseGlimmer", partial(model, TEXT), tied=False, alone=TEXT.model)
