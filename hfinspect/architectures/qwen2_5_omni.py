"""Qwen2.5-Omni (Xu et al. 2025). Source: transformers/models/qwen2_5_omni/modeling_qwen2_5_omni.py.

A thinker that hears, sees and writes (Qwen2.5-VL with an audio tower), a talker that turns the
thinker's states into speech codes, and a vocoder (qwen2_5_omni_token2wav.py). File names are those
of the first release: ``thinker.model`` is the decoder, towers stand next to it.
"""

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.dims import Dim
from ..layers.blocks import Heads, gated_mlp, grouped_attention, grouped_heads
from ..layers.heads import to_words
from ..layers.whisper_encoder import encoder_layer, width
from ..trees.catalog import register, register_part
from ..trees.modules import Activation, Conv, Embedding, LayerNorm, Layers, Linear, Module, RMSNorm
from .qwen2_5_omni_token2wav import token2wav
from .qwen2_vl import ALIASES, merger, patch_embed

_NAME = "Qwen2_5Omni"


def _norm(size: Dim, c: ModelConfig) -> Module:
    eps = c.number("rms_norm_eps", default=1e-6)
    return RMSNorm(size, eps=eps, class_name=f"{_NAME}RMSNorm")


# ---- thinker


def audio_model(c: ModelConfig) -> Module:
    """Whisper's encoder with fixed positions, put out at the decoder's width."""
    d, out = width(c), c.dim("output_dim", default=3584)
    layers = c.count("encoder_layers", "num_hidden_layers", default=32)
    return Module(
        f"{_NAME}AudioEncoder",
        conv1=Conv(c.dim("num_mel_bins", default=128), d, 3, dims=1),
        conv2=Conv(d, d, 3, dims=1, stride=2),
        positional_embedding=Activation("SinusoidsPositionEmbedding"),
        audio_bos_eos_token=Embedding(2, out),
        layers=Layers.of(layers, encoder_layer(f"{_NAME}Audio", c)),
        ln_post=LayerNorm(d),
        proj=Linear(d, out, component=Component.PROJECTOR),
        part="audio",
    )


def vision_model(c: ModelConfig) -> Module:
    """Qwen2.5-VL's tower with q, k and v apart."""
    h, inner = c.dim("hidden_size", default=3584), c.dim("intermediate_size", default=3420)
    act = c.text("hidden_act", default="silu")

    def norm() -> Module:
        return RMSNorm(h, eps=1e-6, class_name=f"{_NAME}RMSNorm")

    block = Module(
        f"{_NAME}VisionBlock",
        norm1=norm(),
        norm2=norm(),
        attn=Module(
            f"{_NAME}VisionAttention",
            q=Linear(h, h, kind="query"),
            k=Linear(h, h, kind="key"),
            v=Linear(h, h, kind="value"),
            proj=Linear(h, h, kind="output"),
            component=Component.ATTENTION,
        ),
        mlp=gated_mlp(f"{_NAME}MLP", h, inner, bias=True, act=act),
    )
    out = c.dim("out_hidden_size", default=3584)
    return Module(
        f"{_NAME}VisionEncoder",
        patch_embed=patch_embed("Qwen2_5_VisionPatchEmbed", c, h),
        rotary_pos_emb=Activation(f"{_NAME}VisionRotaryEmbedding"),
        blocks=Layers.of(c.count("depth", "num_hidden_layers", default=32), block),
        merger=merger(f"{_NAME}PatchMerger", c, h, out, norm()),
        part="vision",
    )


def decoder_layer(c: ModelConfig, h: Dim, heads: Heads) -> Module:
    return Module(
        f"{_NAME}DecoderLayer",
        self_attn=grouped_attention(f"{_NAME}Attention", h, heads, bias=True, out_bias=False),
        mlp=gated_mlp(
            "Qwen2MLP",
            h,
            c.dim("intermediate_size", default=18944),
            act=c.text("hidden_act", default="silu"),
        ),
        input_layernorm=_norm(h, c),
        post_attention_layernorm=_norm(h, c),
    )


