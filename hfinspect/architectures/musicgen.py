"""MusicGen (Copet et al. 2023). Source: transformers/models/musicgen. A text encoder, a decoder
that speaks several codebooks at once (a trace), and the codec that turns them into sound."""

from ..layers.multimodal import linear_projector
from ..trees import ModelConfig, Module, auto_class, auto_model, builder, register_part
from .encoder_decoder import width_of


def joined(c: ModelConfig, name: str) -> Module:
    """The parts of a class, with a projection of texts where their width is another."""
    texts = c.section("text_encoder")
    decoder = c.section("decoder")
    encoder = auto_class(texts, "EncoderModel", default_type="t5")
    inputs = width_of(texts, encoder, last=True)
    width = decoder.dim("hidden_size", default=1024)
    return Module(
        f"{name}ForConditionalGeneration",
        text_encoder=encoder,
        audio_encoder=auto_model(c.section("audio_encoder"), default_type="encodec"),
        decoder=builder(f"{name}ForCausalLM")(decoder),
        enc_to_dec_proj=linear_projector(inputs, width) if inputs != width else None,
    )


def generation(c: ModelConfig) -> Module:
    built = joined(c, "Musicgen")
    if c.section("decoder").has("cross_attention_hidden_size"):
        built.children.pop("enc_to_dec_proj", None)
    return built


register_part("musicgen", "MusicgenForConditionalGeneration", generation, "audio")
