"""Splinter (Ram et al. 2021). Source of shapes: transformers/models/splinter/modeling_splinter.py.

BERT with a head that selects spans by what a question token asks.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers import encoders
from ..layers.blocks import activation
from ..layers.composing import Part, composed, with_defaults
from ..layers.encoders import BASE, hidden
from ..trees.catalog import register
from ..trees.modules import LayerNorm, Linear, Module

_NAME = "Splinter"


def model(c: ModelConfig) -> Module:
    return Module(
        "SplinterModel",
        embeddings=encoders.embeddings(c, _NAME),
        encoder=encoders.encoder(c, _NAME),
    )


def span_selection(c: ModelConfig) -> Module:
    h = hidden(c)
    transform = Module(
        "SplinterFullyConnectedLayer",
        dense=Linear(h, h),
        act_fn=activation("gelu"),
        LayerNorm=LayerNorm(h),
    )
    pick = Linear(h, h, bias=False)
    return Module(
        "QuestionAwareSpanSelectionHead",
        query_start_transform=transform,
        query_end_transform=transform,
        start_transform=transform,
        end_transform=transform,
        start_classifier=pick,
        end_classifier=pick,
        component=Component.HEAD,
        kind="classifier",
    )


_SPANS: dict[str, Part] = {"splinter": model, "splinter_qass": span_selection}

register(
    "splinter",
    with_defaults(
        BASE,
        composed(
            {
                "SplinterForQuestionAnswering": _SPANS,
                "SplinterModel": model,
                "SplinterForPreTraining": _SPANS,
            }
        ),
    ),
    base="SplinterModel",
    base_prefix="splinter",
    category="encoder",
)
