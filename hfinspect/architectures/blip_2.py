"""BLIP-2 (Li et al. 2023): BLIP's ViT at EVA's size, a Q-Former (BERT whose learned queries look at
the image) and any language model. Source: transformers/models/blip_2/modeling_blip_2.py."""

from functools import partial

from ..layers import encoders
from ..layers.composing import FormPart, composed_of, respelled
from ..layers.encoders import BASE, hidden
from ..layers.heads import classifier
from ..layers.multimodal import within
from ..trees import Builder, Component, Dim, ModelConfig, auto_class, register, register_part
from ..trees.config_defaults import config_defaults
from ..trees.modules import Layers, Linear, Module, Weight
from . import blip
from .encoder_decoder import width_of

_NAME = "Blip2QFormer"


def vision_model(config: ModelConfig) -> Module:
    c = config.section("vision_config") if config.has("vision_config") else config
    bias = c.flag("qkv_bias", default=True)
    return blip.vision_model(c.with_defaults(**config_defaults("blip_2")), "Blip2", bias=bias)


def qformer(config: ModelConfig, context: Dim | None = None, *, instructed: bool = False) -> Module:
    """The queries have an MLP of their own, the words of a text another. ``instructed``: it reads
    words too, through embeddings of its own (InstructBLIP)."""
    c = config.with_defaults(**BASE)
    wide = context or c.dim("encoder_hidden_size", default=1408)
    attentions = (encoders.projections(c, f"{_NAME}MultiHeadAttention", at) for at in (None, wide))
    block, cross = (encoders.attending(c, _NAME, look, at="attention") for look in attentions)
    mlp = {"intermediate": encoders.intermediate(c, _NAME), "output": encoders.output(c, _NAME)}
    feeds = {f"{name}_query": part for name, part in mlp.items()}
    if instructed or c.flag("use_qformer_text_input", default=False):
        feeds = {**mlp, **feeds}
    every = int(c.dim("cross_attention_frequency", default=2))
    kinds = ({"attention": block, "crossattention": look} for look in (cross, None))
    crossing, plain = (Module(f"{_NAME}Layer", {**looks, **feeds}) for looks in kinds)
    layers = Layers(plain if i % every else crossing for i in range(c.count("num_hidden_layers")))
    table = respelled(encoders.unsegmented(c, _NAME), {"LayerNorm": "layernorm"})
    first = {"embeddings": table} if instructed else {"layernorm": encoders.norm(c)}
    encoder = Module(f"{_NAME}Encoder", layer=layers)
    return Module(f"{_NAME}Model", first, encoder=encoder, part="projector")


def _section(c: ModelConfig) -> ModelConfig:
    return c.section("qformer_config").with_defaults(**BASE)


def _reading(c: ModelConfig, *, instructed: bool = False) -> Module:
    context = c.section("vision_config").dim("hidden_size", default=1408)
    return qformer(c.section("qformer_config"), context, instructed=instructed)


def _projection(c: ModelConfig) -> Module:
    shared = c.dim("image_text_hidden_size", default=256)
    return Linear(hidden(_section(c)), shared, component=Component.PROJECTOR)


_PARTS: dict[str, FormPart] = {
    "query_tokens": lambda c: Weight(
        1, c.dim("num_query_tokens", default=32), hidden(_section(c)), component=Component.EMBEDDING
    ),
    "vision_model": within("vision_config", vision_model),
    "embeddings": lambda c: encoders.unsegmented(_section(c), "Blip2Text").without("LayerNorm"),
    "qformer": _reading,
    "vision_projection": _projection,
    "text_projection": _projection,
    "itm_head": lambda c: classifier(hidden(_section(c)), 2),
}


def joined(name: str, language: Builder, c: ModelConfig, *, instructed: bool = False) -> Module:
    """The Q-Former's answers, made as wide as the words of a language model."""
    text = c.section("text_config")
    speaks = language(c)
    names_width = text.has("hidden_size", "d_model", "n_embd")
    known = {"opt": 768, "t5": 512, "llama": 4096}.get(text.model_type or "opt")
    width = width_of(text, speaks, last=False) if names_width or known is None else known
    parts = {at: _PARTS[at](c) for at in ("query_tokens", "vision_model")}
    parts["qformer"] = _reading(c, instructed=instructed)
    to = Linear(hidden(_section(c)), width, component=Component.PROJECTOR)
    return Module(name, parts, language_projection=to, language_model=speaks)


def language_model(c: ModelConfig) -> Module:
    ends = ("ForCausalLM", "ForConditionalGeneration")
    return auto_class(c.section("text_config"), ends, default_type="opt", part="text")


WHOLE = ("Blip2ForConditionalGeneration", "Blip2Model")
_CLASSES = {
    "Blip2VisionModelWithProjection": (
        "query_tokens",
        "vision_model",
        "qformer",
        "vision_projection",
    ),
    "Blip2TextModelWithProjection": ("query_tokens", "embeddings", "qformer", "text_projection"),
    "Blip2ForImageTextRetrieval": (
        "query_tokens",
        "vision_model",
        "qformer",
        "embeddings",
        "vision_projection",
        "text_projection",
        "itm_head",
    ),
}
_BUILT: dict[str, Builder] = {name: partial(joined, name, language_model) for name in WHOLE}
register("blip-2", {**_BUILT, **composed_of(_PARTS, _CLASSES)}, category="multimodal")
register_part("blip_2_vision_model", "Blip2VisionModel", vision_model, "vision")
register_part("blip_2_qformer", f"{_NAME}Model", qformer, "multimodal")
