"""FSMT, FairSeq's translators of WMT19 (Ng et al. 2019). Source: transformers/models/fsmt.

Post-norm encoder and decoder with a vocabulary each; positions are sines in tables of one row more
than padding index and longest text; the head stands in the decoder.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.blocks import activation, size
from ..layers.heads import to_words
from ..trees.catalog import register_pair
from ..trees.modules import Embedding, LayerNorm, Layers, Linear, Module

_SIDES = ("encoder", "decoder")


_width = size("d_model", "hidden_size", default=1024)
_source = size("src_vocab_size", default=42024)
_target = size("tgt_vocab_size", "vocab_size", default=42024)


def _attention(c: ModelConfig, side: int) -> Module:
    d, key = _width(c), f"{_SIDES[side]}_attention_heads"
    c.divided(d, c.dim(key, default=16), "d_model", key)
    return Module(
        "Attention",
        k_proj=Linear(d, d, kind="key"),
        v_proj=Linear(d, d, kind="value"),
        q_proj=Linear(d, d, kind="query"),
        out_proj=Linear(d, d, kind="output"),
        component=Component.ATTENTION,
    )


def _layer(c: ModelConfig, side: int) -> Module:
    d, inner = _width(c), c.dim(f"{_SIDES[side]}_ffn_dim", default=4096)
    norm = LayerNorm(d)
    return Module(
        "DecoderLayer" if side else "EncoderLayer",
        self_attn=_attention(c, side),
        self_attn_layer_norm=norm,
        encoder_attn=_attention(c, side) if side else None,
        encoder_attn_layer_norm=norm if side else None,
        activation_fn=activation(c.text("activation_function", default="relu")),
        fc1=Linear(d, inner, component=Component.MLP, kind="up"),
        fc2=Linear(inner, d, component=Component.MLP, kind="down"),
        final_layer_norm=norm,
    )


def _positions(c: ModelConfig) -> Module:
    longest = c.dim("max_position_embeddings", default=1024)
    padding = c.dim("pad_token_id", default=1, minimum=0)
    return Embedding(
        longest + padding + 1,
        _width(c),
        kind="position",
        class_name="SinusoidalPositionalEmbedding",
    )


def model(c: ModelConfig, *, at: str = "") -> Module:
    d = _width(c)
    table = f"{at}decoder.embed_tokens.weight" if c.tied(default=False) else None
    head = to_words(d, _target(c), table)
    return Module(
        "FSMTModel",
        encoder=Module(
            "FSMTEncoder",
            embed_tokens=Embedding(_source(c), d, tied_to=table),
            embed_positions=_positions(c),
            layers=Layers.of(
                c.count("encoder_layers", "num_hidden_layers", default=12), _layer(c, 0)
            ),
        ),
        decoder=Module(
            "FSMTDecoder",
            embed_tokens=Embedding(_target(c), d),
            embed_positions=_positions(c),
            layers=Layers.of(c.count("decoder_layers", default=12), _layer(c, 1)),
            output_projection=head,
        ),
    )


def conditional_generation(c: ModelConfig) -> Module:
    return Module("FSMTForConditionalGeneration", model=model(c, at="model."))


register_pair("fsmt", "FSMT", conditional_generation, model, "encoder-decoder")
