"""Decoders of Llama's kind, each written as another with differences: ``LLAMA.like("Qwen3", ...)``.

A ``Decoder`` says what such families differ in. Where a field does not say enough, a plain function
takes the place of ``attention``, ``mlp``, ``layer`` or another of its parts: it gets the decoder
and the config, and returns a module.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..core.records import dataclass
from ..trees.catalog import Builder, register
from ..trees.config_defaults import rows
from ..trees.modules import (
    Activation,
    Buffer,
    Embedding,
    LayerNorm,
    Layers,
    Linear,
    Module,
    Parameter,
    RMSNorm,
    Weight,
    WindowsOf,
)
from .blocks import Heads, activation, gated_mlp, grouped_attention, grouped_heads
from .heads import decoder_classes, to_words
from .vision import plain_mlp

Norm = Callable[["Decoder", ModelConfig, int], Module]
#: What stands on one line of a layer's ``__init__``: it gets the decoder, the config and, in a
#: layer, what kind that is.
Part = Callable[..., "Module | Parameter | None"]

ALL_HEADS = ("ForSequenceClassification", "ForTokenClassification", "ForQuestionAnswering")
#: The heads that take no pair of labels a token.
LABEL_HEADS = ALL_HEADS[:2]
SEQUENCE_HEAD = ALL_HEADS[:1]


# ---- parts, as Llama has them; other families put their own in place


def rms_norm(d: Decoder, c: ModelConfig, size: int) -> Module:
    """A weight of (size,)."""
    eps = c.number("rms_norm_eps", default=d.rms_norm_eps)
    return RMSNorm(size, eps=eps, class_name=f"{d.name}RMSNorm")


def norms_called(class_name: str, *keys: str) -> Norm:
    """Norms of another class than the family's name gives, with epsilon under the first of ``keys``
    that there is."""
    return lambda d, c, size: RMSNorm(
        size,
        eps=c.number(*(keys or ("rms_norm_eps",)), default=d.rms_norm_eps),
        class_name=class_name,
    )


def grouped(d: Decoder, c: ModelConfig) -> Module:
    """Grouped-query attention, with norms of queries and keys where the family has them."""
    heads = d.heads(c)
    bias = d.attention_bias is not None and c.flag(d.bias_key, default=d.attention_bias)

    def norms() -> dict[str, Module]:
        widths = {"q_norm": heads.query, "k_norm": heads.kv}
        return {
            name: d.norm(d, c, count * heads.dim if d.whole_norm else heads.dim)
            for name, count in widths.items()
        }

    return grouped_attention(
        f"{d.name}Attention",
        d.width(c),
        heads,
        bias=bias,
        out_bias=d.out_bias,
        norms=norms if d.qk_norm else None,
    )


def with_frequencies(
    d: Decoder, c: ModelConfig, *, dtype: str | None = None, shown: bool = False
) -> Module:
    """The same of early releases, whose files carry each layer's rotary frequencies; ``shown``: the
    class has a module for them still."""
    block = grouped(d, c)
    count = d.heads(c).dim // 2
    frequencies = Buffer(count, dtype=dtype, saved=False)
    block.children["rotary_emb"] = Module(
        f"{d.name}RotaryEmbedding", inv_freq=frequencies, saved=shown
    )
    return block


def evenly(d: Decoder, c: ModelConfig) -> Module:
    """The same with heads of hidden / heads, whatever ``head_dim`` the config says."""
    return grouped(d, c.with_values(head_dim=None))


def gated(d: Decoder, c: ModelConfig) -> Module:
    """Llama's MLP of three matrices."""
    bias = d.mlp_bias is not None and c.flag("mlp_bias", default=d.mlp_bias)
    return gated_mlp(f"{d.name}MLP", d.width(c), d.inner(c), bias=bias, act=d.act(c))


def gated_by(
    *keys: str, default: str = "gelu_pytorch_tanh"
) -> Callable[[Decoder, ModelConfig], Module]:
    """The same without biases, whose activation stands under one of these keys."""
    return lambda d, c: gated_mlp(
        f"{d.name}MLP", d.width(c), d.inner(c), act=c.text(*keys, default=default)
    )


