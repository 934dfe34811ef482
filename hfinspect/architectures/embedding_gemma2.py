"""EmbeddingGemma 2 (Google 2026). Source of shapes: transformers/models/embedding_gemma2.

Gemma 4's layers and towers without a causal mask; each layer is given a vector of its own for every
token, made of the embeddings alone. A last matrix makes the sentence's vector.
"""

from collections.abc import Sequence

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.blocks import Heads, gated_mlp, grouped_attention, layer_overrides, layer_types, size
from ..layers.composing import renamed
from ..trees.catalog import register, register_part
from ..trees.modules import Activation, Buffer, Embedding, Layers, Linear, Module
from . import gemma4
from .gemma3n_text import per_layer_gate
from .gemma4_text import norm

_NAME = "EmbeddingGemma2"


_hidden = size("hidden_size", default=512)


def _kinds(c: ModelConfig) -> Sequence[str]:
    """Five sliding layers, then a full one; the last is full whatever the list says."""
    step = int(c.dim("sliding_window_pattern", default=6))
    found = layer_types(
        c,
        int(c.count("num_hidden_layers", default=24)),
        lambda i: "sliding_attention" if (i + 1) % step else "full_attention",
    )
    return (*found[:-1], "full_attention") if found else ()


def _heads(c: ModelConfig, i: int, kind: str) -> Heads:
    """Full layers have wider heads, and fewer for keys."""
    query = c.dim("num_attention_heads", default=4)
    groups, width = c.dim("num_key_value_heads", default=2), c.dim("head_dim", default=256)
    if c.has("per_layer_config"):
        own = layer_overrides(c, i)
        groups = own.dim("num_key_value_heads", default=groups)
        return Heads(query, groups, own.dim("head_dim", default=width))
    if kind != "full_attention":
        return Heads(query, groups, width)
    one = c.dim("num_global_key_value_heads", default=1)
    return Heads(query, one, c.dim("global_head_dim", default=512))


def _layer(c: ModelConfig, heads: Heads) -> Module:
    h, inner = _hidden(c), c.dim("intermediate_size", default=2048)
    attention = grouped_attention(
        f"{_NAME}Attention", h, heads, bias=c.flag("attention_bias", default=False),
        norms=lambda: {
            "q_norm": norm(c, heads.dim), "k_norm": norm(c, heads.dim),
            "v_norm": Activation("Gemma4RMSNorm"),
        },
    )  # fmt: skip
    act = c.text("hidden_activation", default="gelu_pytorch_tanh")
    width = c.dim("hidden_size_per_layer_input", default=512)
    return Module(
        f"{_NAME}EncoderLayer",
        self_attn=attention,
        mlp=gated_mlp(f"{_NAME}MLP", h, inner, act=act),
        input_layernorm=norm(c, h),
        post_attention_layernorm=norm(c, h),
        pre_feedforward_layernorm=norm(c, h),
        post_feedforward_layernorm=norm(c, h),
        layer_scalar=Buffer(1),
        ple_block=Module(f"{_NAME}TextPLEBlock", dict(per_layer_gate(h, width, norm(c, h)))),
    )


def text_model(c: ModelConfig) -> Module:
    h, kinds = _hidden(c), _kinds(c)
    count = c.count("num_hidden_layers", default=24)
    width = c.dim("hidden_size_per_layer_input", default=512)
    built: dict[tuple[int, int], Module] = {}
    blocks = []
    for i, kind in enumerate(kinds):
        heads = _heads(c, i, kind)
        key = (int(heads.kv), int(heads.dim))
        built[key] = built.get(key) or _layer(c, heads)
        blocks.append(built[key])
    found = Module(
        f"{_NAME}TextModel",
        embed_tokens=Embedding(
            c.dim("vocab_size", default=262144), h, class_name=f"{_NAME}TextScaledWordEmbedding"
        ),
        layers=Layers(blocks),
        norm=norm(c, h),
        rotary_emb=Activation(f"{_NAME}RotaryEmbedding"),
        ple=Module(
            f"{_NAME}TextPLE",
            per_layer_model_projection=Linear(
                h, count * width, bias=False, component=Component.EMBEDDING
            ),
            per_layer_projection_norm=norm(c, width),
        ),
        embedding_projection=Linear(
            h, c.dim("embedding_dim", default=768), bias=False, component=Component.PROJECTOR
        ),
    )
    return renamed(found, "Gemma4", _NAME)


def model(c: ModelConfig) -> Module:
    """The towers that the config has."""
    text = c.section("text_config")
    parts = {"language_model": text_model(text), **gemma4.seen(c, _hidden(text), _NAME)}
    return Module(f"{_NAME}Model", parts)


register_part("embedding_gemma2_text", f"{_NAME}TextModel", text_model, "encoder")
register("embedding_gemma2", {f"{_NAME}Model": model}, category="multimodal")
