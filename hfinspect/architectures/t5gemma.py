"""T5Gemma (Zhang et al. 2025): Gemma 2 as encoder and as decoder, each with its own table of words
and a width of its own (transformers/models/t5gemma)."""

from functools import partial

from ..layers.blocks import layer_types
from ..layers.decoders import Decoder, grouped
from ..layers.heads import classifier, to_words
from ..trees import Builder, Component, Dim, ModelConfig, register
from ..trees.modules import Dropout, Linear, Module, Parameter
from .gemma2 import GEMMA2


def layer(d: Decoder, c: ModelConfig, kind: str, *, side: str, looks: str = "Self") -> Module:
    """Gemma 2's with other names of the norms, and attention of a class that says where it
    ``looks``."""
    parts = {
        "self_attn": grouped(d, c).called(f"{d.name}{looks}Attention"),
        **d.norms(c, "pre_self_attn_layernorm", "post_self_attn_layernorm"),
        "mlp": d.feed_forward(c, kind),
        **d.norms(c, "pre_feedforward_layernorm", "post_feedforward_layernorm"),
    }
    return Module(f"{d.name}{side}Layer", parts)


SIDE = GEMMA2.like("T5Gemma", embedding="", layer=partial(layer, side="Encoder"))


def parts(d: Decoder, c: ModelConfig) -> dict[str, Module | Parameter]:
    """What encoder and decoder are made of. Raises ConfigError for ``layer_types`` of another
    number than there are layers."""
    layer_types(c, c.count("num_hidden_layers", default=d.num_hidden_layers), str)
    children = d.model(c).children
    return {name: children[name] for name in ("embed_tokens", "norm", "layers", "rotary_emb")}


def register_sides(
    model_type: str, d: Decoder, words: str, model: Builder, alone: Builder | None = None
) -> None:
    """Add a family of two sides: ``model``, with a head over the decoder's words that is tied to
    the table of the side ``words``, and with labels; ``alone`` is the encoder for itself."""

    def generation(c: ModelConfig) -> Module:
        side = c.section("decoder")
        tied = f"model.{words}.embed_tokens.weight"
        project = to_words(d.width(side), d.size(side, "vocab_size"), tied if c.tied() else None)
        head = Module(f"{d.name}LMHead", out_proj=project, component=Component.HEAD)
        return Module(f"{d.name}ForConditionalGeneration", model=model(c), lm_head=head)

    def labelled(name: str, c: ModelConfig) -> Module:
        both = alone is None or c.flag("is_encoder_decoder", default=True)
        width = d.width(c.section("decoder" if both else "encoder"))
        drop = Dropout(c.number("classifier_dropout_rate", default=0.0))
        head = {"dropout": drop, "out_proj": classifier(width, c.num_labels)}
        base = alone(c) if alone and not both else model(c)
        return Module(name, model=base, score=Module(f"{d.name}ClassificationHead", head))

    classes: dict[str, Builder] = {f"{d.name}ForConditionalGeneration": generation}
    classes |= {f"{d.name}Model": model} | ({f"{d.name}EncoderModel": alone} if alone else {})
    for name in (f"{d.name}For{what}Classification" for what in ("Sequence", "Token")):
        classes[name] = partial(labelled, name)
    register(model_type, classes, base_prefix="model", category="encoder-decoder")


def _seeing(d: Decoder, c: ModelConfig, kind: str, *, context: Dim) -> Module:
    """A layer of the decoder; ``context`` is the width of the encoder's states."""
    heads = d.heads(c)
    bias = c.flag("attention_bias", default=False)
    across = grouped(d, c).called(f"{d.name}CrossAttention")
    for name, projected in (("k_proj", "key"), ("v_proj", "value")):
        across.children[name] = Linear(context, heads.kv * heads.dim, bias=bias, kind=projected)
    norms = d.norms(c, "pre_cross_attn_layernorm", "post_cross_attn_layernorm")
    return layer(d, c, kind, side="Decoder").adding(cross_attn=across, **norms)


def _side(d: Decoder, c: ModelConfig, key: str) -> Module:
    sides = parts(d, c.section(key).with_defaults(num_key_value_heads=4))
    return Module(f"T5Gemma{key.title()}", sides)


def model(c: ModelConfig) -> Module:
    decodes = SIDE.like("T5Gemma", layer=partial(_seeing, context=SIDE.width(c.section("encoder"))))
    both = {"encoder": _side(SIDE, c, "encoder"), "decoder": _side(decodes, c, "decoder")}
    return Module("T5GemmaModel", both)


def alone(c: ModelConfig) -> Module:
    return Module("T5GemmaEncoderModel", encoder=_side(SIDE, c, "encoder"))


register_sides("t5gemma", SIDE, "decoder", model, alone)
