"""Dia (Nari Labs 2025): speech from text, both sides traces. Source of shapes:
transformers/models/dia."""

from ..core.config import ModelConfig
from ..layers.heads import to_words
from ..trees.catalog import builder, register_pair
from ..trees.modules import Module


def model(c: ModelConfig) -> Module:
    """Both sides are traces."""
    return Module(
        "DiaModel",
        encoder=builder("DiaEncoder")(c.section("encoder_config")),
        decoder=builder("DiaDecoder")(c.section("decoder_config")),
    )


def generation(c: ModelConfig) -> Module:
    inner = c.section("decoder_config")
    sounds = inner.dim("vocab_size", default=1028) * inner.dim("num_channels", default=9)
    head = to_words(inner.dim("hidden_size", default=2048), sounds)
    return Module("DiaForConditionalGeneration", model=model(c), logits_dense=head)


register_pair("dia", "Dia", generation, model, "encoder-decoder")
