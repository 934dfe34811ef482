"""CLVP (Betker 2022), the parts of Tortoise. Source of shapes: transformers/models/clvp.

A decoder of GPT-2's kind that writes speech, two encoders that judge whether speech and text belong
together, and one that turns a voice and a text into a prompt.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation
from ..layers.composing import with_defaults
from ..layers.heads import sequence_summary, to_words
from ..layers.vision import clip_attention
from ..trees.catalog import register, register_part
from ..trees.modules import (
    Buffer,
    Conv,
    Conv1D,
    Dropout,
    Embedding,
    GroupNorm,
    LayerNorm,
    Layers,
    Linear,
    Module,
    ModuleList,
    RMSNorm,
    Weight,
)

_DEFAULTS = {
    "vocab_size": 8194, "max_position_embeddings": 608, "max_text_tokens": 404,
    "hidden_size": 1024, "num_hidden_layers": 30, "num_attention_heads": 16,
    "num_mel_attn_blocks": 6, "feature_size": 80,
}  # fmt: skip
#: Of an encoder, which has half of the same keys.
_ENCODER = {
    "vocab_size": 256, "hidden_size": 768, "intermediate_size": 1536, "projection_dim": 768,
    "num_hidden_layers": 20, "num_attention_heads": 12, "use_attention_bias": False,
    "summary_use_proj": False,
}  # fmt: skip
#: Rotary frequencies are at least so many numbers.
_LEAST_ROTARY = 32


def _norm(c: ModelConfig) -> Module:
    return LayerNorm(c.dim("hidden_size"), eps=c.number("layer_norm_epsilon", default=1e-5))


def _attention(c: ModelConfig) -> Module:
    h, bias = c.dim("hidden_size"), c.flag("use_attention_bias", default=True)
    c.divided(h, c.dim("num_attention_heads"), "hidden_size", "num_attention_heads")
    block = clip_attention("ClvpSelfAttention", h, bias=bias)
    block.children["out_proj"] = Linear(h, h, kind="output")
    return block


def _layer(c: ModelConfig) -> Module:
    h = c.dim("hidden_size")
    inner = c.dim("n_inner", default=4 * h)
    return Module(
        "ClvpDecoderLayer",
        input_layernorm=_norm(c),
        attn=_attention(c),
        post_attention_layernorm=_norm(c),
        mlp=Module(
            "ClvpDecoderMLP",
            c_fc=Conv1D(inner, h, kind="up"),
            c_proj=Conv1D(h, inner, kind="down"),
            act=activation(c.text("activation_function", default="gelu_new")),
            dropout=Dropout(c.number("resid_pdrop", default=0.1)),
            component=Component.MLP,
        ),
    )


def encoder(c: ModelConfig) -> Module:
    c = c.with_defaults(**_ENCODER)
    h, inner = c.dim("hidden_size"), c.dim("intermediate_size")
    eps = c.number("layer_norm_eps", default=1e-5)
    norm, out = RMSNorm(h, eps=eps, class_name="ClvpRMSNorm"), c.dim("projection_dim")
    heads = int(c.dim("num_attention_heads"))
    if c.text("summary_type") == "attn":
        raise c.error("summary_type", "attn", "another word: the library has no such summary")
    attention = _attention(c)
    attention.keeps = ()  # it judges what was written, all at once
    layer = Module(
        "ClvpEncoderLayer",
        self_attn=attention,
        mlp=Module(
            "ClvpEncoderMLP",
            fc1=Module(
                "ClvpGatedLinearUnit",
                activation_fn=activation(c.text("hidden_act", default="gelu")),
                proj=Linear(h, inner * 2, kind="gate_up"),
            ),
            fc2=Linear(inner, h, kind="down"),
            dropout_layer=Dropout(c.number("dropout", default=0.1)),
            component=Component.MLP,
        ),
        input_rmsnorm=norm,
        post_attention_rmsnorm=norm,
    )
    frequencies = Buffer((max(int(out) // (heads * 2), _LEAST_ROTARY) + 1) // 2)
    rotary = Module("ClvpRotaryPositionalEmbedding", inv_freq=frequencies)
    summary = sequence_summary(c, "ClvpSequenceSummary", h, int(c.num_labels), to_labels=False)
    return Module(
        "ClvpEncoder",
        token_embedding=Embedding(c.dim("vocab_size"), h),
        rotary_pos_emb=rotary if c.flag("use_rotary_embedding", default=True) else None,
        layers=Layers.of(c.count("num_hidden_layers"), layer),
        sequence_summary=summary,
        final_layer_norm=LayerNorm(h, eps=eps),
        projection=Linear(h, out, bias=False, component=Component.PROJECTOR),
    )


def decoder(c: ModelConfig) -> Module:
    h = c.dim("hidden_size")
    return Module(
        "ClvpDecoder",
        input_embeds_layer=Embedding(c.dim("vocab_size"), h),
        position_embeds_layer=Embedding(c.dim("max_position_embeddings"), h, kind="position"),
        drop=Dropout(c.number("embd_pdrop", default=0.1)),
        layers=Layers.of(c.count("num_hidden_layers"), _layer(c)),
        layer_norm=_norm(c),
    )


def model(c: ModelConfig) -> Module:
    return Module("ClvpModel", decoder=decoder(c))


def causal(c: ModelConfig) -> Module:
    h = c.dim("hidden_size")
    head = to_words(h, c.dim("vocab_size"), bias=True)
    return Module("ClvpForCausalLM", model=model(c), final_norm=LayerNorm(h), lm_head=head)


def _groups(c: ModelConfig, h: Dim) -> int:
    """Groups of a norm over the voice. Source: compute_groupnorm_groups."""
    groups = 8 if h <= 16 else 16 if h <= 64 else 32
    while int(h) % groups:
        groups //= 2
    if groups <= 2:
        raise c.error("hidden_size", int(h), "a multiple of 4")
    return groups


def _conditioning(c: ModelConfig, words: Dim) -> Module:
    h, blocks = c.dim("hidden_size"), int(c.count("num_mel_attn_blocks"))
    return Module(
        "ClvpConditioningEncoder",
        text_token_embedding=Embedding(words, h),
        text_position_embedding=Embedding(c.dim("max_text_tokens"), h, kind="position"),
        mel_conv=Conv(c.dim("feature_size"), h, 1, dims=1),
        group_norms=ModuleList([GroupNorm(_groups(c, h), h)] * blocks),
        mel_attn_blocks=ModuleList([_attention(c)] * blocks),
        part="audio",
    )


def _judge(c: ModelConfig, part: str) -> Module:
    found = encoder(c)
    found.part, found.scope = part, True
    return found


def generation(c: ModelConfig) -> Module:
    text, speech = c.section("text_config"), c.section("speech_config")
    made = c.section("decoder_config").with_defaults(**_DEFAULTS)
    return Module(
        "ClvpModelForConditionalGeneration",
        logit_scale=Weight(component=Component.OTHER),
        conditioning_encoder=_conditioning(made, text.dim("vocab_size", default=256)),
        speech_decoder_model=causal(made),
        text_encoder_model=_judge(text, "text"),
        speech_encoder_model=_judge(speech, "audio"),
    )


register_part("clvp", "ClvpModelForConditionalGeneration", generation, "audio")
_CLASSES = {"ClvpForCausalLM": causal, "ClvpModel": model, "ClvpDecoder": decoder}
register(
    "clvp_decoder",
    with_defaults(_DEFAULTS, _CLASSES),
    base="ClvpDecoder",
    category="text decoder",
)
register_part("clvp_encoder", "ClvpEncoder", encoder, "audio")
