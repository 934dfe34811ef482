"""Qwen3-Omni (Xu et al. 2025). Source: transformers/models/qwen3_omni_moe.

A thinker that hears, sees and writes (Qwen3-MoE with Qwen3-VL's tower and a Whisper-like one), and
what speaks (qwen3_omni_moe_talker_code_predictor.py). File names are those of the first release:
``thinker.model`` is the decoder, towers stand next to it.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import activation, gated_mlp, grouped_heads
from ..layers.experts import sparse_block, sparse_layers
from ..layers.heads import to_words
from ..layers.whisper_encoder import encoder_layer, width
from ..trees.catalog import register, register_part
from ..trees.modules import (
    Activation,
    Conv,
    Embedding,
    LayerNorm,
    Layers,
    Linear,
    Module,
    ModuleList,
    RMSNorm,
)
from .qwen3_5 import patch_embed, vision_block
from .qwen3_omni_moe_talker_code_predictor import NAME, attention, code2wav, talker, talker_model


def audio_model(c: ModelConfig) -> Module:
    """Three convolutions over time and frequency, Whisper's layers (with a bias on the keys too),
    put out at the decoder's width."""
    d, narrow = width(c), c.dim("downsample_hidden_size", default=480)
    mel = c.dim("num_mel_bins", default=128)
    for _ in range(3):
        mel = (mel + 1) // 2
    layer = encoder_layer(f"{NAME}Audio", c)
    keys = layer.inside("self_attn")
    keys.children["k_proj"] = Linear(d, d, kind="key")
    return Module(
        f"{NAME}AudioEncoder",
        positional_embedding=Activation("SinusoidsPositionEmbedding"),
        layers=Layers.of(c.count("encoder_layers", "num_hidden_layers", default=32), layer),
        ln_post=LayerNorm(d),
        conv2d1=Conv(1, narrow, 3, stride=2),
        conv2d2=Conv(narrow, narrow, 3, stride=2),
        conv2d3=Conv(narrow, narrow, 3, stride=2),
        conv_out=Linear(narrow * mel, d, bias=False, component=Component.CONV),
        proj1=Linear(d, d, component=Component.PROJECTOR),
        act=activation(c.text("activation_function", default="gelu")),
        proj2=Linear(d, c.dim("output_dim", default=3584), component=Component.PROJECTOR),
        part="audio",
    )


def _merger(c: ModelConfig, h: Dim, *, after: bool) -> Module:
    side = c.dim("spatial_merge_size", default=2)
    wide, out = h * side * side, c.dim("out_hidden_size", default=3584)
    return Module(
        f"{NAME}VisionPatchMerger",
        ln_q=LayerNorm(wide if after else h, eps=1e-6),
        mlp=ModuleList([Linear(wide, wide), Activation("GELU"), Linear(wide, out)]),
        component=Component.PROJECTOR,
        part="projector",
    )


def vision_model(c: ModelConfig) -> Module:
    """Qwen3-VL's tower (qwen3_vl.py) with other names in its mergers."""
    h, inner = c.dim("hidden_size", default=1152), c.dim("intermediate_size", default=4304)
    block = vision_block(NAME, h, inner, c.text("hidden_act", default="gelu_pytorch_tanh"))
    fed = c.dims("deepstack_visual_indexes", default=(8, 16, 24), minimum=0)
    positions = c.dim("num_position_embeddings", default=2304)
    return Module(
        f"{NAME}VisionEncoder",
        merger_list=ModuleList([_merger(c, h, after=True)] * len(fed)),
        patch_embed=patch_embed(NAME, c, h),
        pos_embed=Embedding(positions, h, kind="position"),
        rotary_pos_emb=Activation(f"{NAME}VisionRotaryEmbedding"),
        blocks=Layers.of(c.count("depth", "num_hidden_layers", default=27), block),
        merger=_merger(c, h, after=False),
        part="vision",
    )


def _norm(c: ModelConfig, size: Dim, name: str = "ThinkerTextRMSNorm") -> Module:
    return RMSNorm(size, eps=c.number("rms_norm_eps", default=1e-6), class_name=f"{NAME}{name}")


