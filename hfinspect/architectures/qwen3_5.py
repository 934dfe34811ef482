"""Qwen3.5 (Qwen team 2026), text and vision. Source: transformers/models/qwen3_5.

The text tower is Qwen3-Next's hybrid with the delta net's inputs in four projections; the vision
tower (a trace) a ViT on patches of space and time with a learned position table and a merging
projector.
"""

from functools import partial

from ..core.config import ModelConfig
from ..layers.composing import renamed
from ..layers.decoders import Decoder
from ..layers.heads import causal_lm, classifier, labelled
from ..layers.layer_kinds import side_by_side
from ..layers.multimodal import text_section, worded
from ..trees.catalog import Builder, builder, register, register_part
from ..trees.modules import Embedding, Module
from .llama import LLAMA
from .qwen3_next import MIXERS, gated_attention, layer, token_predictor, with_predictor

# ---- text


DENSE = LLAMA.like(
    "Qwen3_5", vocab_size=248320, intermediate_size=12288, num_attention_heads=16,
    num_key_value_heads=4, head_dim=256, mlp_bias=None, qk_norm=True, attention=gated_attention,
    layer=layer, kinds=side_by_side(MIXERS, lambda d, _c, layers: [_mlp(d)] * layers), rotary=False,
)  # fmt: skip


def _mlp(d: Decoder) -> str:
    return "sparse" if d.moe else "dense"


def text_model(d: Decoder, c: ModelConfig) -> Module:
    return d.named(f"{d.name}TextModel", c)


def predictor(d: Decoder, c: ModelConfig) -> Module | None:
    """The Hub's multi-token-prediction block, see qwen3_next.py."""
    c = text_section(c)
    count = c.count("mtp_num_hidden_layers", default=0)
    found = token_predictor(d, c, ("full_attention", _mlp(d)), count)
    if found and c.flag("mtp_use_dedicated_embeddings", default=False):
        found.children["embed_tokens"] = Embedding(d.size(c, "vocab_size"), d.width(c))
    return found


def vision_model(name: str, c: ModelConfig) -> Module:
    """Qwen3.5's tower under another name."""
    return renamed(builder("Qwen3_5VisionModel")(c), "Qwen3_5", name)


# ---- both


def model(d: Decoder, c: ModelConfig) -> Module:
    return Module(
        f"{d.name}Model",
        visual=vision_model(d.name, c.section("vision_config")),
        language_model=text_model(d, c.section("text_config")),
    )


def text_classes(d: Decoder) -> dict[str, Builder]:
    base = partial(text_model, d)
    causal = causal_lm(f"{d.name}ForCausalLM", base)
    return {
        f"{d.name}ForCausalLM": with_predictor(
            lambda c: causal(text_section(c)), partial(predictor, d)
        ),
        f"{d.name}TextModel": base,
    }


def register_both(
    model_type: str, d: Decoder, text: dict[str, Builder], whole: dict[str, Builder]
) -> None:
    """Add the text model, the tower and the composite of a family, with further classes."""
    register(
        f"{model_type}_text", {**text_classes(d), **text}, base_prefix="model",
        aliases={"model.language_model.": "model."}, category="text decoder",
    )  # fmt: skip
    if d is not DENSE:  # whose tower is a trace
        tower = partial(vision_model, d.name)
        register_part(f"{model_type}_vision", f"{d.name}VisionModel", tower, "vision")
    name, base = f"{d.name}ForConditionalGeneration", partial(model, d)
    generation = with_predictor(worded(name, base, tied=False), partial(predictor, d))
    classes: dict[str, Builder] = {name: generation, f"{d.name}Model": base}
    register(model_type, {**classes, **whole}, base_prefix="model", category="multimodal")


def _score(name: str, *, bias: bool) -> Builder:
    def build(c: ModelConfig) -> Module:
        width = DENSE.width(c.section("text_config"))
        return Module(name, model=model(DENSE, c), score=classifier(width, c.num_labels, bias=bias))

    return build


_BASE = partial(text_model, DENSE)
_SEQUENCES, _TOKENS = "Qwen3_5ForSequenceClassification", "Qwen3_5ForTokenClassification"
_TEXTS = "Qwen3_5TextForSequenceClassification"
register_both(
    "qwen3_5",
    DENSE,
    {
        _TEXTS: labelled(_TEXTS, _BASE, hidden=DENSE.width),
        _TOKENS: labelled(_TOKENS, _BASE, hidden=DENSE.width),
    },
    {_SEQUENCES: _score(_SEQUENCES, bias=False), _TOKENS: _score(_TOKENS, bias=True)},
)