def gated_of(d: Decoder, c: ModelConfig, inner: Dim, kind: str | None = None) -> Module:
    """Llama's without biases, ``inner`` wide: an expert, or one that all tokens share."""
    return gated_mlp(f"{d.name}MLP", d.width(c), inner, act=d.act(c), kind=kind)


def up_down(d: Decoder, c: ModelConfig) -> Module:
    """An MLP of two matrices: 2·H·I weights."""
    h = d.width(c)
    inner = d.inner(c)
    bias = d.mlp_bias is not None and c.flag("mlp_bias", default=d.mlp_bias)
    return Module(
        f"{d.name}MLP",
        up_proj=Linear(h, inner, bias=bias, kind="up"),
        down_proj=Linear(inner, h, bias=bias, kind="down"),
        act_fn=activation(d.act(c)),
        component=Component.MLP,
    )


def plain(d: Decoder, c: ModelConfig) -> Module:
    """The same under CLIP's names, fc1 and fc2."""
    bias = d.mlp_bias is not None and c.flag("mlp_bias", default=d.mlp_bias)
    return plain_mlp(f"{d.name}MLP", d.width(c), d.inner(c), act=d.act(c), bias=bias)


def fused_mlp(d: Decoder, c: ModelConfig) -> Module:
    """Llama's MLP with gate and up in one matrix."""
    h = d.width(c)
    inner = d.inner(c)
    return Module(
        f"{d.name}MLP",
        gate_up_proj=Linear(h, 2 * inner, bias=False, kind="gate_up"),
        down_proj=Linear(inner, h, bias=False, kind="down"),
        activation_fn=activation(d.act(c)),
        component=Component.MLP,
    )


def last_norm_of(class_name: str) -> Callable[[Decoder, ModelConfig], dict[str, Module]]:
    """What ``further`` is where the last norm is of another class than those of the layers."""
    return lambda d, c: {d.last_norm: d.norm(d, c, d.width(c)).called(class_name)}


def layer_norms(key: str, eps: float = 1e-5, class_name: str = "LayerNorm") -> Norm:
    """Norms with a bias, whose epsilon stands under ``key``."""
    return lambda _d, c, size: LayerNorm(
        size, eps=c.number(key, default=eps), class_name=class_name
    )


# ---- layers and their attention as tables


def says(kind: Any, word: str) -> bool:
    """Whether a layer's kind is that word, or has it among others."""
    return word in kind if isinstance(kind, tuple) else bool(kind == word)


def attends(d: Decoder, c: ModelConfig, *_kind: Any) -> Module:
    """The family's attention."""
    return d.attention(d, c)


def feeds(d: Decoder, c: ModelConfig, kind: Any) -> Module:
    """The MLP of a layer of that kind."""
    return d.feed_forward(c, kind)


def normed(d: Decoder, c: ModelConfig, *_kind: Any) -> Module:
    """A norm of the hidden states."""
    return d.norm(d, c, d.width(c))


def sink(d: Decoder, c: ModelConfig, *_kind: Any) -> Parameter:
    """One more number a head to look at, in place of a token."""
    return Weight(d.heads(c).query, kind="sink")


def gate(d: Decoder, c: ModelConfig, *_kind: Any) -> Module:
    """A gate on the output of attention: a number of each head's each channel."""
    heads = d.heads(c)
    return Linear(d.width(c), heads.query * heads.dim, bias=False, kind="gate")


def of_kind(word: str, part: Part, rest: Part | None = None) -> Part:
    """The part of layers of whose kind ``word`` is, and the ``rest`` of all others."""

    def make(d: Decoder, c: ModelConfig, kind: Any) -> Module | Parameter | None:
        chosen = part if says(kind, word) else rest
        return chosen(d, c, kind) if chosen else None

    return make


def arranged(**parts: Part) -> Callable[..., Module]:
    """A layer of these parts, in the order of its class; one may be None."""
    return lambda d, c, *kind: Module(
        f"{d.name}DecoderLayer", {name: part(d, c, *kind) for name, part in parts.items()}
    )


