"""T5Gemma (Zhang et al. 2025). Source of shapes: transformers/models/t5gemma/modeling_t5gemma.py.

Two Gemma 2 models as encoder and decoder, each with its own table of words; the decoder attends to
the encoder's states, whose width may differ.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import gated_mlp, grouped_attention, grouped_heads
from ..layers.heads import classifier
from ..layers.windows import every, windows
from ..trees.catalog import register
from ..trees.modules import Activation, Dropout, Embedding, Layers, Linear, Module, RMSNorm


def _hidden(side: ModelConfig) -> Dim:
    return side.dim("hidden_size", default=2304)


def _vocab(side: ModelConfig) -> Dim:
    return side.dim("vocab_size", default=256000)


def _norm(side: ModelConfig) -> Module:
    eps = side.number("rms_norm_eps", default=1e-6)
    return RMSNorm(_hidden(side), eps=eps, class_name="T5GemmaRMSNorm")


def _attention(side: ModelConfig, *, seen: Dim | None = None) -> Module:
    """Grouped queries; ``seen`` is the width of the states that cross-attention reads."""
    h, bias = _hidden(side), side.flag("attention_bias", default=False)
    completed = side.with_defaults(num_key_value_heads=4)
    heads = grouped_heads(completed, h, heads=8, head_dim=256)
    name = "T5GemmaSelfAttention" if seen is None else "T5GemmaCrossAttention"
    block = grouped_attention(name, h, heads, bias=bias)
    if seen is not None:
        width = heads.kv * heads.dim
        block.children["k_proj"] = Linear(seen, width, bias=bias, kind="key")
        block.children["v_proj"] = Linear(seen, width, bias=bias, kind="value")
    return block


def _layer(side: ModelConfig, *, seen: Dim | None = None) -> Module:
    inner = side.dim("intermediate_size", default=9216)
    act = side.text("hidden_activation", default="gelu_pytorch_tanh")
    decoder = seen is not None
    return Module(
        "T5GemmaDecoderLayer" if decoder else "T5GemmaEncoderLayer",
        self_attn=_attention(side),
        pre_self_attn_layernorm=_norm(side),
        post_self_attn_layernorm=_norm(side),
        mlp=gated_mlp("T5GemmaMLP", _hidden(side), inner, act=act),
        pre_feedforward_layernorm=_norm(side),
        post_feedforward_layernorm=_norm(side),
        cross_attn=_attention(side, seen=seen) if decoder else None,
        pre_cross_attn_layernorm=_norm(side) if decoder else None,
        post_cross_attn_layernorm=_norm(side) if decoder else None,
    )


def _stack(side: ModelConfig, name: str, *, seen: Dim | None = None) -> Module:
    layers = side.count("num_hidden_layers", default=26)
    types = side.strings("layer_types", default=["full_attention"] * int(layers))
    if len(types) != layers:
        raise side.error("layer_types", f"{len(types)} entries", f"one per layer: {int(layers)}")
    return Module(
        name,
        embed_tokens=Embedding(_vocab(side), _hidden(side)),
        norm=_norm(side),
        layers=Layers.of(layers, _layer(side, seen=seen), windows=windows(side, 4096, every(2))),
        rotary_emb=Activation("T5GemmaRotaryEmbedding"),
    )


def _encoder(c: ModelConfig) -> Module:
    return _stack(c.section("encoder"), "T5GemmaEncoder")


def model(c: ModelConfig) -> Module:
    seen = _hidden(c.section("encoder"))
    decoder = _stack(c.section("decoder"), "T5GemmaDecoder", seen=seen)
    return Module("T5GemmaModel", encoder=_encoder(c), decoder=decoder)


def encoder_model(c: ModelConfig) -> Module:
    return Module("T5GemmaEncoderModel", encoder=_encoder(c))


def conditional_generation(c: ModelConfig) -> Module:
    decoder = c.section("decoder")
    projection = Linear(
        _hidden(decoder),
        _vocab(decoder),
        bias=False,
        tied_to="model.decoder.embed_tokens.weight" if c.tied() else None,
        kind="lm_head",
    )
    head = Module("T5GemmaLMHead", out_proj=projection, component=Component.HEAD)
    return Module("T5GemmaForConditionalGeneration", model=model(c), lm_head=head)


def _classified(c: ModelConfig, name: str) -> Module:
    both = c.flag("is_encoder_decoder", default=True)
    width = _hidden(c.section("decoder" if both else "encoder"))
    score = Module(
        "T5GemmaClassificationHead",
        dropout=Dropout(c.number("classifier_dropout_rate", default=0.0)),
        out_proj=classifier(width, c.num_labels),
    )
    return Module(name, model=model(c) if both else encoder_model(c), score=score)


register(
    "t5gemma",
    {
        "T5GemmaForConditionalGeneration": conditional_generation,
        "T5GemmaModel": model,
        "T5GemmaEncoderModel": encoder_model,
        "T5GemmaForSequenceClassification": lambda c: _classified(
            c, "T5GemmaForSequenceClassification"
        ),
        "T5GemmaForTokenClassification": lambda c: _classified(c, "T5GemmaForTokenClassification"),
    },
    base_prefix="model",
    category="encoder-decoder",
)
