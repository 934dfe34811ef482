"""Gemma 3 (Gemma Team 2025; transformers/models/gemma3): Gemma 2 with norms of queries and keys,
and SigLIP. Files keep the first release's layout: the decoder is a causal LM of its own."""

from functools import partial

from ..layers.heads import classifier, register_tower
from ..layers.multimodal import any_model, projector, register_headed
from ..layers.windows import every, windows
from ..trees import Activation, ModelConfig, Module, RMSNorm, Weight
from .gemma2 import GEMMA2

TEXT = GEMMA2.like(
    "Gemma3",
    vocab_size=262208,
    qk_norm=True,
    windows=lambda c: windows(c, 4096, every(int(c.dim("sliding_window_pattern", default=6)))),
)
_model = partial(TEXT.named, "Gemma3TextModel")


def parts(c: ModelConfig, headed: bool) -> dict[str, Module]:
    text = c.section("text_config")
    vision = c.section("vision_config")
    tied = "language_model.model.embed_tokens.weight" if c.tied() else None
    head = TEXT.words(text, tied) if headed else None
    width = vision.dim("hidden_size", default=768)
    eps = vision.number("layer_norm_eps", default=1e-6)
    return {
        "vision_tower": any_model("vision_config", "siglip_vision_model", "vision")(c),
        "multi_modal_projector": projector(
            "Gemma3MultiModalProjector",
            mm_input_projection_weight=Weight(width, TEXT.width(text)),
            mm_soft_emb_norm=RMSNorm(width, eps=eps, class_name="Gemma3RMSNorm"),
            avg_pool=Activation("AvgPool2d"),
        ),
        "language_model": Module("Gemma3ForCausalLM", model=_model(text), lm_head=head),
    }


def _classification(c: ModelConfig) -> Module:
    score = classifier(TEXT.width(c.section("text_config")), c.num_labels, bias=False)
    return Module(_LABELLER, {**parts(c, False), "score": score})


_LABELLER = "Gemma3ForSequenceClassification"
register_tower("gemma3_text", "Gemma3", _model, tied=True, labels=TEXT.width)
register_headed("gemma3", "Gemma3", parts, more={_LABELLER: _classification})