def adding(make: Callable[..., Module], **parts: Part | None) -> Callable[..., Module]:
    """What ``make`` makes, with these parts after its own or in place of them; it lacks those
    listed as None."""

    def made_block(d: Decoder, c: ModelConfig, *kind: Any) -> Module:
        block = make(d, c, *kind)
        for name, part in parts.items():
            child = part(d, c, *kind) if part else block.children.pop(name) and None
            if child is not None:
                block.children[name] = child
        return block

    return made_block


def sinks(d: Decoder, c: ModelConfig) -> Module:
    """Grouped attention with such numbers."""
    return adding(grouped, sinks=sink)(d, c)


def mixed(
    d: Decoder, c: ModelConfig, mixer: Module | Parameter | None, kind: Any, **names: str
) -> Module:
    """What mixes tokens, and an MLP (of a ``sparse`` layer: experts), each after a norm; ``names``
    are what files call these four where it is not what Llama's do."""
    parts = {
        "self_attn": mixer,
        "mlp": d.feed_forward(c, kind),
        "input_layernorm": d.norm(d, c, d.width(c)),
        "post_attention_layernorm": d.norm(d, c, d.width(c)),
    }
    children = {names.get(name, name): part for name, part in parts.items()}
    return Module(f"{d.name}DecoderLayer", children)


def mixing(mixer: Part, **names: str) -> Callable[..., Module]:
    """Such layers, in which this part mixes tokens."""
    return lambda d, c, kind: mixed(d, c, mixer(d, c, kind), kind, **names)


def pre_norm(d: Decoder, c: ModelConfig, kind: Any) -> Module:
    """Attention and MLP, each after a norm."""
    return mixed(d, c, d.attention(d, c), kind)


#: Mixtral's layer, whose files call the MLP so.
block_sparse = mixing(attends, mlp="block_sparse_moe")


def scaled(d: Decoder, c: ModelConfig, kind: str) -> Module:
    """The same, each times a learned number a channel (Mimi)."""
    block = pre_norm(d, c, kind)
    weight = Weight(d.width(c), kind="scale")
    block.class_name = f"{d.name}TransformerLayer"
    scale = Module(f"{d.name}LayerScale", scale=weight, component=Component.OTHER)
    block.children |= {"self_attn_layer_scale": scale, "mlp_layer_scale": scale}
    return block


def post_norm(d: Decoder, c: ModelConfig, kind: Any) -> Module:
    """Attention and MLP, each before a norm (OLMo 2)."""
    norms = d.norms(c, "post_attention_layernorm", "post_feedforward_layernorm")
    parts = {"self_attn": d.attention(d, c), "mlp": d.feed_forward(c, kind), **norms}
    return Module(f"{d.name}DecoderLayer", parts)


def sandwich(d: Decoder, c: ModelConfig, kind: Any) -> Module:
    """Attention and MLP, each between two norms (Gemma 2)."""
    block = pre_norm(d, c, kind)
    block.children |= d.norms(c, "pre_feedforward_layernorm", "post_feedforward_layernorm")
    return block


def next_token_layer(name: str, layer: Module, hidden: int, vocab: int) -> Module:
    """A multi-token-prediction layer as files hold it: a decoder layer, the projection that joins
    the embedding with the hidden state, and copies of embedding and head."""
    norm = RMSNorm(hidden, class_name=f"{name}RMSNorm")
    parts = {
        "embed_tokens": Embedding(vocab, hidden),
        "enorm": norm,
        "hnorm": norm,
        "eh_proj": Linear(hidden * 2, hidden, bias=False, component=Component.PROJECTOR),
    }
    last = {"shared_head": Module("SharedHead", norm=norm, head=to_words(hidden, vocab))}
    predictor = Module(f"{name}MultiTokenPredictorLayer", part="mtp", kind="mtp", saved=False)
    return predictor.adding(**parts, **layer.children, **last)


