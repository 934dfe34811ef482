"""VibeVoice-ASR (Microsoft 2026). Source of shapes: transformers/models/vibevoice_asr. VibeVoice's
two encoders of sound, one projector for both, and a decoder whose head is never tied."""

from ..layers.multimodal import decoder, language_model, projector, register_headed
from ..trees import Linear, ModelConfig, Module, RMSNorm
from .vibevoice_acoustic_tokenizer import ENCODER, section


def _parts(c: ModelConfig, head: bool) -> dict[str, Module]:
    text = decoder(c, "qwen2")
    towers = dict[str, Module]()
    connectors = dict[str, Module]()
    norm = RMSNorm(h := text.hidden, class_name="VibeVoiceAsrRMSNorm")
    for name, width in (("acoustic", 64), ("semantic", 128)):
        key = f"{name}_tokenizer_encoder"
        towers[key], frame = section(c, f"{key}_config", ENCODER, width)
        connectors |= {f"{name}_linear_1": Linear(frame, h), f"{name}_norm": norm}
        connectors[f"{name}_linear_2"] = Linear(h, h)
    return {
        **towers,
        "multi_modal_projector": projector("VibeVoiceAsrMultiModalProjector", **connectors),
        "language_model": language_model(text, head=head, tied=False),
    }


_TOWERS = ("acoustic_tokenizer_encoder", "semantic_tokenizer_encoder")
register_headed("vibevoice_asr", "VibeVoiceAsr", _parts, *_TOWERS)
