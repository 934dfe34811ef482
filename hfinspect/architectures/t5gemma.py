"""T5Gemma (Zhang et al. 2025). Source of shapes: transformers/models/t5gemma/modeling_t5gemma.py.

Two Gemma 2 models as encoder and decoder, each with its own table of words; the decoder attends to
the encoder's states, whose width may differ.
"""

from functools import partial

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import layer_types
from ..layers.decoders import Decoder, grouped
from ..layers.heads import classifier
from ..trees.catalog import Builder, register
from ..trees.modules import Dropout, Linear, Module, Parameter
from .gemma2 import GEMMA2


def _around(d: Decoder, c: ModelConfig, name: str, part: Module) -> dict[str, Module]:
    """A part of a layer, and the norms before and after it."""
    at = "feedforward" if name == "mlp" else name
    norms = {f"{place}_{at}_layernorm": d.norm(d, c, d.width(c)) for place in ("pre", "post")}
    return {name: part, **norms}


def _attention(d: Decoder, c: ModelConfig, kind: str) -> Module:
    """Gemma 2's, of a class of this ``kind``."""
    return grouped(d, c).called(f"{d.name}{kind}Attention")


def layer(d: Decoder, c: ModelConfig, _kind: str, *, side: str, looks: str = "Self") -> Module:
    """Gemma 2's with other names of the norms; ``looks``: the kind of its attention."""
    parts = _around(d, c, "self_attn", _attention(d, c, looks))
    return Module(f"{d.name}{side}Layer", parts | _around(d, c, "mlp", d.feed_forward(c, "dense")))


SIDE = GEMMA2.like("T5Gemma", embedding="", layer=partial(layer, side="Encoder"))


def parts(d: Decoder, c: ModelConfig) -> dict[str, Module | Parameter]:
    """What encoder and decoder are made of. Raises ConfigError for ``layer_types`` of another
    number than there are layers."""
    layer_types(c, c.count("num_hidden_layers", default=d.num_hidden_layers), str)
    made = d.model(c).children
    return {name: made[name] for name in ("embed_tokens", "norm", "layers", "rotary_emb")}


def register_sides(
    model_type: str, d: Decoder, words: str, model: Builder, alone: Builder | None = None
) -> None:
    """Add a family of two sides: ``model``, with a head over the decoder's words that is tied to
    the table of the side ``words``, and with labels; ``alone`` is the encoder for itself."""

    def generation(c: ModelConfig) -> Module:
        side, tied = c.section("decoder"), f"model.{words}.embed_tokens.weight"
        project = Linear(
            d.width(side), d.size(side, "vocab_size"), bias=False,
            tied_to=tied if c.tied() else None, kind="lm_head",
        )  # fmt: skip
        head = Module(f"{d.name}LMHead", out_proj=project, component=Component.HEAD)
        return Module(f"{d.name}ForConditionalGeneration", model=model(c), lm_head=head)

    def labelled(name: str, c: ModelConfig) -> Module:
        both = alone is None or c.flag("is_encoder_decoder", default=True)
        seen = alone(c) if alone and not both else model(c)
        score = Module(
            f"{d.name}ClassificationHead",
            dropout=Dropout(c.number("classifier_dropout_rate", default=0.0)),
            out_proj=classifier(d.width(c.section("decoder" if both else "encoder")), c.num_labels),
        )
        return Module(name, model=seen, score=score)

    labels = [f"{d.name}For{what}Classification" for what in ("Sequence", "Token")]
    classes: dict[str, Builder] = {
        f"{d.name}ForConditionalGeneration": generation,
        f"{d.name}Model": model,
        **({f"{d.name}EncoderModel": alone} if alone else {}),
        **{name: partial(labelled, name) for name in labels},
    }
    register(model_type, classes, base_prefix="model", category="encoder-decoder")


def _seeing(d: Decoder, c: ModelConfig, kind: str, *, seen: Dim) -> Module:
    """A layer of the decoder; ``seen`` is the width of the encoder's states."""
    heads, bias = d.heads(c), c.flag("attention_bias", default=False)
    across = _attention(d, c, "Cross")
    for name, projected in (("k_proj", "key"), ("v_proj", "value")):
        across.children[name] = Linear(seen, heads.kv * heads.dim, bias=bias, kind=projected)
    block = layer(d, c, kind, side="Decoder")
    block.children |= _around(d, c, "cross_attn", across)
    return block


def _side(d: Decoder, c: ModelConfig, key: str) -> Module:
    made = parts(d, c.section(key).with_defaults(num_key_value_heads=4))
    return Module(f"T5Gemma{key.title()}", made)


def model(c: ModelConfig) -> Module:
    decodes = SIDE.like("T5Gemma", layer=partial(_seeing, seen=SIDE.width(c.section("encoder"))))
    both = {"encoder": _side(SIDE, c, "encoder"), "decoder": _side(decodes, c, "decoder")}
    return Module("T5GemmaModel", both)


def encoder_model(c: ModelConfig) -> Module:
    return Module("T5GemmaEncoderModel", encoder=_side(SIDE, c, "encoder"))


register_sides("t5gemma", SIDE, "decoder", model, encoder_model)