def joined_layer(d: Decoder, c: ModelConfig, layer: Module, name: str) -> Module:
    """A multi-token-prediction layer that keeps no copy of embedding and head: the projection that
    joins them, a decoder layer and a norm."""
    h = d.width(c)
    norms = d.norms(c, "enorm", "hnorm")
    joint = Linear(h * 2, h, bias=False, component=Component.PROJECTOR)
    predictor = Module(name, norms, eh_proj=joint, part="mtp", kind="mtp")
    return predictor.adding(**layer.children, **d.norms(c, "final_layernorm"))


# ---- the family


@dataclass(frozen=True)
class Decoder:
    """What decoder-only families differ in; ``name`` begins the names of the classes.

    Fields with the name of a config key hold the config class's own default of it; what the table
    of them (``architectures/config_defaults.json``) has of the type goes before. A size without
    one (None) has to be in the config; without ``num_key_value_heads`` there are as many as
    queries, and without ``head_dim`` it is hidden / heads, which with ``null_head_dim`` a key that
    is present and null means as well. Of the biases, None says that the class has no such key and
    no bias. ``out_bias`` None: the output has one where q, k and v have.

    ``qk_norm``: queries and keys have a norm, over each head or, with ``whole_norm``, over all.
    ``moe`` makes the MLP of ``sparse`` layers; ``kinds`` gives a word for each layer, which
    ``layer`` builds: without it all are alike, and sparse where there is a ``moe``. Files may hold
    further layers of the kind ``predicts``, for the tokens after the next.
    ``windows`` reads how far back each layer looks. ``embedding`` ends the class name of a table
    that is no plain one; ``table`` and ``last_norm`` are what the model calls its table and norm;
    ``rotary``: the model shows a module for positions, without tensors. ``further`` gives what it
    holds after these. ``tie_word_embeddings`` None: the head is never tied. ``tasks`` are those
    of further classes (see ``decoder_classes``, also for ``qa_prefix``).
    """

    name: str
    vocab_size: int | None = 32000
    hidden_size: int | None = 4096
    intermediate_size: int | None = 11008
    num_hidden_layers: int = 32
    num_attention_heads: int = 32
    num_key_value_heads: int | None = None
    head_dim: int | None = None
    null_head_dim: bool = False
    rms_norm_eps: float = 1e-6
    hidden_act: str = "silu"
    tie_word_embeddings: bool | None = False
    attention_bias: bool | None = False
    bias_key: str = "attention_bias"
    out_bias: bool | None = None
    mlp_bias: bool | None = None
    qk_norm: bool = False
    whole_norm: bool = False
    norm: Norm = rms_norm
    attention: Callable[[Decoder, ModelConfig], Module] = grouped
    mlp: Callable[[Decoder, ModelConfig], Module] = gated
    moe: Callable[[Decoder, ModelConfig], Module] | None = None
    kinds: Callable[[Decoder, ModelConfig, int], Sequence[Any]] | None = None
    layer: Callable[[Decoder, ModelConfig, Any], Module] = pre_norm
    predicts: Any = None
    windows: Callable[[ModelConfig], WindowsOf] | None = None
    embedding: str = ""
    table: str = "embed_tokens"
    last_norm: str = "norm"
    rotary: bool = True
    further: Callable[[Decoder, ModelConfig], Mapping[str, Module | Parameter | None]] | None = None
    tasks: tuple[str, ...] = ALL_HEADS
    qa_prefix: str | None = None

    def like(self, name: str, **differences: Any) -> Decoder:
        """The same family but for its name and the fields given."""
        return replace(self, name=name, **differences)

    # ---- what parts read

    def size(self, c: ModelConfig, key: str) -> Dim:
        """The size under ``key``, else the family's default. Raises ConfigError without both."""
        default = getattr(self, key)
        return c.dim(key) if default is None else c.dim(key, default=default)

    def width(self, c: ModelConfig) -> Dim:
        """D: the width of the hidden states."""
        return self.size(c, "hidden_size")

    def inner(self, c: ModelConfig) -> Dim:
        """The width of the MLP."""
        return self.size(c, "intermediate_size")

    def act(self, c: ModelConfig) -> str | None:
        """The name of the MLP's activation."""
        return c.text("hidden_act", default=self.hidden_act)

    def heads(self, c: ModelConfig) -> Heads:
        """Query heads, key heads and their width."""
        absent = not (self.null_head_dim and "head_dim" in c.values)
        return grouped_heads(
            c,
            self.width(c),
            heads=self.num_attention_heads,
            kv=self.num_key_value_heads,
            head_dim=self.head_dim if absent else None,
        )

    # ---- what the family is made of

    def feed_forward(self, c: ModelConfig, kind: Any) -> Module:
        """The MLP of a layer of that kind: a word, or some of which one may be ``sparse``."""
        return self.moe(self, c) if self.moe and says(kind, "sparse") else self.mlp(self, c)

    def norms(self, c: ModelConfig, *names: str) -> dict[str, Module]:
        """Norms of the hidden states under these names."""
        return {name: self.norm(self, c, self.width(c)) for name in names}

    def layers(self, c: ModelConfig) -> Layers:
        """The layers; each distinct one is built once."""
        count = c.count("num_hidden_layers", default=self.num_hidden_layers)
        windows = self.windows(c) if self.windows else None
        if self.kinds is None:
            block = self.layer(self, c, "sparse" if self.moe else "dense")
            return Layers.of(count, block, windows=windows)
        kinds = self.kinds(self, c, int(count))
        built = {kind: self.layer(self, c, kind) for kind in dict.fromkeys(kinds)}
        layers = [built[kind] for kind in kinds]
        if self.predicts is not None:
            more = int(c.count("num_nextn_predict_layers", "num_mtp_layers", default=0))
            if more:
                routed = built.get(self.predicts) or self.layer(self, c, self.predicts)
                vocab = self.size(c, "vocab_size")
                layers += [next_token_layer(self.name, routed, self.width(c), vocab)] * more
        return Layers(layers, windows=windows)

    def model(self, c: ModelConfig) -> Module:
        """``{name}Model``: a table of tokens, the layers, a norm."""
        table = f"{self.name}{self.embedding}" if self.embedding else "Embedding"
        return Module(
            f"{self.name}Model",
            {
                self.table: Embedding(self.size(c, "vocab_size"), self.width(c), class_name=table),
                "layers": self.layers(c),
                self.last_norm: self.norm(self, c, self.width(c)),
                "rotary_emb": Activation(f"{self.name}RotaryEmbedding") if self.rotary else None,
                **(self.further(self, c) if self.further else {}),
            },
        )

    def named(self, class_name: str, c: ModelConfig) -> Module:
        """The model under another class name."""
        base = self.model(c)
        base.class_name = class_name
        return base

    def words(self, c: ModelConfig, tied_to: str | None = None) -> Module:
        """The projection to the vocabulary, where its tie is known."""
        return to_words(self.width(c), self.size(c, "vocab_size"), tied_to)

    def classes(self, **options: Any) -> dict[str, Builder]:
        """``{name}ForCausalLM``, ``{name}Model`` and those of ``tasks``; for ``options`` see
        ``decoder_classes``."""
        return decoder_classes(
            self.name,
            self.model,
            embedding=self.table,
            hidden=self.width,
            tied_default=self.tie_word_embeddings,
            heads=self.tasks,
            qa_prefix=self.qa_prefix,
            **options,
        )

    def register(
        self,
        model_type: str | tuple[str, ...],
        *,
        more: Mapping[str, Builder] | None = None,
        source: str = "transformers",
        category: str = "text decoder",
        **options: Any,
    ) -> Decoder:
        """Add the family to the catalog, ``more`` after its usual classes (see there for
        ``options``); returns it, with the defaults that the table has of its type."""
        kind = model_type if isinstance(model_type, str) else model_type[0]
        family = replace(self, **rows().get(kind, {}))
        register(
            model_type,
            {**family.classes(**options), **(more or {})},
            base=f"{self.name}Model",
            base_prefix="model",
            category=category,
            source=source,
        )
        return family
