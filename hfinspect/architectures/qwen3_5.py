"""Qwen3.5 (Qwen team 2026; transformers/models/qwen3_5), text and vision."""

from collections.abc import Mapping
from functools import partial

from ..layers.composing import composed, renamed
from ..layers.decoders import Decoder
from ..layers.heads import causal_lm, classifier, labelled
from ..layers.layer_kinds import side_by_side
from ..layers.multimodal import seeing, text_section, worded
from ..trees import Builder, Dim, Embedding, ModelConfig, Module, builder, config_defaults, register
from .qwen3_next import MIXERS, gated_attention, layer, token_predictor, with_predictor

DENSE = Decoder(
    "Qwen3_5",
    **config_defaults("qwen3_5"),
    qk_norm=True,
    attention=gated_attention,
    layer=layer,
    rotary=False,
    kinds=side_by_side(MIXERS, lambda _d, _c, layers: ["sparse"] * layers),  # where it has experts
)


def _predictor(d: Decoder, c: ModelConfig) -> Module | None:
    """The Hub's multi-token-prediction block, see qwen3_next.py."""
    c = text_section(c)
    count = c.count("mtp_num_hidden_layers", default=0)
    predictor = token_predictor(d, c, ("full_attention", "sparse"), count)
    if predictor and c.flag("mtp_use_dedicated_embeddings", default=False):
        predictor.adding(embed_tokens=Embedding(d.size(c, "vocab_size"), d.width(c)))
    return predictor


def vision_model(name: str, c: ModelConfig) -> Module:
    """Qwen3.5's tower under another name."""
    return renamed(builder("Qwen3_5VisionModel")(c), "Qwen3_5", name)


def bases(d: Decoder) -> dict[str, Builder]:
    """The text model and the composite."""
    text = partial(d.named, f"{d.name}TextModel")
    composite = {f"{d.name}Model": seeing(partial(vision_model, d.name), text)}
    return {f"{d.name}TextModel": text, **composed(composite)}


def register_both(
    model_type: str, d: Decoder, texts: Mapping[str, Builder], wholes: Mapping[str, Builder]
) -> None:
    """Add the text model and the composite of a family, each with further classes."""
    (text_name, text), (name, composite) = bases(d).items()
    causal = f"{d.name}ForCausalLM"
    generation = f"{d.name}ForConditionalGeneration"
    predictor = partial(_predictor, d)
    headed = causal_lm(causal, text)
    classes = {causal: lambda c: headed(text_section(c)), text_name: text, **texts}
    register(
        f"{model_type}_text",
        with_predictor(classes, predictor),
        base_prefix="model",
        aliases={"model.language_model.": "model."},
        category="text decoder",
    )
    classes = {generation: worded(generation, composite, tied=False), name: composite, **wholes}
    classes = with_predictor(classes, predictor)
    register(model_type, classes, base_prefix="model", category="multimodal")


def _width(c: ModelConfig) -> Dim:
    return DENSE.width(c.section("text_config"))


_TEXT, _WHOLE = bases(DENSE).values()
_SEQUENCES = "Qwen3_5ForSequenceClassification"
_TOKENS = "Qwen3_5ForTokenClassification"
_TEXTS = "Qwen3_5TextForSequenceClassification"
_score = {"model": _WHOLE, "score": lambda c: classifier(_width(c), c.num_labels)}
register_both(
    "qwen3_5",
    DENSE,
    {name: labelled(name, _TEXT, hidden=DENSE.width) for name in (_TEXTS, _TOKENS)},
    {_SEQUENCES: labelled(_SEQUENCES, _WHOLE, hidden=_width), **composed({_TOKENS: _score})},
)
