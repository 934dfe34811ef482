"""Jev (2026), a judge: a decoder of another family without its words, and a linear layer for the
options of a question. Source of shapes: transformers/models/jev/modeling_jev.py."""

from ..trees import Component, ModelConfig, Module, Weight, auto_model, register_part


def model(c: ModelConfig) -> Module:
    # transformers makes a Jev of a repo's further files, which say how many options there are.
    c.of_type("jev")
    width = c.dim("hidden_size", default=4096)
    options = c.dim("num_verbalizers", default=24)
    return Module(
        "JevForDecision",
        model=auto_model(c.section("text_config"), default_type="qwen3_5_text", part="text"),
        # Files have the matrix at their top (conversion_mapping.py).
        weight=Weight(options, width, component=Component.HEAD, kind="classifier"),
        proj=Module("Linear", bias=Weight(options, component=Component.PROJECTOR)),
    )


register_part("jev", "JevForDecision", model, "text decoder")
