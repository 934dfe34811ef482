"""Qwen2.5-Omni (Xu et al. 2025). Source: transformers/models/qwen2_5_omni/modeling_qwen2_5_omni.py.

A thinker that hears, sees and writes (Qwen2.5-VL with an audio tower), a talker that turns the
thinker's states into speech codes, and a vocoder (qwen2_5_omni_token2wav.py). File names are those
of the first release: ``thinker.model`` is the decoder, towers stand next to it.
"""

from collections.abc import Callable, Mapping

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.records import dataclass
from ..layers.blocks import gated_mlp, size
from ..layers.decoders import Decoder
from ..layers.whisper_encoder import encoder_layer, width
from ..trees.catalog import Builder, register, register_part
from ..trees.modules import Activation, Conv, Embedding, LayerNorm, Layers, Linear, Module, RMSNorm
from .qwen2 import QWEN2
from .qwen2_5_omni_token2wav import token2wav
from .qwen2_vl import ALIASES, merger, mlp, patch_embed

_NAME = "Qwen2_5Omni"

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
    norm = RMSNorm(h, eps=1e-6, class_name=f"{_NAME}RMSNorm")
    out = c.dim("out_hidden_size", default=3584)
    block = Module(
        f"{_NAME}VisionBlock",
        norm1=norm,
        norm2=norm,
        attn=Module(
            f"{_NAME}VisionAttention",
            q=Linear(h, h, kind="query"),
            k=Linear(h, h, kind="key"),
            v=Linear(h, h, kind="value"),
            proj=Linear(h, h, kind="output"),
            component=Component.ATTENTION,
        ),
        mlp=gated_mlp(f"{_NAME}MLP", h, inner, bias=True, act=c.text("hidden_act", default="silu")),
    )
    return Module(
        f"{_NAME}VisionEncoder",
        patch_embed=patch_embed("Qwen2_5_VisionPatchEmbed", c, h),
        rotary_pos_emb=Activation(f"{_NAME}VisionRotaryEmbedding"),
        blocks=Layers.of(c.count("depth", "num_hidden_layers", default=32), block),
        merger=merger(f"{_NAME}PatchMerger", c, h, out, norm),
        part="vision",
    )


TEXT = QWEN2.like(
    _NAME, vocab_size=152064, hidden_size=3584, intermediate_size=18944, num_hidden_layers=28,
    num_attention_heads=28, num_key_value_heads=4, mlp=mlp, windows=None,
)  # fmt: skip


@dataclass(frozen=True)
class Thinker:
    """What hears, sees and writes: its towers and its decoder, which ``named`` finishes."""

    name: str
    audio: Builder
    vision: Builder
    text: Decoder
    named: Callable[[Module], Module] = lambda decoder: decoder

    def _towers(self, c: ModelConfig) -> dict[str, Module]:
        return {
            "audio_tower": self.audio(c.section("audio_config")),
            "visual": self.vision(c.section("vision_config")),
        }

    def only_text(self, c: ModelConfig) -> Module:
        """The decoder alone."""
        return self.named(self.text.named(f"{self.name}ThinkerTextModel", c))

    def model(self, c: ModelConfig) -> Module:
        """Without a head."""
        decoder = self.only_text(c.section("text_config"))
        return Module(f"{self.name}ThinkerModel", {**self._towers(c), "language_model": decoder})

    def generation(self, config: ModelConfig, at: str = "") -> Module:
        """With a head; ``at`` is where the whole keeps it."""
        c = config.section("thinker_config") if config.has("thinker_config") else config
        text = c.section("text_config")
        to = f"{at}model.embed_tokens.weight" if c.tied(default=False) else None
        return Module(
            f"{self.name}ThinkerForConditionalGeneration",
            {
                **self._towers(c),
                "model": self.named(self.text.named(f"{self.name}ThinkerModel", text)),
                "lm_head": self.text.words(text, to),
            },
        )

    def whole(self, c: ModelConfig, **speaking: Builder) -> Module:
        """With what speaks: attribute name -> builder of the section ``<name>_config``."""
        parts = speaking if c.flag("enable_audio_output", default=True) else {}
        made = {name: build(c.section(f"{name}_config")) for name, build in parts.items()}
        return Module(
            f"{self.name}ForConditionalGeneration",
            {
                "thinker": self.generation(c.section("thinker_config"), "thinker."),
                **made,
            },
        )

    def register(self, model_type: str, aliases: Mapping[str, str]) -> None:
        """Add it to the catalog on its own."""
        register(
            model_type,
            {
                f"{self.name}ThinkerForConditionalGeneration": self.generation,
                f"{self.name}ThinkerModel": self.model,
            },
            aliases={**aliases, "thinker.": ""},
            category="multimodal",
            base=None,
        )


_THINKER = Thinker(_NAME, audio_model, vision_model, TEXT)

# ---- talker and all together

#: A decoder over speech codes whose inputs are as wide as the thinker, itself narrower.
TALKER = TEXT.like(_NAME, vocab_size=8448, head_dim=128)


_wide = size("embedding_size", default=3584)


def talker_model(c: ModelConfig) -> Module:
    base = TALKER.named(f"{_NAME}TalkerModel", c)
    base.children["embed_tokens"] = Embedding(TALKER.size(c, "vocab_size"), _wide(c))
    base.part = "audio"
    return base


def talker(c: ModelConfig) -> Module:
    return Module(
        f"{_NAME}TalkerForConditionalGeneration",
        thinker_to_talker_proj=Linear(_wide(c), TALKER.width(c), component=Component.PROJECTOR),
        model=talker_model(c),
        codec_head=TALKER.words(c),
        part="audio",
    )


def whole(c: ModelConfig) -> Module:
    return _THINKER.whole(c, talker=talker, token2wav=token2wav)


register(
    "qwen2_5_omni",
    # The name that the first release's config.json gives the class.
    {f"{_NAME}ForConditionalGeneration": whole, f"{_NAME}Model": whole},
    base=f"{_NAME}ForConditionalGeneration",
    aliases={f"thinker.{theirs}": f"thinker.{ours}" for theirs, ours in ALIASES.items()},
    category="multimodal",
)
_THINKER.register("qwen2_5_omni_thinker", {**ALIASES, "model.audio_tower.": "audio_tower."})
register(
    "qwen2_5_omni_talker",
    {f"{_NAME}TalkerForConditionalGeneration": talker, f"{_NAME}TalkerModel": talker_model},
    category="audio",
    base=None,
)
register(
    "qwen2_5_omni_text",
    {f"{_NAME}ThinkerTextModel": _THINKER.only_text},
    category="text decoder",
    base=None,
)


register_part("qwen2_5_omni_audio_encoder", f"{_NAME}AudioEncoder", audio_model, "audio")
register_part("qwen2_5_omni_vision_encoder", f"{_NAME}VisionEncoder", vision_model, "vision")