def text_model(c: ModelConfig, class_name: str) -> Module:
    h = c.dim("hidden_size", default=3584)
    layer = decoder_layer(c, h, grouped_heads(c, h, heads=28, kv=4))
    return Module(
        class_name,
        embed_tokens=Embedding(c.dim("vocab_size", default=152064), h),
        layers=Layers.of(c.count("num_hidden_layers", default=28), layer),
        norm=_norm(h, c),
        rotary_emb=Activation(f"{_NAME}RotaryEmbedding"),
    )


def thinker(c: ModelConfig, *, at: str = "") -> Module:
    text = c.section("text_config")
    head = to_words(
        text.dim("hidden_size", default=3584),
        text.dim("vocab_size", default=152064),
        f"{at}model.embed_tokens.weight" if c.tied(default=False) else None,
    )
    return Module(
        f"{_NAME}ThinkerForConditionalGeneration",
        audio_tower=audio_model(c.section("audio_config")),
        visual=vision_model(c.section("vision_config")),
        model=text_model(text, f"{_NAME}ThinkerModel"),
        lm_head=head,
    )


def thinker_model(c: ModelConfig) -> Module:
    """Without a head."""
    return Module(
        f"{_NAME}ThinkerModel",
        audio_tower=audio_model(c.section("audio_config")),
        visual=vision_model(c.section("vision_config")),
        language_model=only_text(c.section("text_config")),
    )


def only_text(c: ModelConfig) -> Module:
    return text_model(c, f"{_NAME}ThinkerTextModel")


# ---- talker and all together


def talker_model(c: ModelConfig) -> Module:
    """A decoder over speech codes whose inputs are as wide as the thinker, itself narrower."""
    h, wide = c.dim("hidden_size", default=3584), c.dim("embedding_size", default=3584)
    layer = decoder_layer(c, h, grouped_heads(c, h, heads=28, kv=4, head_dim=128))
    return Module(
        f"{_NAME}TalkerModel",
        embed_tokens=Embedding(c.dim("vocab_size", default=8448), wide),
        layers=Layers.of(c.count("num_hidden_layers", default=28), layer),
        norm=_norm(h, c),
        rotary_emb=Activation(f"{_NAME}RotaryEmbedding"),
        part="audio",
    )


def talker(c: ModelConfig) -> Module:
    h, wide = c.dim("hidden_size", default=3584), c.dim("embedding_size", default=3584)
    vocab = c.dim("vocab_size", default=8448)
    return Module(
        f"{_NAME}TalkerForConditionalGeneration",
        thinker_to_talker_proj=Linear(wide, h, component=Component.PROJECTOR),
        model=talker_model(c),
        codec_head=to_words(h, vocab),
        part="audio",
    )


def whole(c: ModelConfig) -> Module:
    speaks = c.flag("enable_audio_output", default=True)
    return Module(
        f"{_NAME}ForConditionalGeneration",
        thinker=thinker(c.section("thinker_config"), at="thinker."),
        talker=talker(c.section("talker_config")) if speaks else None,
        token2wav=token2wav(c.section("token2wav_config")) if speaks else None,
    )


def only_thinker(c: ModelConfig) -> Module:
    return thinker(c.section("thinker_config") if c.has("thinker_config") else c)


register(
    "qwen2_5_omni",
    # The name that the first release's config.json gives the class.
    {f"{_NAME}ForConditionalGeneration": whole, f"{_NAME}Model": whole},
    base=f"{_NAME}ForConditionalGeneration",
    aliases={f"thinker.{theirs}": f"thinker.{ours}" for theirs, ours in ALIASES.items()},
    category="multimodal",
)
register(
    "qwen2_5_omni_thinker",
    {
        f"{_NAME}ThinkerForConditionalGeneration": only_thinker,
        f"{_NAME}ThinkerModel": thinker_model,
    },
    aliases={**ALIASES, "model.audio_tower.": "audio_tower.", "thinker.": ""},
    category="multimodal",
    base=None,
)
register(
    "qwen2_5_omni_talker",
    {f"{_NAME}TalkerForConditionalGeneration": talker, f"{_NAME}TalkerModel": talker_model},
    category="audio",
    base=None,
)
register(
    "qwen2_5_omni_text", {f"{_NAME}ThinkerTextModel": only_text}, category="text decoder", base=None
)
register_part("qwen2_5_omni_audio_encoder", f"{_NAME}AudioEncoder", audio_model, "audio")
register_part("qwen2_5_omni_vision_encoder", f"{_NAME}VisionEncoder", vision_model, "vision")
