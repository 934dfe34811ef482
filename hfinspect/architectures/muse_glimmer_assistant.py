"""Muse Glimmer's assistant (Meta 2026; transformers/models/muse_glimmer_assistant) drafts tokens
from hidden states of several layers of the large model, whose embeddings and head it takes."""

from ..trees import Component, Linear, ModelConfig, Module, config_defaults, register_part
from .llama import LLAMA

_NAME = "MuseGlimmerAssistant"
TEXT = LLAMA.like(
    _NAME,
    **config_defaults("muse_glimmer_assistant"),
    attention_bias=None,
    mlp_bias=None,
    qk_norm=True,
)


def _model(c: ModelConfig) -> Module:
    h = TEXT.width(c)
    layers = c.dims("target_layer_ids", default=(1, 13, 25, 37, 49), minimum=0)
    norm = TEXT.norm(TEXT, c, h)
    fc = Linear(h * len(layers), h, bias=False)
    parts = {"fc": fc, "output_norm_enc": norm}
    joining = Module(f"{_NAME}ContextProjection", dict(parts), component=Component.PROJECTOR)
    return Module(f"{_NAME}Model", layers=TEXT.layers(c), norm=norm, encoder=joining)


register_part("muse_glimmer_assistant", f"{_NAME}Model", _model, "text decoder")
