"""UDOP (Tang et al. 2022): T5 over words and patches of a page, with tables of places, relative
ones by column and row. Source of shapes: transformers/models/udop/modeling_udop.py."""

from functools import partial

from ..layers.composing import FormPart, composed, tied_to
from ..layers.heads import to_words
from ..layers.vision import pair, patch_conv
from ..trees import Component, Embedding, ModelConfig, Module, ModuleList
from . import t5

_SIZES = {"vocab_size": 33201, "d_model": 1024, "d_ff": 4096, "num_layers": 24, "num_heads": 16}
#: Where the table of the encoder's first layer stands.
_TABLE = "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
_TYPES = ("1d", "horizontal", "vertical")


def _patches(c: ModelConfig) -> Module:
    channels = c.dim("num_channels", default=3)
    size = pair(c, "patch_size", default=16)
    return Module("T5PatchEmbeddings", proj=patch_conv(channels, c.dim("d_model"), size))


def _relative(c: ModelConfig, first: str | None) -> Module:
    """``first`` is what the first table is tied to."""
    usual = [{"type": kind} for kind in _TYPES]
    arguments = c.with_defaults(relative_bias_args=usual).raw("relative_bias_args")
    if not isinstance(arguments, list) or not all(isinstance(at, dict) for at in arguments):
        raise c.error("relative_bias_args", arguments, "a list of arguments")
    heads = c.dim("num_heads")
    tables = []
    for i, values in enumerate(arguments):
        one = ModelConfig(values, f"{c.path}relative_bias_args.{i}.")
        kind = one.word("type", *_TYPES, default="none")
        buckets = one.dim("relative_attention_num_buckets", default=32)
        if one.flag("prefix_bucket", default=False) and not one.flag("expand", default=False):
            buckets = buckets + 2
        table = Embedding(buckets, heads, tied_to=None if i else first, kind="relative_position")
        table.component = Component.ATTENTION
        tables.append(Module(f"RelativePositionBias{kind.title()}", relative_attention_bias=table))
    return Module("RelativePositionBiasAggregated", biases=ModuleList(tables))


def _stack(c: ModelConfig, *, decoder: bool = False, first: str | None = None) -> Module:
    net = t5.stack(c, decoder=decoder).children
    patches = _patches(c)
    places = c.dim("max_2d_position_embeddings", default=1024)
    table = Embedding(places, c.dim("d_model"), kind="position")
    cells = {f"{side}_position_embeddings": table for side in "xy"}
    patches = patches if decoder else tied_to(patches, "patch_embed")
    root = Module("T5Stack", {"embed_tokens": net["embed_tokens"], "embed_patches": patches, **net})
    placed = None if decoder else Module("T5CellEmbeddings", cells)
    return root.adding(cell_2d_embedding=placed, relative_bias=_relative(c, first))


_INPUTS: dict[str, FormPart] = {"shared": t5.table, "patch_embed": _patches}
_CLASSES = composed(
    {
        "T5ForConditionalGeneration": {
            **_INPUTS,
            "encoder": partial(_stack, first=_TABLE),
            "decoder": partial(_stack, decoder=True, first=_TABLE),
            "lm_head": lambda c: to_words(c.dim("d_model"), c.dim("vocab_size"), "shared.weight"),
        },
        "T5Model": {**_INPUTS, "encoder": _stack, "decoder": partial(_stack, decoder=True)},
        "T5EncoderModel": {**_INPUTS, "encoder": partial(_stack, first=_TABLE)},
    }
)
t5.register_kin("udop", "Udop", _SIZES, _CLASSES)
