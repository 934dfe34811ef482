"""Gemma 3 (Gemma Team 2025), text and vision.

Source of shapes: transformers/models/gemma3/modeling_gemma3.py.
The text model is Gemma 2 with norms of the queries and keys. With vision: a SigLIP tower, whose
patches are pooled, normed and projected by one bare matrix. Files keep the layout of the first
release, in which the language model is a causal LM of its own.
"""

from __future__ import annotations

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.heads import causal_lm, classifier, sequence_classification
from ..layers.windows import every, windows
from ..trees.catalog import auto_model, register
from ..trees.modules import Activation, Embedding, Layers, Linear, Module, RMSNorm, Weight
from . import gemma2


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=2304)


def text_model(c: ModelConfig) -> Module:
    h = _hidden(c)
    head_dim = c.dim("head_dim", default=256)

    def norms() -> dict[str, Module]:
        return {name: gemma2.norm(c, head_dim, "Gemma3") for name in ("q_norm", "k_norm")}

    layers = c.count("num_hidden_layers", default=26)
    vocab = c.dim("vocab_size", default=262208)
    return Module(
        "Gemma3TextModel",
        embed_tokens=Embedding(vocab, h, class_name="Gemma3TextScaledWordEmbedding"),
        layers=Layers.of(
            layers,
            gemma2.layer(c, "Gemma3", norms),
            windows=windows(c, 4096, every(int(c.dim("sliding_window_pattern", default=6)))),
        ),
        norm=gemma2.norm(c, h, "Gemma3"),
        rotary_emb=Activation("Gemma3RotaryEmbedding"),
    )


def projector(c: ModelConfig) -> Module:
    """Vision width to text width, without bias: V·H, and a norm of the vision width."""
    vision = c.section("vision_config")
    width = vision.dim("hidden_size", default=768)
    eps = vision.number("layer_norm_eps", default=1e-6)
    return Module(
        "Gemma3MultiModalProjector",
        mm_input_projection_weight=Weight(width, _hidden(c.section("text_config"))),
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
    head = Linear(
        _hidden(text),
        text.dim("vocab_size", default=262208),
        bias=False,
        # The outer key decides; the one in text_config is not read.
        tied_to="language_model.model.embed_tokens.weight" if c.tied() else None,
        component=Component.HEAD,
        kind="lm_head",
    )
    return Module("Gemma3ForConditionalGeneration", dict(_parts(c, head)))


def classification(c: ModelConfig) -> Module:
    score = classifier(_hidden(c.section("text_config")), c.num_labels, bias=False)
    return Module("Gemma3ForSequenceClassification", {**_parts(c), "score": score})


register(
    "gemma3_text",
    {
        "Gemma3ForCausalLM": causal_lm("Gemma3ForCausalLM", text_model, tied_default=True),
        "Gemma3TextModel": text_model,
        "Gemma3TextForSequenceClassification": sequence_classification(
            "Gemma3TextForSequenceClassification", text_model, hidden=_hidden
        ),
    },
    base="Gemma3TextModel",
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
    base="Gemma3Model",
    aliases={
        "model.language_model.": "language_model.model.",
        "model.vision_tower.": "vision_tower.",
        "model.multi_modal_projector.": "multi_modal_projector.",
        "lm_head.": "language_model.lm_head.",
        "vision_tower.vision_model.": "vision_tower.",
    },
    category="multimodal",
)
