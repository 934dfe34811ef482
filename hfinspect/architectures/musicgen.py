"""MusicGen (Copet et al. 2023). Source: transformers/models/musicgen.

A text encoder, a decoder that speaks several codebooks at once, and the codec that turns them into
sound: three models in one file, with a projection from texts to the decoder.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..layers.blocks import activation
from ..layers.composing import with_defaults
from ..layers.multimodal import linear_projector
from ..layers.vision import clip_attention
from ..trees.catalog import auto_class, auto_model, register, register_part
from ..trees.modules import Embedding, LayerNorm, Layers, Linear, Module, ModuleList
from .encoder_decoder import width_of

DEFAULTS = {
    "vocab_size": 2048, "num_hidden_layers": 24, "ffn_dim": 4096, "num_attention_heads": 16,
    "hidden_size": 1024, "num_codebooks": 4,
}  # fmt: skip


def _attention(c: ModelConfig) -> Module:
    h = c.dim("hidden_size")
    c.divided(h, c.dim("num_attention_heads"), "hidden_size", "num_attention_heads")
    return clip_attention("MusicgenAttention", h, bias=False)


def layer(c: ModelConfig) -> Module:
    h, inner = c.dim("hidden_size"), c.dim("ffn_dim")
    return Module(
        "MusicgenDecoderLayer",
        self_attn=_attention(c),
        activation_fn=activation(c.text("activation_function", default="gelu")),
        self_attn_layer_norm=LayerNorm(h),
        encoder_attn=_attention(c),
        encoder_attn_layer_norm=LayerNorm(h),
        fc1=Linear(h, inner, bias=False, component=Component.MLP, kind="up"),
        fc2=Linear(inner, h, bias=False, component=Component.MLP, kind="down"),
        final_layer_norm=LayerNorm(h),
    )


def decoder_model(c: ModelConfig) -> Module:
    h, books = c.dim("hidden_size"), int(c.count("num_codebooks"))
    words = Embedding(c.dim("vocab_size") + 1, h)
    return Module(
        "MusicgenModel",
        decoder=Module(
            "MusicgenDecoder",
            embed_tokens=ModuleList([words] * books),
            layers=Layers.of(c.count("num_hidden_layers"), layer(c)),
            layer_norm=LayerNorm(h),
        ),
        part="audio",
    )


def causal_lm(c: ModelConfig) -> Module:
    head = Linear(c.dim("hidden_size"), c.dim("vocab_size"), bias=False, kind="lm_head")
    books = int(c.count("num_codebooks"))
    return Module(
        "MusicgenForCausalLM",
        model=decoder_model(c),
        lm_heads=ModuleList([head] * books, component=Component.HEAD),
        part="audio",
    )


def conditional_generation(c: ModelConfig) -> Module:
    texts, decoder = c.section("text_encoder"), c.section("decoder")
    speaker = decoder.with_defaults(**DEFAULTS)
    encoder = auto_class(texts, "EncoderModel", default_type="t5")
    seen, wanted = width_of(texts, encoder, last=True), speaker.dim("hidden_size")
    apart = seen != wanted and not decoder.has("cross_attention_hidden_size")
    return Module(
        "MusicgenForConditionalGeneration",
        text_encoder=encoder,
        audio_encoder=auto_model(c.section("audio_encoder"), default_type="encodec"),
        decoder=causal_lm(speaker),
        enc_to_dec_proj=linear_projector(seen, wanted) if apart else None,
    )


register_part("musicgen", "MusicgenForConditionalGeneration", conditional_generation, "audio")
_DECODER = {"MusicgenForCausalLM": causal_lm, "MusicgenModel": decoder_model}
_CLASSES = with_defaults(DEFAULTS, _DECODER)
register("musicgen_decoder", _CLASSES, base_prefix="model", category="audio")
