"""Gemma 3 (Gemma Team 2025), text and vision.

Source of shapes: transformers/models/gemma3/modeling_gemma3.py.
The text model is Gemma 2 with norms of the queries and keys. With vision: a SigLIP tower, whose
patches are pooled, normed and projected by one bare matrix. Files keep the layout of the first
release, in which the language model is a causal LM of its own.
"""

from ..core.config import ModelConfig
from ..layers.heads import causal_lm, classifier, sequence_classification
from ..layers.multimodal import projector, register_headed
from ..layers.windows import every, windows
from ..trees.catalog import auto_model, register
from ..trees.modules import Activation, Module, RMSNorm, Weight
from .gemma2 import GEMMA2

TEXT = GEMMA2.like(
    "Gemma3",
    vocab_size=262208,
    qk_norm=True,
    windows=lambda c: windows(c, 4096, every(int(c.dim("sliding_window_pattern", default=6)))),
)


def text_model(c: ModelConfig) -> Module:
    base = TEXT.model(c)
    base.class_name = "Gemma3TextModel"
    return base


def _projector(c: ModelConfig) -> Module:
    """Vision width to text width, without bias: V·H, and a norm of the vision width."""
    vision = c.section("vision_config")
    width = vision.dim("hidden_size", default=768)
    eps = vision.number("layer_norm_eps", default=1e-6)
    return projector(
        "Gemma3MultiModalProjector",
        mm_input_projection_weight=Weight(width, TEXT.width(c.section("text_config"))),
        mm_soft_emb_norm=RMSNorm(width, eps=eps, class_name="Gemma3RMSNorm"),
        avg_pool=Activation("AvgPool2d"),
    )


def parts(c: ModelConfig, headed: bool) -> dict[str, Module]:
    text = c.section("text_config")
    tied = "language_model.model.embed_tokens.weight" if c.tied() else None
    head = TEXT.words(text, tied) if headed else None
    return {
        "vision_tower": auto_model(
            c.section("vision_config"), default_type="siglip_vision_model", part="vision"
        ),
        "multi_modal_projector": _projector(c),
        "language_model": Module("Gemma3ForCausalLM", model=text_model(text), lm_head=head),
    }


def classification(c: ModelConfig) -> Module:
    score = classifier(TEXT.width(c.section("text_config")), c.num_labels, bias=False)
    return Module("Gemma3ForSequenceClassification", {**parts(c, False), "score": score})


register(
    "gemma3_text",
    {
        "Gemma3ForCausalLM": causal_lm("Gemma3ForCausalLM", text_model, tied_default=True),
        "Gemma3TextModel": text_model,
        "Gemma3TextForSequenceClassification": sequence_classification(
            "Gemma3TextForSequenceClassification", text_model, hidden=TEXT.width
        ),
    },
    base_prefix="model",
    category="text decoder",
)

register_headed("gemma3", "Gemma3", parts, more={"Gemma3ForSequenceClassification": classification})
