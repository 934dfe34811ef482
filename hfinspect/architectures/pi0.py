"""Pi-zero (Physical Intelligence 2024; transformers/models/pi0): PaliGemma sees and reads, a
smaller Gemma acts and looks at its keys and values. Whole files have LeRobot's names."""

from ..layers.composing import composed
from ..trees import Component, Linear, ModelConfig, Module, auto_model, each_module, register
from ..trees.cache_layout import Unknown
from ..trees.config_defaults import config_defaults
from .paligemma import TEXT, VISION

#: What PI0Config makes of absent sections.
_VLM = {
    "model_type": "paligemma",
    "projection_dim": 2048,
    "text_config": {"model_type": "gemma", **TEXT},
    "vision_config": {"model_type": "siglip_vision_model", **VISION, "intermediate_size": 4304},
}


def _sees(c: ModelConfig) -> Module:
    return auto_model(c.section("vlm_config", default=_VLM), default_type="paligemma")


def _acts(c: ModelConfig) -> Module:
    """Its table has as many words as PaliGemma's."""
    text = c.section("vlm_config", default=_VLM).section("text_config")
    words = int(text.dim("vocab_size", default=256000))
    section = c.section("dit_config", default=config_defaults("pi0")).with_values(vocab_size=words)
    expert = auto_model(section, default_type="gemma")
    for module in each_module(expert):
        if module.cache:
            module.cache = (Unknown("what it keeps while it acts is not recorded"),)
    return expert


def _generation(c: ModelConfig) -> Module:
    expert = _acts(c)
    words = expert.inside("embed_tokens")
    h = expert.inside("embed_tokens").tensor().shape[1]
    words.component = Component.HEAD  # as files call it
    actions = c.dim("max_action_dim", default=32)
    states = c.dim("max_state_dim", default=32)
    return Module(
        "PI0ForConditionalGeneration",
        action_out_proj=Linear(h, actions, component=Component.PROJECTOR),
        action_in_proj=Linear(actions, h, component=Component.PROJECTOR),
        action_time_mlp_in=Linear(2 * h, h, component=Component.MLP),
        action_time_mlp_out=Linear(h, h, component=Component.MLP),
        state_proj=Linear(states, h, component=Component.PROJECTOR),
        paligemma_with_expert=Module(
            "PaliGemmaWithExpert",
            gemma_expert=Module("GemmaExpert", lm_head=words, model=expert.without("embed_tokens")),
            paligemma=Module("PaliGemma", model=_sees(c)),
        ),
    )


_PARTS = {"dit": _acts, "vlm": _sees}
_CLASSES = composed({"PI0ForConditionalGeneration": _generation, "PI0Model": _PARTS})
register("pi0", _CLASSES, category="multimodal")
