"""Qwen2.5-Omni (Xu et al. 2025). Source: transformers/models/qwen2_5_omni/modeling_qwen2_5_omni.py.

A thinker that hears, sees and writes (Qwen2.5-VL with an audio tower), a talker that turns the
thinker's states into speech codes, and a vocoder (qwen2_5_omni_token2wav.py). File names are those
of the first release: ``thinker.model`` is the decoder, towers stand next to it.
"""

from collections.abc import Callable, Mapping

from ..core.components import Component
from ..core.config import ModelConfig
from ..core.records import dataclass
from ..layers.blocks import size
from ..layers.decoders import Decoder
from ..trees.catalog import Builder, builder, register, register_part
from ..trees.modules import Embedding, Linear, Module
from .qwen2 import QWEN2
from .qwen2_5_omni_token2wav import token2wav
from .qwen2_vl import ALIASES, mlp

_NAME = "Qwen2_5Omni"

# ---- thinker


TEXT = QWEN2.like(
    _NAME, vocab_size=152064, hidden_size=3584, intermediate_size=18944, num_hidden_layers=28,
    num_attention_heads=28, num_key_value_heads=4, mlp=mlp, windows=None,
)  # fmt: skip


@dataclass(frozen=True)
class Thinker:
    """What hears, sees and writes: its towers, which are traces, and its decoder, which ``named``
    finishes."""

    name: str
    text: Decoder
    named: Callable[[Module], Module] = lambda decoder: decoder

    def _towers(self, c: ModelConfig) -> dict[str, Module]:
        return {
            "audio_tower": builder(f"{self.name}AudioEncoder")(c.section("audio_config")),
            "visual": builder(f"{self.name}VisionEncoder")(c.section("vision_config")),
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
        decoder = self.named(self.text.named(f"{self.name}ThinkerModel", text))
        return Module(
            f"{self.name}ThinkerForConditionalGeneration",
            {**self._towers(c), "model": decoder, "lm_head": self.text.words(text, to)},
        )

    def whole(self, c: ModelConfig, **speaking: Builder) -> Module:
        """With what speaks: attribute name -> builder of the section ``<name>_config``."""
        parts = speaking if c.flag("enable_audio_output", default=True) else {}
        made = {name: build(c.section(f"{name}_config")) for name, build in parts.items()}
        thinker = self.generation(c.section("thinker_config"), "thinker.")
        return Module(f"{self.name}ForConditionalGeneration", {"thinker": thinker, **made})

    def register(self, model_type: str, aliases: Mapping[str, str]) -> None:
        """Add it to the catalog on its own, and its decoder."""
        register(
            f"{model_type}_thinker",
            {
                f"{self.name}ThinkerForConditionalGeneration": self.generation,
                f"{self.name}ThinkerModel": self.model,
            },
            aliases={**aliases, "thinker.": ""},
            category="multimodal",
            base=None,
        )
        decoder = f"{self.name}ThinkerTextModel"
        register_part(f"{model_type}_text", decoder, self.only_text, "text decoder")


_THINKER = Thinker(_NAME, TEXT)

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
_THINKER.register("qwen2_5_omni", {**ALIASES, "model.audio_tower.": "audio_tower."})
_TALKER = {f"{_NAME}TalkerForConditionalGeneration": talker, f"{_NAME}TalkerModel": talker_model}
register("qwen2_5_omni_talker", _TALKER, category="audio", base=None)
