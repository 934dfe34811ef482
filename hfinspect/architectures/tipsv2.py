"""TIPSv2 (Google 2026): towers of text and images, which are traces, and a temperature. Files keep
the names of Google's code (conversion_mapping.py). Source: transformers/models/tipsv2."""

from ..layers.blocks import size
from ..trees import ModelConfig, Module, Weight, builder, register

_hidden = size("hidden_size", default=768)


def both(c: ModelConfig) -> Module:
    text = c.section("text_config")
    vision = c.section("vision_config")
    if _hidden(text) != _hidden(vision):
        key = f"{vision.path}hidden_size"
        raise c.error(key, int(_hidden(vision)), f"that of the texts, {int(_hidden(text))}")
    return Module(
        "Tipsv2Model",
        temperature=Weight(kind="scale"),
        text_encoder=builder("Tipsv2TextModel")(text),
        vision_encoder=builder("Tipsv2VisionModel")(vision),
    )


register("tipsv2", {"Tipsv2Model": both}, category="multimodal")
