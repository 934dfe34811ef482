"""GLM-ASR (Zhipu 2025). Source of shapes: transformers/models/glmasr/modeling_glmasr.py. Whisper's
encoder with rotary positions (a trace), and a Llama decoder."""

from ..core.config import ModelConfig
from ..layers.blocks import activation
from ..layers.multimodal import decoder, language_model, projector, register_headed
from ..trees.catalog import builder
from ..trees.modules import Linear, Module

_NAME = "GlmAsr"
#: What GlmAsrConfig puts under whatever the text section says.
_TEXT = {
    "vocab_size": 59264, "hidden_size": 2048, "intermediate_size": 6144, "num_hidden_layers": 28,
    "num_attention_heads": 16, "num_key_value_heads": 4,
}  # fmt: skip


def parts(c: ModelConfig, head: bool) -> dict[str, Module]:
    given, audio = c.section("text_config").values, c.section("audio_config")
    text = decoder(c.with_values(text_config={**_TEXT, **given}), "llama")
    h, seen = text.hidden, audio.dim("intermediate_size", default=5120)
    return {
        "audio_tower": builder(f"{_NAME}Encoder")(audio),
        "language_model": language_model(text, head=head, tied=c.tied()),
        "multi_modal_projector": projector(
            f"{_NAME}MultiModalProjector",
            linear_1=Linear(seen, h * 2),
            act=activation(c.text("projector_hidden_act", default="gelu")),
            linear_2=Linear(h * 2, h),
        ),
    }


register_headed("glmasr", _NAME, parts, "audio_tower")
