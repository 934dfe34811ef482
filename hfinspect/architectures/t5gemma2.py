"""T5Gemma 2 (Zhang et al. 2025): Gemma 3 on both sides, the encoder with SigLIP before it; the
decoder's self-attention reads the encoder's states too. Files keep the text encoder's parts in
``encoder`` itself (transformers/models/t5gemma2)."""

from dataclasses import replace

from ..layers.decoders import Decoder
from ..layers.windows import every, windows
from ..trees import Component, KeysValues, ModelConfig, auto_model, register_part
from ..trees.modules import Activation, Embedding, Module, Parameter, RMSNorm, Weight
from . import t5gemma

_NAME = "T5Gemma2"


def _decoding(d: Decoder, c: ModelConfig, kind: str) -> Module:
    """Its one attention keeps what it reads of both sides."""
    block = t5gemma.layer(d, c, kind, side="Decoder", looks="Merged")
    heads = d.heads(c)
    cache = KeysValues(width := heads.kv * heads.dim, width, heads=heads.kv)
    block.cache = cache, replace(cache, cross=True)
    return block


_ENCODER = t5gemma.SIDE.like(
    _NAME,
    vocab_size=262208,
    qk_norm=True,
    windows=lambda c: windows(c, 4096, every(int(c.dim("sliding_window_pattern", default=6)))),
)
_DECODER = _ENCODER.like(_NAME, layer=_decoding)


def _parts(d: Decoder, c: ModelConfig, tied_to: str | None = None) -> dict[str, Module | Parameter]:
    name = f"{_NAME}TextScaledWordEmbedding"
    at = tied_to and f"{tied_to}.weight"
    words = Embedding(d.size(c, "vocab_size"), d.width(c), class_name=name, tied_to=at)
    end = Weight(d.width(c), tied_to=tied_to and f"{tied_to}.eoi_embedding")
    return {**t5gemma.parts(d, c), "embed_tokens": words.adding(eoi_embedding=end)}


def encoder(c: ModelConfig) -> Module:
    text = c.section("text_config")
    vision = c.section("vision_config")
    width = vision.dim("hidden_size", default=768)
    eps = vision.number("layer_norm_eps", default=1e-6)
    name = f"{_NAME}RMSNorm"
    join = Module(
        f"{_NAME}MultiModalProjector",
        mm_input_projection_weight=Weight(width, _ENCODER.width(text)),
        mm_soft_emb_norm=RMSNorm(width, eps=eps, class_name=name),
        avg_pool=Activation("AvgPool2d"),
        component=Component.PROJECTOR,
        part="projector",
    )
    tower = auto_model(vision, default_type="siglip_vision_model", part="vision")
    parts = _parts(_ENCODER, text)
    return Module(f"{_NAME}Encoder", parts, vision_tower=tower, multi_modal_projector=join)


def decoder(c: ModelConfig, tied_to: str | None = None) -> Module:
    return Module(f"{_NAME}Decoder", _parts(_DECODER, c, tied_to))


def model(c: ModelConfig) -> Module:
    last = decoder(c.section("decoder"), "encoder.embed_tokens" if c.tied() else None)
    return Module(f"{_NAME}Model", encoder=encoder(c.section("encoder")), decoder=last, scope=True)


t5gemma.register_sides("t5gemma2", _DECODER, "encoder", model)
register_part("t5gemma2_encoder", f"{_NAME}Encoder", encoder, "encoder")
_TEXT = f"{_NAME}TextEncoder"
register_part("t5gemma2_text", _TEXT, lambda c: Module(_TEXT, _parts(_ENCODER, c)), "encoder")
register_part("t5gemma2_decoder", f"{_NAME}Decoder", decoder, "text decoder")
