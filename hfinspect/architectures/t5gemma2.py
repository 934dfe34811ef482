"""T5Gemma 2 (Zhang et al. 2025). Source of shapes: transformers/models/t5gemma2.

Gemma 3 on both sides, the encoder with SigLIP before it; the decoder's self-attention reads the
encoder's states too, so that there is no cross-attention.  Files keep the text encoder's parts in
``encoder`` itself.
"""

from dataclasses import replace
from functools import partial

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.decoders import Decoder
from ..layers.windows import every, windows
from ..trees.catalog import auto_model, register, register_part
from ..trees.keeps import KeysValues
from ..trees.modules import Activation, Embedding, Module, Parameter, RMSNorm, Weight
from . import t5gemma

_NAME = "T5Gemma2"
_WORDS = "encoder.embed_tokens"


def _layer(d: Decoder, c: ModelConfig, kind: str, *, side: str, looks: str) -> Module:
    block, heads = t5gemma.layer(d, c, kind, side=side, looks=looks), d.heads(c)
    width = heads.kv * heads.dim
    own = KeysValues(width, width, heads=heads.kv)
    # The decoder's one attention keeps what it reads of both sides.
    block.keeps = (own, replace(own, cross=True)) if side == "Decoder" else (own,)
    return block


_ENCODER = t5gemma.SIDE.like(
    _NAME, vocab_size=262208, qk_norm=True,
    windows=lambda c: windows(c, 4096, every(int(c.dim("sliding_window_pattern", default=6)))),
    layer=partial(_layer, side="Encoder", looks="Self"),
)  # fmt: skip
_DECODER = _ENCODER.like(_NAME, layer=partial(_layer, side="Decoder", looks="Merged"))


def _parts(
    d: Decoder, c: ModelConfig, tied_to: str | None = None
) -> dict[str, Module | Parameter | None]:
    words = Embedding(
        d.size(c, "vocab_size"), d.width(c), class_name=f"{_NAME}TextScaledWordEmbedding",
        tied_to=f"{tied_to}.weight" if tied_to else None,
    )  # fmt: skip
    end = f"{tied_to}.eoi_embedding" if tied_to else None
    words.children["eoi_embedding"] = Weight(d.width(c), tied_to=end)
    return {**t5gemma.parts(d, c), "embed_tokens": words}


def projector(c: ModelConfig, hidden: Dim) -> Module:
    """Vision width to text width, without bias: V·H, and a norm of the vision width."""
    width = c.dim("hidden_size", default=768)
    eps = c.number("layer_norm_eps", default=1e-6)
    return Module(
        f"{_NAME}MultiModalProjector",
        mm_input_projection_weight=Weight(width, hidden),
        mm_soft_emb_norm=RMSNorm(width, eps=eps, class_name=f"{_NAME}RMSNorm"),
        avg_pool=Activation("AvgPool2d"),
        component=Component.PROJECTOR,
        part="projector",
    )


def encoder(c: ModelConfig) -> Module:
    text, vision = c.section("text_config"), c.section("vision_config")
    tower = auto_model(vision, default_type="siglip_vision_model", part="vision")
    join = projector(vision, _ENCODER.width(text))
    parts = _parts(_ENCODER, text)
    return Module(f"{_NAME}Encoder", parts, vision_tower=tower, multi_modal_projector=join)


def text_encoder(c: ModelConfig) -> Module:
    return Module(f"{_NAME}TextEncoder", _parts(_ENCODER, c))


def decoder(c: ModelConfig, tied_to: str | None = None) -> Module:
    return Module(f"{_NAME}Decoder", _parts(_DECODER, c, tied_to))


def model(c: ModelConfig, *, at: str = "") -> Module:
    tied_to = f"{at}{_WORDS}" if c.tied() else None
    sides = {"encoder": encoder(c.section("encoder"))}
    return Module(f"{_NAME}Model", sides, decoder=decoder(c.section("decoder"), tied_to))


def conditional_generation(c: ModelConfig) -> Module:
    tied_to = f"model.{_WORDS}.weight" if c.tied() else None
    head = t5gemma.lm_head(_DECODER, c.section("decoder"), tied_to)
    name = f"{_NAME}ForConditionalGeneration"
    return Module(name, model=model(c, at="model."), lm_head=head)


def _classified(name: str, c: ModelConfig) -> Module:
    score = t5gemma.score(_DECODER, c, c.section("decoder"))
    return Module(name, model=model(c, at="model."), score=score)


_LABELS = (f"{_NAME}ForSequenceClassification", f"{_NAME}ForTokenClassification")
register(
    "t5gemma2",
    {
        f"{_NAME}ForConditionalGeneration": conditional_generation,
        f"{_NAME}Model": model,
        **{name: partial(_classified, name) for name in _LABELS},
    },
    base_prefix="model",
    category="encoder-decoder",
)
register_part("t5gemma2_encoder", f"{_NAME}Encoder", encoder, "encoder")
register_part("t5gemma2_text", f"{_NAME}TextEncoder", text_encoder, "encoder")
register_part("t5gemma2_decoder", f"{_NAME}Decoder", decoder, "text decoder")
