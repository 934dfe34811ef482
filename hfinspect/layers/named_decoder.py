"""Decoders under names of their own, spelled out as tables: GPT-2's kin, Mamba's, remote code.

A ``NamedDecoder`` lists what model, block, attention and MLP hold: attribute name -> part, in the
order of their ``__init__``. A part gets the family and the config; those that most families have
stand here, and where one has something else a plain function of its own takes the place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import Any

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..core.records import dataclass
from ..trees.catalog import Builder, register
from ..trees.modules import (
    Activation,
    Buffer,
    Conv1D,
    Dropout,
    Embedding,
    LayerNorm,
    Layers,
    Linear,
    Module,
    Parameter,
)
from .blocks import Size, activation, rms_norms, size
from .heads import decoder_classes, to_words

#: What stands under an attribute; None where the config leaves it out.
NamedPart = Callable[["NamedDecoder", ModelConfig], "Module | Parameter | None"]
#: What makes a norm of a width.
Norms = Callable[[ModelConfig, int], Module]


# ---- parts of a model


def words(d: NamedDecoder, c: ModelConfig) -> Module:
    """The table of tokens, (V, H)."""
    return Embedding(d.vocab(c), d.width(c))


def positions(d: NamedDecoder, c: ModelConfig) -> Module:
    """The table of learned positions, (n, H)."""
    return Embedding(d.length(c), d.width(c), kind="position")


def layers(d: NamedDecoder, c: ModelConfig) -> Layers:
    """The blocks, all alike."""
    return Layers.of(c.count(*d.depth.keys, default=d.depth.default), d.of(c, "Block", d.block))


def lm_head(d: NamedDecoder, c: ModelConfig) -> Module:
    """The projection to the vocabulary, where it is a part of the model."""
    return to_words(d.width(c), d.vocab(c), bias=d.bias(c))


def norm(d: NamedDecoder, c: ModelConfig) -> Module:
    """A norm of the hidden states."""
    return d.norms(c, d.width(c))


def layer_norms(key: str = "layer_norm_epsilon", *, bias: bool = True, eps: float = 1e-5) -> Norms:
    """LayerNorms whose epsilon stands under ``key``."""
    return lambda c, width: LayerNorm(width, eps=c.number(key, default=eps), bias=bias)


def either_norms(flag: str, key: str, *, default: bool) -> Norms:
    """RMSNorms where ``flag`` says so, else LayerNorms; epsilon stands under ``key``."""
    rms = rms_norms("RMSNorm", 1e-5, key)
    plain = layer_norms(key)
    return lambda c, width: (rms if c.flag(flag, default=default) else plain)(c, width)


def dropout(key: str, default: float = 0.0) -> NamedPart:
    """Dropout of the rate under ``key``."""
    return lambda _d, c: Dropout(c.number(key, default=default))


def shown(class_name: str, detail: str = "") -> NamedPart:
    """A module without tensors."""
    return lambda _d, _c: Activation(class_name, detail)


def where(says: Callable[[ModelConfig], bool], part: NamedPart) -> NamedPart:
    """``part`` in models whose config ``says`` so."""
    return lambda d, c: part(d, c) if says(c) else None


# ---- parts of a block


def attention(d: NamedDecoder, c: ModelConfig) -> Module:
    """What ``attention`` lists."""
    return d.of(c, "Attention", d.attention, component=Component.ATTENTION)


def qkv(d: NamedDecoder, c: ModelConfig) -> Module:
    """Queries, keys and values in one matrix."""
    return d.linear(d.width(c), d.joined(d, c), d.biased(c), kind="qkv")


def as_wide(kind: str) -> NamedPart:
    """Queries, keys or values of the hidden states' width in a matrix of their own."""

    def part(d: NamedDecoder, c: ModelConfig) -> Module:
        d.head(c)  # the heads share it out
        return d.linear(d.width(c), d.width(c), d.biased(c), kind=kind)

    return part


def output(d: NamedDecoder, c: ModelConfig) -> Module:
    """From the heads back to the hidden states."""
    bias = d.biased(c) if d.out_bias is None else d.out_bias(c)
    return d.linear(d.width(c), d.width(c), bias, kind="output")


def mask(dtype: str | None = None) -> NamedPart:
    """The causal mask (1, 1, n, n), which older files hold in each layer."""
    return lambda d, c: Buffer(1, 1, d.length(c), d.length(c), dtype=dtype, saved=False)


def mlp(d: NamedDecoder, c: ModelConfig) -> Module:
    """What ``mlp`` lists."""
    return d.of(c, "MLP", d.mlp, component=Component.MLP)


def up(d: NamedDecoder, c: ModelConfig) -> Module:
    """Into the MLP."""
    return d.linear(d.width(c), d.inner(c, d.width(c)), d.bias(c), kind="up")


def gate(d: NamedDecoder, c: ModelConfig) -> Module:
    """Into the MLP, for the activation that gates."""
    return d.linear(d.width(c), d.inner(c, d.width(c)), d.bias(c), kind="gate")


def gate_up(d: NamedDecoder, c: ModelConfig) -> Module:
    """Both in one matrix."""
    return d.linear(d.width(c), 2 * d.inner(c, d.width(c)), d.bias(c), kind="gate_up")


def down(d: NamedDecoder, c: ModelConfig) -> Module:
    """Out of the MLP."""
    return d.linear(d.inner(c, d.width(c)), d.width(c), d.bias(c), kind="down")


def act(key: str, default: str) -> NamedPart:
    """The activation whose name stands under ``key``."""
    return lambda _d, c: activation(c.text(key, default=default))


