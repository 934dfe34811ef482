"""ProphetNet (Qi et al. 2020). Source of shapes: transformers/models/prophetnet.

A decoder that predicts several tokens ahead: one query stream each, distinguished by a small table;
relative positions of the decoder come from the states through one linear layer.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.blocks import activation
from ..layers.composing import with_defaults, without_static_cache
from ..layers.encoders import hidden, vocab
from ..layers.heads import to_words
from ..trees.catalog import register
from ..trees.modules import Embedding, LayerNorm, Layers, Linear, Module

_DEFAULTS = {
    "vocab_size": 30522, "hidden_size": 1024, "encoder_ffn_dim": 4096, "num_encoder_layers": 12,
    "num_encoder_attention_heads": 16, "decoder_ffn_dim": 4096, "num_decoder_layers": 12,
    "num_decoder_attention_heads": 16, "max_position_embeddings": 512, "ngram": 2,
    "num_buckets": 32,
}  # fmt: skip


def _attention(c: ModelConfig, side: str, *, ahead: bool = False) -> Module:
    h, key = hidden(c), f"num_{side}_attention_heads"
    heads = c.dim(key)
    c.divided(h, heads, "hidden_size", key)
    positions = Linear(h, c.dim("num_buckets") * heads, kind="relative_position")
    return Module(
        "ProphetNetNgramSelfAttention" if ahead else "ProphetNetAttention",
        key_proj=Linear(h, h, kind="key"),
        value_proj=Linear(h, h, kind="value"),
        query_proj=Linear(h, h, kind="query"),
        out_proj=Linear(h, h, kind="output"),
        relative_pos_embeddings=positions if ahead else None,
        component=Component.ATTENTION,
    )


def _feed_forward(c: ModelConfig, side: str) -> Module:
    h, inner = hidden(c), c.dim(f"{side}_ffn_dim")
    return Module(
        "ProphetNetFeedForward",
        activation_fn=activation(c.text("activation_function", default="gelu")),
        intermediate=Linear(h, inner, kind="up"),
        output=Linear(inner, h, kind="down"),
        component=Component.MLP,
    )


def _layer(c: ModelConfig, side: str) -> Module:
    norm, decoder = LayerNorm(hidden(c)), side == "decoder"
    cross = decoder and c.flag("add_cross_attention", default=True)
    return Module(
        "ProphetNetDecoderLayer" if decoder else "ProphetNetEncoderLayer",
        self_attn=_attention(c, side, ahead=decoder),
        self_attn_layer_norm=norm,
        cross_attn=_attention(c, side) if cross else None,
        cross_attn_layer_norm=norm if cross else None,
        feed_forward=_feed_forward(c, side),
        feed_forward_layer_norm=norm,
    )


def _stack(c: ModelConfig, side: str, table: str | None) -> Module:
    h, decoder = hidden(c), side == "decoder"
    return Module(
        "ProphetNetDecoder" if decoder else "ProphetNetEncoder",
        word_embeddings=Embedding(vocab(c), h, tied_to=table),
        position_embeddings=Embedding(
            c.dim("max_position_embeddings"),
            h,
            kind="position",
            class_name="ProphetNetPositionalEmbeddings",
        ),
        ngram_embeddings=Embedding(c.dim("ngram"), h, kind="position") if decoder else None,
        layers=Layers.of(c.count(f"num_{side}_layers"), _layer(c, side)),
        embeddings_layer_norm=LayerNorm(h),
    )


def _table(c: ModelConfig, at: str = "") -> str | None:
    return f"{at}word_embeddings.weight" if c.tied() else None


def model(c: ModelConfig, *, at: str = "") -> Module:
    return Module(
        "ProphetNetModel",
        word_embeddings=Embedding(vocab(c), hidden(c)),
        encoder=_stack(c, "encoder", _table(c, at)),
        decoder=_stack(c, "decoder", _table(c, at)),
    )


def _head(c: ModelConfig) -> Module:
    table = _table(c, "prophetnet.")
    return to_words(hidden(c), vocab(c), table)


def conditional_generation(c: ModelConfig) -> Module:
    inner = model(c, at="prophetnet.")
    return Module("ProphetNetForConditionalGeneration", prophetnet=inner, lm_head=_head(c))


def causal_lm(c: ModelConfig) -> Module:
    wrapper = Module(
        "ProphetNetDecoderWrapper",
        word_embeddings=Embedding(vocab(c), hidden(c)),
        decoder=_stack(c, "decoder", _table(c, "prophetnet.")),
    )
    return Module("ProphetNetForCausalLM", prophetnet=wrapper, lm_head=_head(c))


register(
    "prophetnet",
    with_defaults(
        _DEFAULTS,
        without_static_cache(
            {
                "ProphetNetForConditionalGeneration": conditional_generation,
                "ProphetNetModel": model,
                "ProphetNetForCausalLM": causal_lm,
                "ProphetNetEncoder": lambda c: _stack(c, "encoder", None),
                "ProphetNetDecoder": lambda c: _stack(c, "decoder", None),
            }
        ),
    ),
    base="ProphetNetModel",
    base_prefix="prophetnet",
    category="encoder-decoder",
)
