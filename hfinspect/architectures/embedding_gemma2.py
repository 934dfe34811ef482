"""EmbeddingGemma 2 (Google 2026; transformers/models/embedding_gemma2). Gemma 4 without a causal
mask, a vector for each layer and token made of the embeddings, and a matrix to the sentence's."""

from functools import partial

from ..layers.blocks import Heads, grouped_attention, layer_overrides, layer_types
from ..layers.decoders import Decoder, gated_by, mixed, norms_called
from ..trees import Component, ModelConfig, config_defaults, register, register_part
from ..trees.modules import Activation, Buffer, Linear, Module
from . import gemma4
from .gemma3n_text import FOUR_NORMS, per_layer_gate

_NAME = "EmbeddingGemma2"


def _kinds(_d: Decoder, c: ModelConfig, layers: int) -> list[Heads]:
    """The heads of each layer: five sliding ones, then a full one, whose heads are wider, with
    fewer for keys; the last is full whatever the list says."""
    step = int(c.dim("sliding_window_pattern", default=6))
    types = layer_types(
        c, layers, lambda i: "sliding_attention" if (i + 1) % step else "full_attention"
    )
    query = c.dim("num_attention_heads", default=4)
    groups = c.dim("num_key_value_heads", default=2)
    width = c.dim("head_dim", default=256)

    def heads(i: int) -> Heads:
        if c.has("per_layer_config"):
            overrides = layer_overrides(c, i)
            kv = overrides.dim("num_key_value_heads", default=groups)
            return Heads(query, kv, overrides.dim("head_dim", default=width))
        if types[i] != "full_attention" and i != layers - 1:
            return Heads(query, groups, width)
        one = c.dim("num_global_key_value_heads", default=1)
        return Heads(query, one, c.dim("global_head_dim", default=512))

    return [heads(i) for i in range(layers)]


def _layer(d: Decoder, c: ModelConfig, heads: Heads) -> Module:
    h = d.width(c)
    width = c.dim("hidden_size_per_layer_input", default=512)
    bias = c.flag("attention_bias", default=False)
    norm = d.norm(d, c, heads.dim)
    attention = grouped_attention(f"{_NAME}Attention", h, heads, bias=bias)
    attention.adding(q_norm=norm, k_norm=norm, v_norm=Activation(f"{_NAME}RMSNorm"))
    gate = Module(f"{_NAME}TextPLEBlock").adding(**per_layer_gate(h, width, d.norm(d, c, h)))
    block = mixed(d, c, attention, "dense").called(f"{_NAME}EncoderLayer")
    return block.adding(**d.norms(c, *FOUR_NORMS), layer_scalar=Buffer(1), ple_block=gate)


def _further(d: Decoder, c: ModelConfig) -> dict[str, Module]:
    h = d.width(c)
    width = c.dim("hidden_size_per_layer_input", default=512)
    count = c.count("num_hidden_layers", default=24)
    out = c.dim("embedding_dim", default=768)
    project = Linear(h, count * width, bias=False, component=Component.EMBEDDING)
    ple = Module(f"{_NAME}TextPLE", per_layer_model_projection=project)
    return {
        "ple": ple.adding(per_layer_projection_norm=d.norm(d, c, width)),
        "embedding_projection": Linear(h, out, bias=False, component=Component.PROJECTOR),
    }


_TEXT = Decoder(
    _NAME,
    **config_defaults("embedding_gemma2"),
    norm=norms_called(f"{_NAME}RMSNorm"),
    layer=_layer,
    kinds=_kinds,
    further=_further,
    embedding="TextScaledWordEmbedding",
    mlp=gated_by("hidden_activation"),
)
_text_model = partial(_TEXT.named, f"{_NAME}TextModel")


def _model(c: ModelConfig) -> Module:
    """The towers that the config has."""
    text = c.section("text_config")
    towers = gemma4.towers_of(c, _TEXT.width(text), _NAME)
    return Module(f"{_NAME}Model", language_model=_text_model(text)).adding(**towers)


register_part("embedding_gemma2_text", f"{_NAME}TextModel", _text_model, "encoder")
register("embedding_gemma2", {f"{_NAME}Model": _model}, category="multimodal")
