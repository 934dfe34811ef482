"""T5Gemma 2 (Zhang et al. 2025). Source of shapes: transformers/models/t5gemma2.

Gemma 3 on both sides, the encoder with SigLIP before it; the decoder's self-attention reads the
encoder's states too, so that there is no cross-attention.  Files keep the text encoder's parts in
``encoder`` itself.
"""

from dataclasses import replace

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import gated_mlp, grouped_attention, grouped_heads, layer_types
from ..layers.heads import classifier
from ..layers.windows import every, windows
from ..trees.catalog import auto_model, register, register_part
from ..trees.keeps import KeysValues
from ..trees.modules import (
    Activation,
    Dropout,
    Embedding,
    Layers,
    Linear,
    Module,
    Parameter,
    RMSNorm,
    Weight,
)

_NAME = "T5Gemma2"
_WORDS = "encoder.embed_tokens"


def _hidden(side: ModelConfig) -> Dim:
    return side.dim("hidden_size", default=2304)


def _norm(side: ModelConfig, size: Dim) -> Module:
    eps = side.number("rms_norm_eps", default=1e-6)
    return RMSNorm(size, eps=eps, class_name=f"{_NAME}RMSNorm")


def _layer(side: ModelConfig, *, decoder: bool) -> Module:
    h, inner = _hidden(side), side.dim("intermediate_size", default=9216)
    heads = grouped_heads(side, h, heads=8, kv=4, head_dim=256)
    width = heads.kv * heads.dim
    own = KeysValues(width, width, heads=heads.kv)
    return Module(
        f"{_NAME}DecoderLayer" if decoder else f"{_NAME}EncoderLayer",
        self_attn=grouped_attention(
            f"{_NAME}MergedAttention" if decoder else f"{_NAME}SelfAttention",
            h,
            heads,
            bias=side.flag("attention_bias", default=False),
            norms=lambda: {"q_norm": _norm(side, heads.dim), "k_norm": _norm(side, heads.dim)},
        ),
        # The decoder's one attention keeps what it reads of both sides.
        keeps=(own, replace(own, cross=True)) if decoder else (own,),
        pre_self_attn_layernorm=_norm(side, h),
        post_self_attn_layernorm=_norm(side, h),
        mlp=gated_mlp(
            f"{_NAME}MLP",
            h,
            inner,
            act=side.text("hidden_activation", default="gelu_pytorch_tanh"),
        ),
        pre_feedforward_layernorm=_norm(side, h),
        post_feedforward_layernorm=_norm(side, h),
    )


def _parts(
    side: ModelConfig, *, decoder: bool, tied_to: str | None = None
) -> dict[str, Module | Parameter | None]:
    h, vocab = _hidden(side), side.dim("vocab_size", default=262208)
    count = int(side.count("num_hidden_layers", default=26))
    layer_types(side, count, lambda _: "full_attention")
    words = Embedding(
        vocab,
        h,
        class_name=f"{_NAME}TextScaledWordEmbedding",
        tied_to=f"{tied_to}.weight" if tied_to else None,
    )
    words.children["eoi_embedding"] = Weight(
        h, tied_to=f"{tied_to}.eoi_embedding" if tied_to else None
    )
    return {
        "embed_tokens": words,
        "norm": _norm(side, h),
        "layers": Layers.of(
            count,
            _layer(side, decoder=decoder),
            windows=windows(side, 4096, every(int(side.dim("sliding_window_pattern", default=6)))),
        ),
        "rotary_emb": Activation(f"{_NAME}RotaryEmbedding"),
    }


def projector(c: ModelConfig, hidden: Dim) -> Module:
    """Vision width to text width, without bias: V·H, and a norm of the vision width."""
    width = c.dim("hidden_size", default=768)
    eps = c.number("layer_norm_eps", default=1e-6)
    return Module(
        f"{_NAME}MultiModalProjector",
        mm_input_projection_weight=Weight(width, hidden),
        mm_soft_emb_norm=RMSNorm(width, eps=eps, class_name=f"{_NAME}RMSNorm"),
        avg_pool=Activation("AvgPool2d"),
        component=Component.PROJECTOR,
        part="projector",
    )


def encoder(c: ModelConfig) -> Module:
    text, vision = c.section("text_config"), c.section("vision_config")
    return Module(
        f"{_NAME}Encoder",
        {
            **_parts(text, decoder=False),
            "vision_tower": auto_model(vision, default_type="siglip_vision_model", part="vision"),
            "multi_modal_projector": projector(vision, _hidden(text)),
        },
    )


def text_encoder(c: ModelConfig) -> Module:
    return Module(f"{_NAME}TextEncoder", _parts(c, decoder=False))


def decoder(c: ModelConfig) -> Module:
    return Module(f"{_NAME}Decoder", _parts(c, decoder=True))


def model(c: ModelConfig, *, at: str = "") -> Module:
    tied_to = f"{at}{_WORDS}" if c.tied() else None
    return Module(
        f"{_NAME}Model",
        encoder=encoder(c.section("encoder")),
        decoder=Module(
            f"{_NAME}Decoder", _parts(c.section("decoder"), decoder=True, tied_to=tied_to)
        ),
    )


def conditional_generation(c: ModelConfig) -> Module:
    decoder = c.section("decoder")
    projection = Linear(
        _hidden(decoder),
        decoder.dim("vocab_size", default=262208),
        bias=False,
        tied_to=f"model.{_WORDS}.weight" if c.tied() else None,
        kind="lm_head",
    )
    head = Module(f"{_NAME}LMHead", out_proj=projection, component=Component.HEAD)
    name = f"{_NAME}ForConditionalGeneration"
    return Module(name, model=model(c, at="model."), lm_head=head)


def _classified(c: ModelConfig, suffix: str) -> Module:
    score = Module(
        f"{_NAME}ClassificationHead",
        dropout=Dropout(c.number("classifier_dropout_rate", default=0.0)),
        out_proj=classifier(_hidden(c.section("decoder")), c.num_labels),
    )
    return Module(f"{_NAME}{suffix}", model=model(c, at="model."), score=score)


register(
    "t5gemma2",
    {
        f"{_NAME}ForConditionalGeneration": conditional_generation,
        f"{_NAME}Model": model,
        f"{_NAME}ForSequenceClassification": lambda c: _classified(c, "ForSequenceClassification"),
        f"{_NAME}ForTokenClassification": lambda c: _classified(c, "ForTokenClassification"),
    },
    base_prefix="model",
    category="encoder-decoder",
)
register_part("t5gemma2_encoder", f"{_NAME}Encoder", encoder, "encoder")
register_part("t5gemma2_text", f"{_NAME}TextEncoder", text_encoder, "encoder")
register_part("t5gemma2_decoder", f"{_NAME}Decoder", decoder, "text decoder")
