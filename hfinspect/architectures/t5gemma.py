"""T5Gemma (Zhang et al. 2025). Source of shapes: transformers/models/t5gemma/modeling_t5gemma.py.

Two Gemma 2 models as encoder and decoder, each with its own table of words; the decoder attends to
the encoder's states, whose width may differ.
"""

from functools import partial

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.decoders import Decoder, grouped
from ..layers.heads import classifier
from ..trees.catalog import register
from ..trees.modules import Dropout, Linear, Module, Parameter
from .gemma2 import GEMMA2


def around(d: Decoder, c: ModelConfig, name: str) -> dict[str, Module]:
    """The norms before and after the part of a layer with that ``name``."""
    return {f"{place}_{name}_layernorm": d.norm(d, c, d.width(c)) for place in ("pre", "post")}


def attention(d: Decoder, c: ModelConfig, kind: str) -> Module:
    """Gemma 2's, of a class of this ``kind``."""
    block = grouped(d, c)
    block.class_name = f"{d.name}{kind}Attention"
    return block


def layer(d: Decoder, c: ModelConfig, _kind: str, *, side: str, looks: str) -> Module:
    """Gemma 2's with other names of the norms; ``looks``: the kind of its attention."""
    return Module(
        f"{d.name}{side}Layer",
        {
            "self_attn": attention(d, c, looks),
            **around(d, c, "self_attn"),
            "mlp": d.feed_forward(c, "dense"),
            **around(d, c, "feedforward"),
        },
    )


SIDE = GEMMA2.like("T5Gemma", embedding="", layer=partial(layer, side="Encoder", looks="Self"))


def parts(d: Decoder, c: ModelConfig) -> dict[str, Module | Parameter]:
    """What encoder and decoder are made of. Raises ConfigError for ``layer_types`` of another
    number than there are layers."""
    count = int(c.count("num_hidden_layers", default=d.num_hidden_layers))
    c.strings("layer_types", default=["full_attention"] * count, count=count)
    made = d.model(c).children
    return {name: made[name] for name in ("embed_tokens", "norm", "layers", "rotary_emb")}


def lm_head(d: Decoder, c: ModelConfig, tied_to: str | None) -> Module:
    """The projection to the decoder's words: V·H parameters, none of its own where tied."""
    vocab = d.size(c, "vocab_size")
    project = Linear(d.width(c), vocab, bias=False, tied_to=tied_to, kind="lm_head")
    return Module(f"{d.name}LMHead", out_proj=project, component=Component.HEAD)


def score(d: Decoder, c: ModelConfig, side: ModelConfig) -> Module:
    """The projection to the labels, of what the ``side`` has seen."""
    return Module(
        f"{d.name}ClassificationHead",
        dropout=Dropout(c.number("classifier_dropout_rate", default=0.0)),
        out_proj=classifier(d.width(side), c.num_labels),
    )


def _side(c: ModelConfig, key: str) -> ModelConfig:
    return c.section(key).with_defaults(num_key_value_heads=4)


def _seeing(d: Decoder, c: ModelConfig, kind: str, *, seen: Dim) -> Module:
    """A layer of the decoder; ``seen`` is the width of the encoder's states."""
    heads, bias = d.heads(c), c.flag("attention_bias", default=False)
    across = attention(d, c, "Cross")
    for name, projected in (("k_proj", "key"), ("v_proj", "value")):
        across.children[name] = Linear(seen, heads.kv * heads.dim, bias=bias, kind=projected)
    block = layer(d, c, kind, side="Decoder", looks="Self")
    block.children |= {"cross_attn": across, **around(d, c, "cross_attn")}
    return block


def _encoder(c: ModelConfig) -> dict[str, Module]:
    return {"encoder": Module("T5GemmaEncoder", parts(SIDE, _side(c, "encoder")))}


def model(c: ModelConfig) -> Module:
    side = SIDE.like("T5Gemma", layer=partial(_seeing, seen=SIDE.width(c.section("encoder"))))
    decoder = Module("T5GemmaDecoder", parts(side, _side(c, "decoder")))
    return Module("T5GemmaModel", _encoder(c), decoder=decoder)


def encoder_model(c: ModelConfig) -> Module:
    return Module("T5GemmaEncoderModel", _encoder(c))


def conditional_generation(c: ModelConfig) -> Module:
    tied_to = "model.decoder.embed_tokens.weight" if c.tied() else None
    head = lm_head(SIDE, c.section("decoder"), tied_to)
    return Module("T5GemmaForConditionalGeneration", model=model(c), lm_head=head)


def _classified(name: str, c: ModelConfig) -> Module:
    both = c.flag("is_encoder_decoder", default=True)
    side = c.section("decoder" if both else "encoder")
    return Module(name, model=model(c) if both else encoder_model(c), score=score(SIDE, c, side))


register(
    "t5gemma",
    {
        "T5GemmaForConditionalGeneration": conditional_generation,
        "T5GemmaModel": model,
        "T5GemmaEncoderModel": encoder_model,
        **{
            name: partial(_classified, name)
            for name in ("T5GemmaForSequenceClassification", "T5GemmaForTokenClassification")
        },
    },
    base_prefix="model",
    category="encoder-decoder",
)
