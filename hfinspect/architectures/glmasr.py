"""GLM-ASR (Zhipu 2025). Source of shapes: transformers/models/glmasr/modeling_glmasr.py. Whisper's
encoder with rotary positions (a trace), and a Llama decoder."""

from ..layers.multimodal import register_listener, two_linears
from ..trees import Dim, ModelConfig, Module, config_defaults

_TEXT = config_defaults("glmasr")


def _project(c: ModelConfig, audio: ModelConfig, text: Dim) -> Module:
    inputs = audio.dim("intermediate_size", default=5120)
    return two_linears("GlmAsrMultiModalProjector", c, inputs, text * 2, text)


_TYPES = "llama", "GlmAsrEncoder"
register_listener("glmasr", "GlmAsr", *_TYPES, _project, _TEXT, tied=ModelConfig.tied)
