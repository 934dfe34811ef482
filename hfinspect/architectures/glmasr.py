"""GLM-ASR (Zhipu 2025). Source of shapes: transformers/models/glmasr/modeling_glmasr.py. Whisper's
encoder with rotary positions (a trace), and a Llama decoder."""

from ..layers.multimodal import register_listener, two_linears
from ..trees import Dim, ModelConfig, Module

_TEXT = {
    "vocab_size": 59264,
    "hidden_size": 2048,
    "intermediate_size": 6144,
    "num_hidden_layers": 28,
    "num_attention_heads": 16,
    "num_key_value_heads": 4,
}


def _project(c: ModelConfig, audio: ModelConfig, text: Dim) -> Module:
    seen = audio.dim("intermediate_size", default=5120)
    return two_linears("GlmAsrMultiModalProjector", c, seen, text * 2, text)


_TYPES = "llama", "GlmAsrEncoder"
register_listener("glmasr", "GlmAsr", *_TYPES, _project, _TEXT, tied=ModelConfig.tied)
