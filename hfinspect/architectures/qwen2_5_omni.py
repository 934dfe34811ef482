"""Qwen2.5-Omni (Xu et al. 2025). Source: transformers/models/qwen2_5_omni/modeling_qwen2_5_omni.py.
A thinker that hears, sees and writes, a talker that turns its states into speech codes, and a
vocoder. File names are those of the first release: towers stand next to ``thinker.model``."""

from collections.abc import Mapping
from functools import partial

from ..layers.blocks import size
from ..layers.composing import FormPart, composed
from ..layers.decoders import Decoder
from ..layers.multimodal import within
from ..trees import Builder, Component, ModelConfig, config_defaults, register_pair, register_part
from ..trees.modules import Embedding, Linear, Module
from .qwen2 import QWEN2
from .qwen2_5_omni_token2wav import token2wav
from .qwen2_vl import ALIASES
from .qwen2_vl import TEXT as QWEN2_VL

_NAME = "Qwen2_5Omni"
TEXT = QWEN2.like(_NAME, **config_defaults("qwen2_5_omni"), mlp=QWEN2_VL.mlp, windows=None)


def register_thinker(
    model_type: str, name: str, text: Decoder, aliases: Mapping[str, str], **speaking: Builder
) -> Builder:
    """What hears, sees and writes: towers, which are traces, and a decoder. Adds it to the catalog
    on its own, and its decoder; returns it with what speaks, where the config has it: attribute
    name -> builder of the section ``<name>_config``."""
    decoder = f"{name}ThinkerTextModel"
    only_text = partial(text.named, decoder)
    towers: dict[str, FormPart] = {
        "audio_tower": within("audio_config", f"{name}AudioEncoder"),
        "visual": within("vision_config", f"{name}VisionEncoder"),
    }

    def generation(config: ModelConfig, at: str = "") -> Module:
        """With a head; ``at`` is where the whole keeps it."""
        c = config.section("thinker_config") if config.has("thinker_config") else config
        section = c.section("text_config")
        to = f"{at}model.embed_tokens.weight" if c.tied(default=False) else None
        return Module(
            f"{name}ThinkerForConditionalGeneration",
            {tower: build(c) for tower, build in towers.items()},
            model=text.named(f"{name}ThinkerModel", section),
            lm_head=text.words(section, to),
        )

    def with_head(c: ModelConfig) -> Module:
        parts = speaking if c.flag("enable_audio_output", default=True) else {}
        modules = {at: build(c.section(f"{at}_config")) for at, build in parts.items()}
        thinker = generation(c.section("thinker_config"), "thinker.")
        return Module(f"{name}ForConditionalGeneration", {"thinker": thinker, **modules})

    bare = {**towers, "language_model": within("text_config", only_text)}
    classes = composed({f"{name}ThinkerModel": bare})
    register_pair(
        f"{model_type}_thinker",
        f"{name}Thinker",
        generation,
        classes[f"{name}ThinkerModel"],
        "multimodal",
        prefix="",
        aliases={**aliases, "thinker.": ""},
        base=None,
    )
    register_part(f"{model_type}_text", decoder, only_text, "text decoder")
    return with_head


#: A decoder over speech codes whose inputs are as wide as the thinker, itself narrower.
TALKER = TEXT.like(_NAME, vocab_size=8448, head_dim=128)
_wide = size("embedding_size", default=3584)


def _talker_model(c: ModelConfig) -> Module:
    base = TALKER.named(f"{_NAME}TalkerModel", c)
    base.part = "audio"
    return base.adding(embed_tokens=Embedding(TALKER.size(c, "vocab_size"), _wide(c)))


def _talker(c: ModelConfig) -> Module:
    return Module(
        f"{_NAME}TalkerForConditionalGeneration",
        thinker_to_talker_proj=Linear(_wide(c), TALKER.width(c), component=Component.PROJECTOR),
        model=_talker_model(c),
        codec_head=TALKER.words(c),
        part="audio",
    )


_WHOLE = register_thinker(
    "qwen2_5_omni",
    _NAME,
    TEXT,
    {**ALIASES, "model.audio_tower.": "audio_tower."},
    talker=_talker,
    token2wav=token2wav,
)
# The first release's config.json calls the class Model.
register_pair(
    "qwen2_5_omni",
    _NAME,
    _WHOLE,
    _WHOLE,
    "multimodal",
    prefix="",
    base=f"{_NAME}ForConditionalGeneration",
    aliases={f"thinker.{theirs}": f"thinker.{ours}" for theirs, ours in ALIASES.items()},
)
register_pair(
    "qwen2_5_omni_talker", f"{_NAME}Talker", _talker, _talker_model, "audio", prefix="", base=None
)
