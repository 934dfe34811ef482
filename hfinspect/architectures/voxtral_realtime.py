"""Voxtral Realtime (Mistral AI 2026; transformers/models/voxtral_realtime). A causal audio encoder
(a trace), and Mistral's decoder with a narrow gate per layer, which the delay sets."""

from ..layers.decoders import Decoder, norms_called, pre_norm
from ..layers.heads import to_words
from ..layers.multimodal import register_headed, two_layer_projector
from ..layers.windows import windows
from ..trees import Activation, Component, Linear, ModelConfig, Module, builder, register_part
from ..trees.config_defaults import config_defaults
from .llama import LLAMA

_NAME = "VoxtralRealtime"


def _layer(d: Decoder, c: ModelConfig, kind: str) -> Module:
    h = d.width(c)
    inner = 32  # a width that is fixed in the class
    parts = {"linear1": Linear(h, inner, bias=False), "act_fn": Activation("GELU")}
    parts["linear2"] = Linear(inner, h, bias=False)
    gate = Module(f"{d.name}AdaRmsNorm", parts, component=Component.MLP)
    return pre_norm(d, c, kind).adding(ada_rms_norm=gate)


_TEXT = LLAMA.like(
    f"{_NAME}Text",
    intermediate_size=14336,
    num_key_value_heads=8,
    null_head_dim=True,
    attention_bias=None,
    mlp_bias=None,
    norm=norms_called(f"{_NAME}RMSNorm"),
    layer=_layer,
    windows=lambda c: windows(c, 4096),
)


def _parts(c: ModelConfig, head: bool) -> dict[str, Module]:
    written = c.section("text_config")
    audio = c.section("audio_config")
    text = ModelConfig({**config_defaults("voxtral_realtime"), **written.values}, written.path)
    inputs = audio.dim("hidden_size", "d_model", default=1280)
    h = _TEXT.width(text)
    inputs = inputs * c.dim("downsample_factor", default=4)
    to = "language_model.model.embed_tokens.weight" if c.tied() else None
    words = to_words(h, text.dim("vocab_size"), to) if head else None
    name = f"{_NAME}TextForCausalLM"
    projector = f"{_NAME}MultiModalProjector"
    return {
        "audio_tower": builder(f"{_NAME}Encoder")(audio),
        "language_model": Module(name, model=_TEXT.model(text), lm_head=words, part="text"),
        "multi_modal_projector": two_layer_projector(projector, c, inputs, h, bias=False),
    }


register_headed("voxtral_realtime", _NAME, _parts, "audio_tower")
register_part("voxtral_realtime_text", f"{_NAME}TextModel", _TEXT.model, "text decoder")
