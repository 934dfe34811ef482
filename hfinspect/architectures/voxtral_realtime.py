"""Voxtral Realtime (Mistral AI 2026). Source of shapes: transformers/models/voxtral_realtime.

A causal audio encoder (a trace), a few frames side by side through two linear layers, and
Mistral's decoder with a narrow gate per layer, which the delay sets.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.decoders import Decoder, pre_norm
from ..layers.heads import to_words
from ..layers.multimodal import register_headed, two_layer_projector
from ..layers.windows import windows
from ..trees.catalog import builder, register_part
from ..trees.modules import Activation, Linear, Module, RMSNorm
from .llama import LLAMA

_NAME = "VoxtralRealtime"
#: The width inside the gate is fixed in the class.
_GATE = 32
#: What the config class puts under whatever the text section says.
_DEFAULTS = {
    "vocab_size": 131072, "hidden_size": 3072, "intermediate_size": 9216, "num_hidden_layers": 26,
    "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "sliding_window": 8192,
}  # fmt: skip


def _norm(_d: Decoder, c: ModelConfig, size: int) -> Module:
    eps = c.number("rms_norm_eps", default=1e-6)
    return RMSNorm(size, eps=eps, class_name=f"{_NAME}RMSNorm")


def _layer(d: Decoder, c: ModelConfig, kind: str) -> Module:
    block, h = pre_norm(d, c, kind), d.width(c)
    block.children["ada_rms_norm"] = Module(
        f"{d.name}AdaRmsNorm",
        linear1=Linear(h, _GATE, bias=False),
        act_fn=Activation("GELU"),
        linear2=Linear(_GATE, h, bias=False),
        component=Component.MLP,
    )
    return block


_TEXT = LLAMA.like(
    f"{_NAME}Text", intermediate_size=14336, num_key_value_heads=8, null_head_dim=True,
    attention_bias=None, norm=_norm, layer=_layer, windows=lambda c: windows(c, 4096),
)  # fmt: skip


# ---- together


def _text(c: ModelConfig) -> ModelConfig:
    given = c.section("text_config")
    return ModelConfig({**_DEFAULTS, **given.values}, given.path)


def _parts(c: ModelConfig, head: bool) -> dict[str, Module]:
    text, audio = _text(c), c.section("audio_config")
    h, width = _TEXT.width(text), audio.dim("hidden_size", "d_model", default=1280)
    frames = c.dim("downsample_factor", default=4)
    decoder = Module("VoxtralRealtimeTextForCausalLM", model=_TEXT.model(text), part="text")
    if head:
        to = "language_model.model.embed_tokens.weight" if c.tied(default=True) else None
        decoder.children["lm_head"] = to_words(h, text.dim("vocab_size"), to)
    return {
        "audio_tower": builder(f"{_NAME}Encoder")(audio),
        "language_model": decoder,
        "multi_modal_projector": two_layer_projector(
            f"{_NAME}MultiModalProjector", c, width * frames, h, bias=False
        ),
    }


register_headed("voxtral_realtime", _NAME, _parts, "audio_tower")
register_part("voxtral_realtime_text", f"{_NAME}TextModel", _TEXT.model, "text decoder")
