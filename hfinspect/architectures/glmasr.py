"""GLM-ASR (Zhipu 2025). Source of shapes: transformers/models/glmasr/modeling_glmasr.py.

An encoder as Whisper's with rotary positions, four frames side by side through two linear layers,
and a Llama decoder.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation, grouped_heads
from ..layers.multimodal import LLAVA_ALIASES, decoder, language_model, projector
from ..trees.catalog import register, register_part
from ..trees.modules import Activation, Conv, LayerNorm, Layers, Linear, Module

_NAME = "GlmAsr"
#: What GlmAsrConfig puts under whatever the text section says.
_TEXT = {
    "vocab_size": 59264, "hidden_size": 2048, "intermediate_size": 6144, "num_hidden_layers": 28,
    "num_attention_heads": 16, "num_key_value_heads": 4,
}  # fmt: skip


def _hidden(c: ModelConfig) -> Dim:
    return c.dim("hidden_size", default=1280)


def _inner(c: ModelConfig) -> Dim:
    return c.dim("intermediate_size", default=5120)


def audio_layer(c: ModelConfig) -> Module:
    h, inner = _hidden(c), _inner(c)
    heads = grouped_heads(c, h, heads=20)
    width, kv_width = heads.query * heads.dim, heads.kv * heads.dim
    return Module(
        f"{_NAME}EncoderLayer",
        self_attn=Module(
            f"{_NAME}Attention",
            q_proj=Linear(h, width, kind="query"),
            k_proj=Linear(h, kv_width, bias=False, kind="key"),
            v_proj=Linear(h, kv_width, kind="value"),
            o_proj=Linear(width, h, kind="output"),
            component=Component.ATTENTION,
        ),
        mlp=Module(
            f"{_NAME}MLP",
            fc1=Linear(h, inner, kind="up"),
            fc2=Linear(inner, h, kind="down"),
            act_fn=activation(c.text("hidden_act", default="gelu")),
            component=Component.MLP,
        ),
        input_layernorm=LayerNorm(h),
        post_attention_layernorm=LayerNorm(h),
    )


def audio_model(c: ModelConfig) -> Module:
    h = _hidden(c)
    return Module(
        f"{_NAME}Encoder",
        conv1=Conv(c.dim("num_mel_bins", default=128), h, 3, dims=1),
        conv2=Conv(h, h, 3, dims=1, stride=2),
        layers=Layers.of(c.count("num_hidden_layers", default=32), audio_layer(c)),
        norm=LayerNorm(h),
        rotary_emb=Activation(f"{_NAME}RotaryEmbedding"),
        part="audio",
    )


def parts(c: ModelConfig, *, head: bool) -> dict[str, Module]:
    said = {"text_config": {**_TEXT, **c.section("text_config").values}}
    text = decoder(ModelConfig({**c.values, **said}, c.path), "llama")
    audio = c.section("audio_config")
    return {
        "audio_tower": audio_model(audio),
        "language_model": language_model(text, head=head, tied=c.tied()),
        "multi_modal_projector": projector(
            f"{_NAME}MultiModalProjector",
            linear_1=Linear(_inner(audio), text.hidden * 2),
            act=activation(c.text("projector_hidden_act", default="gelu")),
            linear_2=Linear(text.hidden * 2, text.hidden),
        ),
    }


def generation(c: ModelConfig) -> Module:
    return Module(f"{_NAME}ForConditionalGeneration", dict(parts(c, head=True)))


def base(c: ModelConfig) -> Module:
    return Module(f"{_NAME}Model", dict(parts(c, head=False)))


register(
    "glmasr",
    {f"{_NAME}ForConditionalGeneration": generation, f"{_NAME}Model": base},
    base=f"{_NAME}Model",
    aliases={**LLAVA_ALIASES, "model.audio_tower.": "audio_tower."},
    category="multimodal",
)
register_part("glmasr_encoder", f"{_NAME}Encoder", audio_model, "audio")