#: A block under GPT-2's names.
GPT: dict[str, NamedPart] = {"ln_1": norm, "attn": attention, "ln_2": norm, "mlp": mlp}
#: And under Megatron's.
MEGATRON: dict[str, NamedPart] = {
    "input_layernorm": norm,
    "self_attention": attention,
    "post_attention_layernorm": norm,
    "mlp": mlp,
}


# ---- what its parts read


def always(_c: ModelConfig) -> bool:
    """Linears with a bias, whatever the config says."""
    return True


def never(_c: ModelConfig) -> bool:
    """Linears without."""
    return False


def flagged(*keys: str, default: bool = False) -> Callable[[ModelConfig], bool]:
    """A bias where the first of ``keys`` that there is says so."""
    return lambda c: c.flag(*keys, default=default)


def unless(key: str, *, default: bool = False) -> Callable[[ModelConfig], bool]:
    """A bias where ``key`` does not refuse it."""
    return lambda c: not c.flag(key, default=default)


def times(ratio: int, *keys: str) -> Callable[[ModelConfig, Dim], Dim]:
    """The MLP's width: what stands under ``keys``, else the hidden states' times ``ratio``."""
    return lambda c, h: c.dim(*keys, default=ratio * h) if keys else ratio * h


def inner_size(*keys: str, default: int) -> Callable[[ModelConfig, Dim], Dim]:
    """The MLP's width: what stands under ``keys``."""
    return lambda c, _h: c.dim(*keys, default=default)


def thrice(d: NamedDecoder, c: ModelConfig) -> Dim:
    """Width of queries, keys and values of as many heads each."""
    d.head(c)
    return 3 * d.width(c)


def transposed(inputs: int, outputs: int, bias: bool = True, *, kind: str | None = None) -> Module:
    """GPT-2's linear, whose weight is (in, out)."""
    return Conv1D(outputs, inputs, bias=bias, kind=kind)


# ---- the family


@dataclass(frozen=True)
class NamedDecoder:
    """The tables and sizes of a family; ``name`` begins the names of its classes, but for those
    that ``called`` lists (``Block``, ``Attention`` or ``MLP`` -> name).

    ``bias`` is that of all linears, ``attention_bias`` that of queries, keys and values where it is
    another, ``out_bias`` that of their output. ``joined`` is the width of queries, keys and values
    in one matrix. ``prefix`` is where classes with a head keep the model; ``scope``: ties within it
    are named from it.
    """

    name: str
    width: Size = size("n_embd", "hidden_size", default=768)
    heads: Size = size("n_head", "num_attention_heads", default=12)
    depth: Size = size("n_layer", "num_hidden_layers", default=12)
    vocab: Size = size("vocab_size", default=50257)
    length: Size = size("n_positions", "max_position_embeddings", default=1024)
    inner: Callable[[ModelConfig, Dim], Dim] = times(4, "n_inner")
    norms: Norms = layer_norms()
    linear: Callable[..., Module] = Linear
    bias: Callable[[ModelConfig], bool] = always
    attention_bias: Callable[[ModelConfig], bool] | None = None
    out_bias: Callable[[ModelConfig], bool] | None = None
    joined: Callable[[NamedDecoder, ModelConfig], Dim] = thrice
    model: Mapping[str, NamedPart] = field(default_factory=dict)
    block: Mapping[str, NamedPart] = field(default_factory=lambda: GPT)
    attention: Mapping[str, NamedPart] = field(default_factory=dict)
    mlp: Mapping[str, NamedPart] = field(default_factory=dict)
    called: Mapping[str, str] = field(default_factory=dict)
    prefix: str = "transformer"
    tied: bool | None = True
    scope: bool = False

    def like(self, name: str, **differences: Any) -> NamedDecoder:
        """The same family but for its name and the fields given."""
        return replace(self, name=name, **differences)

    def head(self, c: ModelConfig) -> Dim:
        """The width of one head. Raises ConfigError where the heads do not share the width out."""
        return c.divided(self.width(c), self.heads(c), self.width.key(c), self.heads.key(c))

    def biased(self, c: ModelConfig) -> bool:
        """Whether queries, keys and values have a bias."""
        return (self.attention_bias or self.bias)(c)

    def of(
        self, c: ModelConfig, ending: str, parts: Mapping[str, NamedPart], **labels: Any
    ) -> Module:
        """The module of the class ``{name}{ending}`` that holds ``parts``."""
        children = {name: part(self, c) for name, part in parts.items()}
        return Module(self.called.get(ending, f"{self.name}{ending}"), children, **labels)

    def base(self, c: ModelConfig) -> Module:
        """``{name}Model``."""
        return self.of(c, "Model", self.model, scope=self.scope)

    def classes(self, **options: Any) -> dict[str, Builder]:
        """The usual classes of a decoder; ``options`` are those of ``decoder_classes``."""
        table = next(iter(self.model))  # comes first in all
        return decoder_classes(
            self.name,
            self.base,
            prefix=self.prefix,
            embedding=table,
            hidden=self.width,
            tied_default=self.tied,
            **options,
        )

    def register(
        self,
        model_type: str | tuple[str, ...],
        classes: Mapping[str, Builder] | None = None,
        *,
        source: str = "transformers",
        aliases: Mapping[str, str] | None = None,
        **options: Any,
    ) -> NamedDecoder:
        """Add the family to the catalog, with its usual classes (see there for ``options``) unless
        it has others; returns it."""
        register(
            model_type,
            classes or self.classes(**options),
            base=f"{self.name}Model",
            base_prefix=self.prefix,
            aliases=aliases,
            category="text decoder",
            source=source,
        )
        return self
