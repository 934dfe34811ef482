"""ESM Cambrian (EvolutionaryScale 2024). Source: transformers/models/esmc/modeling_esmc.py.

A pre-norm encoder of proteins: gated MLP, norms over all queries and keys together, rotary
positions.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.composing import composed, renamed
from ..layers.decoders import Decoder, grouped
from ..layers.heads import dense_classifier, token_classification
from ..trees.catalog import register
from ..trees.modules import Dropout, LayerNorm, Linear, Module
from .llama import LLAMA


def _norm(_d: Decoder, _c: ModelConfig, size: int) -> Module:
    return LayerNorm(size, class_name="EsmcLayerNorm")


def _plain(c: ModelConfig) -> Module:
    """A norm without a bias."""
    return LayerNorm(ESMC.width(c), bias=False, class_name="EsmcLayerNorm")


def _attention(d: Decoder, c: ModelConfig) -> Module:
    block = grouped(d, c)
    block.children |= {"q_norm": _plain(c), "k_norm": _plain(c)}
    return block


ESMC = LLAMA.like(
    "Esmc", vocab_size=64, hidden_size=2560, intermediate_size=6912, num_hidden_layers=80,
    num_attention_heads=40, attention=_attention, norm=_norm,
)  # fmt: skip


def model(c: ModelConfig) -> Module:
    root = ESMC.model(c)
    parts = ("embed_tokens", "rotary_emb", "layers")
    made = Module("EsmcModel", {name: root[name] for name in parts}, norm=_plain(c))
    return renamed(made, "EsmcDecoderLayer", "EsmcLayer")


def lm_head(c: ModelConfig) -> Module:
    h = ESMC.width(c)
    return Module(
        "EsmcMaskedLMHead",
        dense=Linear(h, h, kind="transform"),
        layer_norm=LayerNorm(h),
        decoder=Linear(h, ESMC.size(c, "vocab_size"), kind="lm_head"),
        component=Component.HEAD,
    )


def _classifier(c: ModelConfig) -> Module:
    h = ESMC.width(c)
    dropout = Dropout(c.number("classifier_dropout", default=0.1))
    return dense_classifier("EsmcClassificationHead", h, h, c.num_labels, dropout)


register(
    "esmc",
    composed(
        {
            "EsmcForMaskedLM": {"esmc": model, "lm_head": lm_head},
            "EsmcModel": model,
            "EsmcForSequenceClassification": {"esmc": model, "classifier": _classifier},
            "EsmcForTokenClassification": token_classification(
                "EsmcForTokenClassification", model, prefix="esmc", hidden=ESMC.width
            ),
        }
    ),
    base_prefix="esmc",
    category="encoder",
)