def text_model(c: ModelConfig, class_name: str = "ThinkerTextModel") -> Module:
    h, act = c.dim("hidden_size", default=2048), c.text("hidden_act", default="silu")
    count = c.count("num_experts", default=128)
    routed = sparse_layers(c, int(c.count("num_hidden_layers", default=28)), count)

    def mlp(sparse: bool) -> Module:
        if not sparse:
            inner = c.dim("intermediate_size", default=18944)
            return gated_mlp(f"{NAME}ThinkerTextMLP", h, inner, act=act)
        return sparse_block(
            f"{NAME}ThinkerText",
            h,
            c.dim("moe_intermediate_size", default=768),
            count=count,
            per_token=c.dim("num_experts_per_tok", default=8),
            shared=None,
            act=act,
        )

    def layer(sparse: bool) -> Module:
        heads = grouped_heads(c, h, heads=28, kv=4)
        return Module(
            f"{NAME}ThinkerTextDecoderLayer",
            self_attn=attention(c, h, heads, "ThinkerTextAttention", "ThinkerTextRMSNorm"),
            mlp=mlp(sparse),
            input_layernorm=_norm(c, h),
            post_attention_layernorm=_norm(c, h),
        )

    built = {sparse: layer(sparse) for sparse in set(routed)}
    return Module(
        f"{NAME}{class_name}",
        embed_tokens=Embedding(c.dim("vocab_size", default=3584), h),
        layers=Layers(built[sparse] for sparse in routed),
        norm=_norm(c, h, "TextRMSNorm"),
        rotary_emb=Activation(f"{NAME}ThinkerTextRotaryEmbedding"),
    )


def thinker(c: ModelConfig, *, at: str = "") -> Module:
    text = c.section("text_config")
    head = to_words(
        text.dim("hidden_size", default=2048),
        text.dim("vocab_size", default=3584),
        f"{at}model.embed_tokens.weight" if c.tied(default=False) else None,
    )
    return Module(
        f"{NAME}ThinkerForConditionalGeneration",
        audio_tower=audio_model(c.section("audio_config")),
        visual=vision_model(c.section("vision_config")),
        model=text_model(text, "ThinkerModel"),
        lm_head=head,
    )


def thinker_model(c: ModelConfig) -> Module:
    """Without a head."""
    return Module(
        f"{NAME}ThinkerModel",
        audio_tower=audio_model(c.section("audio_config")),
        visual=vision_model(c.section("vision_config")),
        language_model=text_model(c.section("text_config"), "ThinkerTextModel"),
    )


def whole(c: ModelConfig) -> Module:
    speaks = c.flag("enable_audio_output", default=True)
    return Module(
        f"{NAME}ForConditionalGeneration",
        thinker=thinker(c.section("thinker_config"), at="thinker."),
        talker=talker(c.section("talker_config")) if speaks else None,
        code2wav=code2wav(c.section("code2wav_config")) if speaks else None,
    )


def only_thinker(c: ModelConfig) -> Module:
    return thinker(c.section("thinker_config") if c.has("thinker_config") else c)


def talker_alone(c: ModelConfig) -> Module:
    return talker_model(c, stacked=True)


register_part("qwen3_omni_moe", f"{NAME}ForConditionalGeneration", whole, "multimodal")
register(
    "qwen3_omni_moe_thinker",
    {
        f"{NAME}ThinkerForConditionalGeneration": only_thinker,
        f"{NAME}ThinkerModel": thinker_model,
    },
    aliases={"thinker.": ""},
    category="multimodal",
    base=None,
)
register_part("qwen3_omni_moe_text", f"{NAME}ThinkerTextModel", text_model, "text decoder")
register_part("qwen3_omni_moe_audio_encoder", f"{NAME}AudioEncoder", audio_model, "audio")
register_part("qwen3_omni_moe_vision_encoder", f"{NAME}VisionEncoder", vision_model, "vision")
register_part("qwen3_omni_moe_talker_text", f"{NAME}TalkerModel", talker_alone, "audio")
