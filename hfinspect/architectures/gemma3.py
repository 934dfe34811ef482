"""Gemma 3 (Gemma Team 2025), text and vision.

Source of shapes: transformers/models/gemma3/modeling_gemma3.py.
The text model is Gemma 2 with norms of the queries and keys. With vision: a SigLIP tower, whose
patches are pooled, normed and projected by one bare matrix. Files keep the layout of the first
release, in which the language model is a causal LM of its own.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.heads import causal_lm, classifier, sequence_classification, to_words
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


def projector(c: ModelConfig) -> Module:
    """Vision width to text width, without bias: V·H, and a norm of the vision width."""
    vision = c.section("vision_config")
    width = vision.dim("hidden_size", default=768)
    eps = vision.number("layer_norm_eps", default=1e-6)
    return Module(
        "Gemma3MultiModalProjector",
        mm_input_projection_weight=Weight(width, TEXT.width(c.section("text_config"))),
        mm_soft_emb_norm=RMSNorm(width, eps=eps, class_name="Gemma3RMSNorm"),
        avg_pool=Activation("AvgPool2d"),
        component=Component.PROJECTOR,
        part="projector",
    )


def _parts(c: ModelConfig, head: Module | None = None) -> dict[str, Module]:
    text = text_model(c.section("text_config"))
    return {
        "vision_tower": auto_model(
            c.section("vision_config"), default_type="siglip_vision_model", part="vision"
        ),
        "multi_modal_projector": projector(c),
        "language_model": Module("Gemma3ForCausalLM", model=text, lm_head=head),
    }


def model(c: ModelConfig) -> Module:
    return Module("Gemma3Model", dict(_parts(c)))


def conditional_generation(c: ModelConfig) -> Module:
    text = c.section("text_config")
    head = to_words(
        TEXT.width(text),
        text.dim("vocab_size", default=262208),
        "language_model.model.embed_tokens.weight" if c.tied() else None,
    )
    return Module("Gemma3ForConditionalGeneration", dict(_parts(c, head)))


def classification(c: ModelConfig) -> Module:
    score = classifier(TEXT.width(c.section("text_config")), c.num_labels, bias=False)
    return Module("Gemma3ForSequenceClassification", {**_parts(c), "score": score})


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

register(
    "gemma3",
    {
        "Gemma3ForConditionalGeneration": conditional_generation,
        "Gemma3Model": model,
        "Gemma3ForSequenceClassification": classification,
    },
    aliases={
        "model.language_model.": "language_model.model.",
        "model.vision_tower.": "vision_tower.",
        "model.multi_modal_projector.": "multi_modal_projector.",
        "lm_head.": "language_model.lm_head.",
        "vision_tower.vision_model.": "vision_tower.",
    },
    category="multimodal",
)
