"""Fuyu (Adept 2023): Persimmon, a causal LM of its own in files, which reads patches through one
linear layer; old configs hold its keys at the top. Source: transformers/models/fuyu."""

from typing import Any

from ..layers.heads import to_words
from ..layers.multimodal import register_headed
from ..trees import Component, Linear, ModelConfig, Module, auto_model, config_defaults

#: What the config class sets where the text section leaves a key out.
_TEXT: dict[str, Any] = config_defaults("fuyu")


def _parts(c: ModelConfig, headed: bool) -> dict[str, Module]:
    flat = {key: c.values[key] for key in _TEXT if c.has(key) and key != "model_type"}
    older = ModelConfig({**_TEXT, **flat}, c.path)
    patch = c.dim("patch_size", default=30)
    text = c.section("text_config") if c.has("text_config") else older
    base = auto_model(text, default_type="persimmon")
    to = "language_model.model.embed_tokens.weight" if c.tied(default=False) else None
    vocab, width = base.inside("embed_tokens").tensor().shape
    head = to_words(width, vocab, to) if headed else None
    pixels = patch * patch * c.dim("num_channels", default=3)
    return {
        "language_model": Module("PersimmonForCausalLM", model=base, lm_head=head),
        "vision_embed_tokens": Linear(pixels, width, component=Component.EMBEDDING, kind="patch"),
    }


register_headed("fuyu", "Fuyu", _parts, "vision_embed_tokens", ending="ForCausalLM")
