"""ModernBERT's decoder, Ettin (Weller et al. 2025). Source: transformers/models/modernbert_decoder.

ModernBERT's layers with q, k and v apart; a transform (``lm_head``) before the words (``decoder``).
"""

from ..core.config import ModelConfig
from ..layers.composing import composed, with_defaults
from ..layers.encoders import hidden
from ..layers.heads import classifier
from ..layers.vision import narrowed_attention
from ..layers.windows import every, windows
from ..trees.catalog import register
from ..trees.modules import Layers, Module, Windows
from .modernbert import DEFAULTS, decoder, embeddings, layers, norm, transform

_NAME = "ModernBertDecoder"


def _attention(c: ModelConfig) -> Module:
    h, bias = hidden(c), c.flag("attention_bias", default=False)
    c.divided(h, c.dim("num_attention_heads"), "hidden_size", "num_attention_heads")
    return narrowed_attention("ModernBertDecoderAttention", h, bias=bias, out="Wo")


def _windows(c: ModelConfig) -> Windows:
    """Half of ``local_attention``: the decoder looks back only."""
    half = int(c.dim("local_attention", default=128, minimum=0)) // 2
    full = every(int(c.dim("global_attn_every_n_layers", default=3)), first=0)
    return windows(c.with_defaults(sliding_window=half), half, full)


def _model(c: ModelConfig) -> Module:
    return Module(
        "ModernBertDecoderModel",
        embeddings=embeddings(c, _NAME),
        layers=Layers(layers(c, _NAME, _attention(c), None), windows=_windows(c)),
        final_norm=norm(c),
    )


def _transform(c: ModelConfig) -> Module:
    head = transform(c, _NAME)
    head.kind, head.inside("dense").kind = None, "transform"
    return head


def _labels(c: ModelConfig) -> Module:
    bias = c.flag("classifier_bias", default=False)
    return classifier(hidden(c), c.num_labels, bias=bias)


_CLASSES = composed(
    {
        f"{_NAME}ForCausalLM": {"model": _model, "lm_head": _transform, "decoder": decoder},
        f"{_NAME}Model": _model,
        f"{_NAME}ForSequenceClassification": {
            "model": _model, "head": _transform, "classifier": _labels,
        },
    }
)  # fmt: skip

register(
    "modernbert-decoder",
    with_defaults(DEFAULTS, _CLASSES),
    base_prefix="model",
    category="text decoder",
)
