"""DPR (Karpukhin et al. 2020). Source of shapes: transformers/models/dpr/modeling_dpr.py.

BERT as an encoder of questions or of passages, and a reader that finds answers; an optional
projection narrows the vector.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.composing import with_defaults
from ..layers.encoders import BASE, hidden
from ..layers.heads import classifier
from ..trees.catalog import register
from ..trees.modules import Linear, Module
from .bert import BERT


def _projection(c: ModelConfig) -> Dim:
    return c.dim("projection_dim", default=0, minimum=0)


def encoder(c: ModelConfig) -> Module:
    size = _projection(c)
    return Module(
        "DPREncoder",
        bert_model=BERT.bare(c),
        encode_proj=Linear(hidden(c), size, component=Component.PROJECTOR) if size else None,
    )


def _reader(c: ModelConfig) -> Module:
    width = _projection(c) or hidden(c)
    predictor = Module(
        "DPRSpanPredictor",
        encoder=encoder(c),
        qa_outputs=classifier(width, 2),
        qa_classifier=classifier(width, 1),
    )
    return Module("DPRReader", span_predictor=predictor)


def _question(c: ModelConfig) -> Module:
    return Module("DPRQuestionEncoder", question_encoder=encoder(c))


def _context(c: ModelConfig) -> Module:
    return Module("DPRContextEncoder", ctx_encoder=encoder(c))


register(
    "dpr",
    with_defaults(
        BASE,
        {
            "DPRQuestionEncoder": _question,
            "DPRContextEncoder": _context,
            "DPRReader": _reader,
        },
    ),
    base="DPRQuestionEncoder",
    category="encoder",
)
